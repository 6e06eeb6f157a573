//! A folder or a file is moved away under a log that is open, on a real file system, and comes back
//! (I8). Each is an error with path and advice; after that the log goes on without loss.
#![cfg(all(test, unix))]

mod files;

use deedbook::ids::Position;
use deedbook::log::file::{FileLog, FileLogBuilder, OpenError, inspect};
use deedbook::log::{AppendError, EventLog, ReadError, Refusal, SnapshotError, TrimError};
use deedbook::storage::{self, FsStorage};
use files::{append_now, entries, entry, lead, put_snapshot};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

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
