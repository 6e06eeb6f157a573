//! Clusters of equal brokers that shed, for tests of the strategies.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]
#![allow(dead_code, reason = "not every test uses every one")]

use super::load::{broker, bundle, bundle_load, bytes, carry_out, settle};
use deedbook::planner::{
    BrokerLoad, BrokerVerdict, ClusterLoad, Constraints, Measure, Move, Plan, Resource, Shedder,
    Traffic,
};

/// Brokers `a`, `b`, `c` ... of 100 points, each with bundles of so many points, which are MB a
/// second.
pub(crate) fn cluster(brokers: &[&[f64]]) -> ClusterLoad {
    let traffic = |points: f64| bytes(points * 1e6);
    with_traffic(
        brokers
            .iter()
            .map(|bundles| bundles.iter().map(|points| traffic(*points))),
    )
}

/// Brokers `a`, `b`, `c` ... of 100 points, each with bundles of such traffic.
pub(crate) fn with_traffic(
    brokers: impl Iterator<Item = impl Iterator<Item = Traffic>>,
) -> ClusterLoad {
    let mut load = ClusterLoad::default();
    let mut next = 0;
    for (index, bundles) in brokers.enumerate() {
        let mut of = BrokerLoad {
            cpu: Some(Resource::new(0.0, 100.0)),
            ..BrokerLoad::default()
        };
        for traffic in bundles {
            of.bundles.insert(bundle(next), bundle_load(traffic));
            next += 1;
        }
        load.brokers.insert(broker(&name(index)), of);
    }
    settle(&mut load, Measure::Bytes);
    load
}

/// In the order of the index.
fn name(index: usize) -> String {
    let letter = ('a'..='z').nth(index);
    letter.map_or_else(|| format!("z{index:03}"), String::from)
}

/// One round without constraints.
pub(crate) fn plan(shedder: &mut impl Shedder, load: &ClusterLoad) -> Plan {
    shedder.plan(load, &Constraints::default())
}

/// What was found about a broker.
pub(crate) fn of<'p>(plan: &'p Plan, name: &str) -> &'p BrokerVerdict {
    &plan.brokers[&broker(name)]
}

/// By which rule a broker gives nothing, or that it gives.
pub(crate) fn rule(plan: &Plan, name: &str) -> &'static str {
    of(plan, name)
        .stopped
        .as_ref()
        .map_or("gives", |stopped| stopped.rule())
}

/// Goes on until nothing moves for ten rounds; what was moved.
pub(crate) fn until_quiet(shedder: &mut impl Shedder, load: &mut ClusterLoad) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut quiet = 0;
    while quiet < 10 {
        let plan = plan(shedder, load);
        carry_out(load, &plan, Measure::Bytes);
        quiet = if plan.moves.is_empty() { quiet + 1 } else { 0 };
        plans.push(plan);
        assert!(plans.len() < 1000, "still moving");
    }
    plans.retain(|plan| !plan.moves.is_empty());
    plans
}

/// How many bundles leave a broker, whether or not it is said where to.
pub(crate) fn leave(plan: &Plan, name: &str) -> usize {
    let moves = plan.moves.iter().map(|one| &one.from);
    let all = moves.chain(plan.unloads.iter().map(|one| &one.from));
    all.filter(|from| **from == broker(name)).count()
}

/// Who sheds.
pub(crate) fn sources(plan: &Plan) -> Vec<String> {
    let moves = plan.moves.iter().map(|one| &one.from);
    let all = moves.chain(plan.unloads.iter().map(|one| &one.from));
    let mut sources: Vec<_> = all.map(ToString::to_string).collect();
    sources.sort();
    sources.dedup();
    sources
}

/// Carries a plan out, and what it unloads goes to one broker.
pub(crate) fn carry_out_to(load: &mut ClusterLoad, plan: &Plan, name: &str) {
    let moves = plan.unloads.iter().map(|one| Move {
        bundle: one.bundle.clone(),
        from: one.from.clone(),
        to: broker(name),
        load: one.load,
        from_score_after: 0.0,
        to_score_after: 0.0,
    });
    let moves = plan.moves.iter().cloned().chain(moves).collect();
    let plan = Plan {
        moves,
        ..Plan::default()
    };
    carry_out(load, &plan, Measure::Bytes);
}
