//! Threshold shedding: what history, averages and the lower boundary do.

use super::BOTH;
use super::load::broker;
use super::shedding::{carry_out_to, cluster, leave, of, plan, rule, sources};
use deedbook::planner::threshold::{Config, ThresholdShedder};
use deedbook::planner::{ClusterLoad, Mode, Resource};

/// Points of history that single precision may add.
const POINTS: f64 = 1e-5;

fn config(mode: Mode) -> Config {
    Config {
        mode,
        throughput_min: 0.0,
        ..Config::default()
    }
}

fn shedder(config: Config) -> ThresholdShedder {
    ThresholdShedder::new(config).unwrap()
}

/// A5: 90 and 10, and from the second round on 50 and 50 as placement made them. The score
/// remembers 90 and sheds for ten rounds more; the safe mode sheds nothing, and says that history
/// alone is above.
#[test]
fn a05_history_sheds_again_after_balance_is_reached() {
    let (uneven, even) = (
        cluster(&[&[10.0; 9], &[10.0]]),
        cluster(&[&[10.0; 5], &[10.0; 5]]),
    );
    for mode in BOTH {
        let mut shedder = shedder(config(mode));
        assert_eq!(sources(&plan(&mut shedder, &uneven)), ["a"], "{mode:?}");
        let mut expected = 90.0;
        for round in 2..=11 {
            let plan = plan(&mut shedder, &even);
            expected = expected * 0.9 + 5.0;
            let smoothed = of(&plan, "a").smoothed.unwrap();
            assert!(
                (smoothed - expected).abs() < POINTS,
                "{mode:?}, round {round}"
            );
            let said = match mode {
                Mode::Reference => "gives",
                Mode::Safe if round <= 4 => "unsettled",
                Mode::Safe => "history_only",
            };
            assert_eq!(rule(&plan, "a"), said, "{mode:?}, round {round}");
        }
        // It was 63.95 and goes on falling; the words say that it is history.
        let last = plan(&mut shedder, &even);
        let words = match mode {
            Mode::Reference => of(&last, "a").triggered.as_ref().unwrap().to_string(),
            Mode::Safe => of(&last, "a").stopped.as_ref().unwrap().to_string(),
        };
        assert!(words.contains("history alone makes"), "{words}");
        assert!(
            words.contains("62.6 points") && words.contains("50.0"),
            "{words}"
        );
    }
}

/// A6: a leader without history takes what is for what was: it acts in its first round.
#[test]
fn a06_a_new_leader_begins_with_what_is() {
    let load = cluster(&[&[10.0; 9], &[10.0; 9], &[]]);
    for mode in BOTH {
        let plan = plan(&mut shedder(config(mode)), &load);
        assert!((of(&plan, "a").smoothed.unwrap() - 90.0).abs() < POINTS);
        assert_eq!(sources(&plan), ["a", "b"], "{mode:?}");
    }
}

/// Ten brokers of 80 points and a new one; each has so many bundles of 10 MB/s.
fn ten_and_an_idle_one(tens: usize) -> ClusterLoad {
    let bundles = vec![10.0; tens];
    let mut brokers = vec![bundles.as_slice(); 10];
    brokers.push(&[]);
    let mut load = cluster(&brokers);
    for of in load.brokers.values_mut() {
        let cpu = of.cpu.as_mut().unwrap();
        *cpu = Resource::new(if cpu.usage > 0.0 { 80.0 } else { 0.0 }, 100.0);
    }
    load
}

/// A7: ten brokers of 80 points and one of none: 80 is less than 10 above the average of 72.7. With
/// the lower boundary one of the busy gives, unless that is too little.
#[test]
fn a07_an_idle_broker_is_not_filled() {
    for mode in BOTH {
        let lower_boundary = |lower_boundary, throughput_min| Config {
            lower_boundary,
            throughput_min,
            ..config(mode)
        };
        let minimum = Config::default().throughput_min;
        let load = ten_and_an_idle_one(30);
        let without = plan(&mut shedder(lower_boundary(false, minimum)), &load);
        assert!(sources(&without).is_empty(), "{mode:?}");
        let with = plan(&mut shedder(lower_boundary(true, minimum)), &load);
        assert_eq!(sources(&with), ["a"], "{mode:?}");
        // A twentieth of 300 MB/s is 15: two bundles. Of the same 5 points the safe mode makes a
        // sixteenth, 18.75: two bundles as well.
        assert_eq!(leave(&with, "a"), 2, "{mode:?}");
        // A twentieth of 100 MB/s is below the minimum of 10 MiB/s, and that is said.
        let load = ten_and_an_idle_one(10);
        let little = plan(&mut shedder(lower_boundary(true, minimum)), &load);
        assert!(sources(&little).is_empty(), "{mode:?}");
        assert_eq!(rule(&little, "a"), "too_little", "{mode:?}");
    }
}

/// A7: whoever has a single bundle is passed over.
#[test]
fn a07_sole_bundles_are_passed_over() {
    let mut brokers: Vec<&[f64]> = vec![&[80.0]; 10];
    brokers[3] = &[4.0; 20];
    brokers.push(&[]);
    for mode in BOTH {
        let lower_boundary = Config {
            lower_boundary: true,
            ..config(mode)
        };
        let plan = plan(&mut shedder(lower_boundary), &cluster(&brokers));
        assert_eq!(sources(&plan), ["d"], "{mode:?}");
    }
}

/// A8: 10 and 0 points: the average less the threshold is below zero, so that nobody is below it.
/// Both modes keep to that: near nothing a move gains nothing.
#[test]
fn a08_the_lower_boundary_is_below_zero() {
    for mode in BOTH {
        let lower_boundary = Config {
            lower_boundary: true,
            ..config(mode)
        };
        let plan = plan(&mut shedder(lower_boundary), &cluster(&[&[5.0, 5.0], &[]]));
        assert!(sources(&plan).is_empty(), "{mode:?}");
        assert_eq!(rule(&plan, "a"), "near_average", "{mode:?}");
    }
}

/// A9: 60, 20 and 10: 30 above the average of 30. The reference gives 25 % of its bytes, to be 5
/// below the threshold by its words: three of ten bundles, which leaves 42 points. The safe mode
/// means the 25 points themselves: 25 of 60 are five of ten bundles, and 30 are left.
#[test]
fn a09_points_are_taken_for_a_share_of_bytes() {
    let load = cluster(&[&[6.0; 10], &[20.0], &[10.0]]);
    for (mode, bundles, wanted) in [(Mode::Reference, 3, 15e6), (Mode::Safe, 5, 30e6)] {
        let plan = plan(&mut shedder(config(mode)), &load);
        assert_eq!(leave(&plan, "a"), bundles, "{mode:?}");
        let amount = of(&plan, "a").amount.unwrap();
        assert!(
            (amount.wanted - wanted).abs() < 10.0,
            "{mode:?}: {amount:?}"
        );
    }
}

/// A9: exactly at the threshold is above it.
#[test]
fn a09_the_threshold_itself_is_too_much() {
    // Without fractions, and so without single precision in the way: 75, 50 and 25.
    let at = cluster(&[&[25.0; 3], &[25.0; 2], &[25.0]]);
    for mode in BOTH {
        for (threshold_points, gives) in [(25.0, true), (25.001, false)] {
            let config = Config {
                threshold_points,
                ..config(mode)
            };
            let plan = plan(&mut shedder(config), &at);
            let triggered = of(&plan, "a").triggered.is_some();
            assert_eq!(triggered, gives, "{mode:?}, {threshold_points}");
        }
    }
}

/// A23: who leaves and comes back has no history.
#[test]
fn a23_history_of_brokers_that_left() {
    let all = cluster(&[&[1.0; 50], &[1.0; 50], &[1.0; 90]]);
    let without = cluster(&[&[1.0; 50], &[1.0; 50]]);
    let back = cluster(&[&[1.0; 50], &[1.0; 50], &[1.0; 5]]);
    for mode in BOTH {
        let mut shedder = shedder(config(mode));
        plan(&mut shedder, &all);
        plan(&mut shedder, &without);
        assert_eq!(shedder.usage().len(), 2, "{mode:?}");
        let plan = plan(&mut shedder, &back);
        let smoothed = of(&plan, "c").smoothed.unwrap();
        assert!((smoothed - 5.0).abs() < POINTS, "{mode:?}: {smoothed}");
    }
}

/// S4: the pass for the lower boundary takes in the same report a second time.
#[test]
fn s4_the_lower_boundary_takes_in_a_report_twice() {
    for (mode, expected) in [(Mode::Reference, 80.0 * 0.81), (Mode::Safe, 80.0 * 0.9)] {
        let lower_boundary = Config {
            lower_boundary: true,
            ..config(mode)
        };
        let mut shedder = shedder(lower_boundary);
        plan(&mut shedder, &cluster(&[&[1.0; 80], &[1.0; 80]]));
        let plan = plan(&mut shedder, &cluster(&[&[], &[]]));
        let smoothed = of(&plan, "a").smoothed.unwrap();
        assert!((smoothed - expected).abs() < POINTS, "{mode:?}: {smoothed}");
    }
}

/// S4 and A7: the broker that is filled and the one that fills it change places no more than once.
#[test]
fn a07_the_idle_broker_does_not_become_the_hot_one() {
    let mut load = cluster(&[&[1.0; 80], &[1.0; 80], &[1.0; 80], &[]]);
    let lower_boundary = Config {
        lower_boundary: true,
        ..config(Mode::Safe)
    };
    let mut shedder = shedder(lower_boundary);
    for _ in 0..50 {
        let plan = plan(&mut shedder, &load);
        assert_eq!(leave(&plan, "d"), 0);
        carry_out_to(&mut load, &plan, "d");
    }
    let filled = load.brokers[&broker("d")].bundles.len();
    assert!((45..=60).contains(&filled), "{filled}");
}
