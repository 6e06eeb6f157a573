//! The load of a cluster, as brokers report it: what every strategy of the planner reads.
//!
//! Plain data without history. Numbers come from outside and may be wrong; [`Resource::ratio`] and
//! [`Traffic::is_sound`] are the two places that say which of them can be used.

use crate::ids::{BrokerId, BundleId};
use crate::reports::Traffic;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// What is known of all brokers that take part, at one moment.
///
/// A broker that is not listed has left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterLoad {
    /// Every broker, in the order of their names.
    pub brokers: BTreeMap<BrokerId, BrokerLoad>,
    /// Bundles that moved a short while ago: their numbers, and those of the brokers concerned, are
    /// not settled yet.
    pub recently_moved: BTreeSet<BundleId>,
}

/// What one broker bears.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BrokerLoad {
    /// Processor time; Apache Pulsar reports percents of one core, so that four cores have the
    /// limit 400.
    pub cpu: Option<Resource>,
    /// Heap memory. Garbage makes it no measure of load: no strategy here scores it.
    pub memory: Option<Resource>,
    /// Memory outside of the heap.
    pub direct_memory: Option<Resource>,
    /// Bytes a second that come in over the network.
    pub bandwidth_in: Option<Resource>,
    /// Bytes a second that go out over the network.
    pub bandwidth_out: Option<Resource>,
    /// Messages and bytes a second, of all bundles together.
    pub traffic: Traffic,
    /// The same as an average over many samples, if it is kept.
    pub long_term: Option<Traffic>,
    /// What it owns. None: it owns the bundle, but nothing is known of the bundle's load.
    pub bundles: BTreeMap<BundleId, Option<BundleLoad>>,
    /// What was given to it and is not in its report yet, with the long-term traffic it brings.
    pub preallocated: BTreeMap<BundleId, Traffic>,
    /// What it smooths itself and reports beside the rest; none: it does not, or it has not
    /// reported yet.
    pub smoothed: Option<Smoothed>,
}

/// What a broker reports that smooths its own load, as those of Apache Pulsar's extensible load
/// manager do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Smoothed {
    /// The weighted load of its fullest resource, 1.0 being all there is.
    pub usage: f64,
    /// Bytes a second, both ways together.
    pub throughput: f64,
    /// How long ago it was reported.
    pub age: Duration,
    /// How long before that a bundle was taken from it; none: not lately.
    pub since_unload: Option<Duration>,
    /// Its biggest bundles, in the order in which it reports them; none: it reported no bundles.
    pub top_bundles: Option<Vec<BundleId>>,
}

impl BrokerLoad {
    /// One resource of this broker, if it was reported.
    #[must_use]
    pub const fn resource(&self, kind: ResourceKind) -> Option<Resource> {
        match kind {
            ResourceKind::Cpu => self.cpu,
            ResourceKind::Memory => self.memory,
            ResourceKind::DirectMemory => self.direct_memory,
            ResourceKind::BandwidthIn => self.bandwidth_in,
            ResourceKind::BandwidthOut => self.bandwidth_out,
        }
    }
}

/// What one bundle bears.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BundleLoad {
    /// Averages over the last few samples (10 in Apache Pulsar).
    pub short_term: Traffic,
    /// Averages over many samples (1000 in Apache Pulsar), if they are kept.
    pub long_term: Option<Traffic>,
    /// How many topics it holds.
    pub topics: u64,
    /// How many producers are connected to them.
    pub producers: u64,
    /// How many consumers are connected to them.
    pub consumers: u64,
}

/// How much of something is used. Any unit will do, as long as all brokers use the same: scores
/// come from the ratio, and the limits say what a load on one broker would be on another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// How much is in use.
    pub usage: f64,
    /// How much there is.
    pub limit: f64,
}

impl Resource {
    /// Names a usage and its limit.
    #[must_use]
    pub const fn new(usage: f64, limit: f64) -> Self {
        Self { usage, limit }
    }

    /// Usage divided by limit, 1.0 being all there is; more is possible. None if the report makes
    /// no sense: a number that is not finite, a negative usage, or a limit that is not above zero.
    ///
    /// ```
    /// use deedbook::planner::Resource;
    ///
    /// assert_eq!(Resource::new(50.0, 200.0).ratio(), Some(0.25));
    /// assert_eq!(Resource::new(50.0, 0.0).ratio(), None);
    /// assert_eq!(Resource::new(f64::NAN, 100.0).ratio(), None);
    /// ```
    #[must_use]
    pub fn ratio(self) -> Option<f64> {
        let sound = self.usage.is_finite()
            && self.usage >= 0.0
            && self.limit.is_finite()
            && self.limit > 0.0;
        let ratio = self.usage / self.limit;
        (sound && ratio.is_finite()).then_some(ratio)
    }

    /// [`ratio`](Self::ratio) in percent. Whole percents come out whole.
    #[must_use]
    pub fn percent(self) -> Option<f64> {
        let percent = self.usage * 100.0 / self.limit;
        self.ratio().and(percent.is_finite().then_some(percent))
    }
}

/// The resources that a broker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// Processor time.
    Cpu,
    /// Heap memory.
    Memory,
    /// Memory outside of the heap.
    DirectMemory,
    /// Bytes a second that come in.
    BandwidthIn,
    /// Bytes a second that go out.
    BandwidthOut,
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::DirectMemory => "direct memory",
            Self::BandwidthIn => "bandwidth in",
            Self::BandwidthOut => "bandwidth out",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A30: a limit of zero and whatever is no number.
    #[test]
    fn a_report_without_sense_has_no_ratio() {
        for (usage, limit) in [
            (f64::NAN, 1.0),
            (1.0, f64::NAN),
            (f64::INFINITY, 1.0),
            (1.0, f64::INFINITY),
            (-1.0, 1.0),
            (1.0, 0.0),
            (1.0, -1.0),
            (1e300, 1e-300),
        ] {
            assert_eq!(Resource::new(usage, limit).ratio(), None, "{usage}/{limit}");
        }
        assert_eq!(Resource::new(0.0, 5.0).ratio(), Some(0.0));
        assert_eq!(Resource::new(600.0, 400.0).ratio(), Some(1.5));
        for percent in [30.0, 53.0, 60.0] {
            assert_eq!(Resource::new(percent, 100.0).percent(), Some(percent));
        }
    }

    /// A30: percents come from usage and limit whenever they are asked for, never from the text.
    #[test]
    fn what_a_report_leaves_out_is_missing_and_what_it_adds_is_ignored() {
        let text = r#"{"cpu": {"usage": 50.0, "limit": 200.0}, "memory": null, "spare": 1}"#;
        let load: BrokerLoad = serde_json::from_str(text).unwrap();
        assert_eq!(load.cpu.and_then(Resource::ratio), Some(0.25));
        assert_eq!(load.memory, None);
        assert_eq!(load.resource(ResourceKind::BandwidthOut), None);
        assert_eq!(load.traffic, Traffic::default());
        let again = serde_json::to_string(&load).unwrap();
        assert_eq!(serde_json::from_str::<BrokerLoad>(&again).unwrap(), load);
        let text = r#"{"cpu": {"usage": "NaN", "limit": 200.0}}"#;
        assert!(serde_json::from_str::<BrokerLoad>(text).is_err());
    }
}
