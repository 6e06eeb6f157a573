//! Which bundles move: big ones, sole ones, those of others, those that nobody else may have.

use super::BOTH;
use super::load::{broker, bundle, bundle_load, bytes};
use super::shedding::{carry_out_to, cluster, leave, of, plan, rule, sources};
use deedbook::ids::{BundleId, Namespace};
use deedbook::planner::avg::{self, AvgShedder};
use deedbook::planner::overload::{Config, OverloadShedder};
use deedbook::planner::{
    Allowed, ClusterLoad, Constraints, Mode, Plan, Settings, Shedder as _, Smoothed, Strategy,
};
use std::collections::{BTreeMap, BTreeSet};

fn overload(mode: Mode) -> OverloadShedder {
    OverloadShedder::new(Config {
        mode,
        ..Config::default()
    })
    .unwrap()
}

/// The strategies of the field, so set that they act on one broker of 90 points, in their first
/// round.
fn all(mode: Mode) -> Vec<Settings> {
    let mut all = Vec::new();
    for strategy in Strategy::ALL {
        let mut settings = strategy.settings(mode);
        match &mut settings {
            Settings::Avg(config) => (config.high_hits, config.low_hits) = (1, 1),
            Settings::Transfer(config) => config.rounds_exceeded = 0,
            Settings::Global(_) => continue,
            _ => {}
        }
        all.push(settings);
    }
    all
}

/// Lets brokers report as transfers need it.
fn reported(mut load: ClusterLoad) -> ClusterLoad {
    for of in load.brokers.values_mut() {
        of.smoothed = Some(Smoothed {
            usage: of.cpu.unwrap().usage / 100.0,
            throughput: of.traffic.bytes(),
            top_bundles: Some(of.bundles.keys().cloned().collect()),
            ..Smoothed::default()
        });
    }
    load
}

fn kept(plan: &Plan, name: &str, bundle: &BundleId) -> Option<&'static str> {
    let kept = of(plan, name).kept.iter();
    let mut kept = kept.filter(|(one, _)| one == bundle);
    kept.next().map(|(_, why)| why.rule())
}

/// A21, A29: a bundle that may be on its owner alone is not unloaded, only to come back: no
/// strategy does in either mode, and it says so.
#[test]
fn a21_what_can_only_come_back_is_not_unloaded() {
    let load = reported(cluster(&[&[10.0; 9], &[10.0], &[]]));
    let namespace = Namespace::new("t/n").unwrap();
    let only = |name: &str| Allowed {
        primary: BTreeSet::from([broker(name)]),
        ..Allowed::default()
    };
    let constraints = Constraints {
        allowed: BTreeMap::from([(namespace, only("a"))]),
        ..Constraints::default()
    };
    for mode in BOTH {
        for settings in all(mode) {
            let strategy = settings.strategy();
            let again = settings.clone();
            let free = settings
                .build()
                .unwrap()
                .plan(&load, &Constraints::default());
            assert_eq!(sources(&free), ["a"], "{strategy}, {mode:?}");
            let bound = again.build().unwrap().plan(&load, &constraints);
            assert!(sources(&bound).is_empty(), "{strategy}, {mode:?}");
            assert_ne!(rule(&bound, "a"), "gives", "{strategy}, {mode:?}");
        }
    }
}

/// A29: while there are too few primaries the secondary may have it, and nobody else.
#[test]
fn a29_isolation_binds_the_destination() {
    let load = reported(cluster(&[&[10.0; 9], &[10.0; 5], &[]]));
    let allowed = Allowed {
        primary: BTreeSet::from([broker("a")]),
        secondary: BTreeSet::from([broker("b")]),
        primaries_min: 2,
    };
    let constraints = Constraints {
        allowed: BTreeMap::from([(Namespace::new("t/n").unwrap(), allowed)]),
        ..Constraints::default()
    };
    for settings in all(Mode::Safe) {
        let strategy = settings.strategy();
        let plan = settings.build().unwrap().plan(&load, &constraints);
        let to_others = plan.moves.iter().filter(|one| one.to != broker("b"));
        assert_eq!(to_others.count(), 0, "{strategy}");
    }
    let mut shedder = overload(Mode::Safe);
    let plan = shedder.plan(&load, &constraints);
    assert!(plan.moves.iter().any(|one| one.to == broker("b")));
}

/// A25: 100 MB/s at 100 %: 20 MB/s should leave. The reference takes the bundle of 60, the biggest
/// one, whatever it does to who gets it; the safe mode those of 20 or less.
#[test]
fn a25_the_biggest_bundle_goes_whatever_is_wanted() {
    let load = cluster(&[&[60.0, 20.0, 10.0, 10.0], &[5.0]]);
    let reference = plan(&mut overload(Mode::Reference), &load);
    let moved: Vec<_> = reference
        .unloads
        .iter()
        .map(|one| one.load.bytes())
        .collect();
    assert_eq!(moved, [60e6]);
    let safe = plan(&mut overload(Mode::Safe), &load);
    assert!(leave(&safe, "a") > 0);
    let biggest = safe.moves.iter().map(|one| one.load.bytes());
    assert!(biggest.fold(0.0, f64::max) <= 20e6, "{:?}", safe.moves);
}

/// A25: one huge bundle goes to and fro in the reference for as long as it is hot; in the safe mode
/// it stays, as whoever gets it would be as hot.
#[test]
fn a25_a_huge_bundle_wanders() {
    for mode in BOTH {
        let mut load = cluster(&[&[90.0, 1.0], &[1.0, 1.0]]);
        let mut shedder = overload(mode);
        let mut moves = 0;
        for _ in 0..10 {
            let plan = plan(&mut shedder, &load);
            let from = sources(&plan);
            let loads = plan.moves.iter().map(|one| one.load);
            let loads = loads.chain(plan.unloads.iter().map(|one| one.load));
            moves += loads.filter(|load| load.bytes() == 90e6).count();
            let to = if from.contains(&"a".to_owned()) {
                "b"
            } else {
                "a"
            };
            carry_out_to(&mut load, &plan, to);
        }
        let expected = if mode == Mode::Reference { 10 } else { 0 };
        assert_eq!(moves, expected, "{mode:?}");
    }
}

/// A25: where all are overloaded all shed, for nothing.
#[test]
fn a25_all_are_overloaded() {
    let load = cluster(&[&[1.0; 95], &[1.0; 91]]);
    let reference = plan(&mut overload(Mode::Reference), &load);
    assert_eq!(sources(&reference), ["a", "b"]);
    assert!(sources(&plan(&mut overload(Mode::Safe), &load)).is_empty());
}

/// A25: the limit itself is too much, here one that single precision keeps exactly.
#[test]
fn a25_the_limit_is_too_much() {
    let load = cluster(&[&[1.0; 75], &[]]);
    for mode in BOTH {
        for (limit_points, gives) in [(75.0, true), (75.001, false)] {
            let config = Config { mode, limit_points };
            let plan = plan(&mut OverloadShedder::new(config).unwrap(), &load);
            assert_eq!(leave(&plan, "a") > 0, gives, "{mode:?}, {limit_points}");
        }
    }
}

/// A25: at exactly 85 % a twentieth goes; a sole bundle and what moved lately never do.
#[test]
fn a25_the_limit_itself_sole_bundles_and_recent_ones() {
    for mode in BOTH {
        let load = cluster(&[&[1.0; 85], &[]]);
        let at = plan(&mut overload(mode), &load);
        assert_eq!(leave(&at, "a"), 5, "{mode:?}");
        let sole = plan(&mut overload(mode), &cluster(&[&[85.0], &[]]));
        assert!(sources(&sole).is_empty(), "{mode:?}");
        let mut recent = load.clone();
        recent.recently_moved = load.brokers[&broker("a")].bundles.keys().cloned().collect();
        let recent = plan(&mut overload(mode), &recent);
        assert!(sources(&recent).is_empty(), "{mode:?}");
        assert_eq!(kept(&recent, "a", &bundle(0)), Some("recently_moved"));
    }
}

/// A26: a heartbeat cannot move, so it is no part of what is chosen, and what is missing is said.
#[test]
fn a26_heartbeats_are_no_candidates() {
    let mut load = cluster(&[&[80.0, 5.0, 5.0], &[]]);
    let heartbeat: BundleId = "pulsar/a:8080/0x00000000_0xffffffff".parse().unwrap();
    let hot = load.brokers.get_mut(&broker("a")).unwrap();
    hot.bundles.remove(&bundle(0));
    hot.bundles
        .insert(heartbeat.clone(), bundle_load(bytes(80e6)));
    for mode in BOTH {
        let plan = plan(&mut overload(mode), &load);
        assert_eq!(kept(&plan, "a", &heartbeat), Some("excluded_namespace"));
        assert!(leave(&plan, "a") <= 2, "{mode:?}");
        let amount = of(&plan, "a").amount.unwrap();
        assert!(amount.reached <= 10e6, "{mode:?}: {amount:?}");
    }
}

/// A26: of a bundle that two brokers report nobody knows who owns it: it moves once at most.
#[test]
fn a26_two_brokers_report_one_bundle() {
    let mut load = cluster(&[&[30.0; 3], &[30.0; 3], &[]]);
    let twice = bundle_load(bytes(30e6));
    let other = load.brokers.get_mut(&broker("b")).unwrap();
    other.bundles.remove(&bundle(3));
    other.bundles.insert(bundle(0), twice);
    for mode in BOTH {
        let plan = plan(&mut overload(mode), &load);
        let moves = plan.moves.iter().map(|one| &one.bundle);
        let all = moves.chain(plan.unloads.iter().map(|one| &one.bundle));
        let times = all.filter(|one| **one == bundle(0)).count();
        assert!(times <= 1, "{mode:?}: {times}");
    }
}

/// S3: the reference says of a sole bundle that it stays, and moves it if all may move.
#[test]
fn s3_a_sole_bundle_moves() {
    let load = cluster(&[&[60.0], &[]]);
    for (mode, moves) in [(Mode::Reference, 1), (Mode::Safe, 0)] {
        let config = avg::Config {
            mode,
            unload_ratio_max: 1.0,
            high_hits: 1,
            ..avg::Config::default()
        };
        let plan = plan(&mut AvgShedder::new(config).unwrap(), &load);
        assert_eq!(leave(&plan, "a"), moves, "{mode:?}");
    }
    // None of the others touches it.
    for mode in BOTH {
        for settings in all(mode) {
            let strategy = settings.strategy();
            let load = reported(cluster(&[&[90.0], &[]]));
            let plan = settings
                .build()
                .unwrap()
                .plan(&load, &Constraints::default());
            assert!(sources(&plan).is_empty(), "{strategy}, {mode:?}");
        }
    }
}
