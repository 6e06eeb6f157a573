//! Goal: a plan leaves nothing unexplained, and promises nothing that does not come. Method: every
//! strategy on clusters made up from seeds.
//!
//! `DEEDBOOK_SEEDS=100..200 cargo test --test explanations` runs other seeds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;
#[path = "support/made_up_load.rs"]
mod made_up_load;

use deedbook::planner::{Constraints, Fate, Measure, Strategy, compare};
use load::{carry_out, potential, settle};
use made_up_load::{cluster, constraints, eager, follows, for_each_seed};

/// A14: each broker gives something or says why not, and each bundle of one that gives moves or
/// says which rule keeps it.
#[test]
fn every_broker_and_every_bundle_is_explained() {
    for_each_seed("every_broker_and_every_bundle_is_explained", |dice| {
        let mut load = cluster(dice, 2..21);
        settle(&mut load, Measure::Messages);
        for strategy in Strategy::ALL {
            let constraints = constraints(dice, &load);
            let mut shedder = eager(strategy, dice).build().unwrap();
            let plan = shedder.plan(&load, &constraints);
            for (name, of) in &load.brokers {
                let gives = plan.brokers[name].stopped.is_none();
                assert_eq!(plan.cause(name).is_some(), gives, "{strategy}: {name}");
                for bundle in of.bundles.keys() {
                    let said = plan.fate(bundle, &load);
                    let known = match said {
                        Fate::Moves { because, .. } => gives && because.is_some(),
                        Fate::Kept { owner, .. } => owner == name,
                        Fate::OwnerGivesNothing { owner, .. } => owner == name && !gives,
                        _ => false,
                    };
                    assert!(known, "{strategy}: {bundle}: {said}");
                }
            }
        }
    });
}

/// What a plan is said to come to is no better than what comes, whatever the load follows.
#[test]
fn no_plan_promises_too_much() {
    for_each_seed("no_plan_promises_too_much", |dice| {
        let follows = follows(dice);
        let mut load = cluster(dice, 2..21);
        settle(&mut load, follows);
        let all = Strategy::ALL.map(|strategy| eager(strategy, dice));
        for found in compare(&load, &Constraints::default(), all).unwrap() {
            let strategy = found.settings.strategy();
            let before = potential(&load);
            let mut after = load.clone();
            carry_out(&mut after, &found.plan, follows);
            let after = potential(&after);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b;
            assert!(near(found.effect.imbalance_before, before), "{strategy}");
            let promised = found.effect.imbalance_after.unwrap();
            assert!(
                after <= promised * (1.0 + 1e-6),
                "{strategy}: {after} {promised}"
            );
            assert!(promised <= before * (1.0 + 1e-6), "{strategy}");
        }
    });
}
