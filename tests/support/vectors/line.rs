//! One scenario: a line of a file.

use deedbook::ids::{BrokerId, BundleId, KeyRange, Namespace};
use deedbook::planner::{BrokerLoad, BundleLoad, ClusterLoad, Resource, Traffic};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A scenario as recorded. Rounds and decisions differ from form to form.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) config: Map<String, Value>,
    pub(crate) rounds: Vec<Value>,
    pub(crate) expected: Vec<Value>,
    /// The first round whose decision depends on the order of hash maps.
    pub(crate) order_dependent_from: Option<usize>,
    /// Some of the decisions seen in that round.
    #[serde(default)]
    pub(crate) alternatives: Vec<Value>,
    /// How many were seen, listed or not.
    #[serde(default)]
    pub(crate) alternatives_seen: usize,
    /// From this round on the order inside a list is open.
    pub(crate) list_order_dependent_from: Option<usize>,
}

impl Line {
    /// A number of the configuration.
    pub(crate) fn knob(&self, name: &str, default: f64) -> Result<f64, String> {
        match self.config.get(name) {
            None => Ok(default),
            Some(value) => value.as_f64().ok_or_else(|| format!("{name} is {value}")),
        }
    }
}

/// What a round of a shedder shows.
#[derive(Debug, Deserialize)]
pub(crate) struct ShedRound {
    brokers: BTreeMap<String, ReportedBroker>,
    #[serde(default)]
    bundles: BTreeMap<String, Option<[f64; 4]>>,
    #[serde(default)]
    recent: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ReportedBroker {
    cpu: Option<[f64; 2]>,
    mem: Option<[f64; 2]>,
    dmem: Option<[f64; 2]>,
    bw_in: Option<[f64; 2]>,
    bw_out: Option<[f64; 2]>,
    #[serde(default)]
    rate: [f64; 2],
    #[serde(default)]
    thr: [f64; 2],
    bundles: Option<Vec<String>>,
}

/// What is carried from round to round, and the names of bundles.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    bundles: BTreeMap<String, BundleLoad>,
    owned: BTreeMap<String, Vec<String>>,
    ids: BTreeMap<String, BundleId>,
    names: BTreeMap<BundleId, String>,
}

impl Cluster {
    /// Applies what a round shows, and says what it amounts to.
    pub(crate) fn show(&mut self, round: ShedRound) -> Result<ClusterLoad, String> {
        for (name, traffic) in round.bundles {
            match traffic {
                Some(traffic) => self.bundles.insert(name, bundle_load(traffic)),
                None => self.bundles.remove(&name),
            };
        }
        let mut load = ClusterLoad::default();
        let mut owned = BTreeMap::new();
        for (name, mut reported) in round.brokers {
            let before = self.owned.remove(&name);
            let bundles = reported.bundles.take().or(before).unwrap_or_default();
            let broker = self.broker_load(&reported, &bundles)?;
            load.brokers.insert(broker_id(&name)?, broker);
            owned.insert(name, bundles);
        }
        self.owned = owned;
        for name in &round.recent {
            load.recently_moved.insert(self.bundle_id(name)?);
        }
        Ok(load)
    }

    fn broker_load(
        &mut self,
        reported: &ReportedBroker,
        bundles: &[String],
    ) -> Result<BrokerLoad, String> {
        let resource =
            |pair: Option<[f64; 2]>| pair.map(|[usage, limit]| Resource { usage, limit });
        let mut load = BrokerLoad {
            cpu: resource(reported.cpu),
            memory: resource(reported.mem),
            direct_memory: resource(reported.dmem),
            bandwidth_in: resource(reported.bw_in),
            bandwidth_out: resource(reported.bw_out),
            traffic: traffic(reported.rate, reported.thr),
            bundles: BTreeMap::new(),
        };
        for name in bundles {
            let id = self.bundle_id(name)?;
            load.bundles.insert(id, self.bundles.get(name).copied());
        }
        Ok(load)
    }

    /// Bundles are named as a number, or as a number in the system namespace; only the latter has
    /// a meaning. Each name gets a range of its own.
    pub(crate) fn bundle_id(&mut self, name: &str) -> Result<BundleId, String> {
        if let Some(id) = self.ids.get(name) {
            return Ok(id.clone());
        }
        let count = u32::try_from(self.ids.len()).map_err(|error| error.to_string())?;
        let namespace = match name.strip_prefix("pulsar/system/") {
            Some(_) => "pulsar/system",
            None => "public/default",
        };
        let namespace = Namespace::new(namespace).map_err(|error| error.to_string())?;
        let range = KeyRange::new(count, count + 1).map_err(|error| error.to_string())?;
        let id = BundleId::new(namespace, range);
        self.ids.insert(name.to_owned(), id.clone());
        self.names.insert(id.clone(), name.to_owned());
        Ok(id)
    }

    /// What the scenario calls a bundle.
    pub(crate) fn name(&self, bundle: &BundleId) -> String {
        self.names
            .get(bundle)
            .cloned()
            .unwrap_or_else(|| bundle.to_string())
    }
}

pub(crate) fn broker_id(name: &str) -> Result<BrokerId, String> {
    BrokerId::new(name).map_err(|error| error.to_string())
}

fn traffic(rate: [f64; 2], bytes: [f64; 2]) -> Traffic {
    Traffic {
        message_rate_in: rate[0],
        message_rate_out: rate[1],
        throughput_in: bytes[0],
        throughput_out: bytes[1],
    }
}

fn bundle_load([rate_in, rate_out, bytes_in, bytes_out]: [f64; 4]) -> BundleLoad {
    BundleLoad {
        short_term: traffic([rate_in, rate_out], [bytes_in, bytes_out]),
        ..BundleLoad::default()
    }
}

/// What moves: bundles by broker, in the order of selection.
pub(crate) type Unload = BTreeMap<String, Vec<String>>;

/// The same, whatever the order.
pub(crate) fn as_sets(unload: &Unload) -> BTreeMap<&String, BTreeSet<&String>> {
    let sets = unload
        .iter()
        .map(|(broker, bundles)| (broker, bundles.iter().collect()));
    sets.collect()
}
