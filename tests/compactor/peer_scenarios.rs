//! The scenarios of Apache Pulsar's own tests of compaction and table views, by their names in
//! `docs/testing.md`: the same situation, the same values at the end.
//!
//! There a log carries keys and values, and a strategy says which of two values stays; here a key
//! is a namespace of one bundle (`keys`), and the one rule is that the first valid change wins.
//! What was written in one batch there is written in one entry here, or, where one key occurs in it
//! twice, in entries that follow one another.

use crate::cluster::{Cluster, Listener, session};
use crate::keys::{Keys, key_bundle, owned_map};
use crate::refusals::{Fault, Faulty};
use crate::support::{assigning, change, free};
use deedbook::compactor::{Attempt, Config, End, Error};
use deedbook::log::{EventLog, Member, TrimError};
use deedbook::state::{Body, Record};
use deedbook::table::{Reader, ReaderEvent};
use serde_json::Value;
use std::collections::BTreeMap;

fn scenario(id: &str) -> Vec<Value> {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../data/peer/compaction.json")).unwrap();
    let rows: Vec<_> = rows.into_iter().filter(|row| row["id"] == id).collect();
    assert!(!rows.is_empty(), "there is no {id}");
    rows
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A list of pairs: key, and value or null.
fn pairs(list: &Value) -> Vec<(String, Option<String>)> {
    let pairs = list.as_array().unwrap().iter();
    let pair = |pair: &Value| (text(&pair[0]), (!pair[1].is_null()).then(|| text(&pair[1])));
    pairs.map(pair).collect()
}

fn write(keys: &mut Keys, list: &Value) {
    for (key, value) in pairs(list) {
        match value {
            Some(value) => keys.put(&key, value),
            None => keys.remove(&key),
        }
    }
}

/// Plays the operations of a scenario; what was read under each label, in the order in which a
/// newcomer hears of it.
fn play(keys: &mut Keys, ops: &Value) -> BTreeMap<String, Vec<(String, Option<String>)>> {
    let mut read = BTreeMap::new();
    for op in ops.as_array().unwrap() {
        if let Some(list) = op.get("write") {
            write(keys, list);
        } else if let Some(label) = op.get("read") {
            read.insert(text(label), keys.heard());
        } else {
            keys.cluster.compact();
        }
    }
    read
}

/// CT-04: before compaction a newcomer hears of every change, after it of the last one.
#[test]
fn ct_04_before_and_after_the_first_compaction() {
    let mut keys = Keys::new();
    (1..=3).for_each(|value| keys.put("k", value));
    let own = |value: &str| ("k".to_owned(), Some(value.to_owned()));
    assert_eq!(keys.heard(), ["1", "2", "3"].map(own));
    keys.cluster.compact();
    assert_eq!(keys.heard(), [own("3")]);
}

/// CT-05: the compacted part, then the tail behind it.
#[test]
fn ct_05_compacted_output_and_then_the_tail() {
    let mut keys = Keys::new();
    (1..=3).for_each(|value| keys.put("key0", value));
    keys.cluster.compact();
    keys.put("key0", 4);
    let own = |value: &str| ("key0".to_owned(), Some(value.to_owned()));
    assert_eq!(keys.heard(), ["3", "4"].map(own));
}

/// CT-10: an empty log is compacted, and what is written then is read.
#[test]
fn ct_10_an_empty_log() {
    let mut keys = Keys::new();
    keys.cluster.compact();
    assert!(keys.compacted().is_empty());
    keys.put("k", "v");
    assert_eq!(keys.heard(), [("k".to_owned(), Some("v".to_owned()))]);
}

/// CT-11: an entry may vanish completely: all that it changed was changed again.
#[test]
fn ct_11_a_whole_entry_is_compacted_out() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 3);
    let bundles: Vec<_> = cluster
        .table
        .rows()
        .map(|(bundle, _)| bundle.clone())
        .collect();
    let all = |cluster: &Cluster, next: &Record| {
        let rows = cluster.table.rows();
        let changes = rows.map(|(b, row)| change(b, row.version.get(), Some(next.clone())));
        Body::Changes(changes.collect())
    };
    let batch = all(&cluster, &assigning("b"));
    cluster.accept(0, None, batch);
    let vanishing = cluster.table.get(&bundles[0]).unwrap().version;
    let batch = all(&cluster, &free());
    cluster.accept(1, None, batch);
    cluster.compact();
    let snapshot = cluster.snapshot().unwrap();
    assert!(
        snapshot
            .rows()
            .all(|(_, row)| row.record == free() && row.version > vanishing)
    );
    Listener::new(cluster.shared()).check(&cluster);
}

/// CT-13: what is compacted may be nothing at all.
#[test]
fn ct_13_nothing_is_left() {
    let mut keys = Keys::new();
    for key in ["1", "2"] {
        keys.put(key, "v");
        keys.put(key, "w");
    }
    ["1", "2"].iter().for_each(|key| keys.remove(key));
    keys.cluster.compact();
    assert!(keys.compacted().is_empty());
    assert_eq!(keys.heard(), []);
}

/// CT-14: removals of what was never there.
#[test]
fn ct_14_removals_alone() {
    let mut keys = Keys::new();
    (0..10).for_each(|_| keys.remove("1"));
    keys.cluster.compact();
    assert!(keys.compacted().is_empty());
    assert_eq!(keys.heard(), []);
}

/// CT-16: reading goes from the compacted part into what is not compacted yet, also behind a
/// removal.
#[test]
fn ct_16_what_is_not_compacted_yet() {
    for row in scenario("CT-16") {
        let mut keys = Keys::new();
        let read = play(&mut keys, &row["setup"]["ops"]);
        for (label, expected) in row["expected"].as_object().unwrap() {
            assert_eq!(read[label], pairs(expected), "{label}");
        }
    }
}

/// CT-17: fifty writes over five keys, of which the lower ones do not count. There a strategy
/// compares numbers; here whoever knows a lower number writes over a version that is gone. A
/// removal always counts, and any value counts after it.
#[test]
fn ct_17_lower_numbers_do_not_count() {
    for row in scenario("CT-17") {
        let mut keys = Keys::new();
        let mut now: BTreeMap<String, i64> = BTreeMap::new();
        let writes = pairs(&row["setup"]["writes"]);
        for (key, value) in &writes {
            match value.as_ref().map(|value| value.parse::<i64>().unwrap()) {
                None => {
                    keys.remove(key);
                    now.remove(key);
                }
                Some(value) if now.get(key).is_none_or(|kept| *kept < value) => {
                    keys.put(key, value);
                    now.insert(key.clone(), value);
                }
                Some(_) => keys.put_stale(key),
            }
        }
        let survivors = row["expected"]["survivors"].as_object().unwrap();
        let survivors: BTreeMap<_, _> = survivors
            .iter()
            .map(|(key, value)| (key.clone(), text(value)))
            .collect();
        let report = keys.cluster.compact();
        assert_eq!(keys.compacted(), survivors);
        assert_eq!(
            report.rows_after,
            row["expected"]["compacted_entries"].as_u64().unwrap()
        );
        assert!(report.entries_read >= writes.len() as u64);
        assert_eq!(keys.of(&keys.cluster.table), survivors);
    }
}

/// CT-20: of twenty writes the last of each key stays.
#[test]
fn ct_20_the_last_of_each_key() {
    for row in scenario("CT-20") {
        let mut keys = Keys::new();
        for (position, key) in row["setup"]["keys"].as_array().unwrap().iter().enumerate() {
            keys.put(&text(key), position);
        }
        keys.cluster.compact();
        let last = row["expected"]["last_position_per_key"]
            .as_object()
            .unwrap();
        let last: BTreeMap<_, _> = last
            .iter()
            .map(|(key, at)| (key.clone(), text(at)))
            .collect();
        assert_eq!(keys.compacted(), last);
        assert_eq!(
            last.len() as u64,
            row["expected"]["compacted_entries"].as_u64().unwrap()
        );
    }
}

/// CT-22: compact, write, compact.
#[test]
fn ct_22_compact_again() {
    for row in scenario("CT-22") {
        let mut keys = Keys::new();
        let read = play(&mut keys, &row["setup"]["ops"]);
        for label in ["A", "B"] {
            let found: BTreeMap<_, _> = read[label].iter().cloned().collect();
            let expected = row["expected"][format!("{label}_as_map")]
                .as_object()
                .unwrap();
            let expected = expected
                .iter()
                .map(|(key, value)| (key.clone(), Some(text(value))));
            assert_eq!(found, expected.collect());
        }
    }
}

/// CT-23: there the surviving writes keep their order. Here a snapshot is in the order of names,
/// and each row carries its version, so that nobody depends on an order.
#[test]
fn ct_23_versions_tell_the_order() {
    for row in scenario("CT-23") {
        let mut keys = Keys::new();
        play(&mut keys, &row["setup"]["ops"]);
        let snapshot = keys.cluster.snapshot().unwrap();
        let mut rows: Vec<_> = snapshot.rows().collect();
        rows.sort_by_key(|(_, row)| row.version);
        let bundles: Vec<_> = rows.into_iter().map(|(bundle, _)| bundle.clone()).collect();
        let expected = row["expected"]["compacted_key_order"].as_array().unwrap();
        let expected: Vec<_> = expected.iter().map(|key| key_bundle(&text(key))).collect();
        assert_eq!(bundles, expected);
    }
}

/// CT-25: positions inside a batch. Here an entry has one position, and all that it changes has
/// that version, before compaction and after it.
#[test]
fn ct_25_what_was_written_together_has_one_version() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 2);
    let changes = cluster.table.rows();
    let changes = changes.map(|(b, row)| change(b, row.version.get(), Some(assigning("b"))));
    let batch = Body::Changes(changes.collect());
    cluster.accept(0, None, batch);
    let version = cluster.table.next().previous();
    cluster.compact();
    let snapshot = cluster.snapshot().unwrap();
    assert!(snapshot.rows().all(|(_, row)| row.version == version));
    assert_eq!(snapshot.row_count(), 2);
}

/// CT-26 and CT-31: batches in which keys are written, written again and removed.
#[test]
fn ct_26_ct_31_removals_in_batches() {
    for row in ["CT-26", "CT-31"].into_iter().flat_map(scenario) {
        let mut keys = Keys::new();
        for batch in row["setup"]["batches"].as_array().unwrap() {
            write(&mut keys, batch);
        }
        keys.cluster.compact();
        let found = keys.compacted();
        if let Some(order) = row["expected"].get("compacted_key_order") {
            let order: Vec<_> = order.as_array().unwrap().iter().map(text).collect();
            assert_eq!(found.into_keys().collect::<Vec<_>>(), order);
        } else {
            let expected = pairs(&row["expected"]["compacted_view"]);
            let expected = expected
                .into_iter()
                .map(|(key, value)| (key, value.unwrap()));
            assert_eq!(found, expected.collect());
        }
    }
}

/// CT-28: a key can come back after its removal.
#[test]
fn ct_28_a_key_comes_back() {
    for row in scenario("CT-28") {
        let mut keys = Keys::new();
        for batch in row["setup"]["batches"].as_array().unwrap() {
            write(&mut keys, batch);
        }
        keys.cluster.compact();
        assert_eq!(
            keys.compacted(),
            owned_map(&[("key0", "m0"), ("key4", "m4")])
        );
        let expected = pairs(&row["expected"]["compacted_view"]);
        assert_eq!(keys.heard(), expected);
    }
}

/// CT-32: a hundred records that are about no key, among them.
#[test]
fn ct_32_records_about_no_key() {
    let mut keys = Keys::new();
    keys.put("k", "v");
    for round in 0..50 {
        keys.cluster.elect(round % 3);
        let epoch = keys.cluster.epoch;
        keys.cluster
            .append(round % 3, Some(epoch), Body::LeaderStarted);
    }
    let session = session(2);
    keys.cluster.member(Member::Draining { session });
    keys.put("k", "w");
    let report = keys.cluster.compact();
    assert_eq!(report.rows_after, 1);
    assert_eq!(keys.compacted(), owned_map(&[("k", "w")]));
    let snapshot = keys.cluster.snapshot().unwrap();
    assert_eq!(snapshot.facts(), keys.cluster.table.facts());
}

/// CT-38: what a failed compaction had collected does not come back with the next one.
#[test]
fn ct_38_a_failed_attempt_leaves_nothing_to_the_next() {
    let mut keys = Keys::new();
    keys.put("keep", "retained");
    keys.put("deleted", "stale");
    let run = |keys: &Keys, is_broken: bool| {
        let log = Faulty::new(&keys.cluster.log, Fault::NoWrite);
        if !is_broken {
            log.repair();
        }
        Attempt::new(log, keys.cluster.epoch, End::CaughtUp, Config::default()).run()
    };
    let failed = run(&keys, true);
    assert!(matches!(failed, Err(Error::Write(_))), "{failed:?}");
    assert!(keys.cluster.snapshot().is_none());
    keys.remove("deleted");
    let report = run(&keys, false).unwrap();
    assert_eq!(report.rows_after, 1);
    assert_eq!(keys.compacted(), owned_map(&[("keep", "retained")]));
}

/// CT-40: before the first compaction nothing may be trimmed.
#[test]
fn ct_40_nothing_is_trimmed_before_the_first_compaction() {
    let mut keys = Keys::new();
    (0..5).for_each(|key| keys.put(&format!("k{key}"), key));
    let end = keys.cluster.table.next();
    let refused = keys.cluster.log.trim(end);
    assert!(
        matches!(refused, Err(TrimError::BeyondSnapshot { .. })),
        "{refused:?}"
    );
    let before = keys.heard();
    assert_eq!(before.len(), 5);
    keys.cluster.compact();
    assert_eq!(keys.heard(), before);
}

/// CT-41: reading a log of which nothing is left ends.
#[test]
fn ct_41_reading_nothing_ends() {
    let mut keys = Keys::new();
    keys.put("K1", "V1");
    keys.put("K2", "V2");
    keys.remove("K2");
    keys.cluster.compact();
    keys.remove("K1");
    keys.cluster.compact();
    let mut reader = Reader::new(keys.cluster.shared());
    let mut events = 0;
    while let Some(event) = reader.poll().unwrap() {
        events += 1;
        assert!(!matches!(event, ReaderEvent::Applied { .. }));
    }
    assert!(events <= 2, "a jump, and that there is no more");
    assert_eq!(reader.table().row_count(), 0);
}
