//! Uniform shedding: which broker is the busiest, by what, and by how much.

use super::BOTH;
use super::load::{broker, bytes, messages, settle};
use super::shedding::{leave, of, plan, rule, sources, with_traffic};
use deedbook::planner::uniform::{Config, UniformShedder};
use deedbook::planner::{ClusterLoad, Measure, Mode, Traffic};

fn config(mode: Mode) -> Config {
    Config {
        mode,
        ..Config::default()
    }
}

fn shedder(config: Config) -> UniformShedder {
    UniformShedder::new(config).unwrap()
}

/// All orders of some values.
fn orders<T: Copy>(values: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = values.split_first() else {
        return vec![Vec::new()];
    };
    let orders = orders(rest).into_iter();
    let with_first = |order: Vec<T>| {
        (0..=order.len()).map(move |place| {
            let mut order = order.clone();
            order.insert(place, *first);
            order
        })
    };
    orders.flat_map(with_first).collect()
}

/// One broker for each pair of messages and bytes a second, in ten bundles.
fn tenths(brokers: &[(f64, f64)]) -> ClusterLoad {
    with_traffic(brokers.iter().map(|(rate, bytes)| {
        let one = Traffic {
            throughput_out: bytes / 10.0,
            ..messages(rate / 10.0)
        };
        std::iter::repeat_n(one, 10)
    }))
}

/// A10: the busiest by messages and the busiest by bytes are two questions, whatever the order in
/// which brokers are looked at: of five all 120.
#[test]
fn a10_two_measures_are_not_mixed() {
    let five = [
        (50e3, 50e6),
        (60e3, 60e6),
        (70e3, 70e6),
        (10e3, 80e6),
        (20e3, 10e6),
    ];
    for mode in BOTH {
        for order in orders(&five) {
            let load = tenths(&order);
            let place = |of: (f64, f64)| order.iter().position(|one| *one == of).unwrap();
            let name = |of| ["a", "b", "c", "d", "e"][place(of)];
            for (messages_percent, busiest, measure, wanted) in [
                (50.0, name(five[2]), Measure::Messages, 12e3),
                (0.0, name(five[3]), Measure::Bytes, 14e6),
            ] {
                let config = Config {
                    messages_percent,
                    ..config(mode)
                };
                let plan = plan(&mut shedder(config), &load);
                let verdict = of(&plan, busiest);
                assert!(verdict.triggered.is_some(), "{mode:?}, {order:?}");
                let amount = verdict.amount.unwrap();
                assert_eq!(amount.measure, measure);
                assert!((amount.wanted - wanted).abs() < 1.0, "{mode:?}: {amount:?}");
                let others = plan.brokers.values().filter(|other| *other != verdict);
                assert!(others.clone().all(|other| other.triggered.is_none()));
            }
        }
    }
}

/// A12: a rule that is switched off decides nothing, and nobody is paired with itself.
#[test]
fn a12_a_measure_that_is_switched_off_decides_nothing() {
    let three = [(10e3, 20e6), (30e3, 10e6), (10e3, 40e6)];
    for mode in BOTH {
        for order in orders(&three) {
            let mut load = tenths(&order);
            settle(&mut load, Measure::Messages);
            let place = order.iter().position(|one| *one == three[1]).unwrap();
            let config = Config {
                bytes_factor: 0.0,
                message_rate_min: 0.0,
                throughput_min: 0.0,
                ..config(mode)
            };
            let plan = plan(&mut shedder(config), &load);
            assert_eq!(sources(&plan), [["a", "b", "c"][place]], "{mode:?}");
            let source = broker(["a", "b", "c"][place]);
            assert!(plan.moves.iter().all(|one| one.to != source));
        }
    }
}

/// A13: beside an idle broker without bundles a difference is large; a fifth of it goes.
#[test]
fn a13_an_idle_broker_takes_part() {
    for mode in BOTH {
        let load = with_traffic(
            [vec![bytes(5e6); 100], Vec::new()]
                .into_iter()
                .map(Vec::into_iter),
        );
        let first = plan(&mut shedder(config(mode)), &load);
        let moved: Vec<_> = sources(&first);
        assert_eq!(moved, ["a"], "{mode:?}");
        assert!((19..=20).contains(&leave(&first, "a")), "100 MB/s of 500");
    }
}

/// A13: a fifth of 1 MB/s is not worth a move.
#[test]
fn a13_trifles_stay() {
    for mode in BOTH {
        let load = with_traffic(
            [vec![bytes(5e5); 2], Vec::new()]
                .into_iter()
                .map(Vec::into_iter),
        );
        let plan = plan(&mut shedder(config(mode)), &load);
        assert_eq!(rule(&plan, "a"), "too_little", "{mode:?}");
    }
}

/// A13: bundles without traffic leave with the big one in the reference, for nothing.
#[test]
fn a13_bundles_without_traffic_go_along() {
    let mut bundles = vec![messages(0.0); 4];
    bundles.push(messages(3000.0));
    bundles.push(messages(12_048.0));
    for (mode, leaving) in [(Mode::Reference, 5), (Mode::Safe, 1)] {
        let mut load = with_traffic(
            [bundles.clone(), Vec::new()]
                .into_iter()
                .map(Vec::into_iter),
        );
        settle(&mut load, Measure::Messages);
        let config = Config {
            unload_ratio_max: 1.0,
            ..config(mode)
        };
        let plan = plan(&mut shedder(config), &load);
        assert_eq!(leave(&plan, "a"), leaving, "{mode:?}");
    }
}

/// A13, A14: a difference of which exactly the minimum should go is worth a move; one less is not.
#[test]
fn a13_exactly_the_minimum_is_no_trifle() {
    for mode in BOTH {
        for (rate, said) in [(6000.0, "gives"), (5995.0, "too_little")] {
            let mut load = tenths(&[(rate, 0.0), (1000.0, 0.0)]);
            settle(&mut load, Measure::Messages);
            let plan = plan(&mut shedder(config(mode)), &load);
            assert_eq!(rule(&plan, "a"), said, "{mode:?}, {rate}");
        }
    }
}

/// A13: what is nearly nothing counts as one message in the reference, so that a trifle beside it
/// is not infinitely more. In the safe mode it is, and the minimum keeps the trifle.
#[test]
fn a13_nearly_nothing_counts_as_one() {
    let load = tenths(&[(1.4, 0.0), (1e-7, 0.0)]);
    for (mode, said) in [(Mode::Reference, "even_enough"), (Mode::Safe, "too_little")] {
        let plan = plan(&mut shedder(config(mode)), &load);
        assert_eq!(rule(&plan, "a"), said, "{mode:?}");
    }
}

/// A14: thresholds as low as they may be, and still nothing moves: both numbers of the rule that is
/// in the way are said, and who is not the busiest hears that.
#[test]
fn a14_why_it_does_not_shed() {
    let load = tenths(&[(2500.0, 0.0), (1000.0, 0.0)]);
    for mode in BOTH {
        let config = Config {
            messages_percent: 1.0,
            bytes_factor: 1.1,
            ..config(mode)
        };
        let plan = plan(&mut shedder(config), &load);
        let said = |name| of(&plan, name).stopped.as_ref().unwrap().to_string();
        let expected = "wanted 300.0 msg/s, below the minimum of 1000";
        assert_eq!(said("a"), expected, "{mode:?}");
        assert!(said("b").contains('a'), "{mode:?}: {}", said("b"));
    }
}

/// A15: the reference names what should leave by bytes and no destination, which another rule then
/// chooses by messages; the safe mode binds both by bytes.
#[test]
fn a15_shed_by_one_measure_and_placed_by_another() {
    let load = tenths(&[(100.0, 100e6), (10_000.0, 10e6), (50.0, 40e6)]);
    for mode in BOTH {
        let config = Config {
            messages_percent: 0.0,
            bytes_factor: 1.1,
            ..config(mode)
        };
        let plan = plan(&mut shedder(config), &load);
        assert_eq!(sources(&plan), ["a"], "{mode:?}");
        assert_eq!(plan.moves.is_empty(), mode == Mode::Reference);
        assert!(plan.moves.iter().all(|one| one.to == broker("b")));
    }
}

/// A33: messages by percent of the least, bytes by a factor, and neither at the threshold itself.
#[test]
fn a33_one_threshold_is_a_percentage_and_the_other_a_factor() {
    let cases = [
        ((150e3, 0.0), (100e3, 0.0), false),
        ((151e3, 0.0), (100e3, 0.0), true),
        ((0.0, 400e6), (0.0, 100e6), false),
        ((0.0, 401e6), (0.0, 100e6), true),
    ];
    for mode in BOTH {
        for (most, least, uneven) in cases {
            let plan = plan(&mut shedder(config(mode)), &tenths(&[most, least]));
            let said = rule(&plan, "a") != "even_enough";
            assert_eq!(said, uneven, "{mode:?}: {most:?} and {least:?}");
        }
    }
}

/// S6: 9 GB/s and 1 MB/s, then 9 and 5 GB/s. The reference keeps what it wants in 32 bits, and
/// looks for the least below 2^31: of two that bear more it takes 2^31 for one of them.
#[test]
fn s6_amounts_beyond_32_bits() {
    for mode in BOTH {
        let config = Config {
            bytes_factor: 1.5,
            unload_ratio_max: 0.5,
            ..config(mode)
        };
        for (least, exact, cut) in [
            (1e6, 4_499_500_000.0, 2_147_483_647.0),
            (5e9, 2e9, 2_147_483_647.0),
        ] {
            let plan = plan(
                &mut shedder(config.clone()),
                &tenths(&[(0.0, 9e9), (0.0, least)]),
            );
            let wanted = match mode {
                Mode::Reference => cut,
                Mode::Safe => exact,
            };
            let amount = of(&plan, "a").amount.unwrap();
            assert!((amount.wanted - wanted).abs() < 1.0, "{mode:?}: {amount:?}");
        }
    }
}
