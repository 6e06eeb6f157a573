//! From what stands in a report to what it says: checks, repairs, and notes of both.

use super::error::{Error, ReadError};
use super::load_report::{BundleStats, LoadReport, Resources, Usage};
use super::note::{Field, Note, What, shorten};
use super::number::Number;
use super::raw::{REPORT_BUNDLES_MAX, RawReport, RawStats, RawUsage};
use super::spelling::{Spelling, read_bundle};
use super::traffic::Traffic;
use crate::ids::{BrokerId, BundleId};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number that can be meant, in any unit: room for an exabyte a second.
const NUMBER_MAX: f64 = 1e18;

/// A report, and what was left out or repaired to make it one.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What the broker says about its load.
    pub report: LoadReport,
    /// What was left out or repaired.
    pub notes: Vec<Note>,
}

/// Reads one load report of either shape, from any self-describing format.
///
/// The broker's name is `name`, or else the host and port of `webServiceUrl` or of
/// `webServiceUrlTls`. What is unknown is neither nothing nor a lot: a resource whose limit is not
/// above 0 is not there, a bundle that lacks a rate has no load, and a total is the bundles' sum.
///
/// # Errors
///
/// [`ReadError::Format`] with what the format says if the text is broken or not of the form of a
/// report; [`ReadError::Report`] if it has none of a report's fields, does not name its broker, or
/// names more than [`REPORT_BUNDLES_MAX`] bundles.
///
/// # Examples
///
/// ```
/// let text = r#"{
///     "webServiceUrl": "http://broker-1:8080",
///     "cpu": { "usage": 400, "limit": "800" },
///     "bundles": ["acme/orders/0x0_0xFFFFFFFF"]
/// }"#;
/// let mut json = serde_json::Deserializer::from_str(text);
/// let reading = deedbook::reports::read(&mut json)?;
/// assert_eq!(reading.report.broker.as_str(), "broker-1:8080");
/// assert_eq!(reading.report.resources.cpu.map(|cpu| cpu.percent()), Some(50.0));
/// let notes: Vec<_> = reading.notes.iter().map(|note| note.what.kind()).collect();
/// assert!(notes.contains(&"number_as_text") && notes.contains(&"respelled"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reading, ReadError<D::Error>> {
    let raw = RawReport::deserialize(deserializer).map_err(ReadError::Format)?;
    Ok(check(raw)?)
}

fn check(raw: RawReport) -> Result<Reading, Error> {
    if raw.load_fields == 0 {
        return Err(Error::NoReport);
    }
    let named = raw.owned.as_ref().map_or(0, |owned| owned.count);
    let with_load = raw.stats.as_ref().map_or(0, |stats| stats.count);
    let count = named.max(with_load);
    if count > REPORT_BUNDLES_MAX {
        return Err(Error::TooManyBundles {
            count,
            max: REPORT_BUNDLES_MAX,
        });
    }
    let broker = broker_of(&raw)?;
    let mut repair = Repair::default();
    let updated_ms = repair.time(&raw.time);
    let resources = Resources {
        cpu: repair.usage(["cpu", "cpu.usage", "cpu.limit"], raw.resources.cpu),
        memory: repair.usage(
            ["memory", "memory.usage", "memory.limit"],
            raw.resources.memory,
        ),
        direct_memory: repair.usage(
            ["directMemory", "directMemory.usage", "directMemory.limit"],
            raw.resources.direct_memory,
        ),
        bandwidth_in: repair.usage(
            ["bandwidthIn", "bandwidthIn.usage", "bandwidthIn.limit"],
            raw.resources.bandwidth_in,
        ),
        bandwidth_out: repair.usage(
            ["bandwidthOut", "bandwidthOut.usage", "bandwidthOut.limit"],
            raw.resources.bandwidth_out,
        ),
    };
    let owned = raw.owned.map(|owned| owned.kept);
    let stats = raw.stats.map(|stats| stats.kept).unwrap_or_default();
    let bundles = repair.bundles(owned, stats);
    let sum: Traffic = bundles.values().flatten().map(|stats| stats.traffic).sum();
    let traffic = Traffic {
        message_rate_in: repair.total("msgRateIn", &raw.rate_in, sum.message_rate_in),
        message_rate_out: repair.total("msgRateOut", &raw.rate_out, sum.message_rate_out),
        throughput_in: repair.total("msgThroughputIn", &raw.throughput_in, sum.throughput_in),
        throughput_out: repair.total("msgThroughputOut", &raw.throughput_out, sum.throughput_out),
    };
    repair.unknown(raw.unknown, raw.unknown_count);
    let note = |what| Note {
        broker: broker.clone(),
        what,
    };
    let notes = repair.done.into_iter().map(note).collect();
    let report = LoadReport {
        broker: broker.clone(),
        updated_ms,
        resources,
        traffic,
        bundles,
    };
    Ok(Reading { report, notes })
}

/// The broker's name: as given, or the host and port of one of its addresses.
fn broker_of(raw: &RawReport) -> Result<BrokerId, Error> {
    let given = [&raw.name, &raw.url, &raw.tls_url];
    let mut given = given.into_iter().flatten().map(|text| text.trim());
    let text = given.find(|text| !text.is_empty()).ok_or(Error::NoBroker)?;
    let address = text.split_once("://").map(|(_, rest)| rest);
    let name = address.map_or(text, |rest| rest.split('/').next().unwrap_or(rest));
    name.parse().map_err(Error::BadBroker)
}

/// Makes values of what stands in a report and keeps account of it.
#[derive(Default)]
struct Repair {
    done: Vec<What>,
    /// Names of bundles that have a note about their spelling.
    spellings: BTreeSet<String>,
}

impl Repair {
    /// A number, or none with a note.
    fn number(
        &mut self,
        name: &'static str,
        bundle: Option<&BundleId>,
        number: &Number,
    ) -> Option<f64> {
        let field = Field {
            name,
            bundle: bundle.cloned(),
        };
        let (what, value) = match number {
            Number::Plain(value) | Number::Text(value) if *value > NUMBER_MAX => {
                let found = value.to_string();
                (What::NotANumber { field, found }, None)
            }
            Number::Plain(value) | Number::Text(value) if *value < 0.0 => {
                let found = *value;
                (What::Negative { field, found }, None)
            }
            // A zero with a minus sign is a zero.
            Number::Plain(value) => return Some(value + 0.0),
            Number::Text(value) => (What::NumberAsText { field }, Some(value + 0.0)),
            Number::Missing => (What::Missing { field }, None),
            Number::Other(found) => {
                let found = found.clone();
                (What::NotANumber { field, found }, None)
            }
        };
        self.done.push(what);
        value
    }

    /// A total over the bundles, or their sum with a note.
    fn total(&mut self, name: &'static str, number: &Number, sum: f64) -> f64 {
        let known = match number {
            Number::Missing => None,
            there => self.number(name, None, there),
        };
        known.unwrap_or_else(|| {
            let field = Field { name, bundle: None };
            self.done.push(What::Summed { field });
            sum
        })
    }

    fn time(&mut self, number: &Number) -> u64 {
        let known = match number {
            Number::Missing => None,
            there => self.number("lastUpdate", None, there),
        };
        let since_1970 = known.filter(|time| *time > 0.0);
        if since_1970.is_none() {
            self.done.push(What::NoTime);
        }
        since_1970.unwrap_or(0.0) as u64
    }

    /// A resource by its name and the names of its two numbers.
    fn usage(&mut self, names: [&'static str; 3], raw: Option<RawUsage>) -> Option<Usage> {
        let [resource, usage_name, limit_name] = names;
        let raw = raw.unwrap_or_default();
        if raw.limit.value().is_none_or(|limit| limit <= 0.0) {
            // Without a limit the usage says nothing: no note for what is odd about it.
            self.done.push(What::UnknownLimit { resource });
            return None;
        }
        let limit = self.number(limit_name, None, &raw.limit);
        let usage = self.number(usage_name, None, &raw.usage);
        let made = Usage::new(usage?, limit?);
        if made.is_none() {
            // A limit so close to 0 that no percentage can be made is none either.
            self.done.push(What::UnknownLimit { resource });
        }
        made
    }

    /// What of the broker's bundles counts: those that it owns, with the load that it has for them.
    fn bundles(
        &mut self,
        owned: Option<Vec<String>>,
        stats: Vec<(String, RawStats)>,
    ) -> BTreeMap<BundleId, Option<BundleStats>> {
        let owned = owned.map(|names| self.names(names));
        let mut stats = self.stats(stats);
        if owned.is_none() && !stats.is_empty() {
            self.done.push(What::NoBundleList);
        }
        let owned = owned.unwrap_or_else(|| stats.keys().cloned().collect());
        let mut bundles = BTreeMap::new();
        for bundle in owned {
            let stats = stats.remove(&bundle).flatten();
            if stats.is_none() {
                let bundle = bundle.clone();
                self.done.push(What::NoData { bundle });
            }
            bundles.insert(bundle, stats);
        }
        let not_owned = stats.into_keys().map(|bundle| What::NotOwned { bundle });
        self.done.extend(not_owned);
        bundles
    }

    fn names(&mut self, names: Vec<String>) -> BTreeSet<BundleId> {
        names
            .iter()
            .filter_map(|name| self.bundle(name))
            .map(|(bundle, _)| bundle)
            .collect()
    }

    /// The load by bundle. Of a bundle that is there twice the first one counts, in order of
    /// spelling: the canonical one, then the others as texts sort.
    fn stats(&mut self, stats: Vec<(String, RawStats)>) -> BTreeMap<BundleId, Option<BundleStats>> {
        let read = |(text, raw): (String, RawStats)| {
            let (bundle, spelling) = self.bundle(&text)?;
            let other = spelling == Spelling::Other;
            Some(((bundle, other, text), raw))
        };
        let mut entries: Vec<_> = stats.into_iter().filter_map(read).collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut found = BTreeMap::new();
        for ((bundle, _, text), raw) in entries {
            if found.contains_key(&bundle) {
                let found = shorten(&text);
                self.done.push(What::RepeatedBundle { found, bundle });
                continue;
            }
            let stats = self.bundle_stats(&bundle, &raw);
            found.insert(bundle, stats);
        }
        found
    }

    fn bundle(&mut self, text: &str) -> Option<(BundleId, Spelling)> {
        let read = read_bundle(text);
        let what = match &read {
            Ok((_, Spelling::Canonical)) => return read.ok(),
            Ok((bundle, Spelling::Other)) => What::Respelled {
                found: shorten(text),
                bundle: bundle.clone(),
            },
            Err(reason) => What::BadBundle {
                found: shorten(text),
                reason: reason.clone(),
            },
        };
        // The list of names and the load by name tend to have the same spelling: one note for both.
        if self.spellings.insert(text.to_owned()) {
            self.done.push(what);
        }
        read.ok()
    }

    /// A bundle's load; none if one of the numbers by which bundles are chosen is unknown.
    fn bundle_stats(&mut self, bundle: &BundleId, raw: &RawStats) -> Option<BundleStats> {
        let mut number = |name, number| self.number(name, Some(bundle), number);
        let rate_in = number("msgRateIn", &raw.rate_in);
        let rate_out = number("msgRateOut", &raw.rate_out);
        let throughput_in = number("msgThroughputIn", &raw.throughput_in);
        let throughput_out = number("msgThroughputOut", &raw.throughput_out);
        let mut count = |name, raw| number(name, raw).unwrap_or(0.0) as u64;
        let topics = count("topics", &raw.topics);
        let producers = count("producerCount", &raw.producer_count);
        let consumers = count("consumerCount", &raw.consumer_count);
        Some(BundleStats {
            traffic: Traffic {
                message_rate_in: rate_in?,
                message_rate_out: rate_out?,
                throughput_in: throughput_in?,
                throughput_out: throughput_out?,
            },
            topics,
            producers,
            consumers,
        })
    }

    fn unknown(&mut self, names: Vec<String>, count: usize) {
        let rest = count - names.len();
        self.done
            .extend(names.into_iter().map(|name| What::UnknownField {
                name: shorten(&name),
            }));
        if rest > 0 {
            self.done.push(What::MoreUnknownFields { count: rest });
        }
    }
}
