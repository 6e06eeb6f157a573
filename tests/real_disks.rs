//! A folder or a file is moved away under a log that is open, on a real file system, and comes back
//! (I8). Each is an error with path and advice; after that the log goes on without loss.
#![cfg(all(test, unix))]

mod files;

use deedbook::clock::ManualClock;
use deedbook::ids::Position;
use deedbook::log::file::{Durability, FileLog, FileLogBuilder, OpenError, inspect};
use deedbook::log::{AppendError, Doubt, EventLog, ReadError, Refusal, SnapshotError, TrimError};
use deedbook::storage::{self, FsStorage, Storage};
use files::watched::Watched;
use files::{append_now, entries, entry, lead, put_snapshot};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const FIRST: &str = "00000000000000000001.log";

fn builder(dir: &Path) -> FileLogBuilder {
    FileLog::builder(dir)
        .segment_bytes(files::SEGMENT_BYTES)
        .without_threads()
}

#[test]
fn a_folder_that_is_moved_away_is_named_and_the_log_goes_on_when_it_is_back() {
    let place = tempfile::tempdir().unwrap();
    let (dir, elsewhere) = (place.path().join("log"), place.path().join("elsewhere"));
    let log = builder(&dir).open().unwrap();
    let epoch = lead(&log).unwrap();
    let mut stands = Vec::new();
    let mut append = |count: u64| {
        let mut refused = None;
        for _ in 0..count {
            let entry = entry(1, stands.len() as u64 + 1);
            match append_now(&log, &entry) {
                Ok(_) => stands.push(entry),
                Err(error) => refused = Some(error),
            }
        }
        (refused, stands.clone())
    };
    assert_eq!(append(6).0, None);
    fs::rename(&dir, &elsewhere).unwrap();
    // The segment that is open still takes some; the next one has no place.
    let (refused, _) = append(12);
    let Some(AppendError::Refused(Refusal::Unavailable { path, kind })) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!((path, *kind), (&dir, ErrorKind::NotFound));
    let said = refused.as_ref().unwrap().to_string();
    assert!(
        said.contains("bring back what was moved or removed"),
        "{said}"
    );
    let error = put_snapshot(&log, log.end(), epoch).unwrap_err();
    assert!(matches!(
        error,
        SnapshotError::Unavailable {
            kind: ErrorKind::NotFound,
            ..
        }
    ));
    let error = FileLog::open_read_only(&dir).unwrap_err();
    assert!(matches!(
        error,
        OpenError::Storage(storage::Error::NotFound { .. })
    ));
    let read = log.tail(Position::ZERO).unwrap().poll();
    assert!(
        matches!(
            read,
            Err(ReadError::Unavailable {
                kind: ErrorKind::NotFound,
                ..
            }) | Ok(_)
        ),
        "what is at hand is read, the rest is out of reach: {read:?}"
    );

    fs::rename(&elsewhere, &dir).unwrap();
    let (refused, stands) = append(12);
    assert_eq!(refused, None);
    put_snapshot(&log, log.end(), epoch).unwrap();
    assert_eq!(entries(&log, Position::ZERO).unwrap(), stands);
    drop(log);
    let log = builder(&dir).open().unwrap();
    assert_eq!(entries(&log, Position::ZERO).unwrap(), stands);
    let storage = FsStorage::existing(&dir).unwrap();
    assert!(inspect::verify(&storage).unwrap().is_sound());
}

/// What goes on being written there would be gone with the process, however often it is synced.
#[test]
fn a_log_that_is_removed_takes_nothing_more_and_says_what_is_gone() {
    let removals: [fn(&Path); 2] = [
        |dir| fs::remove_dir_all(dir).unwrap(),
        |dir| {
            // A copy that is put back is another file.
            let segment = dir.join(FIRST);
            let bytes = fs::read(&segment).unwrap();
            fs::remove_file(&segment).unwrap();
            fs::write(&segment, bytes).unwrap();
        },
    ];
    for remove in removals {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("log");
        let log = FileLog::builder(&dir).without_threads().open().unwrap();
        let epoch = lead(&log).unwrap();
        append_now(&log, &entry(1, 1)).unwrap();
        remove(&dir);
        let (path, kind) = (dir.join(FIRST), ErrorKind::NotFound);
        let unknown = append_now(&log, &entry(1, 2)).unwrap_err();
        let doubt = Doubt::Unsynced {
            path: path.clone(),
            kind,
        };
        assert_eq!(unknown, AppendError::Unknown(doubt));
        let refused = append_now(&log, &entry(1, 3)).unwrap_err();
        let refusal = Refusal::Poisoned {
            path: path.clone(),
            kind,
        };
        assert_eq!(refused, AppendError::Refused(refusal));
        for said in [unknown.to_string(), refused.to_string()] {
            for part in [
                path.to_str().unwrap(),
                "bring back what was moved or removed",
                "reopen",
            ] {
                assert!(said.contains(part), "{said}");
            }
        }
        let put = put_snapshot(&log, log.end(), epoch);
        let is_refused = matches!(
            put,
            Err(SnapshotError::Poisoned { .. } | SnapshotError::Unavailable { .. })
        );
        assert!(is_refused, "{put:?}");
        assert_eq!(entries(&log, log.end()).unwrap(), []);
    }
}

/// With nothing to be written, the next snapshot or the next segment sees that a log is gone.
#[test]
fn a_log_that_is_removed_is_seen_by_whoever_comes_next() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("log");
    let log = FileLog::builder(&dir).without_threads().open().unwrap();
    let epoch = lead(&log).unwrap();
    fs::remove_file(dir.join(FIRST)).unwrap();
    let gone = SnapshotError::Poisoned {
        path: dir.join(FIRST),
        kind: ErrorKind::NotFound,
    };
    assert_eq!(put_snapshot(&log, log.end(), epoch), Err(gone));

    let dir = place.path().join("unsynced");
    let log = builder(&dir).durability(Durability::Never).open().unwrap();
    fs::remove_dir_all(&dir).unwrap();
    let refused = (1..100).find_map(|counter| append_now(&log, &entry(1, counter)).err());
    let gone = Refusal::Poisoned {
        path: dir.join(FIRST),
        kind: ErrorKind::NotFound,
    };
    assert_eq!(refused, Some(AppendError::Refused(gone)));
}

/// Between a sync that is due and its end others may write on, so that the segment is trimmed: it
/// is gone, and nothing of the log is.
#[test]
fn a_segment_that_is_trimmed_while_it_is_synced_is_missed_by_nobody() {
    let place = tempfile::tempdir().unwrap();
    let storage = Watched::new(Arc::new(FsStorage::create(place.path()).unwrap()));
    let clock = ManualClock::default();
    let wait = Duration::from_millis(10);
    let log = FileLogBuilder::on(Arc::new(storage.clone()))
        .segment_bytes(files::SEGMENT_BYTES)
        .snapshots_kept(1)
        .durability(Durability::Interval(wait))
        .clock(Arc::new(clock.clone()))
        .without_threads()
        .open()
        .unwrap();
    let epoch = lead(&log).unwrap();
    let segments = || {
        let mut names = storage.list().unwrap();
        names.retain(|name| name.ends_with(".log"));
        names
    };
    // The first segment that is trimmed is kept for later use, the second one is removed.
    let mut counter = 0;
    while segments().len() < 2 {
        counter += 1;
        append_now(&log, &entry(1, counter)).unwrap();
    }
    let synced = segments().pop().unwrap();
    clock.advance(wait);
    let writes_on = log.clone();
    let event = move || {
        for counter in 1..=20 {
            append_now(&writes_on, &entry(2, counter)).unwrap();
        }
        put_snapshot(&writes_on, writes_on.end(), epoch).unwrap();
        writes_on.trim(writes_on.end()).unwrap();
        None
    };
    storage.before(storage.operations() + 1, Box::new(event));
    log.drive();
    assert!(!storage.list().unwrap().contains(&synced));
    append_now(&log, &entry(1, counter + 1)).unwrap();
    assert!(inspect::verify(&storage).unwrap().is_sound());
}

#[test]
fn files_that_are_gone_are_named_and_nothing_is_trimmed() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    let log = builder(dir).open().unwrap();
    let epoch = lead(&log).unwrap();
    for round in 0..3 {
        for index in 1..=12 {
            append_now(&log, &entry(1, round * 12 + index)).unwrap();
        }
        put_snapshot(&log, log.end(), epoch).unwrap();
    }
    let newest = log.snapshot().unwrap().unwrap().horizon();
    let name = format!("{:020}.snapshot", newest.get());
    let (file, aside) = (dir.join(&name), dir.join("aside"));
    fs::rename(&file, &aside).unwrap();
    let count = fs::read_dir(dir).unwrap().count();
    let error = log.trim(newest).unwrap_err();
    let TrimError::Snapshot(SnapshotError::Unavailable { path, kind }) = &error else {
        panic!("{error:?}");
    };
    assert_eq!((path, *kind), (&file, ErrorKind::NotFound));
    assert_eq!(fs::read_dir(dir).unwrap().count(), count);
    fs::rename(&aside, &file).unwrap();
    log.trim(newest).unwrap();
    assert!(fs::read_dir(dir).unwrap().count() < count);
}
