//! Goal: under constant load plans are legal, finite and each an improvement (I12), whatever the
//! order of the input. Method: random clusters whose load follows the moves.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;

use deedbook::planner::avg::{AvgShedder, Config, Mode};
use deedbook::planner::{BrokerLoad, ClusterLoad, Measure, Plan, Resource, Traffic};
use load::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The sum of the squares of all scores.
fn potential(plan: &Plan) -> f64 {
    let scores = plan
        .brokers
        .values()
        .filter_map(|verdict| verdict.score.as_ref());
    scores.map(|score| score.points * score.points).sum()
}

/// A cluster whose loads follow its bundles: capacities and bundles of random size.
fn closed_cluster() -> impl Strategy<Value = ClusterLoad> {
    let capacity = prop_oneof![Just(50.0), Just(100.0), Just(400.0)];
    let bundle = (0.0..8000.0f64, 0.0..8e6f64);
    let one = (capacity, prop::collection::vec(bundle, 0..12));
    prop::collection::vec(one, 1..9).prop_map(|brokers| {
        let mut load = ClusterLoad::default();
        let mut next = 0;
        for (index, (capacity, bundles)) in brokers.into_iter().enumerate() {
            let resource = Some(Resource::new(0.0, capacity));
            let mut broker_load = BrokerLoad {
                cpu: resource,
                bandwidth_in: resource,
                bandwidth_out: resource,
                ..BrokerLoad::default()
            };
            for (rate, throughput) in bundles {
                let traffic = Traffic {
                    message_rate_in: rate / 2.0,
                    message_rate_out: rate / 2.0,
                    throughput_in: throughput / 4.0,
                    throughput_out: throughput * 3.0 / 4.0,
                };
                broker_load
                    .bundles
                    .insert(self::bundle(next), bundle_load(traffic));
                next += 1;
            }
            load.brokers
                .insert(broker(&format!("b{index}")), broker_load);
        }
        load
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// E7, I12: under constant load each move lowers the potential, and after finitely many there
    /// is quiet.
    #[test]
    fn plans_converge(
        mut load in closed_cluster(),
        ratio in prop_oneof![Just(0.5), Just(1.0)],
        follows in prop_oneof![Just(Measure::Messages), Just(Measure::Bytes)],
    ) {
        settle(&mut load, follows);
        let config = Config {
            low_hits: 2,
            unload_ratio_max: ratio,
            message_rate_min: 0.0,
            throughput_min: 0.0,
            ..Config::default()
        };
        let mut shedder = AvgShedder::new(config).unwrap();
        let mut quiet = 0;
        let mut rounds = 0;
        while quiet < 20 {
            rounds += 1;
            prop_assert!(rounds < 2000, "still moving");
            let plan = plan(&mut shedder, &load);
            quiet = if plan.moves.is_empty() { quiet + 1 } else { 0 };
            let mut moved = BTreeSet::new();
            for one in &plan.moves {
                prop_assert!(one.from != one.to && load.brokers.contains_key(&one.to));
                prop_assert!(moved.insert(&one.bundle), "moved twice");
                let before = potential(&look(&load));
                let single = Plan { moves: vec![one.clone()], ..Plan::default() };
                carry_out(&mut load, &single, follows);
                let after = potential(&look(&load));
                prop_assert!(after < before, "{one}: {before} -> {after}");
            }
            for (name, verdict) in &plan.brokers {
                let sheds = plan.moves.iter().any(|planned| planned.from == *name);
                prop_assert_eq!(verdict.stopped.is_none(), sheds, "{}", name);
            }
        }
    }

    /// Brokers and bundles that come in another order decide alike.
    #[test]
    fn the_order_of_the_input_does_not_matter(mut load in closed_cluster()) {
        settle(&mut load, Measure::Messages);
        let mut again = ClusterLoad::default();
        for (name, broker_load) in load.brokers.iter().rev() {
            let mut copy = broker_load.clone();
            copy.bundles = broker_load.bundles.clone().into_iter().rev().collect();
            again.brokers.insert(name.clone(), copy);
        }
        let (mut one, mut other) = (shedder(Mode::Safe), shedder(Mode::Safe));
        for _ in 0..9 {
            prop_assert_eq!(plan(&mut one, &load), plan(&mut other, &again));
        }
    }
}

/// What a fresh strategy thinks of a cluster.
fn look(load: &ClusterLoad) -> Plan {
    plan(&mut shedder(Mode::Safe), load)
}
