//! Goal: where a strategy leaves destinations to placement they are chosen before anything is
//! unloaded, under the constraints, and never is the source. Method: each strategy that leaves them
//! open with each kind of placement, one constraint at a time; and the closed loop of bug report
//! A15, shed by bytes and placed by messages.
#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;

use deedbook::ids::{BundleId, LogId};
use deedbook::log::MemoryLog;
use deedbook::planner::{
    Allowed, Constrained, Constraints, Kept, Mode, Placement, PlacementKind, Plan, Resource,
    Settings, Strategy, Traffic, uniform,
};
use deedbook::planner::{BrokerLoad, BundleLoad, ClusterLoad};
use deedbook::sim::play::{Play, Round};
use deedbook::sim::scenario::Scenario;
use load::broker;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const MB: f64 = 1e6;

/// Brokers by bytes and messages a second, which their ten bundles share evenly; a full processor
/// is 120 MB.
fn cluster(brokers: &[(&str, f64, f64)]) -> ClusterLoad {
    let mut load = ClusterLoad::default();
    for (space, &(name, bytes, messages)) in brokers.iter().enumerate() {
        let share = |part: f64| Traffic {
            message_rate_in: messages * part,
            throughput_in: bytes * part,
            ..Traffic::default()
        };
        let known = BundleLoad {
            short_term: share(0.1),
            topics: 10,
            ..BundleLoad::default()
        };
        let bundles = (0..10_u32).map(|index| {
            let (lower, upper) = (index * 16, index * 16 + 16);
            let upper = if index == 9 { u32::MAX } else { upper };
            let name = format!("t/n{space}/{lower:#010x}_{upper:#010x}");
            (name.parse().unwrap(), Some(known))
        });
        let of = BrokerLoad {
            cpu: Some(Resource::new(bytes / MB, 120.0)),
            traffic: share(1.0),
            bundles: bundles.collect(),
            ..BrokerLoad::default()
        };
        load.brokers.insert(broker(name), of);
    }
    load
}

/// Sheds from whoever has more than 1.1 times the bytes of the idlest.
fn by_bytes(mode: Mode) -> Settings {
    Settings::Uniform(uniform::Config {
        mode,
        messages_percent: 0.0,
        bytes_factor: 1.1,
        ..uniform::Config::default()
    })
}

/// The strategies that leave destinations open, so set that they act at once on 100 of 120 MB.
fn open() -> Vec<Settings> {
    let reference = |strategy: Strategy| strategy.settings(Mode::Reference);
    let mut overload = deedbook::planner::overload::Config::default();
    (overload.mode, overload.limit_points) = (Mode::Reference, 50.0);
    vec![
        by_bytes(Mode::Reference),
        reference(Strategy::Threshold),
        Settings::Overload(overload),
    ]
}

/// What each of them comes to with each kind of placement, and what it was before.
fn placed(constraints: &Constraints, mut check: impl FnMut(&str, &Plan, &Plan)) {
    let load = cluster(&[
        ("a", 100.0 * MB, 5000.0),
        ("b", 10.0 * MB, 500.0),
        ("c", 20.0 * MB, 90.0),
    ]);
    for settings in open() {
        for kind in PlacementKind::ALL {
            for mode in [Mode::Safe, Mode::Reference] {
                let mut shedder = settings.clone().build().unwrap();
                let before = shedder.plan(&load, constraints);
                let inner = kind.build(mode, 3).unwrap();
                let mut placement = Constrained::new(inner, constraints.clone());
                placement.observe(&load);
                let mut plan = before.clone();
                plan.place(&load, &mut placement);
                assert!(plan.unloads.is_empty());
                let what = format!("{} with {kind} {mode:?}", settings.strategy());
                check(&what, &before, &plan);
            }
        }
    }
}

#[test]
fn whatever_is_to_leave_goes_to_another_broker() {
    placed(&Constraints::default(), |what, before, plan| {
        assert!(!before.unloads.is_empty(), "{what}");
        let wanted: Vec<_> = before.unloads.iter().map(|one| &one.bundle).collect();
        let moved: Vec<_> = plan.moves.iter().map(|one| &one.bundle).collect();
        assert_eq!(moved, wanted, "{what}");
        for moving in &plan.moves {
            assert_eq!(moving.from, broker("a"), "{what}");
            assert_ne!(moving.to, moving.from, "{what}");
            let before = before.brokers[&moving.to].score.as_ref().unwrap().points;
            assert!(moving.to_score_after > before, "{what}");
        }
        // Each bundle bears a tenth of the 100 MB: 100 / 120 of a processor.
        let last = plan.moves.last().unwrap().from_score_after;
        let left = 10.0 - plan.moves.len() as f64;
        assert!((last - left * 10.0 / 1.2).abs() < 1e-6, "{what}: {last}");
    });
}

#[test]
fn a_constraint_binds_the_destination_whatever_chooses() {
    let allowed = Allowed {
        primary: [broker("b")].into(),
        ..Allowed::default()
    };
    let mut constraints = Constraints::default();
    constraints.allowed.insert("t/n0".parse().unwrap(), allowed);
    placed(&constraints, |what, _, plan| {
        assert!(!plan.moves.is_empty(), "{what}");
        assert!(plan.moves.iter().all(|one| one.to == broker("b")), "{what}");
    });
}

/// `b` and `c` have 100 topics each, and there is room on each for one bundle of ten more: what
/// fits nowhere any more stays, is no part of what was reached, and the plan says why.
#[test]
fn what_nobody_may_have_is_not_unloaded_and_the_plan_says_so() {
    for (topics_max, room) in [(110, 2), (109, 0)] {
        let constraints = Constraints {
            topics_max: Some(topics_max),
            ..Constraints::default()
        };
        placed(&constraints, |what, before, plan| {
            let wanted = before.unloads.len();
            let moves = plan.moves.len();
            assert_eq!(moves, wanted.min(room), "{what}");
            let verdict = &plan.brokers[&broker("a")];
            let no_room =
                |(_, kept): &&(BundleId, Kept)| matches!(kept, Kept::NoLegalDestination { .. });
            let said = verdict.kept.iter().filter(no_room).count();
            assert!(said >= wanted - moves, "{what}");
            assert_eq!(verdict.stopped.is_some(), moves == 0, "{what}: {verdict:?}");
            let amount = verdict.amount.unwrap();
            let carried: f64 = plan
                .moves
                .iter()
                .map(|one| amount.measure.of(&one.load))
                .sum();
            assert!((amount.reached - carried).abs() < 1.0, "{what}: {amount:?}");
        });
    }
}

/// Half an hour, the grace period: so many rounds of a minute.
const GRACE: u32 = 30;

fn play(settings: Settings, placement: Option<(PlacementKind, Mode)>) -> (Vec<Round>, f64) {
    // A15: `b` has next to no bytes and most messages.
    let load = cluster(&[
        ("a", 100.0 * MB, 100.0),
        ("b", 10.0 * MB, 10_000.0),
        ("c", 40.0 * MB, 50.0),
    ]);
    let mut scenario = Scenario::new(load);
    scenario.placement = placement;
    scenario.rounds.max = 50;
    scenario.rounds.quiet = 50;
    scenario.balance.cool_down = Duration::from_secs(60 * u64::from(GRACE));
    let make_log = |clock| Arc::new(MemoryLog::new(LogId::new(1), clock)) as _;
    let mut play = Play::start(scenario, settings.build().unwrap(), make_log).unwrap();
    let mut rounds = Vec::new();
    while let Some(round) = play.next_round().unwrap() {
        rounds.push(round);
    }
    let load = play.finish().unwrap().load;
    let bytes = load.brokers.values().map(|of| of.traffic.bytes());
    let (least, most) = bytes.fold((f64::INFINITY, 0.0_f64), |(least, most), bytes| {
        (least.min(bytes), most.max(bytes))
    });
    (rounds, most / least)
}

/// No bundle moves twice within its grace period.
fn moves_once(rounds: &[Round]) {
    let mut moved: BTreeMap<&BundleId, u32> = BTreeMap::new();
    for round in rounds {
        for report in &round.moves {
            let last = moved.insert(&report.transfer.bundle, round.number);
            assert!(
                last.is_none_or(|last| round.number >= last + GRACE),
                "{report:?}"
            );
        }
    }
}

/// The last round in which something moved.
fn last_move(rounds: &[Round]) -> u32 {
    let moved = rounds.iter().filter(|round| !round.moves.is_empty());
    moved.map(|round| round.number).max().unwrap_or(0)
}

/// A15: shed by bytes, placed by messages: the reference still moves in its last rounds, and leaves
/// more than 1.1 times the bytes; the safe mode places by what it sheds by, and comes to rest.
#[test]
fn a15_in_a_closed_loop() {
    let by_messages = PlacementKind::LeastLongTermMessageRate;
    let (rounds, ratio) = play(
        by_bytes(Mode::Reference),
        Some((by_messages, Mode::Reference)),
    );
    moves_once(&rounds);
    println!("reference: {ratio} {}", last_move(&rounds));
    // `b`, which has the fewest bytes and the most messages, gets nothing.
    let to_b = rounds.iter().flat_map(|round| &round.moves);
    assert_eq!(
        to_b.filter(|made| made.transfer.to == Some(broker("b")))
            .count(),
        0
    );
    assert!(ratio > 2.0, "{ratio}");

    for placement in [None, Some((by_messages, Mode::Safe))] {
        let (rounds, ratio) = play(by_bytes(Mode::Safe), placement);
        moves_once(&rounds);
        println!("safe: {ratio} {}", last_move(&rounds));
        let last = &rounds.last().unwrap().plan;
        let even = ratio <= 1.1;
        let helpless =
            last.moves.is_empty() && last.brokers.values().all(|of| of.stopped.is_some());
        assert!(even || helpless, "{ratio}");
        assert!(ratio < 2.0, "{ratio}");
        assert!(last_move(&rounds) < 40, "it is quiet at the end");
    }
}
