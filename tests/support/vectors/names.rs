//! The load of a recording in the terms of the library.

use super::Wrong;
use super::cluster::{Broker, Cluster, Pair, Rates};
use deedbook::ids::{BrokerId, BundleId, KeyRange, Namespace};
use deedbook::planner::{BrokerLoad, BundleLoad, ClusterLoad, Resource, Traffic};
use std::collections::BTreeMap;

const SYSTEM_NAMESPACE: &str = "pulsar/system";
/// Other bundles have no namespace in the recording, and none has a meaning.
const NAMESPACE: &str = "public/default";

/// The names of bundles, each of which stands for a range of its own.
#[derive(Debug, Default)]
pub(crate) struct Names {
    bundles: BTreeMap<String, BundleId>,
    names: BTreeMap<BundleId, String>,
}

impl Names {
    pub(crate) fn bundle(&mut self, name: &str) -> Result<BundleId, Wrong> {
        if let Some(bundle) = self.bundles.get(name) {
            return Ok(bundle.clone());
        }
        let in_system = name.strip_prefix(SYSTEM_NAMESPACE);
        let namespace = match in_system.is_some_and(|rest| rest.starts_with('/')) {
            true => SYSTEM_NAMESPACE,
            false => NAMESPACE,
        };
        let lower = u32::try_from(self.bundles.len())?;
        let bundle = BundleId::new(Namespace::new(namespace)?, KeyRange::new(lower, lower + 1)?);
        self.bundles.insert(name.to_owned(), bundle.clone());
        self.names.insert(bundle.clone(), name.to_owned());
        Ok(bundle)
    }

    pub(crate) fn name(&self, bundle: &BundleId) -> Result<&String, Wrong> {
        let name = self.names.get(bundle);
        Ok(name.ok_or_else(|| format!("{bundle} moves, and nobody owns it"))?)
    }

    pub(crate) fn load(&mut self, cluster: &Cluster) -> Result<ClusterLoad, Wrong> {
        let mut load = ClusterLoad::default();
        for (name, broker) in &cluster.brokers {
            let mut reported = broker_load(broker);
            for bundle in broker.bundles.iter().flatten() {
                let known = cluster.bundles.get(bundle).copied().map(bundle_load);
                reported.bundles.insert(self.bundle(bundle)?, known);
            }
            for (bundle, &[rate_in, rate_out]) in &broker.preallocated {
                let brings = traffic([rate_in, rate_out, 0.0, 0.0]);
                reported.preallocated.insert(self.bundle(bundle)?, brings);
            }
            load.brokers.insert(BrokerId::new(name)?, reported);
        }
        for bundle in &cluster.recent {
            load.recently_moved.insert(self.bundle(bundle)?);
        }
        Ok(load)
    }
}

/// The names of some brokers, in order.
pub(crate) fn brokers(names: &[String]) -> Result<Vec<BrokerId>, Wrong> {
    let brokers: Result<Vec<_>, _> = names.iter().map(BrokerId::new).collect();
    let mut brokers = brokers?;
    brokers.sort();
    Ok(brokers)
}

fn broker_load(broker: &Broker) -> BrokerLoad {
    let resource = |pair: Option<Pair>| pair.map(|[usage, limit]| Resource::new(usage, limit));
    BrokerLoad {
        cpu: resource(broker.cpu),
        memory: resource(broker.mem),
        direct_memory: resource(broker.dmem),
        bandwidth_in: resource(broker.bw_in),
        bandwidth_out: resource(broker.bw_out),
        traffic: traffic([broker.rate[0], broker.rate[1], broker.thr[0], broker.thr[1]]),
        long_term: broker
            .long_rate
            .map(|[rate_in, rate_out]| traffic([rate_in, rate_out, 0.0, 0.0])),
        ..BrokerLoad::default()
    }
}

fn bundle_load(rates: Rates) -> BundleLoad {
    BundleLoad {
        short_term: traffic(rates),
        ..BundleLoad::default()
    }
}

pub(crate) const fn traffic([rate_in, rate_out, bytes_in, bytes_out]: Rates) -> Traffic {
    Traffic {
        message_rate_in: rate_in,
        message_rate_out: rate_out,
        throughput_in: bytes_in,
        throughput_out: bytes_out,
    }
}
