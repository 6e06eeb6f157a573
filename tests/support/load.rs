//! Clusters under load, for tests of the planner.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]
#![allow(dead_code, reason = "not every test uses every one")]

use deedbook::ids::{BrokerId, BundleId, KeyRange, Namespace};
use deedbook::planner::avg::{AvgShedder, Config, Mode};
use deedbook::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, Constraints, Measure, Plan, Resource, Shedder, Stopped,
    Traffic,
};
use proptest::prelude::*;
use std::ops::Range;

pub(crate) fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).unwrap()
}

pub(crate) fn bundle(index: u32) -> BundleId {
    let namespace = Namespace::new("t/n").unwrap();
    BundleId::new(namespace, KeyRange::new(index, index + 1).unwrap())
}

pub(crate) fn messages(rate: f64) -> Traffic {
    Traffic {
        message_rate_in: rate / 2.0,
        message_rate_out: rate / 2.0,
        ..Traffic::default()
    }
}

pub(crate) fn bytes(rate: f64) -> Traffic {
    Traffic {
        throughput_in: rate / 2.0,
        throughput_out: rate / 2.0,
        ..Traffic::default()
    }
}

pub(crate) fn bundle_load(short_term: Traffic) -> Option<BundleLoad> {
    Some(BundleLoad {
        short_term,
        ..BundleLoad::default()
    })
}

/// Brokers with a cpu usage in percent and no bundles: what is wanted cannot be had, but whether it
/// is tried shows in the verdicts.
pub(crate) fn cluster(usages: &[(&str, f64)]) -> ClusterLoad {
    let mut load = ClusterLoad::default();
    for &(name, percent) in usages {
        let broker_load = BrokerLoad {
            cpu: Some(Resource::new(percent, 100.0)),
            traffic: messages(percent * 1000.0),
            ..BrokerLoad::default()
        };
        load.brokers.insert(broker(name), broker_load);
    }
    load
}

/// The same, each with ten bundles that share its traffic evenly.
pub(crate) fn cluster_with_bundles(usages: &[(&str, f64)]) -> ClusterLoad {
    let mut load = cluster(usages);
    let mut next = 0;
    for broker_load in load.brokers.values_mut() {
        let rate = broker_load.traffic.messages() / 10.0;
        for _ in 0..10 {
            broker_load
                .bundles
                .insert(bundle(next), bundle_load(messages(rate)));
            next += 1;
        }
    }
    load
}

pub(crate) fn shedder(mode: Mode) -> AvgShedder {
    AvgShedder::new(Config {
        mode,
        ..Config::default()
    })
    .unwrap()
}

pub(crate) fn plan(shedder: &mut AvgShedder, load: &ClusterLoad) -> Plan {
    shedder.plan(load, &Constraints::default())
}

pub(crate) fn stopped(plan: &Plan, name: &str) -> Option<Stopped> {
    plan.brokers[&broker(name)].stopped.clone()
}

/// Carries a plan out; loads follow the bundles, in each broker's own capacity.
pub(crate) fn carry_out(load: &mut ClusterLoad, plan: &Plan, follows: Measure) {
    for planned in &plan.moves {
        let from = load.brokers.get_mut(&planned.from).unwrap();
        let moved = from
            .bundles
            .remove(&planned.bundle)
            .expect("a source owns what it sheds");
        let to = load.brokers.get_mut(&planned.to).unwrap();
        to.bundles.insert(planned.bundle.clone(), moved);
    }
    settle(load, follows);
}

/// Makes every broker report what its bundles bear: 1000 messages a second, or 1 MB, are a unit of
/// cpu, 1 MB is one of bandwidth.
pub(crate) fn settle(load: &mut ClusterLoad, follows: Measure) {
    let cpu = |traffic: &Traffic| match follows {
        Measure::Messages => traffic.messages() / 1000.0,
        Measure::Bytes => traffic.bytes() / 1e6,
    };
    for broker_load in load.brokers.values_mut() {
        let mut sum = Traffic::default();
        for bundle_load in broker_load.bundles.values().flatten() {
            sum.message_rate_in += bundle_load.short_term.message_rate_in;
            sum.message_rate_out += bundle_load.short_term.message_rate_out;
            sum.throughput_in += bundle_load.short_term.throughput_in;
            sum.throughput_out += bundle_load.short_term.throughput_out;
        }
        broker_load.traffic = sum;
        let used = |resource: Option<Resource>, usage: f64| {
            resource.map(|resource| Resource::new(usage, resource.limit))
        };
        broker_load.cpu = used(broker_load.cpu, cpu(&sum));
        broker_load.bandwidth_in = used(broker_load.bandwidth_in, sum.throughput_in / 1e6);
        broker_load.bandwidth_out = used(broker_load.bandwidth_out, sum.throughput_out / 1e6);
    }
}

/// The sum of the squares of all scores.
pub(crate) fn potential(load: &ClusterLoad) -> f64 {
    let plan = plan(&mut shedder(Mode::Safe), load);
    let scores = plan
        .brokers
        .values()
        .filter_map(|verdict| verdict.score.as_ref());
    scores.map(|score| score.points * score.points).sum()
}

/// A cluster whose loads follow its bundles, once it is settled: capacities and bundles of random
/// size.
pub(crate) fn closed_cluster(brokers: Range<usize>) -> impl Strategy<Value = ClusterLoad> {
    let capacity = prop_oneof![Just(50.0), Just(100.0), Just(400.0)];
    let bundle = (0.0..8000.0f64, 0.0..8e6f64);
    let one = (capacity, prop::collection::vec(bundle, 0..12));
    prop::collection::vec(one, brokers).prop_map(|brokers| {
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
