//! Goal: a log of ours, written as events of Apache Pulsar and read back, says the same; and a new
//! log that begins with what such events left says so too. Method: random histories, a third of
//! them invalid, through export, audit under three rule sets, and founding. Hand-written events
//! show what each rule set makes of the same situation.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod support;

use deedbook::foreign::{Audit, Event, Exporter, Founding, FoundingError, Held, RuleSet, read};
use deedbook::ids::{BrokerId, BundleId, Holder, Position, SessionToken};
use deedbook::state::{Body, Entry, Record, Row, State};
use deedbook::table::{RowChange, Table};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeMap;
use support::history::{World, steps};

const SETS: [RuleSet; 3] = [
    RuleSet::Native,
    RuleSet::PulsarSystemTopic,
    RuleSet::PulsarMetadataStore,
];

/// Writes an event and reads it again, which changes nothing.
fn through_json(event: &Event) -> Event {
    let text = serde_json::to_string(event).unwrap();
    let (again, notes) = read(&mut serde_json::Deserializer::from_str(&text)).unwrap();
    assert_eq!(notes, [], "{text}");
    assert_eq!(&again, event, "{text}");
    again
}

/// What is compared: state, holder, destination.
type Standing = (State, Option<String>, Option<String>);

fn of_held(held: &Held) -> Standing {
    let record = &held.observed.record;
    let own = |name: Option<&str>| name.map(str::to_owned);
    (record.state, own(record.holder()), own(record.successor()))
}

fn of_row(row: &Row) -> Standing {
    let record = &row.record;
    let holder = record.holder().map(|holder| holder.broker.to_string());
    let destination = record.destination().map(ToString::to_string);
    (record.state(), holder, destination)
}

fn check_alike(audit: &Audit, table: &Table) {
    assert_eq!(audit.row_count(), table.row_count());
    for (bundle, row) in table.rows() {
        let ours = of_row(row);
        let mut theirs = of_held(audit.get(bundle).unwrap());
        if ours.0 == State::Splitting && ours.1.is_none() {
            // A record must name somebody.
            theirs.1 = None;
        }
        assert_eq!(theirs, ours, "{bundle} under {}", audit.rules());
    }
    for namespace in audit.namespaces() {
        assert!(audit.coverage(namespace).is_whole(), "{namespace}");
    }
}

/// Appends the entries of a founding until there are none.
fn found(founding: &Founding) -> Table {
    let mut table = Table::default();
    let holders = founding.holders();
    let sessions: BTreeMap<BrokerId, SessionToken> = holders
        .into_iter()
        .zip((10..).map(SessionToken::new))
        .collect();
    let importer: BrokerId = "importer".parse().unwrap();
    let mut position = 100;
    loop {
        let entries = founding.entries(&table, &sessions);
        if entries.is_empty() {
            return table;
        }
        for (author, body) in entries {
            position += 1;
            let session = author
                .as_ref()
                .map_or(SessionToken::new(1), |a| sessions[a]);
            let author = Holder::new(author.unwrap_or_else(|| importer.clone()), session);
            let entry = Entry {
                author,
                counter: position,
                epoch: None,
                body,
            };
            let applied = table.apply(Position::new(position), &entry).unwrap();
            assert_eq!(applied.unwrap().outcome.err(), None, "{entry:?}");
        }
    }
}

/// What a founded bundle is to be: children in the middle of a split are born by the split.
fn check_founded(audit: &Audit, table: &Table) {
    table.check_whole().unwrap();
    let mut live = 0;
    for (bundle, held) in audit.rows() {
        let theirs = of_held(held);
        if theirs.0 == State::Deleted {
            assert_eq!(table.get(&bundle), None, "{bundle}");
            continue;
        }
        live += 1;
        assert_eq!(of_row(table.get(&bundle).unwrap()), theirs, "{bundle}");
    }
    assert_eq!(table.row_count(), live);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_log_that_is_written_out_and_read_back_says_the_same(
        steps in steps(1..120),
        cut in 0_usize..120,
    ) {
        let mut table = Table::default();
        let mut exporter = Exporter::new();
        // The second begins with a snapshot, somewhere on the way.
        let mut late = Exporter::new();
        let mut audits = SETS.map(Audit::new);
        let mut late_audits = SETS.map(Audit::new);
        let mut number = 0;
        let mut take = |exporter: &mut Exporter, audits: &mut [Audit], changes: &[RowChange]| {
            for event in exporter.events(changes) {
                let event = through_json(&event);
                number += 1;
                for audit in audits.iter_mut() {
                    let outcome = audit.apply(number, &event);
                    assert_eq!(outcome, Ok(()), "{event:?} under {}", audit.rules());
                }
            }
        };
        for (index, written) in World::history(&steps).into_iter().enumerate() {
            let applied = table.apply(Position::new(written.position), &written.entry);
            let changes = applied.unwrap().unwrap().outcome.unwrap_or_default();
            take(&mut exporter, &mut audits, &changes);
            if index == cut {
                let all = Table::default().difference(&table);
                take(&mut late, &mut late_audits, &all);
            } else if index > cut {
                take(&mut late, &mut late_audits, &changes);
            }
        }
        for audit in &audits {
            check_alike(audit, &table);
            check_founded(audit, &found(&Founding::new(audit).unwrap()));
        }
        if cut < steps.len() {
            late_audits.iter().for_each(|audit| check_alike(audit, &table));
        }
    }
}

/// Events by hand: bundle, state, destination, source, version; a state of "" removes the bundle.
fn events(lines: &[(&str, &str, &str, &str, i64)]) -> Vec<Event> {
    let event = |&(range, state, destination, source, version): &(&str, &str, &str, &str, i64)| {
        let name = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let value = (!state.is_empty()).then(|| {
            serde_json::json!({
                "state": state,
                "dstBroker": name(destination),
                "sourceBroker": name(source),
                "versionId": version,
            })
        });
        let line = serde_json::json!({"key": format!("t/n/{range}"), "value": value});
        read(line).unwrap().0
    };
    lines.iter().map(event).collect()
}

/// The names of what is dropped, by number of the event.
fn replay(rules: RuleSet, events: &[Event]) -> (Audit, Vec<(u64, &'static str)>) {
    let mut audit = Audit::new(rules);
    let mut dropped = Vec::new();
    for (number, event) in (1..).zip(events) {
        if let Err(why) = audit.apply(number, event) {
            dropped.push((number, why.name()));
        }
    }
    (audit, dropped)
}

const ALL: &str = "0x00000000_0xffffffff";
const LOW: &str = "0x00000000_0x80000000";
const HIGH: &str = "0x80000000_0xffffffff";

fn bundle(range: &str) -> BundleId {
    format!("t/n/{range}").parse().unwrap()
}

#[test]
fn a_transfer_as_today_and_as_it_was_first() {
    let today = events(&[
        (ALL, "Assigning", "a", "", 1),
        (ALL, "Owned", "a", "", 2),
        (ALL, "Releasing", "b", "a", 3),
        (ALL, "Assigning", "b", "a", 4),
        (ALL, "Owned", "b", "a", 5),
    ]);
    for rules in SETS {
        let (audit, dropped) = replay(rules, &today);
        assert_eq!(dropped, [], "{rules}");
        let held = audit.get(&bundle(ALL)).unwrap();
        assert_eq!(held.observed.record.holder(), Some("b"));
        assert_eq!(held.number, 5);
    }
    // There a transfer is assigned first, so that the release comes without a word before.
    let (_, dropped) = replay(RuleSet::Pip192, &today);
    assert_eq!(dropped[0], (3, "term_broken"));

    let first = events(&[
        (ALL, "Assigned", "a", "", 0),
        (ALL, "Owned", "a", "", 0),
        (ALL, "Transfer_Assigned", "b", "a", 0),
        (ALL, "Released", "b", "a", 0),
        (ALL, "Owned", "b", "a", 0),
    ]);
    let (audit, dropped) = replay(RuleSet::Pip192, &first);
    assert_eq!(dropped, []);
    assert_eq!(
        audit.get(&bundle(ALL)).unwrap().observed.record.holder(),
        Some("b")
    );
    let (_, dropped) = replay(RuleSet::Native, &first);
    assert_eq!(dropped[0], (3, "invalid_transition"));
}

/// The parent comes back after its split: with a gap in versions the system topic lets it pass.
#[test]
fn a_parent_that_comes_back_after_its_split() {
    let mut lines = vec![
        (ALL, "Owned", "a", "", 1),
        (ALL, "Splitting", "", "a", 2),
        (LOW, "Owned", "a", "", 1),
        (HIGH, "Owned", "a", "", 1),
        (ALL, "Deleted", "", "a", 3),
        (ALL, "", "", "", 0),
        (ALL, "Assigning", "b", "", 7),
        (ALL, "Owned", "b", "", 8),
    ];
    let revived = events(&lines);
    let (audit, dropped) = replay(RuleSet::PulsarSystemTopic, &revived);
    assert_eq!(dropped, []);
    let coverage = audit.coverage(&"t/n".parse().unwrap());
    assert_eq!(coverage.overlaps.len(), 2);
    assert!(matches!(
        Founding::new(&audit),
        Err(FoundingError::Overlaps { .. })
    ));

    let (audit, dropped) = replay(RuleSet::Native, &revived);
    // It says nothing of its children, so the split itself is nothing that we know, nor are they.
    assert_eq!(dropped[0], (2, "no_children"));
    assert!(audit.coverage(&"t/n".parse().unwrap()).is_whole());

    // Where children are named, only the way back is dropped.
    lines.remove(1);
    let mut named = events(&lines);
    let split = serde_json::json!({
        "key": bundle(ALL).to_string(),
        "value": {
            "state": "Splitting", "sourceBroker": "a", "versionId": 2,
            "splitServiceUnitToDestBroker": {LOW: null, HIGH: "b"},
        },
    });
    named.insert(1, read(split).unwrap().0);
    let (audit, dropped) = replay(RuleSet::Native, &named);
    assert_eq!(dropped, [(7, "overlaps"), (8, "overlaps")]);
    assert_eq!(audit.row_count(), 2);
}

/// A bundle in flight stands in the new log as it stood in the old one.
#[test]
fn what_is_in_flight_is_founded_in_flight() {
    let events = events(&[
        (LOW, "Owned", "a", "", 1),
        (LOW, "Releasing", "b", "a", 2),
        (HIGH, "Splitting", "", "c", 1),
    ]);
    let (audit, dropped) = replay(RuleSet::PulsarSystemTopic, &events);
    assert_eq!(dropped, []);
    let founding = Founding::new(&audit).unwrap();
    assert_eq!(founding.holders().len(), 2);
    let table = found(&founding);
    let low = table.get(&bundle(LOW)).unwrap();
    assert_eq!(
        of_row(low),
        (State::Releasing, Some("a".into()), Some("b".into()))
    );
    // The split says nothing of its children: it is to be asked for again.
    let high = table.get(&bundle(HIGH)).unwrap();
    assert_eq!(of_row(high), (State::Owned, Some("c".into()), None));
}

#[test]
fn a_gap_is_founded_free() {
    let events = events(&[
        ("0x10000000_0x80000000", "Owned", "a", "", 1),
        ("0xc0000000_0xe0000000", "Free", "", "", 1),
    ]);
    let (audit, _) = replay(RuleSet::PulsarSystemTopic, &events);
    let founding = Founding::new(&audit).unwrap();
    let filled: Vec<_> = founding
        .filled()
        .iter()
        .map(|b| b.range().to_string())
        .collect();
    assert_eq!(
        filled,
        [
            "0x00000000_0x10000000",
            "0x80000000_0xc0000000",
            "0xe0000000_0xffffffff"
        ]
    );
    let table = found(&founding);
    assert_eq!(table.row_count(), 5);
    let free = table.rows().filter(|(_, row)| row.record == Record::Free);
    assert_eq!(free.count(), 4);
}

#[test]
fn a_namespace_beyond_one_creation_is_an_error() {
    let count = u32::try_from(deedbook::state::PARTS_MAX).unwrap();
    let mut audit = Audit::new(RuleSet::PulsarSystemTopic);
    for i in 0..=count {
        let range = format!("{:#010x}_{:#010x}", i * 2, i * 2 + 2);
        let event = &events(&[(range.as_str(), "Free", "", "", 1)])[0];
        audit.apply(1, event).unwrap();
    }
    let error = Founding::new(&audit).unwrap_err();
    assert!(
        matches!(error, FoundingError::TooManyParts { .. }),
        "{error}"
    );
}

/// Entries of a founding are no larger than an entry may be.
#[test]
fn a_large_namespace_is_founded_in_several_entries() {
    let mut audit = Audit::new(RuleSet::PulsarSystemTopic);
    let parts = 2_500_u32;
    for i in 0..parts {
        let upper = if i + 1 == parts {
            u32::MAX
        } else {
            (i + 1) * 1_000
        };
        let range = format!("{:#010x}_{upper:#010x}", i * 1_000);
        audit
            .apply(1, &events(&[(range.as_str(), "Owned", "a", "", 1)])[0])
            .unwrap();
    }
    let founding = Founding::new(&audit).unwrap();
    let table = found(&founding);
    assert_eq!(table.row_count(), 2_500);
    let bodies = founding.entries(&Table::default(), &BTreeMap::new());
    assert!(matches!(bodies[..], [(None, Body::CreateNamespace { .. })]));
}
