//! A scenario played to its end: the cluster becomes even and stays so, over a compaction in the
//! middle of a transfer and the loss of a broker; ownership rebuilt from either end is the same.
#![cfg(test)]

use deedbook::ids::{BrokerId, BundleId, Cuts, KeyRange, LogId};
use deedbook::log::MemoryLog;
use deedbook::planner::avg::{AvgShedder, Config};
use deedbook::planner::split;
use deedbook::planner::{BrokerLoad, BundleLoad, ClusterLoad, Resource, Traffic};
use deedbook::sim::play::{Ending, Play, Round};
use deedbook::sim::scenario::{Event, Happening, Scenario};
use deedbook::state::State;
use std::collections::BTreeMap;
use std::sync::Arc;

fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).unwrap()
}

/// A broker at 90 points that carries 80 bundles of 1000 messages, and an empty one at 10.
fn hot_and_idle() -> ClusterLoad {
    let whole = BundleId::new("acme/orders".parse().unwrap(), KeyRange::FULL);
    let cuts = Cuts::even(KeyRange::FULL, 80).unwrap();
    let traffic = Traffic {
        message_rate_in: 1000.0,
        ..Traffic::default()
    };
    let load = BundleLoad {
        short_term: traffic,
        ..BundleLoad::default()
    };
    let hot = BrokerLoad {
        cpu: Some(Resource::new(90.0, 100.0)),
        traffic: Traffic {
            message_rate_in: 80_000.0,
            ..Traffic::default()
        },
        bundles: whole
            .children(&cuts)
            .map(|bundle| (bundle, Some(load)))
            .collect(),
        ..BrokerLoad::default()
    };
    let idle = BrokerLoad {
        cpu: Some(Resource::new(10.0, 100.0)),
        ..BrokerLoad::default()
    };
    let brokers = BTreeMap::from([(broker("hot"), hot), (broker("idle"), idle)]);
    ClusterLoad {
        brokers,
        ..ClusterLoad::default()
    }
}

fn play(scenario: Scenario) -> (Vec<Round>, Ending) {
    let shedder = Box::new(AvgShedder::new(Config::default()).unwrap());
    let make_log = |clock| Arc::new(MemoryLog::new(LogId::new(1), clock)) as _;
    let mut play = Play::start(scenario, shedder, make_log).unwrap();
    let mut rounds = Vec::new();
    while let Some(round) = play.next_round().unwrap() {
        rounds.push(round);
    }
    (rounds, play.finish().unwrap())
}

fn points(load: &ClusterLoad, name: &str) -> f64 {
    load.brokers[&broker(name)]
        .cpu
        .and_then(Resource::ratio)
        .unwrap()
        * 100.0
}

#[test]
fn an_idle_broker_is_filled_by_one_shedding_and_all_is_quiet_ever_after() {
    let (rounds, ending) = play(Scenario::new(hot_and_idle()));
    let shedding: Vec<u32> = rounds
        .iter()
        .filter(|round| !round.moves.is_empty())
        .map(|round| round.number)
        .collect();
    // 80 points of difference are over the high threshold of 40: two rounds in a row are needed.
    assert_eq!(shedding, [2]);
    // Half of the difference would be 40 bundles. The planner takes all that a broker uses for its
    // bundles' doing, 90 / 80 points each, so that for it the 36th is the last that makes the two
    // more even: 90 - 36 * 1.125 = 49.5 against 10 + 36 * 1.125 = 50.5.
    let moves = rounds.iter().map(|round| round.moves.len()).sum::<usize>();
    assert_eq!(moves, 36);
    // In truth a bundle costs one point: (90 - 10) / 80.
    assert!((points(&ending.load, "hot") - 54.0).abs() < 1e-6);
    assert!((points(&ending.load, "idle") - 46.0).abs() < 1e-6);
    let compacted = rounds
        .iter()
        .find_map(|round| round.compacted.as_ref())
        .unwrap();
    assert_eq!(
        compacted.row.record.state(),
        State::Releasing,
        "in the middle of a transfer"
    );
    assert!(ending.agrees());
}

#[test]
fn a_lost_broker_leaves_its_bundles_to_the_other_and_is_filled_when_it_returns() {
    let mut scenario = Scenario::new(hot_and_idle());
    for (round, what) in [
        (4, Happening::Lose(broker("idle"))),
        (6, Happening::Return(broker("idle"))),
    ] {
        scenario.events.push(Event { round, what });
    }
    let (rounds, ending) = play(scenario);
    let alone = &rounds[3].load;
    assert_eq!(alone.brokers.len(), 1);
    assert_eq!(
        alone.brokers[&broker("hot")].bundles.len(),
        80,
        "all found a living owner"
    );
    assert!(ending.agrees());
    let gap = points(&ending.load, "hot") - points(&ending.load, "idle");
    assert!(
        gap.abs() < 15.0,
        "even again, within the low threshold: {gap}"
    );
}

/// A namespace of one bundle that is too big for everybody: nothing can move. It is split until
/// nothing is too big, and then the halves can go to whom they do good.
#[test]
fn what_is_too_big_to_move_is_split_and_moves_then() {
    let mut load = hot_and_idle();
    let whole = BundleId::new("acme/orders".parse().unwrap(), KeyRange::FULL);
    let hot = load.brokers.get_mut(&broker("hot")).unwrap();
    let bundle_load = BundleLoad {
        short_term: hot.traffic,
        topics: 400,
        ..BundleLoad::default()
    };
    hot.bundles = BTreeMap::from([(whole.clone(), Some(bundle_load))]);
    let mut scenario = Scenario::new(load.clone());
    let (rounds, _) = play(scenario.clone());
    assert!(rounds.iter().all(|round| round.moves.is_empty()));

    scenario.splits = Some(split::Config::default());
    let (rounds, ending) = play(scenario);
    let splits: Vec<_> = rounds
        .iter()
        .filter(|round| !round.splits.is_empty())
        .map(|round| (round.number, round.splits.len()))
        .collect();
    // 80 000 messages, and 30 000 are the most: four rounds above it, then halves of 40 000, of
    // which each is above it for four rounds more.
    assert_eq!(splits, [(4, 1), (8, 2)]);
    assert!(rounds.iter().any(|round| !round.moves.is_empty()));
    let brokers = ending.load.brokers.values();
    let bundles: Vec<_> = brokers
        .flat_map(|of| of.bundles.values().flatten())
        .collect();
    assert_eq!(bundles.len(), 4);
    assert_eq!(bundles.iter().map(|of| of.topics).sum::<u64>(), 400);
    let gap = points(&ending.load, "hot") - points(&ending.load, "idle");
    assert!(gap.abs() < 15.0, "within the low threshold: {gap}");
    assert!(ending.agrees());
}
