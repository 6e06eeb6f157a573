//! What stands in a report, before anything is judged.
//!
//! One type for both shapes: they use different names for the same things, and brokers of the years
//! between have written mixtures.

use super::number::Number;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// The most bundles that are read from one report. A namespace has thousands at the most.
pub const REPORT_BUNDLES_MAX: usize = 100_000;

/// How many unknown fields are remembered by name.
const UNKNOWN_MAX: usize = 20;

/// Fields of reports that say nothing about load, or repeat what others say.
const UNUSED: [&str; 21] = [
    "advertisedListeners",
    "brokerVersionString",
    "bundleGains",
    "bundleLosses",
    "lastBundleGains",
    "lastBundleLosses",
    "loadManagerClassName",
    "loadReportType",
    "maxResourceUsage",
    "nonPersistentTopicsEnabled",
    "numBundles",
    "numConsumers",
    "numProducers",
    "numTopics",
    "overLoaded",
    "persistentTopicsEnabled",
    "protocols",
    "pulsarServiceUrl",
    "pulsarServiceUrlTls",
    "startTimestamp",
    "underLoaded",
];

/// How the names of estimates begin that the older shape has beside the measured load.
const UNUSED_PREFIXES: [&str; 2] = ["allocated", "preAllocated"];

/// What stands in a report.
#[derive(Debug, Default)]
pub(super) struct RawReport {
    /// How many fields were there that a report can have.
    pub(super) load_fields: usize,
    pub(super) name: Option<String>,
    pub(super) url: Option<String>,
    pub(super) tls_url: Option<String>,
    pub(super) time: Number,
    pub(super) resources: RawResources,
    pub(super) rate_in: Number,
    pub(super) rate_out: Number,
    pub(super) throughput_in: Number,
    pub(super) throughput_out: Number,
    pub(super) owned: Option<Capped<String>>,
    pub(super) stats: Option<Capped<(String, RawStats)>>,
    pub(super) unknown: Vec<String>,
    pub(super) unknown_count: usize,
}

/// The resources, which one shape has at its top and the other in an object of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RawResources {
    pub(super) cpu: Option<RawUsage>,
    pub(super) memory: Option<RawUsage>,
    pub(super) direct_memory: Option<RawUsage>,
    pub(super) bandwidth_in: Option<RawUsage>,
    pub(super) bandwidth_out: Option<RawUsage>,
}

impl RawResources {
    /// Takes what is not there yet.
    fn fill(&mut self, other: Self) {
        self.cpu = self.cpu.take().or(other.cpu);
        self.memory = self.memory.take().or(other.memory);
        self.direct_memory = self.direct_memory.take().or(other.direct_memory);
        self.bandwidth_in = self.bandwidth_in.take().or(other.bandwidth_in);
        self.bandwidth_out = self.bandwidth_out.take().or(other.bandwidth_out);
    }
}

/// Puts what is there in the place of whatever stood there.
fn replace<T>(slot: &mut Option<T>, found: Option<T>) {
    if found.is_some() {
        *slot = found;
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RawUsage {
    pub(super) usage: Number,
    pub(super) limit: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RawStats {
    #[serde(rename = "msgRateIn")]
    pub(super) rate_in: Number,
    #[serde(rename = "msgRateOut")]
    pub(super) rate_out: Number,
    #[serde(rename = "msgThroughputIn")]
    pub(super) throughput_in: Number,
    #[serde(rename = "msgThroughputOut")]
    pub(super) throughput_out: Number,
    pub(super) topics: Number,
    pub(super) producer_count: Number,
    pub(super) consumer_count: Number,
}

/// The elements of a list, or the entries of an object as pairs, up to the limit; beyond it they
/// are counted only.
#[derive(Debug)]
pub(super) struct Capped<T> {
    pub(super) kept: Vec<T>,
    pub(super) count: usize,
}

impl<T> Capped<T> {
    fn push(&mut self, element: T) {
        self.count += 1;
        if self.kept.len() < REPORT_BUNDLES_MAX {
            self.kept.push(element);
        }
    }
}

impl<T> Default for Capped<T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            count: 0,
        }
    }
}

impl<'de> Deserialize<'de> for Capped<String> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Capped<(String, V)> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = Capped<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of bundles' names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut found = Capped::default();
        while let Some(name) = list.next_element()? {
            found.push(name);
        }
        Ok(found)
    }
}

struct EntriesVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for EntriesVisitor<V> {
    type Value = Capped<(String, V)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a bundle's name and its load in each entry")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Capped::default();
        while let Some(entry) = map.next_entry()? {
            found.push(entry);
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for RawReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReportVisitor)
    }
}

struct ReportVisitor;

impl<'de> Visitor<'de> for ReportVisitor {
    type Value = RawReport;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a load report, which is an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawReport, A::Error> {
        let mut raw = RawReport::default();
        while let Some(key) = map.next_key::<String>()? {
            raw.read_field(&key, &mut map)?;
        }
        Ok(raw)
    }
}

impl RawReport {
    /// Reads the value of one field, whichever shape has it. Where both names of a thing are there,
    /// that of the newer shape counts, in whatever order they come.
    fn read_field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let resources = &mut self.resources;
        match key {
            "name" => self.name = map.next_value()?,
            "webServiceUrl" => self.url = map.next_value()?,
            "webServiceUrlTls" => self.tls_url = map.next_value()?,
            "lastUpdate" => match map.next_value()? {
                Number::Missing => {}
                time => self.time = time,
            },
            "timestamp" => {
                let time = map.next_value()?;
                if matches!(self.time, Number::Missing) {
                    self.time = time;
                }
            }
            "cpu" => replace(&mut resources.cpu, map.next_value()?),
            "memory" => replace(&mut resources.memory, map.next_value()?),
            "directMemory" => replace(&mut resources.direct_memory, map.next_value()?),
            "bandwidthIn" => replace(&mut resources.bandwidth_in, map.next_value()?),
            "bandwidthOut" => replace(&mut resources.bandwidth_out, map.next_value()?),
            "systemResourceUsage" => {
                resources.fill(map.next_value::<Option<_>>()?.unwrap_or_default());
            }
            "msgRateIn" => self.rate_in = map.next_value()?,
            "msgRateOut" => self.rate_out = map.next_value()?,
            "msgThroughputIn" => self.throughput_in = map.next_value()?,
            "msgThroughputOut" => self.throughput_out = map.next_value()?,
            "bundles" => self.owned = map.next_value()?,
            "lastStats" => {
                let stats: Option<Capped<_>> = map.next_value()?;
                replace(&mut self.stats, stats.filter(|stats| stats.count > 0));
            }
            "bundleStats" => {
                let stats = map.next_value()?;
                self.stats = self.stats.take().or(stats);
            }
            other => {
                map.next_value::<IgnoredAny>()?;
                self.leave_out(other);
                return Ok(());
            }
        }
        let names_only = matches!(key, "name" | "webServiceUrl" | "webServiceUrlTls");
        self.load_fields += usize::from(!names_only);
        Ok(())
    }

    fn leave_out(&mut self, key: &str) {
        let is_estimate = UNUSED_PREFIXES.iter().any(|prefix| key.starts_with(prefix));
        if is_estimate || UNUSED.contains(&key) {
            return;
        }
        self.unknown_count += 1;
        if self.unknown.len() < UNKNOWN_MAX {
            self.unknown.push(key.to_owned());
        }
    }
}
