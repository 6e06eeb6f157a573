//! What one broker says about its load.

use super::traffic::Traffic;
use crate::ids::{BrokerId, BundleId};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use std::collections::BTreeMap;

/// What one broker says about its load.
///
/// All numbers that [`read`](super::read) makes are finite and not negative. Serialized it has the field names of Apache Pulsar's
/// `LocalBrokerData`, with `name` in the place of addresses, and [`read`](super::read) makes the
/// same report of it again.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub struct LoadReport {
    /// Whose load it is.
    pub broker: BrokerId,
    /// When the report was made, in milliseconds since 1970; 0 if that is unknown.
    pub updated_ms: u64,
    /// What the machine has and what of it is used.
    pub resources: Resources,
    /// Messages and bytes of all its bundles together.
    pub traffic: Traffic,
    /// The bundles that it owns, with the load of each; none where the report says nothing about
    /// it.
    pub bundles: BTreeMap<BundleId, Option<BundleStats>>,
}

/// What a machine has and what of it is used.
///
/// None where the report does not tell, as with the speed of a network card in a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Resources {
    /// Percent of one core: 800 are eight cores.
    pub cpu: Option<Usage>,
    /// Heap memory in MiB.
    pub memory: Option<Usage>,
    /// Direct memory in MiB.
    pub direct_memory: Option<Usage>,
    /// Incoming bandwidth in Kbit/s.
    pub bandwidth_in: Option<Usage>,
    /// Outgoing bandwidth in Kbit/s.
    pub bandwidth_out: Option<Usage>,
}

/// How much of a resource is used, and how much there is, in the same unit.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Usage {
    usage: f64,
    limit: f64,
}

impl Usage {
    /// Keeps two numbers of which a percentage can be made: none unless both are finite, the usage
    /// is not negative, the limit is above 0, and the percentage is finite, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use deedbook::reports::Usage;
    ///
    /// let usage = Usage::new(50.0, 200.0);
    /// assert_eq!(usage.map(|usage| usage.percent()), Some(25.0));
    /// assert_eq!(Usage::new(50.0, -1.0), None);
    /// ```
    #[must_use]
    pub fn new(usage: f64, limit: f64) -> Option<Self> {
        let sound = usage.is_finite() && usage >= 0.0 && limit.is_finite() && limit > 0.0;
        let made = Self { usage, limit };
        (sound && made.percent().is_finite()).then_some(made)
    }

    /// What is used.
    #[must_use]
    pub const fn usage(self) -> f64 {
        self.usage
    }

    /// What there is.
    #[must_use]
    pub const fn limit(self) -> f64 {
        self.limit
    }

    /// How much of it is used, in percent; over 100 where reports say so.
    ///
    /// Computed whenever it is asked for: a percentage kept beside the numbers could contradict
    /// them.
    #[must_use]
    pub fn percent(self) -> f64 {
        self.usage * 100.0 / self.limit
    }
}

/// The load of one bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct BundleStats {
    /// Its messages and bytes.
    pub traffic: Traffic,
    /// How many topics it has.
    pub topics: u64,
    /// How many producers are connected to them.
    pub producers: u64,
    /// How many consumers are connected to them.
    pub consumers: u64,
}

impl Serialize for LoadReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Resources {
            cpu,
            memory,
            direct_memory,
            bandwidth_in,
            bandwidth_out,
        } = &self.resources;
        let mut fields = serializer.serialize_struct("LoadReport", 13)?;
        fields.serialize_field("name", &self.broker)?;
        fields.serialize_field("lastUpdate", &self.updated_ms)?;
        fields.serialize_field("cpu", cpu)?;
        fields.serialize_field("memory", memory)?;
        fields.serialize_field("directMemory", direct_memory)?;
        fields.serialize_field("bandwidthIn", bandwidth_in)?;
        fields.serialize_field("bandwidthOut", bandwidth_out)?;
        fields.serialize_field("msgRateIn", &self.traffic.message_rate_in)?;
        fields.serialize_field("msgRateOut", &self.traffic.message_rate_out)?;
        fields.serialize_field("msgThroughputIn", &self.traffic.throughput_in)?;
        fields.serialize_field("msgThroughputOut", &self.traffic.throughput_out)?;
        fields.serialize_field("bundles", &Names(&self.bundles))?;
        fields.serialize_field("lastStats", &Stats(&self.bundles))?;
        fields.end()
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Usage", 2)?;
        fields.serialize_field("usage", &self.usage)?;
        fields.serialize_field("limit", &self.limit)?;
        fields.end()
    }
}

impl Serialize for BundleStats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("BundleStats", 7)?;
        fields.serialize_field("msgRateIn", &self.traffic.message_rate_in)?;
        fields.serialize_field("msgRateOut", &self.traffic.message_rate_out)?;
        fields.serialize_field("msgThroughputIn", &self.traffic.throughput_in)?;
        fields.serialize_field("msgThroughputOut", &self.traffic.throughput_out)?;
        fields.serialize_field("topics", &self.topics)?;
        fields.serialize_field("producerCount", &self.producers)?;
        fields.serialize_field("consumerCount", &self.consumers)?;
        fields.end()
    }
}

type Bundles = BTreeMap<BundleId, Option<BundleStats>>;

/// The owned bundles as the list of their names.
struct Names<'a>(&'a Bundles);

impl Serialize for Names<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.keys())
    }
}

/// The bundles that have load, with it.
struct Stats<'a>(&'a Bundles);

impl Serialize for Stats<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = self.0.values().flatten().count();
        let mut map = serializer.serialize_map(Some(count))?;
        for (bundle, stats) in self.0 {
            if let Some(stats) = stats {
                map.serialize_entry(bundle, stats)?;
            }
        }
        map.end()
    }
}
