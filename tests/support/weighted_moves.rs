//! Weighted moves, the rebalancing that Google's Slicer is known for, to compare with.
//!
//! From the most loaded broker to the least loaded one goes the bundle that lowers the imbalance
//! the most for the load that it moves; again and again, until nothing lowers it. Written from the
//! description in "Slicer: Auto-Sharding for Datacenter Applications" (OSDI 2016), without its
//! merging and splitting of slices.

use deedbook::ids::{BrokerId, BundleId};
use deedbook::planner::{BundleLoad, ClusterLoad};
use std::collections::BTreeMap;

/// What it has come to after one more move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    /// The share of the cluster's messages that moved so far.
    pub(crate) churn: f64,
    /// The load of the most loaded broker, in percent of its capacity.
    pub(crate) hottest: f64,
}

/// Moves until nothing lowers the imbalance; what it has come to before and after each move.
/// Brokers have one resource, which follows messages.
pub(crate) fn rebalance(load: &ClusterLoad) -> Vec<Stage> {
    let mut brokers = brokers(load);
    let all: f64 = brokers
        .values()
        .flat_map(|broker| broker.bundles.values())
        .sum();
    let mut stages = Vec::new();
    let mut churn = 0.0;
    loop {
        let by_score = |a: &&BrokerId, b: &&BrokerId| {
            brokers[*a].score(0.0).total_cmp(&brokers[*b].score(0.0))
        };
        let hot = brokers.keys().copied().max_by(by_score).unwrap();
        let cold = brokers.keys().copied().min_by(by_score).unwrap();
        let hottest = brokers[hot].score(0.0);
        stages.push(Stage { churn, hottest });
        let worth = brokers[hot].bundles.iter().filter_map(|(bundle, rate)| {
            let after = brokers[hot].score(-rate).max(brokers[cold].score(*rate));
            (after < hottest).then_some((*bundle, (hottest - after) / rate, *rate))
        });
        let best = worth.max_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)));
        let Some((bundle, _, rate)) = best else {
            return stages;
        };
        brokers.get_mut(hot).unwrap().bundles.remove(bundle);
        brokers.get_mut(cold).unwrap().bundles.insert(bundle, rate);
        churn += rate / all;
    }
}

struct Broker<'a> {
    capacity: f64,
    bundles: BTreeMap<&'a BundleId, f64>,
}

impl Broker<'_> {
    /// Its load with so much more, in percent.
    fn score(&self, more: f64) -> f64 {
        (self.bundles.values().sum::<f64>() + more) / self.capacity * 100.0
    }
}

fn brokers(load: &ClusterLoad) -> BTreeMap<&BrokerId, Broker<'_>> {
    let mut brokers = BTreeMap::new();
    for (id, broker) in &load.brokers {
        let rate = |load: &BundleLoad| load.short_term.messages();
        let bundles = broker.bundles.iter();
        let bundles = bundles.map(|(id, load)| (id, load.as_ref().map_or(0.0, rate)));
        let capacity = broker.cpu.map_or(1.0, |cpu| cpu.limit * 1000.0);
        let bundles = bundles.collect();
        brokers.insert(id, Broker { capacity, bundles });
    }
    brokers
}
