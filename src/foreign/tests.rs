//! Goal: what is read is what was written, in every spelling that brokers have used, and everything
//! else is an error that says so; ranges that overlap or are missing are told. Method: events and
//! ranges by hand. Histories go through `tests/foreign.rs`.

use super::*;
use crate::ids::KeyRange;
use serde_json::{Value, json};

const KEY: &str = "acme/orders/0x00000000_0x80000000";

fn read_one(value: Value) -> Result<(Event, Vec<Note>), ReadError<serde_json::Error>> {
    read(value)
}

fn complaint(value: Value) -> String {
    read_one(value).unwrap_err().to_string()
}

#[test]
fn an_event_as_it_is_published_today() {
    let (event, notes) = read_one(json!({
        "key": KEY,
        "value": {
            "state": "Splitting", "dstBroker": null, "sourceBroker": "a:8080", "force": true,
            "timestamp": 17, "versionId": 3,
            "splitServiceUnitToDestBroker": {
                "0x00000000_0x40000000": null, "acme/orders/0x40000000_0x80000000": "b:8080",
            },
        },
        "properties": {"not": "known"},
    }))
    .unwrap();
    assert_eq!(notes, []);
    let observed = event.observed.unwrap();
    assert_eq!(observed.record.holder(), Some("a:8080"));
    assert!(observed.record.forced);
    assert_eq!((observed.record.version, observed.timestamp_ms), (3, 17));
    let children: Vec<_> = observed.children.values().map(Option::as_deref).collect();
    assert_eq!(children, [None, Some("b:8080")]);
}

#[test]
fn a_removal_and_a_value_that_is_missing_differ() {
    let (event, notes) = read_one(json!({"key": KEY, "value": null})).unwrap();
    assert_eq!((event.observed, notes), (None, vec![]));
    let missing = complaint(json!({"key": KEY}));
    assert_eq!(missing, "there is no `value`; a removal has the value null");
}

#[test]
fn old_spellings_are_read_and_noted() {
    let (event, mut notes) = read_one(json!({
        "key": "acme/orders/0x0_0X8000000A",
        "value": {"state": "Transfer_Assigned", "broker": "b", "sourceBroker": "a"},
    }))
    .unwrap();
    notes.sort_unstable();
    assert_eq!(notes, Note::ALL);
    assert_eq!(
        event.bundle.to_string(),
        "acme/orders/0x00000000_0x8000000a"
    );
    let record = event.observed.unwrap().record;
    assert_eq!(record.successor(), Some("b"));
    assert_eq!(record.version, 0);
    let (event, _) = read_one(json!({
        "key": KEY, "value": {"state": "Released", "dstBroker": "b", "sourceBroker": "a"},
    }))
    .unwrap();
    assert_eq!(event.observed.unwrap().record.holder(), Some("a"));
}

#[test]
fn what_is_no_event_is_said_so() {
    let owned = json!({"state": "Owned", "dstBroker": "a", "versionId": 1});
    for (value, says) in [
        (
            json!({"key": "acme/0x0_0x1", "value": owned}),
            "the key is no bundle",
        ),
        (
            json!({"key": "no slash", "value": owned}),
            "the key is no bundle",
        ),
        (
            json!({"key": "a/b/0x2_0x1", "value": owned}),
            "the key is no bundle",
        ),
        (
            json!({"key": "a/b/0x123456789_0x1", "value": owned}),
            "the key is no bundle",
        ),
        // Names with a cluster in them went out of use with namespaces of three parts.
        (
            json!({"key": "a/c/b/0x0_0x1", "value": owned}),
            "the key is no bundle",
        ),
        (
            json!({"key": KEY, "value": {"state": "Lost", "dstBroker": "a"}}),
            "there is no state",
        ),
        (
            json!({"key": KEY, "value": {"state": "Owned"}}),
            "a record in state Owned names a broker",
        ),
        (
            json!({"key": KEY, "value": {"dstBroker": "a"}}),
            "missing field `state`",
        ),
        (json!({"key": KEY, "value": 7}), "invalid type"),
        (json!({"value": owned}), "missing field `key`"),
        (json!([]), "invalid length 0"),
        (
            json!({"key": KEY, "value": {"state": "Splitting", "sourceBroker": "a",
                "splitServiceUnitToDestBroker": {"half": null}}}),
            "a child of a split is no range",
        ),
    ] {
        let said = complaint(value.clone());
        assert!(said.contains(says), "{value}: {said}");
    }
}

#[test]
fn rule_sets_have_names() {
    for set in RuleSet::ALL {
        assert_eq!(set.name().parse(), Ok(set));
    }
    let unknown = "pip".parse::<RuleSet>().unwrap_err();
    assert!(
        unknown
            .to_string()
            .contains("there are native, pulsar-system-topic")
    );
}

fn covered(bundles: &[(&str, Value)]) -> Coverage {
    let mut audit = Audit::new(RuleSet::PulsarSystemTopic);
    for (range, value) in bundles {
        let line = json!({"key": format!("a/b/{range}"), "value": value});
        audit.apply(1, &read_one(line).unwrap().0).unwrap();
    }
    audit.coverage(&"a/b".parse().unwrap())
}

fn range(text: &str) -> KeyRange {
    text.parse().unwrap()
}

#[test]
fn gaps_and_overlaps_are_told() {
    let owned = || json!({"state": "Owned", "dstBroker": "a", "versionId": 1});
    let deleted = json!({"state": "Deleted", "sourceBroker": "a", "versionId": 1});
    let coverage = covered(&[
        ("0x00000000_0xffffffff", deleted.clone()),
        ("0x10000000_0x30000000", owned()),
        ("0x10000000_0x20000000", owned()),
        ("0x28000000_0x40000000", owned()),
        ("0x50000000_0x60000000", owned()),
    ]);
    let gaps = [
        "0x00000000_0x10000000",
        "0x40000000_0x50000000",
        "0x60000000_0xffffffff",
    ];
    assert_eq!(coverage.gaps, gaps.map(range));
    let overlaps = [
        ("0x10000000_0x20000000", "0x10000000_0x30000000"),
        ("0x10000000_0x30000000", "0x28000000_0x40000000"),
    ];
    let overlaps = overlaps.map(|(first, second)| Overlap {
        first: range(first),
        second: range(second),
    });
    assert_eq!(coverage.overlaps, overlaps);
    assert!(covered(&[("0x00000000_0xffffffff", owned())]).is_whole());
    let nothing = covered(&[("0x00000000_0xffffffff", deleted)]);
    assert_eq!(nothing.gaps, [KeyRange::FULL]);
}

#[test]
fn the_children_of_a_split_under_way_overlap_nothing() {
    let owned = || json!({"state": "Owned", "dstBroker": "a", "versionId": 1});
    let splitting = |children: Value| {
        json!({"state": "Splitting", "sourceBroker": "a", "versionId": 1,
            "splitServiceUnitToDestBroker": children})
    };
    let with = |children| {
        covered(&[
            ("0x00000000_0xffffffff", splitting(children)),
            ("0x00000000_0x80000000", owned()),
            ("0x80000000_0xffffffff", owned()),
        ])
    };
    assert!(with(Value::Null).is_whole());
    let named = json!({"0x00000000_0x80000000": null, "0x80000000_0xffffffff": null});
    assert!(with(named).is_whole());
    let others = json!({"0x00000000_0x40000000": null, "0x40000000_0xffffffff": null});
    assert_eq!(with(others).overlaps.len(), 2);
}
