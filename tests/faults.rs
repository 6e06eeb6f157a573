//! What a log does when the disk says no: nothing is lost, nothing half done stays, and it goes on
//! once the cause is gone.
#![cfg(test)]

mod files;

use deedbook::ids::{Position, SessionToken};
use deedbook::log::file::{OpenError, inspect};
use deedbook::log::{Append, AppendError, EventLog, Guard, Member, ReadError, Refusal};
use deedbook::storage::MemoryStorage;
use files::{append_now, broker, entries, entry, lead, member_now, open, put_snapshot, wide_entry};

const FIRST: &str = "00000000000000000001.log";

/// The next operation on the storage is the write of a frame; it fails half way.
fn fail_next_write(storage: &MemoryStorage) {
    storage.fail_at(storage.operation_count() + 1);
}

fn is_refused<T: std::fmt::Debug>(result: &Result<T, AppendError>) -> bool {
    matches!(
        result,
        Err(AppendError::Refused(Refusal::Unavailable { .. }))
    )
}

#[test]
fn a_failed_write_teaches_the_log_nothing() {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    fail_next_write(&storage);
    assert!(is_refused(&append_now(&log, &entry(9, 1))));
    let appended = append_now(&log, &entry(9, 1)).unwrap();
    assert!(!appended.already, "it was not in the log");
    assert_eq!(entries(&log, Position::ZERO).unwrap(), [entry(9, 1)]);

    // A registration that failed lends its token to nobody.
    fail_next_write(&storage);
    let session = SessionToken::at(log.end());
    let broker = broker(1);
    assert!(is_refused(&member_now(&log, Member::Joined { broker })));
    let guard = Guard::Session(session);
    let guarded = log.append(Append {
        entry: entry(9, 2),
        guard,
    });
    log.drive();
    assert_eq!(
        guarded.wait().unwrap(),
        Err(AppendError::Refused(Refusal::Fenced))
    );
}

#[test]
fn what_a_failed_write_left_is_gone_before_the_segment_is_sealed() {
    // A segment that has room for one wide entry, or for a narrow one.
    let storage = MemoryStorage::new();
    let log = files::builder(&storage).segment_bytes(8192).open().unwrap();
    append_now(&log, &wide_entry(9, 1)).unwrap();
    let segment_bytes = files::used(&files::bytes(&storage, FIRST)) as u64 + 8;
    let storage = MemoryStorage::new();
    let log = files::builder(&storage)
        .segment_bytes(segment_bytes)
        .open()
        .unwrap();
    fail_next_write(&storage);
    assert!(is_refused(&append_now(&log, &wide_entry(9, 1))));
    assert!(
        files::used(&files::bytes(&storage, FIRST)) > 200,
        "half of it is there"
    );
    append_now(&log, &entry(9, 2)).unwrap();
    append_now(&log, &wide_entry(9, 3)).unwrap();
    let report = inspect::verify(&storage).unwrap();
    assert_eq!(report.segments.len(), 2);
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn a_log_that_ends_before_its_snapshot_is_not_opened() {
    let storage = MemoryStorage::new();
    let log = files::builder(&storage).segment_bytes(8192).open().unwrap();
    let epoch = lead(&log).unwrap();
    let early = files::bytes(&storage, FIRST);
    append_now(&log, &entry(9, 1)).unwrap();
    put_snapshot(&log, log.end(), epoch).unwrap();
    drop(log);
    // The segment of an older copy under a newer snapshot: positions would be used twice.
    let mut mixed = files::files_of(&storage);
    mixed
        .iter_mut()
        .filter(|(name, _)| name == FIRST)
        .for_each(|(_, bytes)| *bytes = early.clone());
    let expected = ReadError::Gap {
        expected: Position::new(5),
        found: Position::new(4),
    };
    let storage = files::storage_of(&mixed);
    assert_eq!(
        open(&storage).unwrap_err(),
        OpenError::Read(expected.clone())
    );
    assert_eq!(inspect::verify(&storage).unwrap().flaw, Some(expected));
}

/// E12: what a failed compaction left does not come back.
#[test]
fn a_snapshot_that_was_not_committed_leaves_nothing_behind() {
    let names = |storage: &MemoryStorage| {
        let files = files::files_of(storage);
        files.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    let epoch = lead(&log).unwrap();
    drop(log.put_snapshot(Position::new(2), epoch).unwrap());
    assert_eq!(names(&storage), [FIRST], "it was given up");

    let _given_up_by_a_kill = log.put_snapshot(Position::new(2), epoch).unwrap();
    let storage = storage.restart();
    assert_eq!(names(&storage).len(), 2);
    let log = open(&storage).unwrap();
    assert_eq!(names(&storage), [FIRST], "opening removes it");
    assert!(log.snapshot().unwrap().is_none());
}

#[test]
fn a_full_disk_refuses_loses_nothing_and_goes_on_once_there_is_room() {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    storage.set_capacity(Some(files::SEGMENT_BYTES * 2 + 100));
    let mut taken = Vec::new();
    let refused =
        (1..)
            .map(|counter| entry(2, counter))
            .find_map(|entry| match append_now(&log, &entry) {
                Ok(_) => {
                    taken.push(entry);
                    None
                }
                Err(error) => Some((entry, error)),
            });
    let (refused, error) = refused.unwrap();
    assert!(
        matches!(error, AppendError::Refused(Refusal::Full { .. })),
        "{error}"
    );
    assert!(
        append_now(&log, &taken[0]).unwrap().already,
        "it is known all the same"
    );
    assert_eq!(entries(&log, Position::ZERO).unwrap(), taken);

    storage.set_capacity(None);
    assert!(!append_now(&log, &refused).unwrap().already);
    taken.push(refused);
    drop(log);
    let log = open(&storage.crash(|_| false)).unwrap();
    assert_eq!(entries(&log, Position::ZERO).unwrap(), taken);
}
