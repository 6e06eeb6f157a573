//! Goal: bundles that stay too big are split where they should be, and every one that is not says
//! why. Method: the scenarios of Apache Pulsar's own tests, from data, each by its name; what
//! operators complained of; degenerate keys.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests may stop at the first surprise"
)]

mod peer;
mod reports;
#[path = "../support/mod.rs"]
mod support;

use deedbook::ids::{BrokerId, BundleId, Cuts, KeyRange};
use deedbook::planner::{BrokerLoad, BundleLoad, ClusterLoad, Traffic};

const MIB: f64 = 1024.0 * 1024.0;

fn slice(cuts: Option<Cuts>) -> Vec<u32> {
    cuts.map_or_else(Vec::new, |cuts| cuts.as_slice().to_vec())
}

fn whole_range() -> KeyRange {
    KeyRange::new(0, u32::MAX).unwrap()
}

fn messages(rate: f64) -> Traffic {
    Traffic {
        message_rate_in: rate,
        ..Traffic::default()
    }
}

fn bundle(name: &str) -> BundleId {
    name.to_lowercase().parse().unwrap()
}

fn cluster(bundles: &[(BundleId, BundleLoad)]) -> ClusterLoad {
    let mut load = ClusterLoad::default();
    let owned = bundles
        .iter()
        .map(|(bundle, load)| (bundle.clone(), Some(*load)));
    let broker = BrokerLoad {
        bundles: owned.collect(),
        ..BrokerLoad::default()
    };
    load.brokers
        .insert(BrokerId::new("broker-1").unwrap(), broker);
    load
}
