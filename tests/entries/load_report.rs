//! Any text into the reader of load reports, and what it makes of them up to the planner.

use deedbook::ids::BrokerId;
use deedbook::planner::{ClusterLoad, ResourceKind};
use deedbook::reports::{Cluster, LoadReport, Note, Reading, Usage, merge, read};
use std::collections::BTreeSet;
use std::time::Duration;

/// Stands between the reports of a cluster. No JSON text holds it, as RFC 7464 points out.
const SEPARATOR: u8 = 0x1e;

/// Room for a broker, a bundle and a shortened text, escaped, and some words.
const NOTE_BYTES_MAX: usize = 4096;

/// The bytes as the reports of a cluster.
pub(crate) fn check(data: &[u8]) {
    let pieces = data.split(|&byte| byte == SEPARATOR);
    let readings: Vec<_> = pieces.filter_map(read_one).collect();
    for reading in &readings {
        check_reading(reading);
    }
    for age_max in [None, Some(Duration::ZERO), Some(Duration::from_secs(60))] {
        let cluster = merge(readings.clone(), age_max).expect("few reports make a cluster");
        let backwards = readings.iter().rev().cloned();
        assert_eq!(
            merge(backwards, age_max).as_ref(),
            Ok(&cluster),
            "the order of the reports makes a difference"
        );
        check_cluster(&readings, &cluster);
        check_load(&cluster);
    }
}

/// A whole text, as files are read.
fn read_one(json: &[u8]) -> Option<Reading> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    match read(&mut deserializer) {
        Ok(reading) => deserializer.end().is_ok().then_some(reading),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn check_reading(reading: &Reading) {
    let Reading { report, notes } = reading;
    check_notes(notes);
    assert!(notes.iter().all(|note| note.broker == report.broker));
    let traffic = report.bundles.values().flatten().map(|stats| stats.traffic);
    for traffic in traffic.chain([report.traffic]) {
        let numbers = [
            traffic.message_rate_in,
            traffic.message_rate_out,
            traffic.throughput_in,
            traffic.throughput_out,
        ];
        assert!(numbers.into_iter().all(is_sound), "{traffic:?}");
    }
    for usage in usages(report) {
        assert!(is_sound(usage.usage()) && is_sound(usage.percent()));
        assert!(usage.limit() > 0.0);
    }
    let text = serde_json::to_vec(report).expect("a report can be written");
    let again = read_one(&text).expect("what was written is read");
    assert_eq!(again.report, *report, "written and read");
}

fn is_sound(number: f64) -> bool {
    number.is_finite() && number.is_sign_positive()
}

fn usages(report: &LoadReport) -> impl Iterator<Item = Usage> {
    let resources = report.resources;
    let all = [
        resources.cpu,
        resources.memory,
        resources.direct_memory,
        resources.bandwidth_in,
        resources.bandwidth_out,
    ];
    all.into_iter().flatten()
}

fn check_notes(notes: &[Note]) {
    for note in notes {
        let kind = note.what.kind();
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(!kind.is_empty() && kind.bytes().all(is_word), "{kind}");
        let text = note.to_string();
        assert!(text.starts_with(note.broker.as_str()), "{text}");
        assert!(text.len() <= NOTE_BYTES_MAX, "{} bytes", text.len());
    }
}

/// Each bundle counts once, and whatever of the reports does not count has a note.
fn check_cluster(readings: &[Reading], cluster: &Cluster) {
    check_notes(&cluster.notes);
    let mut seen = BTreeSet::new();
    for (broker, report) in &cluster.reports {
        assert_eq!(*broker, report.broker);
        for bundle in report.bundles.keys() {
            assert!(seen.insert(bundle), "{bundle} counts twice");
        }
    }
    let of = |notes: &[Note], broker: &BrokerId, kinds: &[&str]| {
        let concerns = |note: &&Note| note.broker == *broker && kinds.contains(&note.what.kind());
        notes.iter().filter(concerns).count()
    };
    let brokers: BTreeSet<_> = readings
        .iter()
        .map(|reading| &reading.report.broker)
        .collect();
    for broker in brokers {
        let reports = readings.iter().filter(|one| one.report.broker == *broker);
        let left_out = of(&cluster.notes, broker, &["superseded", "stale"]);
        let counts = usize::from(cluster.reports.contains_key(broker));
        assert_eq!(left_out + counts, reports.count(), "{broker}");
        let Some(report) = cluster.reports.get(broker) else {
            continue;
        };
        let claimed = of(&cluster.notes, broker, &["claimed_by"]);
        let same = |one: &&Reading| {
            one.report.broker == *broker
                && one.report.bundles.len() == report.bundles.len() + claimed
        };
        assert!(
            readings.iter().any(|one| same(&one)),
            "{broker} lost a bundle"
        );
    }
}

/// What the planner gets makes sense to it.
fn check_load(cluster: &Cluster) {
    let load = ClusterLoad::from(cluster);
    assert_eq!(load.brokers.len(), cluster.reports.len());
    for (id, broker) in &load.brokers {
        assert!(broker.traffic.is_sound(), "{id}");
        let bundles = broker.bundles.values().flatten();
        assert!(bundles.clone().all(|bundle| bundle.short_term.is_sound()));
        for kind in [
            ResourceKind::Cpu,
            ResourceKind::Memory,
            ResourceKind::DirectMemory,
            ResourceKind::BandwidthIn,
            ResourceKind::BandwidthOut,
        ] {
            let resource = broker.resource(kind);
            assert!(
                resource.is_none_or(|one| one.ratio().is_some()),
                "{id}: {kind}"
            );
        }
    }
}
