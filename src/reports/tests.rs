//! Reports as brokers really write them: each oddity has one defined result and one note.

use super::*;
use crate::ids::BrokerId;
use crate::ids::{self, BundleId};
use serde_json::{Value, json};
use std::time::Duration;

const LOWER: &str = "acme/orders/0x00000000_0x80000000";
const UPPER: &str = "acme/orders/0x80000000_0xffffffff";

/// A report to which nothing needs to be noted.
fn plain() -> Value {
    let usage = json!({"usage": 50.0, "limit": 200.0});
    let stats = json!({
        "msgRateIn": 10.0, "msgRateOut": 20.0, "msgThroughputIn": 1000.0,
        "msgThroughputOut": 2000.0, "topics": 3, "producerCount": 4, "consumerCount": 5,
        "cacheSize": 6,
    });
    json!({
        "webServiceUrl": "http://broker-1:8080",
        "lastUpdate": 1_732_000_000_000_u64,
        "cpu": usage, "memory": usage, "directMemory": usage,
        "bandwidthIn": usage, "bandwidthOut": usage,
        "msgRateIn": 20.0, "msgRateOut": 40.0,
        "msgThroughputIn": 2000.0, "msgThroughputOut": 4000.0,
        "bundles": [LOWER, UPPER],
        "lastStats": {LOWER: stats, UPPER: stats},
        "brokerVersionString": "3.3.1",
    })
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut report = plain();
    change(&mut report);
    report
}

fn read_json(value: &Value) -> Reading {
    read(value).unwrap()
}

/// A bundle's load to which nothing needs to be noted.
fn stats_with_topics(topics: u64) -> Value {
    let mut stats = plain()["lastStats"][LOWER].clone();
    stats["topics"] = json!(topics);
    stats
}

/// Why a well-formed text is no usable report.
fn refusal(value: &Value) -> Error {
    match read(value) {
        Err(ReadError::Report(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The notes as `kind: what`, without the broker's name.
fn notes(reading: &Reading) -> Vec<String> {
    let say = |note: &Note| format!("{}: {}", note.what.kind(), note.what);
    reading.notes.iter().map(say).collect()
}

fn bundle(text: &str) -> BundleId {
    text.parse().unwrap()
}

fn stats(reading: &Reading, name: &str) -> Option<BundleStats> {
    reading.report.bundles[&bundle(name)]
}

#[test]
fn a_good_report_is_read_without_notes() {
    let reading = read_json(&plain());
    assert_eq!(notes(&reading), [""; 0]);
    let report = &reading.report;
    assert_eq!(report.broker.as_str(), "broker-1:8080");
    assert_eq!(report.updated_ms, 1_732_000_000_000);
    assert_eq!(
        report.resources.direct_memory.map(Usage::percent),
        Some(25.0)
    );
    assert_eq!(report.traffic.throughput_out, 4000.0);
    let of_lower = stats(&reading, LOWER).unwrap();
    assert_eq!(
        (of_lower.topics, of_lower.producers, of_lower.consumers),
        (3, 4, 5)
    );
    assert_eq!(of_lower.traffic.message_rate_out, 20.0);
}

#[test]
fn the_older_shape_says_the_same() {
    let new = plain();
    let old = json!({
        "name": "broker-1:8080",
        "timestamp": new["lastUpdate"],
        "systemResourceUsage": {
            "cpu": new["cpu"], "memory": new["memory"], "directMemory": new["directMemory"],
            "bandwidthIn": new["bandwidthIn"], "bandwidthOut": new["bandwidthOut"],
        },
        "msgRateIn": 20.0, "msgRateOut": 40.0,
        "bundleStats": new["lastStats"],
        "loadReportType": "LoadReport",
    });
    let reading = read_json(&old);
    assert_eq!(reading.report, read_json(&new).report);
    // It has no totals of bytes and no list of names: both come from the bundles.
    assert_eq!(
        notes(&reading),
        [
            "no_bundle_list: the list of owned bundles is missing; all with load taken as owned",
            "summed: msgThroughputIn is unknown; the sum over the bundles was taken",
            "summed: msgThroughputOut is unknown; the sum over the bundles was taken",
        ]
    );
}

#[test]
fn of_both_names_of_a_thing_the_newer_shape_counts_in_any_order() {
    let fields = [
        format!("\"lastStats\": {{{LOWER:?}: {}}}", stats_with_topics(1)),
        format!("\"bundleStats\": {{{LOWER:?}: {}}}", stats_with_topics(2)),
        "\"cpu\": {\"usage\": 1, \"limit\": 100}".to_owned(),
        "\"systemResourceUsage\": {\"cpu\": {\"usage\": 2, \"limit\": 100}}".to_owned(),
        "\"lastUpdate\": 1".to_owned(),
        "\"timestamp\": 2".to_owned(),
    ];
    let mut backwards = fields.clone();
    backwards.reverse();
    for order in [fields, backwards] {
        let text = format!("{{\"name\": \"b:1\", {}}}", order.join(","));
        let reading = read(&mut serde_json::Deserializer::from_str(&text)).unwrap();
        assert_eq!(stats(&reading, LOWER).unwrap().topics, 1);
        assert_eq!(reading.report.resources.cpu, Usage::new(1.0, 100.0));
        assert_eq!(reading.report.updated_ms, 1);
    }
}

#[test]
fn the_broker_is_host_and_port() {
    let name = |change: fn(&mut Value)| read_json(&with(change)).report.broker.to_string();
    assert_eq!(
        name(|r| r["webServiceUrl"] = json!("https://[::1]:8443/x")),
        "[::1]:8443"
    );
    assert_eq!(name(|r| r["name"] = json!("b:1")), "b:1");
    let only_tls = |r: &mut Value| {
        r["webServiceUrlTls"] = json!("https://b:8443");
        r["webServiceUrl"] = json!(null);
    };
    assert_eq!(name(only_tls), "b:8443");
    let refused = |change: fn(&mut Value)| refusal(&with(change));
    assert_eq!(refused(|r| r["webServiceUrl"] = json!("")), Error::NoBroker);
    let space = refused(|r| r["webServiceUrl"] = json!("http://b 1:8080"));
    assert!(matches!(
        space,
        Error::BadBroker(ids::Error::Character { found: ' ', .. })
    ));
    let long = refused(|r| r["name"] = json!("b".repeat(256)));
    assert!(matches!(
        long,
        Error::BadBroker(ids::Error::TooLong { bytes: 256, .. })
    ));
}

#[test]
fn percent_comes_from_usage_and_limit_alone() {
    let cpu = |value: Value| {
        let reading = read_json(&with(|r| r["cpu"] = value));
        (
            reading.report.resources.cpu.map(Usage::percent),
            notes(&reading).join(" "),
        )
    };
    // A percentage in the report is not looked at.
    let contradicted = json!({"usage": 50.0, "limit": 200.0, "percentUsage": 0.0});
    assert_eq!(cpu(contradicted), (Some(25.0), String::new()));
    // Over 100 % is what some reports say; whether that counts is for others to decide.
    assert_eq!(cpu(json!({"usage": 1000, "limit": 800})).0, Some(125.0));
    let no_limit = "unknown_limit: the limit of cpu is unknown; cpu does not count";
    for value in [
        json!(null),
        json!({}),
        json!({"usage": 50.0, "limit": 0}),
        json!({"usage": 50.0, "limit": 1e-320}), // no percentage is that large
        json!({"usage": -1.0, "limit": -1.0}),
        json!({"usage": 50.0, "limit": "NaN"}),
        json!({"usage": "NaN", "limit": null}),
    ] {
        assert_eq!(cpu(value.clone()), (None, no_limit.to_owned()), "{value}");
    }
    let missing = with(|r| drop(r.as_object_mut().unwrap().remove("cpu")));
    assert_eq!(notes(&read_json(&missing)), [no_limit]);
    // A usage that is unknown must not pass for an idle machine.
    for (value, note) in [
        (json!({"limit": 200}), "missing: cpu.usage is missing"),
        (
            json!({"usage": "NaN", "limit": 200}),
            "not_a_number: cpu.usage is \"NaN\", no number that can be meant; taken as unknown",
        ),
        (
            json!({"usage": -1, "limit": 200}),
            "negative: cpu.usage is -1, below zero; taken as unknown",
        ),
    ] {
        assert_eq!(cpu(value.clone()), (None, note.to_owned()), "{value}");
    }
}

#[test]
fn a_rate_is_read_as_text_and_without_it_the_load_of_the_bundle_is_unknown() {
    let rate = |value: Value| {
        let reading = read_json(&with(|r| r["lastStats"][LOWER]["msgRateIn"] = value));
        let rate = stats(&reading, LOWER).map(|stats| stats.traffic.message_rate_in);
        let kinds = reading.notes.iter().map(|note| note.what.kind());
        (rate, kinds.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(rate(json!(7)), (Some(7.0), String::new()));
    assert_eq!(
        rate(json!(" 7.5 ")),
        (Some(7.5), "number_as_text".to_owned())
    );
    for (value, note) in [
        (json!("NaN"), "not_a_number"),
        (json!("Infinity"), "not_a_number"),
        (json!("-Infinity"), "not_a_number"),
        (json!("much"), "not_a_number"),
        (json!(""), "not_a_number"),
        (json!(1e300), "not_a_number"),
        (json!(true), "not_a_number"),
        (json!([1]), "not_a_number"),
        (json!({"a": 1}), "not_a_number"),
        (json!(null), "missing"),
        (json!(-3), "negative"),
        (json!("-3"), "negative"),
    ] {
        assert_eq!(
            rate(value.clone()),
            (None, format!("{note} no_data")),
            "{value}"
        );
    }
}

#[test]
fn a_count_that_is_unknown_does_not_hide_the_load() {
    let reading = read_json(&with(|r| r["lastStats"][LOWER]["topics"] = json!("NaN")));
    let expected = format!(
        "not_a_number: topics of {LOWER} is \"NaN\", no number that can be meant; taken as unknown"
    );
    assert_eq!(notes(&reading), [expected]);
    assert_eq!(stats(&reading, LOWER).unwrap().topics, 0);
}

#[test]
fn missing_totals_are_summed_and_a_missing_time_is_the_oldest() {
    let reading = read_json(&with(|r| {
        r["msgRateIn"] = json!(null);
        r["lastUpdate"] = json!(null);
    }));
    assert_eq!(reading.report.traffic.message_rate_in, 20.0);
    assert_eq!(reading.report.updated_ms, 0);
    assert_eq!(
        notes(&reading),
        [
            "no_time: the time of the report is missing; taken as the oldest",
            "summed: msgRateIn is unknown; the sum over the bundles was taken",
        ]
    );
}

#[test]
fn bundles_that_are_not_owned_are_left_out_and_those_without_load_are_kept() {
    let reading = read_json(&with(|r| {
        r["bundles"] = json!([UPPER, "acme/other/0x00000000_0xffffffff"])
    }));
    let names: Vec<_> = reading
        .report
        .bundles
        .keys()
        .map(BundleId::to_string)
        .collect();
    assert_eq!(names, [UPPER, "acme/other/0x00000000_0xffffffff"]);
    assert_eq!(stats(&reading, "acme/other/0x00000000_0xffffffff"), None);
    assert_eq!(
        notes(&reading),
        [
            "no_data: acme/other/0x00000000_0xffffffff is owned, but its load is unknown; it cannot \
             be moved"
                .to_owned(),
            format!("not_owned: {LOWER} has load, but is not owned any more; left out"),
        ]
    );
}

#[test]
fn other_spellings_are_normalised() {
    for (found, expected) in [
        ("acme/orders/0X00000000_0x80000000", LOWER),
        ("acme/orders/0x0_0x80000000", LOWER),
        (" acme/orders/0x80000000_0xFFFFFFFF", UPPER),
        ("acme/orders/0x0080000000_0x00ffffffff", UPPER),
    ] {
        let reading = read_json(&with(|r| {
            r["lastStats"] = json!({found: r["lastStats"][LOWER]});
            r["bundles"] = json!([found]);
        }));
        assert!(stats(&reading, expected).is_some(), "{found}");
        // One note for both places.
        assert_eq!(
            notes(&reading),
            [format!("respelled: {found:?} was read as {expected}")]
        );
    }
    for bad in [
        "acme/orders/00000000_80000000",
        "acme/orders/0x+0000000_0x80000000",
        "acme/orders/0x0_0x1ffffffff",
        "acme/orders/0x_0x80000000",
        "acme/orders/0x80000000_0x00000000",
        "acme/orders",
        "cluster/acme/orders/0x00000000_0x80000000",
        "",
    ] {
        let reading = read_json(&with(|r| r["bundles"] = json!([bad])));
        assert_eq!(reading.report.bundles.len(), 0, "{bad}");
        assert!(matches!(&reading.notes[0].what, What::BadBundle { found, .. } if found == bad));
    }
    let long = "x".repeat(1 << 20);
    let reading = read_json(&with(|r| r["bundles"] = json!([long])));
    assert!(notes(&reading)[0].len() < 400);
}

#[test]
fn of_two_spellings_of_a_bundle_the_canonical_one_counts() {
    // Objects keep the order of the text here: what counts must not depend on it.
    for order in [
        [LOWER, "acme/orders/0x0_0x80000000"],
        ["acme/orders/0x0_0x80000000", LOWER],
    ] {
        let topics = |name: &str| if name == LOWER { 1 } else { 2 };
        let entry = |name: &&str| format!("{name:?}: {}", stats_with_topics(topics(name)));
        let entries: Vec<_> = order.iter().map(entry).collect();
        let text = format!(
            "{{\"name\": \"b:1\", \"bundles\": [{LOWER:?}], \"lastStats\": {{{}}}}}",
            entries.join(",")
        );
        let reading = read(&mut serde_json::Deserializer::from_str(&text)).unwrap();
        assert_eq!(stats(&reading, LOWER).unwrap().topics, 1);
        let repeated: Vec<_> = notes(&reading)
            .into_iter()
            .filter(|n| n.starts_with("repeated"))
            .collect();
        assert_eq!(repeated.len(), 1, "{order:?}");
    }
}

#[test]
fn unknown_fields_are_named_up_to_a_limit() {
    let reading = read_json(&with(|r| r["msgratein"] = json!({"deep": [1, 2]})));
    assert_eq!(
        notes(&reading),
        ["unknown_field: the field \"msgratein\" is unknown; left out"]
    );
    let reading = read_json(&with(|r| {
        (0..30).for_each(|i| r[format!("x{i}")] = json!(i))
    }));
    assert_eq!(reading.notes.len(), 21);
    let last = reading.notes.last().unwrap();
    assert_eq!(last.what, What::MoreUnknownFields { count: 10 });
}

#[test]
fn what_is_no_report_is_an_error() {
    for other in [
        json!({}),
        json!({"webServiceUrl": "http://b:1"}),
        json!({"a": 1}),
    ] {
        assert_eq!(refusal(&other), Error::NoReport, "{other}");
    }
    for other in [json!([]), json!(1), json!("x"), json!(null)] {
        assert!(matches!(read(&other), Err(ReadError::Format(_))), "{other}");
    }
    let nested = with(|r| r["lastStats"] = json!([1]));
    assert!(matches!(read(&nested), Err(ReadError::Format(_))));
}

#[test]
fn too_many_bundles_are_an_error_with_their_number() {
    let names: Vec<_> = (0..=REPORT_BUNDLES_MAX).map(|i| format!("b{i}")).collect();
    let (count, max) = (REPORT_BUNDLES_MAX + 1, REPORT_BUNDLES_MAX);
    let refused = refusal(&with(|r| r["bundles"] = json!(names)));
    assert_eq!(refused, Error::TooManyBundles { count, max });
}

#[test]
fn writing_and_reading_again_changes_nothing() {
    let odd = with(|r| {
        r["cpu"] = json!(null);
        r["bandwidthIn"] = json!({"usage": 3, "limit": -1});
        r["bundles"] = json!([UPPER, "acme/other/0x0_0xffffffff"]);
        r["msgRateIn"] = json!("NaN");
        r["msgRateOut"] = json!("0.1");
    });
    for report in [plain(), odd] {
        let first = read_json(&report).report;
        let written = serde_json::to_string(&first).unwrap();
        let second = read(&mut serde_json::Deserializer::from_str(&written))
            .unwrap()
            .report;
        assert_eq!(second, first);
        assert_eq!(serde_json::to_string(&second).unwrap(), written);
    }
}

/// A reading of a broker that owns the bundles named.
fn reading(broker: &str, updated_ms: u64, bundles: &[&str]) -> Reading {
    let mut reading = read_json(&plain());
    reading.report.broker = broker.parse().unwrap();
    reading.report.updated_ms = updated_ms;
    reading.report.bundles = bundles.iter().map(|name| (bundle(name), None)).collect();
    reading
}

#[test]
fn of_two_claims_the_newer_report_counts_whatever_the_order() {
    let a = reading("a:1", 1_000, &[LOWER, UPPER]);
    let b = reading("b:1", 2_000, &[UPPER]);
    let merged = merge([a.clone(), b.clone()], None).unwrap();
    assert_eq!(merged, merge([b, a], None).unwrap());
    let owned = |broker: &str| -> Vec<_> {
        merged.reports[&BrokerId::new(broker).unwrap()]
            .bundles
            .keys()
            .map(BundleId::to_string)
            .collect()
    };
    assert_eq!(
        (owned("a:1"), owned("b:1")),
        (vec![LOWER.to_owned()], vec![UPPER.to_owned()])
    );
    let texts: Vec<_> = merged.notes.iter().map(Note::to_string).collect();
    let expected = format!("a:1: {UPPER} is also claimed by b:1, whose report counts; left out");
    assert_eq!(texts, [expected]);
    // Between equally old reports the names decide.
    let tie = [reading("b:1", 5, &[UPPER]), reading("a:1", 5, &[UPPER])];
    assert!(
        merge(tie, None).unwrap().reports[&BrokerId::new("b:1").unwrap()]
            .bundles
            .is_empty()
    );
}

#[test]
fn of_two_reports_of_a_broker_the_newer_counts_whatever_the_order() {
    let old = reading("a:1", 1_000, &[LOWER]);
    let new = reading("a:1", 3_500, &[UPPER]);
    let same_time = reading("a:1", 3_500, &[LOWER]);
    let merged = merge([old.clone(), new.clone()], None).unwrap();
    assert_eq!(merged, merge([new.clone(), old], None).unwrap());
    assert_eq!(merged.reports[&BrokerId::new("a:1").unwrap()], new.report);
    let expected = "a:1: another report of this broker counts; this one, 2.5 s older, left out";
    assert_eq!(merged.notes[0].to_string(), expected);
    let both = merge([new.clone(), same_time.clone()], None).unwrap();
    assert_eq!(both, merge([same_time, new], None).unwrap());
}

#[test]
fn stale_reports_are_left_out_only_when_asked() {
    let readings = [
        reading("a:1", 1_000, &[LOWER]),
        reading("b:1", 61_000, &[UPPER]),
    ];
    let reports = |max| merge(readings.clone(), max).unwrap().reports.len();
    assert_eq!(reports(None), 2);
    assert_eq!(reports(Some(Duration::from_secs(60))), 2);
    let merged = merge(readings.clone(), Some(Duration::from_secs(59))).unwrap();
    assert_eq!(merged.reports.len(), 1);
    assert_eq!(merged.notes[0].what.kind(), "stale");
}

#[test]
fn a_cluster_has_a_limit() {
    let one = reading("a:1", 1, &[]);
    let many = std::iter::repeat_n(one, BROKERS_MAX + 1);
    assert_eq!(
        merge(many, None),
        Err(Error::TooManyBrokers { max: BROKERS_MAX })
    );
}
