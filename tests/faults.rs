//! What a log does when the disk says no: nothing is lost, nothing half done stays, and it goes on
//! once the cause is gone.
#![cfg(test)]

mod files;

use deedbook::ids::{Position, SessionToken};
use deedbook::log::file::{FileLog, FileLogBuilder, OpenError, inspect};
use deedbook::log::{Append, AppendError, EventLog, Guard, Member, ReadError, Refusal, TrimError};
use deedbook::storage::{MemoryStorage, Storage};
use files::watched::Watched;
use files::{append_now, broker, entries, entry, lead, member_now, open, put_snapshot, wide_entry};
use std::io::ErrorKind;
use std::sync::Arc;

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

#[test]
fn an_opening_that_fails_names_the_file_wherever_that_happens() {
    let storage = MemoryStorage::new();
    drop(open(&storage).unwrap());
    let before = storage.operation_count();
    drop(open(&storage).unwrap());
    let operations = storage.operation_count() - before;
    assert!(
        operations >= 4,
        "names, what is unproven, its own record: {operations}"
    );
    for operation in 1..=operations {
        storage.fail_at_with(
            storage.operation_count() + operation,
            ErrorKind::QuotaExceeded,
        );
        let said = open(&storage).unwrap_err().to_string();
        assert!(said.contains("memory"), "{operation}: {said}");
        assert!(said.contains("quota"), "{operation}: {said}");
        drop(open(&storage).unwrap());
    }
}

/// Whatever fails in a trim, the next one takes away what is left.
#[test]
fn a_trim_that_failed_is_made_up_for_by_the_next() {
    let written = || {
        let storage = MemoryStorage::new();
        let log = open(&storage).unwrap();
        let epoch = lead(&log).unwrap();
        for counter in 1..=70 {
            append_now(&log, &entry(2, counter)).unwrap();
            if counter % 20 == 0 {
                put_snapshot(&log, log.end(), epoch).unwrap();
            }
        }
        let horizon = log.snapshot().unwrap().unwrap().horizon();
        (storage, log, horizon)
    };
    let (storage, log, horizon) = written();
    let before = storage.operation_count();
    log.trim(horizon).unwrap();
    let operations = storage.operation_count() - before;
    assert!(operations >= 4, "segments and a snapshot: {operations}");
    let trimmed = storage.list().unwrap();
    for operation in 1..=operations {
        let (storage, log, horizon) = written();
        storage.fail_at(before + operation);
        let error = log.trim(horizon).unwrap_err();
        assert!(matches!(error, TrimError::Unavailable { .. }), "{error}");
        log.trim(horizon).unwrap();
        assert_eq!(storage.list().unwrap(), trimmed, "operation {operation}");
        drop(log);
        let stat = inspect::stat(&storage).unwrap();
        assert_eq!(stat.segments.first().unwrap().first, stat.first());
        assert!(inspect::verify(&storage).unwrap().is_sound());
    }
}

/// The segment that was made beforehand gives way to a snapshot, which makes room.
#[test]
fn a_snapshot_takes_the_room_of_the_spare_segment() {
    let written = || {
        let storage = MemoryStorage::new();
        let log = open(&storage).unwrap();
        let epoch = lead(&log).unwrap();
        for counter in 1..=20 {
            append_now(&log, &entry(2, counter)).unwrap();
        }
        put_snapshot(&log, log.end(), epoch).unwrap();
        append_now(&log, &entry(2, 21)).unwrap();
        put_snapshot(&log, log.end(), epoch).unwrap();
        // Becomes the spare segment, to be filled with zeroes when the next one is needed.
        log.trim(log.end()).unwrap();
        append_now(&log, &entry(2, 22)).unwrap();
        (storage, log, epoch)
    };
    let used = |storage: &MemoryStorage| {
        let files = files::files_of(storage);
        files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() as u64
    };
    let has_spare = |storage: &MemoryStorage| {
        let names = storage.list().unwrap();
        names.iter().any(|name| name.starts_with("spare"))
    };
    // A snapshot of one block takes less than 150 bytes, the spare segment takes 512.
    for free in 0..150 {
        let (storage, log, epoch) = written();
        assert!(has_spare(&storage));
        storage.set_capacity(Some(used(&storage) + free));
        put_snapshot(&log, log.end(), epoch).unwrap();
        let mut snapshot = log.snapshot().unwrap().unwrap();
        assert_eq!(snapshot.horizon(), log.end());
        while snapshot.next_block().unwrap().is_some() {}
        drop(log);
        assert!(inspect::verify(&storage).unwrap().is_sound());
        storage.set_capacity(None);
        let log = open(&storage).unwrap();
        for counter in 23..=40 {
            append_now(&log, &entry(2, counter)).unwrap();
        }
    }
}

/// Everything that an operating system may say, as far as the standard library has a name for it.
const KINDS: [ErrorKind; 36] = [
    ErrorKind::NotFound,
    ErrorKind::PermissionDenied,
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionReset,
    ErrorKind::HostUnreachable,
    ErrorKind::NetworkUnreachable,
    ErrorKind::ConnectionAborted,
    ErrorKind::NotConnected,
    ErrorKind::AddrInUse,
    ErrorKind::AddrNotAvailable,
    ErrorKind::NetworkDown,
    ErrorKind::BrokenPipe,
    ErrorKind::AlreadyExists,
    ErrorKind::WouldBlock,
    ErrorKind::NotADirectory,
    ErrorKind::IsADirectory,
    ErrorKind::DirectoryNotEmpty,
    ErrorKind::ReadOnlyFilesystem,
    ErrorKind::StaleNetworkFileHandle,
    ErrorKind::InvalidInput,
    ErrorKind::InvalidData,
    ErrorKind::TimedOut,
    ErrorKind::WriteZero,
    ErrorKind::StorageFull,
    ErrorKind::NotSeekable,
    ErrorKind::QuotaExceeded,
    ErrorKind::FileTooLarge,
    ErrorKind::ResourceBusy,
    ErrorKind::ExecutableFileBusy,
    ErrorKind::Deadlock,
    ErrorKind::TooManyLinks,
    ErrorKind::ArgumentListTooLong,
    ErrorKind::Interrupted,
    ErrorKind::Unsupported,
    ErrorKind::UnexpectedEof,
    ErrorKind::OutOfMemory,
];

fn open_watched(storage: &Watched) -> Result<FileLog, OpenError> {
    FileLogBuilder::on(Arc::new(storage.clone()))
        .segment_bytes(files::SEGMENT_BYTES)
        .new_log(files::LOG)
        .without_threads()
        .open()
}

/// Opens, appends over several segments, reads, compacts, trims and opens again; whatever fails is
/// tried once more, by the next process if the log says so. Every entry that was acknowledged is
/// there at the end, once and in order.
fn live_through(storage: &Watched) {
    let open = || {
        open_watched(storage)
            .or_else(|_| open_watched(storage))
            .unwrap()
    };
    let mut log = open();
    let mut stands = Vec::new();
    for counter in 1..=20 {
        let entry = entry(1, counter);
        match append_now(&log, &entry) {
            Ok(appended) => stands.push((appended.position, entry)),
            Err(error) => {
                if let AppendError::Unknown(_) | AppendError::Refused(Refusal::Poisoned { .. }) =
                    error
                {
                    drop(log);
                    log = open();
                }
                let appended = append_now(&log, &entry).unwrap();
                stands.push((appended.position, entry));
            }
        }
        let read = || files::read_all(&log, Position::ZERO);
        let _ = read().or_else(|_| read());
        if counter == 8 || counter == 16 {
            let led = lead(&log);
            if let Err(AppendError::Unknown(_) | AppendError::Refused(Refusal::Poisoned { .. })) =
                led
            {
                drop(log);
                log = open();
            }
            let Ok(epoch) = led.or_else(|_| lead(&log)) else {
                continue;
            };
            let put = || put_snapshot(&log, log.end(), epoch);
            let _ = put().or_else(|_| put());
            let _ = log
                .trim(log.end())
                .and_then(|()| log.trim(Position::new(1)));
        }
    }
    drop(log);
    storage.calm();
    let log = open();
    let first = inspect::stat(storage).unwrap().first();
    stands.retain(|(position, _)| *position >= first);
    assert!(
        stands.len() >= 12,
        "only what the older snapshot covers was trimmed"
    );
    let stands: Vec<_> = stands.into_iter().map(|(_, entry)| entry).collect();
    assert_eq!(entries(&log, first).unwrap(), stands);
    assert!(inspect::verify(storage).unwrap().is_sound());
}

/// Every kind of error at every operation, reads and listings included: no panic, and no loss.
#[test]
fn whatever_the_system_says_wherever_it_is_an_error_and_no_loss() {
    let storage = Watched::new(Arc::new(MemoryStorage::new()));
    live_through(&storage);
    let operations = storage.operations();
    assert!(operations > 200, "{operations}");
    // Each kind at some operations, and each operation with some kinds.
    for operation in 1..=operations {
        for (index, kind) in KINDS.into_iter().enumerate() {
            if (operation + index as u64).is_multiple_of(5) {
                let storage = Watched::new(Arc::new(MemoryStorage::new()));
                let fails = move || {
                    println!("{kind:?} at operation {operation}");
                    Some(kind)
                };
                storage.before(operation, Box::new(fails));
                live_through(&storage);
            }
        }
    }
}

/// What an append says, for each thing that is to be told apart, and that it goes on afterwards.
#[test]
fn each_error_of_a_disk_has_a_name_a_path_and_advice() {
    let advice = [
        (ErrorKind::StorageFull, "make room and append again"),
        (ErrorKind::QuotaExceeded, "make room, or ask for more"),
        (ErrorKind::ReadOnlyFilesystem, "mount it writable"),
        (ErrorKind::PermissionDenied, "see who owns it"),
        (ErrorKind::NotFound, "bring back what was moved"),
        (ErrorKind::Interrupted, ""),
    ];
    for (kind, advised) in advice {
        let storage = MemoryStorage::new();
        let log = open(&storage).unwrap();
        storage.fail_at_with(storage.operation_count() + 1, kind);
        let Err(AppendError::Refused(refusal)) = append_now(&log, &entry(9, 1)) else {
            panic!("{kind}: it was not refused");
        };
        let found = match &refusal {
            Refusal::Full { path } => (ErrorKind::StorageFull, path),
            Refusal::Unavailable { path, kind } => (*kind, path),
            other => panic!("{kind}: {other}"),
        };
        assert_eq!(found.0, kind);
        assert!(found.1.ends_with(FIRST), "{}", found.1.display());
        assert!(refusal.to_string().contains(advised), "{refusal}");
        assert!(
            !append_now(&log, &entry(9, 1)).unwrap().already,
            "it goes on"
        );
        drop(log);
        // And so does an opening, at each of its operations.
        let opened = storage.operation_count();
        storage.fail_at_with(opened + 1, kind);
        let error = open(&storage).unwrap_err();
        let OpenError::Storage(error) = &error else {
            panic!("{kind}: {error}");
        };
        assert_eq!(error.kind(), kind);
        assert_eq!(
            entries(&open(&storage).unwrap(), Position::ZERO)
                .unwrap()
                .len(),
            1
        );
    }
}
