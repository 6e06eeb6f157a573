//! The set-ups of the transfer strategy. What they say beside it has a counterpart where there is
//! one: policies that forbid to shed are excluded namespaces, isolation is where a namespace may
//! be, and a bundle that nobody owns stands in a report but not among those of the broker.

use super::vectors::transfer::Knobs;
use deedbook::ids::{BrokerId, BundleId, Namespace};
use deedbook::planner::transfer::TransferShedder;
use deedbook::planner::{
    Allowed, BrokerLoad, BundleLoad, ClusterLoad, Constraints, Smoothed, Traffic,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Deserialize)]
pub(super) struct Scenario {
    pub(super) id: String,
    pub(super) case: Option<String>,
    pub(super) setup: Setup,
    pub(super) expected: Expected,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Setup {
    pub(super) config: PeerConfig,
    pub(super) brokers: Vec<PeerBroker>,
    pub(super) available_brokers: Value,
    pub(super) top_bundles: BTreeMap<String, Vec<PeerBundle>>,
    pub(super) recently_unloaded_brokers_age_s: BTreeMap<String, f64>,
    pub(super) recently_unloaded_bundles: Vec<String>,
    /// When the reports were made, since 1970; none: now.
    pub(super) updated_at_ms: Option<u64>,
    /// Whether the channel says that brokers own what they report; none: it does.
    pub(super) owner_check: Option<bool>,
    pub(super) isolation: Value,
    pub(super) loads_percent: Vec<f64>,
    pub(super) has_isolation: bool,
    pub(super) has_anti_affinity: bool,
    pub(super) shed_bundles_with_policies: bool,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct PeerConfig {
    pub(super) target_std: f64,
    pub(super) max_broker_sheddings_per_cycle: usize,
    pub(super) hit_count_threshold: u32,
    pub(super) transfer_enabled: bool,
    pub(super) debug_mode: bool,
    pub(super) load_data_ttl_s: u64,
    pub(super) shedding_delay_s: u64,
    pub(super) overload_threshold_percent: f64,
    pub(super) shed_bundles_with_policies: bool,
}

#[derive(Clone, Deserialize)]
pub(super) struct PeerBroker {
    pub(super) broker: String,
    pub(super) cpu_percent: f64,
    pub(super) throughput_in: f64,
    pub(super) throughput_out: f64,
    pub(super) throughput_ema: f64,
}

#[derive(Clone, Deserialize)]
pub(super) struct PeerBundle {
    pub(super) bundle: String,
    pub(super) throughput_out: f64,
}

#[derive(Deserialize)]
pub(super) struct Expected {
    pub(super) unloads: Option<Vec<PeerUnload>>,
    pub(super) unloads_shape: Option<Vec<Shape>>,
    pub(super) counter: Option<Counter>,
    pub(super) load_avg: Option<f64>,
    pub(super) load_std: Option<f64>,
    pub(super) abs_tolerance: Option<f64>,
    pub(super) final_avg: Option<f64>,
    pub(super) final_std: Option<f64>,
    pub(super) final_std_abs_tolerance: Option<f64>,
    pub(super) sheddable: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct PeerUnload {
    pub(super) source: String,
    pub(super) bundle: String,
    pub(super) dest: String,
    pub(super) reason: String,
}

/// So many bundles from one broker; which ones, and where to, may be open.
#[derive(Deserialize)]
pub(super) struct Shape {
    pub(super) source: String,
    pub(super) bundle: Option<String>,
    pub(super) dest: Option<String>,
    pub(super) count: usize,
    pub(super) reason: String,
}

#[derive(Deserialize)]
pub(super) struct Counter {
    pub(super) reason: String,
}

/// Ours has lower-case digits.
pub(super) fn bundle(name: &str) -> BundleId {
    let (namespace, range) = name.rsplit_once('/').unwrap();
    let range = range.to_lowercase();
    format!("{namespace}/{range}").parse().unwrap()
}

fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).unwrap()
}

/// As a ratio, in the single precision of reports.
#[expect(clippy::cast_possible_truncation, reason = "the original does")]
fn usage(percent: f64) -> f64 {
    f64::from(percent as f32 / 100.0 * 100.0) / 100.0
}

impl Setup {
    pub(super) fn shedder(&self) -> TransferShedder {
        let of = &self.config;
        let knobs = Knobs {
            target_std: of.target_std,
            hit_count: of.hit_count_threshold,
            transfer: of.transfer_enabled,
            max_brokers: of.max_broker_sheddings_per_cycle,
            delay_s: of.shedding_delay_s,
            ttl_s: of.load_data_ttl_s,
            overloaded: of.overload_threshold_percent,
            debug: of.debug_mode,
        };
        TransferShedder::new(knobs.config()).unwrap()
    }

    pub(super) fn load(&self) -> ClusterLoad {
        let mut load = ClusterLoad::default();
        if let Some(available) = self.available_brokers.as_array() {
            for name in available {
                let name = broker(name.as_str().unwrap());
                load.brokers.insert(name, BrokerLoad::default());
            }
        }
        for of in &self.brokers {
            let top = self.top_bundles.get(&of.broker);
            let mut reported = BrokerLoad {
                traffic: Traffic {
                    throughput_in: of.throughput_in,
                    throughput_out: of.throughput_out,
                    ..Traffic::default()
                },
                smoothed: Some(Smoothed {
                    usage: usage(of.cpu_percent),
                    throughput: of.throughput_ema,
                    age: Duration::from_secs(
                        if self.updated_at_ms.is_some() {
                            u32::MAX
                        } else {
                            0
                        }
                        .into(),
                    ),
                    since_unload: self
                        .recently_unloaded_brokers_age_s
                        .get(&of.broker)
                        .map(|seconds| Duration::from_secs_f64(*seconds)),
                    top_bundles: top.map(|top| top.iter().map(|one| bundle(&one.bundle)).collect()),
                }),
                ..BrokerLoad::default()
            };
            for one in top.into_iter().flatten() {
                let short_term = Traffic {
                    throughput_out: one.throughput_out,
                    ..Traffic::default()
                };
                let of_bundle = BundleLoad {
                    short_term,
                    ..BundleLoad::default()
                };
                if self.owner_check != Some(false) {
                    reported
                        .bundles
                        .insert(bundle(&one.bundle), Some(of_bundle));
                }
            }
            load.brokers.insert(broker(&of.broker), reported);
        }
        let recent = self.recently_unloaded_bundles.iter();
        load.recently_moved = recent.map(|name| bundle(name)).collect();
        load
    }

    pub(super) fn constraints(&self) -> Constraints {
        let mut constraints = Constraints::default();
        let tops = self.top_bundles.values().flatten();
        let namespaces = tops.map(|one| bundle(&one.bundle).namespace().clone());
        let has_policies = |namespace: &Namespace| match &self.isolation {
            Value::String(all) => all == "all namespaces",
            isolation => isolation.get(namespace.as_str()).is_some(),
        };
        let with_policies: BTreeSet<_> = namespaces.filter(has_policies).collect();
        if !self.config.shed_bundles_with_policies {
            constraints.excluded_namespaces.extend(with_policies);
        } else if let Some(isolation) = self.isolation.as_object() {
            for (namespace, policy) in isolation {
                let primary = policy["primary"].as_array().unwrap().iter();
                let primary = primary.map(|name| broker(name.as_str().unwrap())).collect();
                let allowed = Allowed {
                    primary,
                    ..Allowed::default()
                };
                let namespace = Namespace::new(namespace).unwrap();
                constraints.allowed.insert(namespace, allowed);
            }
        }
        constraints
    }

    /// One broker after the other, each with its bundles of so many bytes a second.
    pub(super) fn generate(&mut self, brokers: impl Iterator<Item = (f64, [f64; 2])>) {
        for (index, (cpu_percent, bytes)) in brokers.enumerate() {
            let name = format!("broker{index}:8080");
            let throughput_out = bytes[0] + bytes[1];
            self.brokers.push(PeerBroker {
                broker: name.clone(),
                cpu_percent,
                throughput_in: 1.0,
                throughput_out,
                throughput_ema: throughput_out + 1.0,
            });
            let ranges = ["0x00000000_0x0fffffff", "0x0fffffff_0xffffffff"];
            let top = bytes
                .into_iter()
                .zip(ranges)
                .map(|(bytes, range)| PeerBundle {
                    bundle: format!("my-tenant/my-namespace{index:02}/{range}"),
                    throughput_out: bytes,
                });
            self.top_bundles.insert(name, top.collect());
        }
        self.available_brokers = Value::Null;
    }
}
