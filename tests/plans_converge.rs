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
use deedbook::planner::{ClusterLoad, Measure, Plan};
use load::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// E7, I12: under constant load each move lowers the potential, and after finitely many there
    /// is quiet.
    #[test]
    fn plans_converge(
        mut load in closed_cluster(1..9),
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
                let before = potential(&load);
                let single = Plan { moves: vec![one.clone()], ..Plan::default() };
                carry_out(&mut load, &single, follows);
                let after = potential(&load);
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
    fn the_order_of_the_input_does_not_matter(mut load in closed_cluster(1..9)) {
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
