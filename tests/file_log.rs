//! What only the log in files does: groups, segments, opening again, other processes, inspection.
#![cfg(test)]

mod files;

use deedbook::clock::ManualClock;
use deedbook::ids::{Position, SessionToken};
use deedbook::log::file::{self, Durability, FileLog, OpenError, ReadOnlyFileLog, inspect};
use deedbook::log::{
    Append, AppendError, Appended, EventLog, Guard, Member, Payload, ReadError, Refusal,
    SnapshotError, Tail, TailItem, TrimError,
};
use deedbook::storage::{self, MemoryStorage, Storage};
use files::watched::Watched;
use files::{LOG, append, append_now, broker, drain, entries, entry, open, read_all};
use std::sync::{Arc, mpsc};
use std::time::Duration;

fn at(position: u64) -> Position {
    Position::new(position)
}

fn read_only(storage: &MemoryStorage) -> ReadOnlyFileLog {
    files::builder(storage).open_read_only().unwrap()
}

#[test]
fn appends_that_wait_together_share_one_write_and_one_sync() {
    let storage = MemoryStorage::new();
    let log = files::builder(&storage)
        .segment_bytes(1 << 20)
        .open()
        .unwrap();
    let before = storage.operation_count();
    let pending: Vec<_> = (1..=500)
        .map(|counter| append(&log, &entry(9, counter)))
        .collect();
    assert!(
        pending.iter().all(|pending| pending.get().is_none()),
        "nothing is durable yet"
    );
    assert_eq!(log.end(), at(2), "and nothing is seen");
    assert!(log.drive());
    assert_eq!(storage.operation_count() - before, 2);
    for (position, pending) in (2..).zip(&pending) {
        assert_eq!(
            pending.get().unwrap().unwrap().unwrap().position,
            at(position)
        );
    }
    assert!(!log.drive());
}

#[test]
fn known_names_take_few_bytes_and_each_segment_stands_alone() {
    let storage = MemoryStorage::new();
    let log = files::builder(&storage)
        .segment_bytes(1 << 20)
        .open()
        .unwrap();
    let used = || files::used(&files::bytes(&storage, "00000000000000000001.log"));
    let burst = |from: u64| {
        let before = used();
        let pending: Vec<_> = (from..from + 100)
            .map(|counter| append(&log, &entry(900, counter)))
            .collect();
        log.drive();
        assert!(
            pending
                .iter()
                .all(|pending| pending.wait().unwrap().is_ok())
        );
        used() - before
    };
    burst(100_000);
    assert!(burst(200_000) <= 100 * 40, "at most 40 bytes a record");

    // From any segment on, the log is read without the segments before.
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    (1..=60).for_each(|counter| _ = append_now(&log, &entry(9, counter)).unwrap());
    let all = read_all(&log, at(0)).unwrap();
    drop(log);
    let names: Vec<_> = storage.list().unwrap();
    let segments = names.iter().filter(|name| name.ends_with(".log"));
    assert!(segments.count() > 3);
    for from in 0..all.len() {
        let tail = read_all(&read_only(&storage), all[from].0).unwrap();
        assert_eq!(tail, all[from..]);
    }
}

#[test]
fn a_single_entry_larger_than_a_segment_gets_one_of_its_own() {
    let storage = MemoryStorage::new();
    let log = files::builder(&storage).segment_bytes(128).open().unwrap();
    let mut expected = Vec::new();
    for counter in 1..=9 {
        let entry = match counter % 3 {
            0 => files::wide_entry(9, counter),
            _ => entry(9, counter),
        };
        append_now(&log, &entry).unwrap();
        expected.push(entry);
    }
    assert_eq!(entries(&log, at(0)).unwrap(), expected);
    drop(log);
    let log = open(&storage.crash(|_| false)).unwrap();
    assert_eq!(entries(&log, at(0)).unwrap(), expected);
    assert!(inspect::verify(&storage.restart()).unwrap().is_sound());
}

#[test]
fn opening_again_ends_sessions_and_remembers_entries() {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    let broker = broker(1);
    let session = SessionToken::at(files::member_now(&log, Member::Joined { broker }).unwrap());
    (1..=40).for_each(|counter| _ = append_now(&log, &entry(session.get(), counter)).unwrap());
    drop(log);
    let log = open(&storage).unwrap();
    let opened = read_all(&log, at(0)).unwrap();
    let opened = opened
        .iter()
        .filter(|(_, p)| *p == Payload::Member(Member::Opened));
    assert_eq!(opened.count(), 2);
    let guard = Guard::Session(session);
    let entry_of = |counter| entry(session.get(), counter);
    let new = log.append(Append {
        entry: entry_of(41),
        guard,
    });
    let old = log.append(Append {
        entry: entry_of(7),
        guard,
    });
    log.drive();
    assert_eq!(
        new.wait().unwrap(),
        Err(AppendError::Refused(Refusal::Fenced))
    );
    let found = old.wait().unwrap().unwrap();
    assert_eq!(
        found,
        Appended {
            position: at(9),
            already: true
        }
    );
}

/// A process that only reads follows through rotations, sees whole frames only, and finds out when
/// it fell behind.
#[test]
fn appends_that_cannot_be_queued_are_told_and_nothing_is_written() {
    let storage = MemoryStorage::new();
    let builder = files::builder(&storage).segment_bytes(file::SEGMENT_BYTES);
    let log = builder.open().unwrap();
    let max = file::PENDING_APPENDS_MAX;
    let before = storage.operation_count();
    let appends = (1..=max as u64).map(|counter| append(&log, &entry(9, counter)));
    let pending: Vec<_> = appends.collect();
    let further = entry(9, max as u64 + 1);
    let busy = Err(AppendError::Refused(Refusal::Busy { max }));
    assert_eq!(append(&log, &further).wait(), Ok(busy));
    assert_eq!(storage.operation_count(), before);
    while log.drive() {}
    assert!(
        pending
            .iter()
            .all(|answer| answer.get().unwrap().unwrap().is_ok())
    );
    assert!(!append_now(&log, &further).unwrap().already);
}

#[test]
fn a_block_that_is_too_large_is_refused_before_it_is_written() {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    let epoch = files::lead(&log).unwrap();
    let mut sink = log.put_snapshot(log.end(), epoch).unwrap();
    let before = storage.operation_count();
    let max = file::SNAPSHOT_BLOCK_BYTES_MAX;
    let block = vec![7; max + 1];
    let too_large = SnapshotError::BlockTooLarge {
        bytes: max + 1,
        max,
    };
    assert_eq!(sink.write_block(&block), Err(too_large));
    assert_eq!(storage.operation_count(), before);
    sink.write_block(&block[1..]).unwrap();
    sink.commit().unwrap();
    let mut snapshot = log.snapshot().unwrap().unwrap();
    assert!(snapshot.next_block().unwrap().unwrap() == block[1..]);
}

#[test]
fn a_process_that_only_reads_follows_live() {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    let reader = read_only(&storage);
    assert_eq!(reader.id(), LOG);
    let mut tail = reader.tail(at(0)).unwrap();
    let mut behind = reader.tail(at(0)).unwrap();
    let mut seen = drain(&mut *tail).unwrap();
    let epoch = files::lead(&log).unwrap();
    for counter in 1..=50 {
        append_now(&log, &entry(9, counter)).unwrap();
        if counter % 3 == 0 {
            seen.extend(drain(&mut *tail).unwrap());
        }
    }
    seen.extend(drain(&mut *tail).unwrap());
    assert_eq!(seen, read_all(&log, at(0)).unwrap());
    assert!(matches!(
        behind.poll().unwrap(),
        Some(TailItem::Payload { .. })
    ));

    // Two snapshots are kept, with the entries behind the older one.
    for horizon in [30, 40, 50] {
        files::put_snapshot(&log, at(horizon), epoch).unwrap();
    }
    log.trim(at(50)).unwrap();
    // Files that were trimmed serve as new segments; nobody takes the new for the old.
    (51..=90).for_each(|counter| _ = append_now(&log, &entry(9, counter)).unwrap());
    assert_eq!(drain(&mut *tail).unwrap().len(), 40);
    let horizon = match drain(&mut *behind) {
        Err(ReadError::Trimmed { horizon }) => horizon,
        other => panic!("{other:?}"),
    };
    assert!(at(30) < horizon && horizon <= at(40), "{horizon}");
    assert_eq!(
        log.tail(at(1)).map(|_| ()),
        Err(ReadError::Trimmed { horizon })
    );
    assert_eq!(
        reader.tail(at(1)).map(|_| ()),
        Err(ReadError::Trimmed { horizon })
    );
    let mut newest = reader.snapshot().unwrap().unwrap();
    assert_eq!(newest.horizon(), at(50));
    assert_eq!(
        newest.next_block().unwrap().unwrap(),
        b"everything below 50"
    );
    let names = storage.list().unwrap();
    assert_eq!(
        names
            .iter()
            .filter(|name| name.ends_with(".snapshot"))
            .count(),
        2
    );
    assert_eq!(
        read_all(&reader, horizon).unwrap(),
        read_all(&log, horizon).unwrap()
    );
}

#[test]
fn a_reader_sees_nothing_of_a_frame_that_is_half_written() {
    let storage = MemoryStorage::new();
    let log = files::builder(&storage).segment_bytes(4096).open().unwrap();
    append_now(&log, &entry(9, 1)).unwrap();
    let name = "00000000000000000001.log";
    let start = files::used(&files::bytes(&storage, name));
    append_now(&log, &entry(9, 2)).unwrap();
    let whole = files::bytes(&storage, name);
    let end = files::used(&whole);
    drop(log);
    let mut bytes = whole.clone();
    bytes[start..].fill(0);
    let storage = files::storage_of(&[(name, &bytes)]);
    let mut tail = read_only(&storage).tail(at(0)).unwrap();
    assert_eq!(drain(&mut *tail).unwrap().len(), 2);
    let file = storage.open(name, storage::Access::Write).unwrap();
    for length in start..end {
        file.write_at(length as u64, &whole[length..=length])
            .unwrap();
        let expected = usize::from(length + 1 == end);
        assert_eq!(
            drain(&mut *tail).unwrap().len(),
            expected,
            "{length} of {end}"
        );
    }
}

#[test]
fn nobody_else_writes_and_readers_write_nothing() {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    let locked = matches!(
        open(&storage),
        Err(OpenError::Storage(storage::Error::Locked { .. }))
    );
    assert!(locked);
    let reader = read_only(&storage);
    let refused = append(&reader, &entry(9, 1)).wait().unwrap();
    assert_eq!(refused, Err(AppendError::Refused(Refusal::ReadOnly)));
    assert_eq!(reader.trim(at(0)), Err(TrimError::ReadOnly));

    let mut tail = log.tail(at(1)).unwrap();
    let waiting = append(&log, &entry(9, 1));
    log.close();
    assert!(
        waiting.wait().unwrap().is_ok(),
        "what was submitted before is written"
    );
    let closed = append(&log, &entry(9, 2)).wait().unwrap();
    assert_eq!(closed, Err(AppendError::Refused(Refusal::Closed)));
    assert_eq!(tail.poll().unwrap().unwrap().next(), at(2));
    assert_eq!(tail.poll().unwrap().unwrap().next(), at(3));
    assert_eq!(tail.poll(), Err(ReadError::Closed));
    assert_eq!(log.trim(at(0)), Err(TrimError::Closed));
    assert!(open(&storage).is_ok(), "the directory is free");
    let empty = files::builder(&MemoryStorage::new()).open_read_only();
    assert!(matches!(empty, Err(OpenError::Empty { .. })));
}

#[test]
fn an_interval_acknowledges_at_once_and_syncs_in_time() {
    let clock = ManualClock::default();
    let storage = MemoryStorage::new();
    let log = files::builder(&storage)
        .clock(Arc::new(clock.clone()))
        .durability(Durability::Interval(Duration::from_secs(1)))
        .open()
        .unwrap();
    append_now(&log, &entry(9, 1)).unwrap();
    let durable = |storage: &MemoryStorage| {
        let copy = files::storage_of(&files::files_of(storage));
        entries(&read_only(&copy), at(0)).unwrap().len()
    };
    assert_eq!(durable(&storage), 1, "the operating system has it");
    let syncs = storage.operation_count();
    log.drive();
    assert_eq!(storage.operation_count(), syncs, "no sync is due");
    clock.advance(Duration::from_secs(1));
    log.drive();
    assert_eq!(storage.operation_count(), syncs + 1);
    let after = storage.crash(|_| false);
    assert_eq!(entries(&open(&after).unwrap(), at(0)).unwrap().len(), 1);
}

/// Publishes a snapshot and trims, and lets something happen before an operation of the storage;
/// says how many operations there were.
fn compact_while(operation: u64, happen: impl FnOnce(&FileLog) + Send + 'static) -> u64 {
    let storage = Watched::new(Arc::new(MemoryStorage::new()));
    let log = deedbook::log::file::FileLogBuilder::on(Arc::new(storage.clone()))
        .segment_bytes(files::SEGMENT_BYTES)
        .clock(Arc::new(ManualClock::default()))
        .durability(Durability::Never)
        .snapshots_kept(1)
        .without_threads();
    let log = log.open().unwrap();
    let epoch = files::lead(&log).unwrap();
    for counter in 0..40 {
        append_now(&log, &entry(1, counter)).unwrap();
    }
    let before = storage.operations();
    let (mut happen, other) = (Some(happen), log.clone());
    storage.before(
        before + operation,
        Box::new(move || {
            happen.take().unwrap()(&other);
            None
        }),
    );
    let horizon = log.end();
    files::put_snapshot(&log, horizon, epoch).unwrap();
    log.trim(horizon).unwrap();
    storage.operations() - before
}

#[test]
fn appends_go_on_between_any_two_operations_of_a_snapshot_and_a_trim() {
    let count = compact_while(0, |_| {});
    assert!(count > 20, "{count}");
    for operation in 1..=count {
        compact_while(operation, move |log| {
            let log = log.clone();
            let (done, is_done) = mpsc::channel();
            let append = move || done.send(append_now(&log, &entry(1, 99)).is_ok());
            let thread = std::thread::spawn(append);
            let appended = is_done.recv_timeout(Duration::from_secs(20));
            assert_eq!(
                appended,
                Ok(true),
                "an append waits for operation {operation}"
            );
            drop(thread);
        });
    }
}

#[test]
fn inspection_shows_every_record_and_where_it_is() {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    let epoch = files::lead(&log).unwrap();
    (1..=30).for_each(|counter| _ = append_now(&log, &entry(9, counter)).unwrap());
    files::put_snapshot(&log, at(20), epoch).unwrap();
    let all = read_all(&log, at(0)).unwrap();
    let records: Vec<_> = inspect::records(Arc::new(storage.clone()))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let found: Vec<_> = records
        .iter()
        .map(|r| (r.position, r.payload.clone()))
        .collect();
    assert_eq!(found, all);
    let places: Vec<_> = records.iter().map(|r| (r.path.clone(), r.offset)).collect();
    assert!(
        places.is_sorted_by(|a, b| a < b),
        "one record a frame, in order"
    );
    assert_eq!(places[0].1, 64);

    let report = inspect::verify(&storage).unwrap();
    assert!(report.is_sound());
    assert_eq!(report.log, Some(LOG));
    assert!(report.segments.len() > 2);
    assert_eq!(report.segments.last().unwrap().end, log.end());
    assert_eq!(report.snapshots[0].epoch, Some(epoch));
    assert_eq!(
        (report.snapshots[0].horizon, report.snapshots[0].block_count),
        (at(20), 1)
    );
}

/// Threads of its own, real files, many writers, readers in between, and small segments.
#[cfg(unix)]
#[test]
fn many_threads_append_to_real_files_and_all_see_one_order() {
    const WRITERS: u64 = 8;
    const EACH: u64 = 60;
    let dir = tempfile::tempdir().unwrap();
    let log = FileLog::builder(dir.path())
        .segment_bytes(4096)
        .open()
        .unwrap();
    let reader = FileLog::open_read_only(dir.path()).unwrap();
    let count = usize::try_from(WRITERS * EACH + 1).unwrap();
    let follow = |tail: &mut dyn Tail| {
        let mut seen = Vec::new();
        while seen.len() < count {
            match tail.next(Duration::from_secs(60)).unwrap() {
                Some(TailItem::Payload { position, payload }) => seen.push((position, payload)),
                Some(TailItem::CaughtUp { .. }) => {}
                None => panic!("{} of {count} payloads came", seen.len()),
            }
        }
        seen
    };
    let (live, other) = std::thread::scope(|scope| {
        for session in 1..=WRITERS {
            let log = &log;
            scope.spawn(move || {
                for counter in 1..=EACH {
                    append(log, &entry(session, counter))
                        .wait()
                        .unwrap()
                        .unwrap();
                }
            });
        }
        let live = scope.spawn(|| follow(&mut *log.tail(at(0)).unwrap()));
        let other = scope.spawn(|| follow(&mut *reader.tail(at(0)).unwrap()));
        (live.join().unwrap(), other.join().unwrap())
    });
    assert_eq!(live, other);
    assert!(
        (1..)
            .zip(&live)
            .all(|(expected, (position, _))| *position == at(expected))
    );
    drop(log);
    assert_eq!(read_all(&reader, at(0)).unwrap(), live);
    let log = FileLog::open(dir.path()).unwrap();
    assert_eq!(log.cut(), None);
    assert_eq!(read_all(&log, at(0)).unwrap().len(), count + 1);
    let locked = FileLog::open(dir.path()).unwrap_err();
    assert!(
        matches!(locked, OpenError::Storage(storage::Error::Locked { .. })),
        "{locked}"
    );
}
