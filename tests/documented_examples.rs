//! Goal: the examples by which Apache Pulsar's documents and proposals (PIP-364 above all) explain
//! its strategies come out as they are told there. Method: the same clusters in the reference mode,
//! and in the safe one where it is to differ.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;
#[path = "support/shedding.rs"]
mod shedding;

use deedbook::planner::avg::{self, AvgShedder};
use deedbook::planner::overload::{self, OverloadShedder};
use deedbook::planner::threshold::{self, ThresholdShedder};
use deedbook::planner::uniform::{self, UniformShedder};
use deedbook::planner::{BrokerLoad, Measure, Mode, Resource};
use load::{broker, messages, settle};
use shedding::{carry_out_to, cluster, leave, of, plan, rule, with_traffic};

const BOTH: [Mode; 2] = [Mode::Reference, Mode::Safe];

fn threshold(mode: Mode) -> threshold::Config {
    threshold::Config {
        mode,
        throughput_min: 0.0,
        ..threshold::Config::default()
    }
}

/// Percents are kept in single precision there.
fn assert_points(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() < 1e-4, "{ours}, told {theirs}");
}

/// 90 and 10 make both 50, but the scores 86 and 14; 36 points more leave the first, which make 14
/// and 86 and the scores 78.8 and 21.2: it is still the one that sheds.
#[test]
fn history_scoring_overestimates_what_it_has_unloaded() {
    let mut shedder = ThresholdShedder::new(threshold(Mode::Reference)).unwrap();
    for (a, b, score_a, score_b) in [
        (90, 10, 90.0, 10.0),
        (50, 50, 86.0, 14.0),
        (14, 86, 78.8, 21.2),
    ] {
        let points = |count| vec![1.0; count];
        let plan = plan(&mut shedder, &cluster(&[&points(a), &points(b)]));
        assert_points(of(&plan, "a").smoothed.unwrap(), score_a);
        assert_points(of(&plan, "b").smoothed.unwrap(), score_b);
        assert!(leave(&plan, "a") > 0, "{a} and {b}");
        assert_eq!(leave(&plan, "b"), 0);
    }
}

/// The same when what is unloaded really goes to the other broker: the first ends with less than
/// the second, and sheds all the same.
#[test]
fn history_scoring_unloads_too_much() {
    let mut load = cluster(&[&[1.0; 90], &[1.0; 10]]);
    let mut shedder = ThresholdShedder::new(threshold(Mode::Reference)).unwrap();
    let mut shed_while_colder = 0;
    for _ in 0..10 {
        let plan = plan(&mut shedder, &load);
        let colder = load.brokers[&broker("a")].bundles.len() < 50;
        shed_while_colder += usize::from(colder && leave(&plan, "a") > 0);
        carry_out_to(&mut load, &plan, "b");
    }
    assert!(shed_while_colder > 3, "{shed_while_colder} rounds");
    assert!(load.brokers[&broker("a")].bundles.len() < 20);
}

/// The avg strategy on that cluster: after two rounds over the high threshold it moves half of the
/// difference, and nothing ever after.
#[test]
fn the_avg_strategy_sheds_once_and_is_quiet() {
    for mode in BOTH {
        let mut load = cluster(&[&[1.0; 90], &[1.0; 10]]);
        let config = avg::Config {
            mode,
            unload_ratio_max: 0.5,
            ..avg::Config::default()
        };
        let mut shedder = AvgShedder::new(config).unwrap();
        for round in 1..=100 {
            let plan = plan(&mut shedder, &load);
            let expected = if round == 2 { 40 } else { 0 };
            assert_eq!(leave(&plan, "a"), expected, "{mode:?}, round {round}");
            assert_eq!(leave(&plan, "b"), 0, "{mode:?}, round {round}");
            carry_out_to(&mut load, &plan, "b");
        }
    }
}

/// 10, 50 and 70, where the last bears no bundle but other processes: the average is 43.3, so
/// nobody who could give is far enough above it.
#[test]
fn on_unequal_machines_threshold_shedding_stands_still() {
    let mut load = cluster(&[&[1.0; 10], &[1.0; 50]]);
    let busy_elsewhere = BrokerLoad {
        cpu: Some(Resource::new(70.0, 100.0)),
        ..BrokerLoad::default()
    };
    load.brokers.insert(broker("c"), busy_elsewhere);
    for mode in BOTH {
        let mut shedder = ThresholdShedder::new(threshold(mode)).unwrap();
        for _ in 0..20 {
            let plan = plan(&mut shedder, &load);
            assert!(plan.moves.is_empty() && plan.unloads.is_empty(), "{mode:?}");
            assert_eq!(rule(&plan, "a"), "near_average", "{mode:?}");
            assert_eq!(rule(&plan, "b"), "near_average", "{mode:?}");
            assert_eq!(rule(&plan, "c"), "no_bundles", "{mode:?}");
        }
        // What the lower boundary was made for: the first is 33 below the average.
        let config = threshold::Config {
            lower_boundary: true,
            ..threshold(mode)
        };
        let filled = plan(&mut ThresholdShedder::new(config).unwrap(), &load);
        assert!(leave(&filled, "b") > 0, "{mode:?}");
    }
}

/// (50 - 30) / 30 is 66 %, more than 50 %.
#[test]
fn fifty_thousand_messages_are_uneven_with_thirty_thousand() {
    for mode in BOTH {
        for (thousands, uneven) in [(50, true), (45, false)] {
            let bundles = |count| std::iter::repeat_n(messages(1000.0), count);
            let mut load = with_traffic([bundles(thousands), bundles(30)].into_iter());
            settle(&mut load, Measure::Messages);
            let config = uniform::Config {
                mode,
                ..uniform::Config::default()
            };
            let plan = plan(&mut UniformShedder::new(config).unwrap(), &load);
            // A fifth of the difference of 20,000.
            let expected = if uneven { 4 } else { 0 };
            assert_eq!(leave(&plan, "a"), expected, "{mode:?}, {thousands}");
            let said = if uneven { "gives" } else { "even_enough" };
            assert_eq!(rule(&plan, "a"), said, "{mode:?}, {thousands}");
        }
    }
}

/// 450 / 100 is 4.5, more than 4.
#[test]
fn four_hundred_and_fifty_megabytes_are_uneven_with_one_hundred() {
    for mode in BOTH {
        for (megabytes, uneven) in [(450, true), (400, false)] {
            let mut load = cluster(&[&vec![1.0; megabytes], &[1.0; 100]]);
            for of in load.brokers.values_mut() {
                of.cpu = of.cpu.map(|cpu| Resource::new(cpu.usage, 1000.0));
            }
            let config = uniform::Config {
                mode,
                ..uniform::Config::default()
            };
            let plan = plan(&mut UniformShedder::new(config).unwrap(), &load);
            // A fifth of the difference of 350.
            let expected = if uneven { 70 } else { 0 };
            assert_eq!(leave(&plan, "a"), expected, "{mode:?}, {megabytes}");
            let amount = of(&plan, "a").amount.map(|amount| amount.measure);
            assert_eq!(amount, uneven.then_some(Measure::Bytes), "{mode:?}");
        }
    }
}

/// Where all are above the limit all shed, to each other; where none is, a new broker stays empty.
/// The safe mode moves nothing in the first case. In the second it keeps to what the strategy is.
#[test]
fn overload_shedding_knows_nothing_but_its_limit() {
    let all = cluster(&[&[1.0; 90], &[1.0; 90], &[1.0; 90]]);
    let none = cluster(&[&[1.0; 80], &[1.0; 80], &[]]);
    for mode in BOTH {
        let config = overload::Config {
            mode,
            ..overload::Config::default()
        };
        let mut shedder = OverloadShedder::new(config).unwrap();
        let shed = plan(&mut shedder, &all);
        let everywhere = ["a", "b", "c"].map(|name| leave(&shed, name) > 0);
        assert_eq!(everywhere, [mode == Mode::Reference; 3], "{mode:?}");
        let quiet = plan(&mut shedder, &none);
        assert_eq!(rule(&quiet, "a"), "within_limit", "{mode:?}");
        assert_eq!(rule(&quiet, "b"), "within_limit", "{mode:?}");
    }
}
