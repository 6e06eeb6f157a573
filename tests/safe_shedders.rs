//! Goal: what operators have complained of about the strategies of Apache Pulsar does not happen in
//! the safe modes, and a plan that does nothing says why. Method: the clusters of the complaints,
//! with figures worked out by hand.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;
#[path = "support/shedding.rs"]
mod shedding;

use deedbook::planner::overload::{self, OverloadShedder};
use deedbook::planner::threshold::{self, ThresholdShedder};
use deedbook::planner::transfer::{self, TransferShedder};
use deedbook::planner::uniform::{self, UniformShedder};
use deedbook::planner::{Measure, Resource, Smoothed, Traffic};
use load::{broker, carry_out, messages};
use shedding::{cluster, of, plan, rule, until_quiet, with_traffic};
use std::collections::BTreeSet;
use std::time::Duration;

/// A5: history alone sheds nothing; what is said of the broker changes once it is near again.
#[test]
fn history_alone_sheds_nothing_and_says_so() {
    let mut load = cluster(&[&[10.0; 9], &[10.0]]);
    let mut shedder = ThresholdShedder::new(threshold::Config::default()).unwrap();
    // 40 above the average: 35 to be 5 below the threshold of 10, which four bundles are.
    let first = plan(&mut shedder, &load);
    assert_eq!(first.moves.len(), 4);
    carry_out(&mut load, &first, Measure::Bytes);
    // From then on both bear 50, and history counts for nine parts of ten.
    let mut expected = 90.0;
    for round in 2..=22 {
        let plan = plan(&mut shedder, &load);
        expected = expected * 0.9 + 5.0;
        let smoothed = of(&plan, "a").smoothed.unwrap();
        assert!((smoothed - expected).abs() < 1e-9, "{round}: {smoothed}");
        assert!(plan.moves.is_empty(), "{round}");
        let far = expected >= 60.0;
        let said = if far { "history_only" } else { "near_average" };
        assert_eq!(rule(&plan, "a"), said, "{round}: {smoothed}");
    }
}

/// A6: the first round of a new leader sheds from who is hot.
#[test]
fn who_comes_new_to_it_goes_by_what_is() {
    // As after a rolling upgrade: two brokers are hot, the last one is empty, the leader is new.
    let load = cluster(&[&[10.0; 9], &[10.0; 9], &[]]);
    let mut shedder = ThresholdShedder::new(threshold::Config::default()).unwrap();
    let plan = plan(&mut shedder, &load);
    assert!(!plan.moves.is_empty());
    assert!(plan.moves.iter().all(|one| one.to == broker("c")));
}

/// A7, A8: the most loaded gives if another is far below the average, but not below zero.
#[test]
fn an_idle_broker_is_filled_if_that_is_wished() {
    // Ten brokers of eighty points, and one of none: nobody is 10 above the average of 72.7.
    let busy: &[f64] = &[4.0; 20];
    let load = cluster(&[
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        &[],
    ]);
    let config = |lower_boundary| threshold::Config {
        lower_boundary,
        throughput_min: 0.0,
        ..threshold::Config::default()
    };
    let mut without = ThresholdShedder::new(config(false)).unwrap();
    assert!(plan(&mut without, &load).moves.is_empty());
    // Half a threshold is 5 points, which two bundles are more than; 7.3 are above the average.
    let mut with = ThresholdShedder::new(config(true)).unwrap();
    let first = plan(&mut with, &load);
    assert_eq!(first.moves.len(), 1);
    assert_eq!(rule(&first, "a"), "gives");
    let amount = of(&first, "a").amount.unwrap();
    assert!((amount.wanted - 80.0e6 / 11.0).abs() < 1.0, "{amount:?}");
    // With bundles that are small enough it becomes one of them.
    let busy: &[f64] = &[1.0; 80];
    let mut load = cluster(&[
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        busy,
        &[],
    ]);
    let mut shedder = ThresholdShedder::new(config(true)).unwrap();
    let plans = until_quiet(&mut shedder, &mut load);
    let idle = load.brokers[&broker("k")].bundles.len();
    assert!(idle >= 62, "{idle} points after {} rounds", plans.len());
    // Near nothing there is no lower boundary: 5 - 10 is below zero.
    let mut shedder = ThresholdShedder::new(config(true)).unwrap();
    let plan = plan(&mut shedder, &cluster(&[&[5.0, 5.0], &[]]));
    assert_eq!(rule(&plan, "a"), "near_average");
}

/// A14: what is wanted and the minimum.
#[test]
fn what_is_not_worth_a_move_is_said_with_both_numbers() {
    // 40 of 90 points above the average, 35 of them wanted: of 90 MB/s that is 35 MB/s.
    let load = cluster(&[&[10.0; 9], &[10.0]]);
    let config = threshold::Config {
        throughput_min: 36e6,
        ..threshold::Config::default()
    };
    let plan = plan(&mut ThresholdShedder::new(config).unwrap(), &load);
    let said = of(&plan, "a").stopped.as_ref().unwrap().to_string();
    assert_eq!(said, "wanted 35000000.0 B/s, below the minimum of 36000000");
}

#[test]
fn nobody_sheds_where_nobody_has_room() {
    // Ninety points and more everywhere: what one gives would overload another.
    let load = cluster(&[&[1.0; 95], &[1.0; 91], &[1.0; 90]]);
    let mut shedder = OverloadShedder::new(overload::Config::default()).unwrap();
    let plan = plan(&mut shedder, &load);
    assert!(plan.moves.is_empty());
    // The average is 92: three points may leave the first, and nobody would stay below 85.
    assert_eq!(rule(&plan, "a"), "no_room");
    assert_eq!(rule(&plan, "b"), "no_bundle_fits");
}

#[test]
fn the_limit_itself_is_too_much_and_a_little_less_is_not() {
    for (points, gives) in [(85.0, true), (84.999_999, false)] {
        let load = cluster(&[&[5.0, points - 5.0], &[]]);
        let mut shedder = OverloadShedder::new(overload::Config::default()).unwrap();
        let plan = plan(&mut shedder, &load);
        assert_eq!(rule(&plan, "a") == "gives", gives, "{points}");
    }
}

#[test]
fn a_sole_bundle_moves_only_to_where_it_is_a_gain() {
    for (limit, gives) in [(100.0, false), (400.0, true)] {
        let mut load = cluster(&[&[90.0], &[]]);
        let idle = load.brokers.get_mut(&broker("b")).unwrap();
        idle.cpu = Some(Resource::new(0.0, limit));
        let config = transfer::Config {
            rounds_exceeded: 0,
            ..transfer::Config::default()
        };
        let mut shedder = TransferShedder::new(config).unwrap();
        assert!(
            plan(&mut shedder, &load).moves.is_empty(),
            "half of it is wanted"
        );
        let config = uniform::Config {
            unload_ratio_max: 1.0,
            ..uniform::Config::default()
        };
        let mut shedder = UniformShedder::new(config).unwrap();
        let plan = plan(&mut shedder, &load);
        assert_eq!(plan.moves.len(), usize::from(gives), "limit {limit}");
    }
}

/// A10: each measure has its own busiest and idlest.
#[test]
fn the_busiest_is_found_by_one_measure_at_a_time() {
    // Messages and MB a second. By messages the third is the busiest and the fourth the idlest; by
    // bytes the fourth and the fifth.
    let five = [
        (50.0, 50.0),
        (60.0, 60.0),
        (70.0, 70.0),
        (10.0, 80.0),
        (20.0, 10.0),
    ];
    let load = with_traffic(five.iter().map(|(thousands, megabytes)| {
        let one = Traffic {
            throughput_out: megabytes * 1e5,
            ..messages(thousands * 100.0)
        };
        std::iter::repeat_n(one, 10)
    }));
    for (messages_percent, busiest, measure, wanted) in [
        (50.0, "c", Measure::Messages, 12_000.0),
        (0.0, "d", Measure::Bytes, 14_000_000.0),
    ] {
        let config = uniform::Config {
            messages_percent,
            ..uniform::Config::default()
        };
        let plan = plan(&mut UniformShedder::new(config).unwrap(), &load);
        let verdict = of(&plan, busiest);
        assert_eq!(verdict.triggered.as_ref().unwrap().rule(), "busiest");
        let amount = verdict.amount.unwrap();
        assert_eq!(amount.measure, measure);
        assert!((amount.wanted - wanted).abs() < 1e-6, "{amount:?}");
        for other in plan.brokers.values().filter(|other| *other != verdict) {
            assert_eq!(other.stopped.as_ref().unwrap().rule(), "not_the_busiest");
        }
    }
}

/// A12: messages alone decide.
#[test]
fn a_measure_that_is_switched_off_decides_nothing() {
    let three = [(10.0, 20.0), (30.0, 10.0), (10.0, 40.0)];
    let load = with_traffic(three.iter().map(|(thousands, megabytes)| {
        let one = Traffic {
            throughput_out: megabytes * 1e5,
            ..messages(thousands * 100.0)
        };
        std::iter::repeat_n(one, 10)
    }));
    let config = uniform::Config {
        bytes_factor: 0.0,
        ..uniform::Config::default()
    };
    let plan = plan(&mut UniformShedder::new(config).unwrap(), &load);
    assert!(of(&plan, "b").triggered.is_some());
    assert!(plan.moves.iter().all(|one| one.from == broker("b")));
}

/// A13: a share of the difference, nothing below the minimum, no idle bundle.
#[test]
fn idle_bundles_stay_and_trifles_too() {
    // A fifth of 500 MB a second; of 1 MB it is less than the minimum.
    let load = cluster(&[&[5.0; 100], &[]]);
    let config = uniform::Config::default;
    let first = plan(&mut UniformShedder::new(config()).unwrap(), &load);
    let moved: f64 = first.moves.iter().map(|one| one.load.bytes()).sum();
    assert!((95e6..=100e6).contains(&moved), "{moved}");
    let load = cluster(&[&[0.5, 0.5], &[]]);
    let second = plan(&mut UniformShedder::new(config()).unwrap(), &load);
    assert_eq!(rule(&second, "a"), "too_little");
    // The one bundle with traffic would only carry the load elsewhere; the others bear nothing.
    let load = cluster(&[&[15.0, 0.0, 0.0, 0.0, 0.0], &[]]);
    let config = uniform::Config {
        unload_ratio_max: 1.0,
        ..config()
    };
    let third = plan(&mut UniformShedder::new(config).unwrap(), &load);
    assert!(third.moves.is_empty());
    let idle = of(&third, "a")
        .kept
        .iter()
        .filter(|(_, kept)| kept.rule() == "idle");
    assert_eq!(idle.count(), 4);
}

/// A15: to the idlest by bytes, each bundle once, until they are even.
#[test]
fn what_is_shed_by_bytes_is_placed_by_bytes() {
    // Few large messages here, many small ones there.
    let three = [(100.0, 100.0), (10_000.0, 10.0), (50.0, 40.0)];
    let mut load = with_traffic(three.iter().map(|(rate, megabytes)| {
        let one = Traffic {
            throughput_out: megabytes * 5e4,
            ..messages(rate / 20.0)
        };
        std::iter::repeat_n(one, 20)
    }));
    let config = uniform::Config {
        messages_percent: 0.0,
        bytes_factor: 1.1,
        throughput_min: 0.0,
        unload_ratio_max: 0.5,
        ..uniform::Config::default()
    };
    let mut shedder = UniformShedder::new(config).unwrap();
    let plans = until_quiet(&mut shedder, &mut load);
    // Up to 40 MB a second it is the idlest by bytes, whatever its messages.
    let first = plans[0].moves.iter().take(6);
    assert!(first.clone().all(|one| one.to == broker("b")));
    let mut moved = BTreeSet::new();
    for one in plans.iter().flat_map(|plan| &plan.moves) {
        assert!(moved.insert(one.bundle.clone()), "{one} again");
    }
    let bytes = load.brokers.values().map(|of| of.traffic.bytes());
    let (least, most) = bytes.fold((f64::MAX, 0.0_f64), |(least, most), bytes| {
        (least.min(bytes), most.max(bytes))
    });
    assert!(most / least <= 1.25, "{most} to {least}");
}

#[test]
fn the_transfer_strategy_waits_and_leaves_out_reports_that_are_not_fit() {
    let mut load = cluster(&[&[10.0; 9], &[10.0], &[10.0], &[10.0; 8]]);
    let mut shedder = TransferShedder::new(transfer::Config::default()).unwrap();
    for round in 1..=3 {
        let plan = plan(&mut shedder, &load);
        assert_eq!(rule(&plan, "a"), "not_uneven_for_long", "{round}");
    }
    assert!(!plan(&mut shedder, &load).moves.is_empty());
    let mut report = |name: &str, age, since| {
        load.brokers.get_mut(&broker(name)).unwrap().smoothed = Some(Smoothed {
            age: Duration::from_secs(age),
            since_unload: since,
            ..Smoothed::default()
        });
    };
    report("a", 0, Some(Duration::from_secs(179)));
    report("b", 1801, None);
    let config = transfer::Config {
        rounds_exceeded: 0,
        ..transfer::Config::default()
    };
    let plan = plan(&mut TransferShedder::new(config).unwrap(), &load);
    assert_eq!(
        (rule(&plan, "a"), rule(&plan, "b")),
        ("cool_down", "old_report")
    );
    assert!(
        plan.moves
            .iter()
            .all(|one| one.from == broker("d") && one.to == broker("c"))
    );
    assert!(!plan.moves.is_empty());
}
