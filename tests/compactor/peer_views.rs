//! The scenarios of Apache Pulsar's own tests of table views, by their names in `docs/testing.md`:
//! readers that are slow, late, refreshed, or met by errors.

use crate::cluster::{Cluster, Listener};
use crate::keys::{Keys, owned_map};
use crate::refusals::{Fault, Faulty};
use crate::support::{assigning, at, bundle_of, change, owned, releasing};
use deedbook::ids::Position;
use deedbook::log::{Append, EventLog, Guard};
use deedbook::state::{Body, Record};
use deedbook::table::{Reader, ReaderEvent};
use std::sync::Arc;

/// CT-07: three transfers, every change written twice, the log compacted after each. A view that
/// stands still in the middle of one arrives where the others are. There a second record with the
/// same version is dropped; here a second append of the same entry is the same append, and a second
/// entry with the same change names a version that is gone.
#[test]
fn ct_07_a_slow_view_and_everything_written_twice() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let bundle = bundle_of("t/n", 0, u32::MAX);
    cluster.change(0, &bundle, assigning("a"));
    cluster.change(0, &bundle, owned("a1"));
    let mut fast = Listener::new(cluster.shared());
    let mut slow = Listener::new(cluster.shared());
    slow.check(&cluster);
    let holders = ["a1", "b2", "c3", "a1"];
    for (round, pair) in holders.windows(2).enumerate() {
        let (from, to) = (pair[0], pair[1]);
        let index = |holder: &str| usize::from(holder.as_bytes()[0] - b'a');
        let destination = &to[..1];
        for (who, next) in [
            (index(from), releasing(from, Some(destination))),
            (index(from), assigning(destination)),
            (index(to), owned(to)),
        ] {
            let version = cluster.table.get(&bundle).unwrap().version.get();
            cluster.change(who, &bundle, next.clone());
            let again = Body::Changes(vec![change(&bundle, version, Some(next.clone()))]);
            let dropped = cluster.append(who, None, again).outcome.unwrap_err();
            assert_eq!(dropped.name(), "stale_version");
            if matches!(next, Record::Assigning { .. }) && round == 0 {
                // It stands still here, and knows of the destination.
                slow.poll(4);
            }
        }
        cluster.compact();
        fast.check(&cluster);
        let seen = slow.reader.table().get(&bundle).unwrap();
        assert_eq!(seen.record, assigning("b"), "the slow one stands still");
    }
    slow.check(&cluster);
    assert_eq!(slow.jumps, 1);
    let row = slow.reader.table().get(&bundle).unwrap().clone();
    assert_eq!(row.record, owned("a1"));
    let mut newcomer = Listener::new(cluster.shared());
    newcomer.check(&cluster);
    assert_eq!(newcomer.reader.table().get(&bundle), Some(&row));
}

/// CT-08: a view that is held back while a thousand changes are compacted away follows the jump.
#[test]
fn ct_08_a_view_follows_a_jump_over_a_thousand_changes() {
    let mut keys = Keys::new();
    keys.put("k", "first");
    let mut held = Listener::new(keys.cluster.shared());
    held.check(&keys.cluster);
    (1..=1_000).for_each(|value| keys.put("k", value));
    keys.cluster.compact();
    keys.put("k", "last");
    held.changes.clear();
    held.check(&keys.cluster);
    let told = keys.told(&held.changes);
    let own = |value: &str| ("k".to_owned(), Some(value.to_owned()));
    assert_eq!(
        told,
        ["1000", "last"].map(own),
        "the net change, then the tail"
    );
}

/// Reads until it has seen everything that was there when this began.
fn refresh(reader: &mut Reader) -> Position {
    loop {
        match reader.poll().unwrap() {
            Some(ReaderEvent::CaughtUp { next }) => return next,
            Some(_) => {}
            None => return reader.table().next(),
        }
    }
}

/// CT-43: a refresh ends on an empty log, shows all that was written before it, and ends at once
/// if there is nothing new.
#[test]
fn ct_43_refresh() {
    let mut keys = Keys::new();
    let mut reader = Reader::new(keys.cluster.shared());
    assert_eq!(refresh(&mut reader), keys.cluster.table.next());
    (0..20).for_each(|key| keys.put(&format!("k{key}"), key));
    refresh(&mut reader);
    assert_eq!(reader.table().row_count(), 20);
    (2..22).for_each(|key| keys.put(&format!("k{key}"), key));
    refresh(&mut reader);
    assert_eq!(reader.table().row_count(), 22);
    assert_eq!(refresh(&mut reader), keys.cluster.table.next());
    // Also if the last entry does not count.
    keys.put_stale("k1");
    assert_eq!(refresh(&mut reader), keys.cluster.table.next());
}

/// CT-49: a listener that begins now is told what comes, once each; one that begins from the start
/// is told everything.
#[test]
fn ct_49_listen() {
    let mut keys = Keys::new();
    (0..5).for_each(|key| keys.put(&format!("k{key}"), key));
    let mut listener = Listener::new(keys.cluster.shared());
    listener.check(&keys.cluster);
    assert_eq!(listener.changes.len(), 5, "it began at the start");
    listener.changes.clear();
    (5..10).for_each(|key| keys.put(&format!("k{key}"), key));
    listener.check(&keys.cluster);
    assert_eq!(listener.changes.len(), 5);
}

/// CT-50: reading fails twice, then works: the same reader goes on where it was.
#[test]
fn ct_50_reading_is_tried_again() {
    let mut keys = Keys::new();
    keys.put("a", 1);
    let log = Faulty::new(&keys.cluster.log, Fault::Unreadable);
    let mut reader = Reader::new(Arc::clone(&log) as Arc<dyn EventLog>);
    for _ in 0..2 {
        assert!(reader.poll().is_err());
    }
    log.repair();
    keys.put("b", 2);
    refresh(&mut reader);
    assert_eq!(
        keys.of(reader.table()),
        owned_map(&[("a", "1"), ("b", "2")])
    );
}

/// The same entry appended twice is one entry: the other half of CT-07.
#[test]
fn ct_07_an_append_that_is_repeated_is_the_same_append() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let log = cluster.shared();
    let mut entry = crate::support::entry("a1", None, Body::LeaderStarted);
    entry.counter = 100;
    let append = || Append {
        entry: Arc::new(entry.clone()),
        guard: Guard::None,
    };
    let first = log.append(append()).wait().unwrap().unwrap();
    let second = log.append(append()).wait().unwrap().unwrap();
    assert_eq!((first.position, false), (second.position, first.already));
    assert!(second.already && second.position > at(0));
}
