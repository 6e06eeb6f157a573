//! What opening a log reads: the header of each segment, and the last segment. However much stands
//! in the others, opening takes no longer; they are checked when they are read, or by `verify`.
#![cfg(test)]

mod files;

use deedbook::ids::Position;
use deedbook::log::file::{FileLogBuilder, inspect};
use deedbook::log::{AppendError, Doubt, EventLog, ReadError};
use deedbook::storage::{Access, MemoryStorage, Storage};
use files::watched::{Reads, Watched};
use files::{append, append_now, drain, entry, lead, put_snapshot};
use std::sync::Arc;

/// What stands at the beginning of each file, by docs/format.md.
const HEADER_BYTES: usize = 64;

fn builder(storage: &Watched) -> FileLogBuilder {
    FileLogBuilder::on(Arc::new(storage.clone()))
        .segment_bytes(files::SEGMENT_BYTES)
        .without_threads()
}

/// The names of the segments, in order.
fn segments(storage: &dyn Storage) -> Vec<String> {
    let mut names = storage.list().unwrap();
    names.retain(|name| name.ends_with(".log"));
    names
}

/// A log of so many segments, of which the last one has some entries, with two snapshots.
fn written(segment_count: usize) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let log = files::open(&storage).unwrap();
    let epoch = lead(&log).unwrap();
    let mut counter = 0;
    let mut append_until = |count| {
        while segments(&storage).len() < count {
            counter += 1;
            append_now(&log, &entry(1, counter)).unwrap();
        }
    };
    append_until(segment_count / 2);
    put_snapshot(&log, log.end(), epoch).unwrap();
    append_until(segment_count - 1);
    put_snapshot(&log, log.end(), epoch).unwrap();
    append_until(segment_count);
    drop(log);
    storage
}

fn watched(storage: &MemoryStorage) -> Watched {
    Watched::new(Arc::new(storage.clone()))
}

/// Each of these segments had its header read, once, and nothing else.
fn assert_headers_alone(reads: &mut Reads, segments: &[String]) {
    for name in segments {
        assert_eq!(reads.remove(name), Some(vec![HEADER_BYTES]), "{name}");
    }
}

#[test]
fn opening_reads_one_segment_however_many_there_are() {
    for segment_count in [3, 12, 100] {
        let storage = watched(&written(segment_count));
        let names = segments(&storage);
        assert_eq!(names.len(), segment_count);
        let (last, sealed) = names.split_last().unwrap();

        let log = builder(&storage).open().unwrap();
        let mut reads = storage.take_reads();
        assert_headers_alone(&mut reads, sealed);
        let of_last: usize = reads.remove(last).unwrap().iter().sum();
        // Its header twice; its frames; what is behind them; and what has to be written again.
        let most = 2 * HEADER_BYTES + 3 * usize::try_from(files::SEGMENT_BYTES).unwrap();
        assert!(of_last <= most, "{of_last} bytes");
        assert_eq!(reads, Reads::new(), "no snapshot, and nothing else");

        drop(log);
        storage.take_reads();
        builder(&storage).open_read_only().unwrap();
        let mut reads = storage.take_reads();
        assert_headers_alone(&mut reads, &names);
        assert_eq!(reads, Reads::new());
    }
}

#[test]
fn who_starts_at_a_snapshot_reads_it_and_what_is_behind_it() {
    let storage = watched(&written(100));
    let names = segments(&storage);
    let log = builder(&storage).open_read_only().unwrap();
    storage.take_reads();

    let mut snapshot = log.snapshot().unwrap().unwrap();
    let horizon = snapshot.horizon();
    while snapshot.next_block().unwrap().is_some() {}
    let payloads = drain(&mut *log.tail(horizon).unwrap()).unwrap();
    assert_eq!(payloads.first().unwrap().0, horizon);

    let reads = storage.take_reads();
    let behind = &names[names.len() - 2..];
    let newest = format!("{:020}.snapshot", horizon.get());
    let expected: Vec<_> = behind.iter().chain([&newest]).collect();
    let mut found: Vec<_> = reads.keys().collect();
    found.sort_by_key(|name| name.ends_with(".snapshot"));
    assert_eq!(found, expected, "{reads:?}");
    let bytes = storage.open(&newest, Access::Read).unwrap().size().unwrap();
    let of_snapshot: usize = reads[&newest].iter().sum();
    assert!(of_snapshot as u64 <= 2 * bytes, "once, with a look ahead");
}

/// What opening does not read it does not vouch for: reading and `verify` say what is wrong there.
#[test]
fn damage_in_an_older_segment_is_found_by_who_reads_it() {
    let storage = written(12);
    let name = &segments(&storage)[5];
    let bit = 8 * (HEADER_BYTES + 20);
    assert!(storage.flip(name, bit));
    let log = files::open(&storage).unwrap();
    append_now(&log, &entry(1_000_000, 1)).unwrap();
    let path = storage.path().join(name);
    let is_named =
        |error: &ReadError| matches!(error, ReadError::Damaged { path: at, .. } if *at == path);
    let error = drain(&mut *log.tail(Position::new(1)).unwrap()).unwrap_err();
    assert!(is_named(&error), "{error}");
    let report = inspect::verify(&storage).unwrap();
    let flaws: Vec<_> = report
        .segments
        .iter()
        .filter_map(|s| s.flaw.as_ref())
        .collect();
    assert!(matches!(flaws[..], [flaw] if is_named(flaw)), "{report:?}");
}

/// A broker that asks again about an entry of long ago cannot be told, and holds up nobody else.
#[test]
fn damage_in_an_older_segment_holds_up_only_who_asks_about_it() {
    let storage = written(12);
    let name = &segments(&storage)[5];
    assert!(storage.flip(name, 8 * (HEADER_BYTES + 20)));
    let log = files::open(&storage).unwrap();
    let early = append(&log, &entry(1, 1));
    let old = append(&log, &entry(1, 1_000));
    let new = append(&log, &entry(1_000_000, 1));
    log.drive();
    assert!(!new.wait().unwrap().unwrap().already);
    assert!(
        early.wait().unwrap().unwrap().already,
        "it stands before the damage"
    );
    let Err(AppendError::Unknown(Doubt::Unreadable(error))) = old.wait().unwrap() else {
        panic!("it may be in the log");
    };
    let path = storage.path().join(name);
    assert!(
        error.to_string().contains(path.to_str().unwrap()),
        "{error}"
    );
}
