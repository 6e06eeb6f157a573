//! One picture out of the reports of a cluster's brokers.

use super::error::Error;
use super::load_report::LoadReport;
use super::note::{Note, What};
use super::read::Reading;
use crate::ids::{BrokerId, BundleId};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

/// The most brokers that a cluster may have.
pub const BROKERS_MAX: usize = 10_000;

/// The reports of a cluster's brokers: one of each broker, and each bundle in one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// The report of each broker.
    pub reports: BTreeMap<BrokerId, LoadReport>,
    /// What was left out or repaired, in the reports and between them, in order of the brokers.
    pub notes: Vec<Note>,
}

/// Makes one picture out of the reports of a cluster's brokers.
///
/// The newest report of a broker counts, and of several that claim one bundle the newest; between
/// equally old ones the broker whose name sorts first. With `age_max` a report is left out if it is
/// older than the newest by more than that. The order of the readings makes no difference.
///
/// # Errors
///
/// [`Error::TooManyBrokers`] beyond [`BROKERS_MAX`] readings.
pub fn merge(
    readings: impl IntoIterator<Item = Reading>,
    age_max: Option<Duration>,
) -> Result<Cluster, Error> {
    let mut sorted = Vec::new();
    for reading in readings {
        if sorted.len() == BROKERS_MAX {
            return Err(Error::TooManyBrokers { max: BROKERS_MAX });
        }
        sorted.push(reading);
    }
    sorted.sort_by(newest_first);
    let newest_ms = sorted
        .first()
        .map_or(0, |reading| reading.report.updated_ms);
    let mut cluster = Cluster::default();
    let mut claims = BTreeMap::new();
    for reading in sorted {
        let age = Duration::from_millis(newest_ms - reading.report.updated_ms);
        match age_max.filter(|max| age > *max) {
            Some(max) => cluster.note(&reading.report.broker, What::Stale { age, max }),
            None => cluster.add(reading, &mut claims),
        }
    }
    cluster.notes.sort_by(|a, b| a.broker.cmp(&b.broker));
    Ok(cluster)
}

/// Between equally old readings what they hold decides, and between equal reports what was noted,
/// so that the order is always the same.
fn newest_first(a: &Reading, b: &Reading) -> Ordering {
    let by_time = b.report.updated_ms.cmp(&a.report.updated_ms);
    by_time
        .then_with(|| a.report.partial_cmp(&b.report).unwrap_or(Ordering::Equal))
        .then_with(|| a.notes.len().cmp(&b.notes.len()))
        .then_with(|| texts(&a.notes).cmp(texts(&b.notes)))
}

/// All that a note holds, where what it says to people may leave something out.
fn texts(notes: &[Note]) -> impl Iterator<Item = String> {
    notes.iter().map(|note| format!("{note:?}"))
}

impl Cluster {
    /// Adds a report that is not newer than those that are there.
    fn add(&mut self, reading: Reading, claims: &mut BTreeMap<BundleId, BrokerId>) {
        let Reading { mut report, notes } = reading;
        let broker = report.broker.clone();
        if let Some(newer) = self.reports.get(&broker) {
            let age = Duration::from_millis(newer.updated_ms - report.updated_ms);
            return self.note(&broker, What::Superseded { age });
        }
        self.notes.extend(notes);
        report
            .bundles
            .retain(|bundle, _| match claims.entry(bundle.clone()) {
                Entry::Vacant(free) => {
                    free.insert(broker.clone());
                    true
                }
                Entry::Occupied(claimed) => {
                    let (bundle, by) = (bundle.clone(), claimed.get().clone());
                    self.note(&broker, What::ClaimedBy { bundle, broker: by });
                    false
                }
            });
        self.reports.insert(broker, report);
    }

    fn note(&mut self, broker: &BrokerId, what: What) {
        let broker = broker.clone();
        self.notes.push(Note { broker, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::read;

    /// Two reports that say the same, made of texts that do not: what is noted must not depend on
    /// which of them came first.
    #[test]
    fn of_equal_reports_with_other_notes_the_same_one_counts_whatever_the_order() {
        let reading = |bundle: &str| {
            let text = format!("{{\"name\": \"b:1\", \"bundles\": [{bundle:?}]}}");
            read(&mut serde_json::Deserializer::from_str(&text)).unwrap()
        };
        // The first two have notes that say the same to people.
        let readings = ["acme/x", "acme/y", "other/x"].map(reading);
        for [a, b] in [[0, 1], [0, 2]] {
            let [a, b] = [a, b].map(|index: usize| readings[index].clone());
            assert_eq!(a.report, b.report);
            assert_ne!(a.notes, b.notes);
            assert_eq!(merge([a.clone(), b.clone()], None), merge([b, a], None));
        }
    }
}
