//! What was reported of other systems that compact a log, one test a report, named as in
//! `docs/testing.md`. Where another test shows it already, the table there names that one.

use crate::cluster::{Cluster, Listener, assert_same, smallest_steps};
use crate::keys::Keys;
use crate::support::{assigning, at, bundle_of, change, owned, splitting};
use deedbook::compactor::{Attempt, End, Progress};
use deedbook::state::{Body, Record};
use deedbook::table::{Reader, ReaderEvent};
use std::collections::BTreeMap;
use std::time::Duration;

/// B28: a view of the raw log and one of compacted output agree on every key, for logs of which
/// three in ten entries do not count; of two assignments at once the first stays.
#[test]
fn b28_compaction_keeps_the_first_of_a_conflict() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let bundle = bundle_of("t/n", 0, u32::MAX);
    let version = cluster.table.get(&bundle).unwrap().version.get();
    let assign = |to| Body::Changes(vec![change(&bundle, version, Some(assigning(to)))]);
    cluster.accept(0, None, assign("b"));
    let loser = cluster.append(1, None, assign("c")).outcome.unwrap_err();
    assert_eq!(loser.name(), "stale_version");
    cluster.compact();
    let kept = cluster
        .snapshot()
        .unwrap()
        .get(&bundle)
        .unwrap()
        .record
        .clone();
    assert_eq!(kept, assigning("b"));
    // The raw log is the fold kept beside it; random ones go through `histories`.
    Listener::new(cluster.shared()).check(&cluster);
}

/// B7: ten thousand changes of ten keys, compacted whenever a hundred have come together: whoever
/// begins reads ten rows and a short tail.
#[test]
fn b7_a_newcomer_reads_little_however_much_was_written() {
    use deedbook::clock::Tick;
    use deedbook::compactor::{Counters, Policy};
    let mut policy = Policy::default();
    policy.entries_max = 100;
    let mut keys = Keys::new();
    let mut counted = Counters::default();
    let now = Tick::ZERO.after(Duration::from_secs(3_600));
    for number in 0..10_000 {
        keys.put(&format!("k{}", number % 10), number);
        counted.entries += 1;
        counted.rows = 10;
        if policy.due(&counted, now).is_some() {
            let report = keys.cluster.compact();
            counted.snapshot_rows = report.rows_after;
            counted.entries = 0;
        }
    }
    let mut reader = Reader::new(keys.cluster.shared());
    let mut entries = 0;
    let mut rows = 0;
    while let Some(event) = reader.poll().unwrap() {
        match event {
            ReaderEvent::Jumped { changes, .. } => rows += changes.len(),
            ReaderEvent::Applied { .. } => entries += 1,
            ReaderEvent::Member { .. } | ReaderEvent::CaughtUp { .. } => {}
        }
    }
    assert_eq!(rows, 10);
    assert!(entries <= 100, "{entries}");
    assert_same(reader.table(), &keys.cluster.table);
}

/// A parent that was split, and two more bundles: `t/n`, by the second broker.
fn divided() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 3);
    let parents: Vec<_> = cluster
        .table
        .rows()
        .map(|(bundle, _)| bundle.clone())
        .collect();
    for parent in &parents[..2] {
        let middle = parent.range().middle().unwrap();
        cluster.change(0, parent, assigning("b"));
        cluster.change(1, parent, owned("b2"));
        cluster.change(0, parent, splitting(Some("b2"), &[middle]));
        cluster.change(1, parent, Record::Deleted);
    }
    cluster
}

/// C5: a removal removes, whether it comes alone or among others in an entry, and whether it is
/// compacted away or read. There is no value that looks like one: a removal has no record at all.
#[test]
fn c5_a_removal_alone_and_among_others() {
    for together in [false, true] {
        let mut cluster = divided();
        let mut view = Listener::new(cluster.shared());
        view.check(&cluster);
        let deleted: Vec<_> = cluster
            .table
            .deleted()
            .map(|(b, row)| (b.clone(), row.version))
            .collect();
        let removals = deleted
            .iter()
            .map(|(bundle, version)| change(bundle, version.get(), None));
        let removals: Vec<_> = removals.collect();
        let epoch = Some(cluster.epoch);
        if together {
            cluster.accept(0, epoch, Body::Changes(removals));
        } else {
            for removal in removals {
                cluster.accept(0, epoch, Body::Changes(vec![removal]));
            }
        }
        assert_eq!(cluster.table.row_count(), 5);
        view.check(&cluster);
        cluster.compact();
        let compacted = cluster.snapshot().unwrap();
        for (bundle, _) in &deleted {
            assert_eq!(view.reader.table().get(bundle), None);
            assert_eq!(compacted.get(bundle), None);
        }
    }
}

/// C11: what was removed leaves nothing in compacted output, with no option that would keep it:
/// a reader that has it takes the difference. A removal alone is enough for something to be
/// dropped.
#[test]
fn c11_removals_leave_nothing_in_compacted_output() {
    let mut keys = Keys::new();
    keys.put("a", 1);
    keys.put("b", 1);
    keys.cluster.compact();
    let mut view = Listener::new(keys.cluster.shared());
    view.check(&keys.cluster);
    keys.remove("a");
    let report = keys.cluster.compact();
    assert_eq!((report.rows_before, report.rows_after), (2, 1));
    assert!(report.dropped() > 0);
    assert!(!keys.compacted().contains_key("a"));
    view.changes.clear();
    view.check(&keys.cluster);
    assert_eq!(keys.told(&view.changes), [("a".to_owned(), None)]);
}

/// C12, E13: records that are about no key are told apart by their kind, not by a key that they
/// would share: of leaders and sessions compaction keeps what the fold knows, and nothing of one is
/// taken for another.
#[test]
fn c12_e13_records_without_a_key_are_kept_by_their_meaning() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    for leader in [1, 2, 0, 1] {
        cluster.elect(leader);
        let epoch = cluster.epoch;
        cluster.accept(leader, Some(epoch), Body::LeaderStarted);
    }
    cluster.create("t/m", 1);
    let facts = cluster.table.facts().clone();
    assert_eq!((facts.epoch, facts.sessions.len()), (cluster.epoch, 3));
    cluster.compact();
    let snapshot = cluster.snapshot().unwrap();
    assert_eq!(snapshot.facts(), &facts);
    // A leader of before is heard no more by whoever knows the snapshot alone.
    let late = Body::LeaderStarted;
    let epoch = deedbook::ids::Epoch::at(cluster.epoch.get().checked_sub(1).map(at).unwrap());
    let refused = cluster.append(0, Some(epoch), late).outcome.unwrap_err();
    assert_eq!(refused.name(), "stale_epoch");
    Listener::new(cluster.shared()).check(&cluster);
}

/// C13: a key that was removed is in no view, old or new, compacted or not; its listeners hear of
/// it once. A removal of an unknown key makes no entry, and nobody hears of it.
#[test]
fn c13_removed_keys_are_in_no_view() {
    let mut keys = Keys::new();
    keys.put("x", 1);
    let mut old = Listener::new(keys.cluster.shared());
    old.check(&keys.cluster);
    assert_eq!(old.reader.table().row_count(), 1);
    old.changes.clear();
    keys.remove("x");
    keys.remove("never");
    old.check(&keys.cluster);
    assert_eq!(keys.told(&old.changes), [("x".to_owned(), None)]);
    assert_eq!(old.reader.table().row_count(), 0);
    assert_eq!(old.reader.table().get(&crate::keys::key_bundle("x")), None);
    let mut fresh = Listener::new(keys.cluster.shared());
    fresh.check(&keys.cluster);
    assert_eq!(fresh.reader.table().row_count(), 0);
    assert_eq!(keys.of(fresh.reader.table()), BTreeMap::new());
}

/// C14: two keys that one entry changes change together: for a reader after each of its steps, and
/// in every snapshot, wherever its end is fixed.
#[test]
fn c14_what_one_entry_changes_changes_together() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 2);
    let bundles: Vec<_> = cluster
        .table
        .rows()
        .map(|(bundle, _)| bundle.clone())
        .collect();
    for round in 0..6 {
        let next = if round % 2 == 0 {
            assigning("b")
        } else {
            Record::Free
        };
        let both = bundles.iter().map(|bundle| {
            let version = cluster.table.get(bundle).unwrap().version.get();
            change(bundle, version, Some(next.clone()))
        });
        let both = Body::Changes(both.collect());
        cluster.accept(usize::from(round % 2 == 1), None, both);
    }
    let together = |table: &deedbook::table::Table| {
        let versions = bundles
            .iter()
            .map(|bundle| table.get(bundle).map(|row| row.version));
        let versions: Vec<_> = versions.collect();
        assert_eq!(versions[0], versions[1]);
    };
    let mut reader = Reader::new(cluster.shared());
    while reader.poll().unwrap().is_some() {
        together(reader.table());
    }
    for end in 1..=cluster.table.next().get() {
        let mut attempt = Attempt::new(
            cluster.shared(),
            cluster.epoch,
            End::At(at(end)),
            smallest_steps(),
        );
        while !matches!(attempt.step(Duration::ZERO).unwrap(), Progress::Done(_)) {}
        if let Some(snapshot) = cluster.snapshot() {
            together(&snapshot);
        }
        cluster.check_snapshot();
    }
}

/// C15: discovery does not leak readers: whoever follows has one reader, however often it asks.
#[test]
fn c15_one_reader_however_often_it_asks() {
    let mut keys = Keys::new();
    let mut reader = Reader::new(keys.cluster.shared());
    for tick in 0..100 {
        keys.put("k", tick);
        while reader.poll().unwrap().is_some() {}
    }
    assert_same(reader.table(), &keys.cluster.table);
    drop(reader);
    // What it held of the log is gone with it.
    assert_eq!(keys.cluster.compact().rows_after, 1);
}

/// E5: what a snapshot says of positions counts, not where its bytes came from: after loading, the
/// versions and the next position are those of the time of compaction, and the tail goes on there.
#[test]
fn e5_a_loaded_snapshot_has_the_positions_of_its_time() {
    let mut keys = Keys::new();
    keys.put("a", 1);
    keys.put("b", 1);
    let (rows, horizon) = (keys.of(&keys.cluster.table), keys.cluster.table.next());
    let versions = |table: &deedbook::table::Table| -> Vec<_> {
        table
            .rows()
            .map(|(_, row)| (row.version, row.fence))
            .collect()
    };
    let before = versions(&keys.cluster.table);
    keys.cluster.compact();
    keys.put("b", 2);
    let snapshot = keys.cluster.snapshot().unwrap();
    assert_eq!(snapshot.next(), horizon);
    assert_eq!(versions(&snapshot), before);
    assert_eq!(keys.of(&snapshot), rows);
    let heard = keys.heard();
    assert_eq!(heard.last(), Some(&("b".to_owned(), Some("2".to_owned()))));
}

/// E6: an entry that is delivered again changes nothing, and nobody is told of it.
#[test]
fn e6_what_is_delivered_twice_counts_once() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let bundle = bundle_of("t/n", 0, u32::MAX);
    let version = cluster.table.get(&bundle).unwrap().version.get();
    let body = Body::Changes(vec![change(&bundle, version, Some(assigning("b")))]);
    let applied = cluster.append(0, None, body.clone());
    let entry = crate::support::entry("a1", None, body);
    let (before, digest) = (cluster.table.clone(), cluster.table.digest());
    for position in 1..=applied.position.get() {
        let again = cluster.table.apply(at(position), &entry).unwrap();
        assert_eq!(again, None, "at {position}");
    }
    assert_eq!(before.difference(&cluster.table), []);
    assert_eq!(cluster.table.digest(), digest);
}

/// E12: two levels, the removal in the newer one alone: the older one does not bring the key back,
/// nor does what an attempt left that did not come to its end.
#[test]
fn e12_what_was_removed_does_not_come_back() {
    let mut steps = 0;
    loop {
        let mut keys = Keys::new();
        keys.put("kept", 1);
        keys.put("gone", 1);
        keys.cluster.compact();
        // It has read the old snapshot, and perhaps more, and ends somewhere.
        let mut attempt = keys.cluster.attempt();
        let mut done = false;
        for _ in 0..steps {
            done = matches!(attempt.step(Duration::ZERO).unwrap(), Progress::Done(_));
            if done {
                break;
            }
        }
        keys.remove("gone");
        drop(attempt);
        keys.cluster.compact();
        assert_eq!(keys.compacted().into_keys().collect::<Vec<_>>(), ["kept"]);
        assert_eq!(keys.heard().len(), 1, "after {steps} steps");
        if done {
            break;
        }
        steps += 1;
    }
    assert!(steps > 0);
}
