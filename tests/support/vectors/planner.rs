//! The planner, asked in the names of the recording. Only this file knows the library.

use super::Wrong;
use super::cluster::{Broker, Cluster, Pair, Rates};
use super::decision::Shed;
use deedbook::ids::{BrokerId, BundleId, KeyRange, Namespace};
use deedbook::planner::avg::{AvgShedder, Config, Mode, Weights};
use deedbook::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, Constraints, Placement, Plan, Resource, Shedder, Sticky,
    Traffic,
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Any seed must do: where the original draws lots, every candidate agrees.
const SEED: u64 = 1;
const SYSTEM_NAMESPACE: &str = "pulsar/system";
/// Other bundles have no namespace in the recording, and none has a meaning.
const NAMESPACE: &str = "public/default";

/// What can be set about the avg strategy, as Apache Pulsar calls it; the defaults are those of its
/// releases 3 and 4.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Knobs {
    #[serde(rename = "loadBalancerAvgShedderLowThreshold")]
    pub(crate) low_threshold: f64,
    #[serde(rename = "loadBalancerAvgShedderHighThreshold")]
    pub(crate) high_threshold: f64,
    #[serde(rename = "loadBalancerAvgShedderHitCountLowThreshold")]
    pub(crate) hit_count_low: i32,
    #[serde(rename = "loadBalancerAvgShedderHitCountHighThreshold")]
    pub(crate) hit_count_high: i32,
    /// A ratio, whatever its name says.
    #[serde(rename = "maxUnloadPercentage")]
    pub(crate) max_unload_ratio: f64,
    #[serde(rename = "minUnloadMessage")]
    pub(crate) min_unload_messages: f64,
    #[serde(rename = "minUnloadMessageThroughput")]
    pub(crate) min_unload_throughput: f64,
    #[serde(rename = "loadBalancerCPUResourceWeight")]
    pub(crate) cpu_weight: f64,
    #[serde(rename = "loadBalancerDirectMemoryResourceWeight")]
    pub(crate) direct_memory_weight: f64,
    // Older releases spell the names of both in another way.
    #[serde(rename = "loadBalancerBandwidthInResourceWeight")]
    #[serde(alias = "loadBalancerBandwithInResourceWeight")]
    pub(crate) bandwidth_in_weight: f64,
    #[serde(rename = "loadBalancerBandwidthOutResourceWeight")]
    #[serde(alias = "loadBalancerBandwithOutResourceWeight")]
    pub(crate) bandwidth_out_weight: f64,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            low_threshold: 15.0,
            high_threshold: 40.0,
            hit_count_low: 8,
            hit_count_high: 2,
            max_unload_ratio: 0.2,
            min_unload_messages: 1000.0,
            min_unload_throughput: 1_048_576.0,
            cpu_weight: 1.0,
            direct_memory_weight: 1.0,
            bandwidth_in_weight: 1.0,
            bandwidth_out_weight: 1.0,
        }
    }
}

impl Knobs {
    fn config(&self) -> Config {
        // Differences and counts are never negative, so a bound below zero is as good as zero.
        let count = |bound: i32| u32::try_from(bound).unwrap_or(0);
        Config {
            mode: Mode::Reference,
            low_threshold_points: self.low_threshold.max(0.0),
            high_threshold_points: self.high_threshold.max(0.0),
            low_hits: count(self.hit_count_low),
            high_hits: count(self.hit_count_high),
            unload_ratio_max: self.max_unload_ratio,
            message_rate_min: self.min_unload_messages,
            throughput_min: self.min_unload_throughput,
            weights: Weights {
                cpu: self.cpu_weight,
                direct_memory: self.direct_memory_weight,
                bandwidth_in: self.bandwidth_in_weight,
                bandwidth_out: self.bandwidth_out_weight,
            },
        }
    }
}

/// The avg strategy that decides like the original, both halves of it.
#[derive(Debug)]
pub(crate) struct Avg {
    shedder: AvgShedder,
    placement: Sticky,
    names: Names,
}

impl Avg {
    pub(crate) fn new(knobs: &Knobs) -> Result<Self, Wrong> {
        Ok(Self {
            shedder: AvgShedder::new(knobs.config())?,
            placement: Sticky::new(SEED),
            names: Names::default(),
        })
    }

    /// One round of shedding, which placement follows.
    pub(crate) fn shed(&mut self, cluster: &Cluster) -> Result<Shed, Wrong> {
        let load = self.names.load(cluster)?;
        let plan = self.shedder.plan(&load, &Constraints::default());
        self.placement.adopt(&plan);
        self.decision(&plan)
    }

    fn decision(&self, plan: &Plan) -> Result<Shed, Wrong> {
        let mut shed = Shed::default();
        for planned in &plan.moves {
            let bundle = self.names.name(&planned.bundle)?;
            shed.placement
                .insert(bundle.clone(), planned.to.to_string());
            let unloaded = shed.unload.entry(planned.from.to_string());
            unloaded.or_default().push(bundle.clone());
        }
        for (broker, counts) in self.shedder.hits() {
            let maps = [
                (&mut shed.hits_low, counts.low),
                (&mut shed.hits_high, counts.high),
            ];
            for (map, count) in maps.into_iter().filter(|(_, count)| *count > 0) {
                map.insert(broker.to_string(), count.into());
            }
        }
        for (broker, verdict) in &plan.brokers {
            if let Some(score) = &verdict.score {
                shed.scores.insert(broker.to_string(), score.points);
            }
        }
        Ok(shed)
    }

    /// Where a bundle should go.
    pub(crate) fn place(
        &mut self,
        bundle: &str,
        candidates: &[String],
    ) -> Result<Option<String>, Wrong> {
        let bundle = self.names.bundle(bundle)?;
        let brokers: Result<Vec<_>, _> = candidates.iter().map(BrokerId::new).collect();
        let mut brokers = brokers?;
        brokers.sort();
        let chosen = self.placement.place(&bundle, &brokers);
        Ok(chosen.map(|broker| broker.to_string()))
    }
}

/// The names of bundles, each of which stands for a range of its own.
#[derive(Debug, Default)]
struct Names {
    bundles: BTreeMap<String, BundleId>,
    names: BTreeMap<BundleId, String>,
}

impl Names {
    fn bundle(&mut self, name: &str) -> Result<BundleId, Wrong> {
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

    fn name(&self, bundle: &BundleId) -> Result<&String, Wrong> {
        let name = self.names.get(bundle);
        Ok(name.ok_or_else(|| format!("{bundle} moves, and nobody owns it"))?)
    }

    fn load(&mut self, cluster: &Cluster) -> Result<ClusterLoad, Wrong> {
        let mut load = ClusterLoad::default();
        for (name, broker) in &cluster.brokers {
            let mut reported = broker_load(broker);
            for bundle in broker.bundles.iter().flatten() {
                let known = cluster.bundles.get(bundle).copied().map(bundle_load);
                reported.bundles.insert(self.bundle(bundle)?, known);
            }
            load.brokers.insert(BrokerId::new(name)?, reported);
        }
        for bundle in &cluster.recent {
            load.recently_moved.insert(self.bundle(bundle)?);
        }
        Ok(load)
    }
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
        ..BrokerLoad::default()
    }
}

fn bundle_load(rates: Rates) -> BundleLoad {
    BundleLoad {
        short_term: traffic(rates),
        ..BundleLoad::default()
    }
}

const fn traffic([rate_in, rate_out, bytes_in, bytes_out]: Rates) -> Traffic {
    Traffic {
        message_rate_in: rate_in,
        message_rate_out: rate_out,
        throughput_in: bytes_in,
        throughput_out: bytes_out,
    }
}
