//! `backup` beside a writer, and `restore` into a log of its own.

use super::book::LOWER;
use super::{Book, json, refused};
use crate::keys::{documented, keys};
use deedbook::ids::Position;
use deedbook::log::file::{FileLog, inspect};
use deedbook::log::{EventLog, ReadError};
use deedbook::storage::FsStorage;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn records(dir: &str) -> Vec<inspect::StoredRecord> {
    let storage = Arc::new(FsStorage::existing(dir).unwrap());
    let records = inspect::records(storage).unwrap();
    records.map(Result::unwrap).collect()
}

fn payloads(dir: &str) -> Vec<(Position, deedbook::log::Payload)> {
    let records = records(dir).into_iter();
    records
        .map(|record| (record.position, record.payload))
        .collect()
}

#[test]
fn a_backup_holds_what_the_log_holds_and_a_restored_log_goes_on_as_another() {
    let book = Book::trimmed();
    let (copy, restored) = (book.place("copy"), book.place("restored"));
    let copied = json(&["log", "backup", &book.dir(), &copy], 0);
    assert_eq!(payloads(&copy), payloads(&book.dir()));
    let digest = |dir: &str| json(&["log", "digest", dir], 0);
    assert_eq!(digest(&copy), digest(&book.dir()), "id and all");
    assert_eq!(json(&["log", "verify", &copy], 0)["sound"], true);
    assert_eq!(copied["end"], digest(&copy)["next"]);
    let mut printed = BTreeSet::new();
    keys(&copied, "", &mut printed);
    assert_eq!(printed, documented("log backup"));

    let found = json(&["log", "restore", &copy, &restored], 0);
    let mut printed = BTreeSet::new();
    keys(&found, "", &mut printed);
    assert_eq!(printed, documented("log restore"));
    assert_ne!(found["log"], copied["log"]);
    assert_eq!(payloads(&restored), payloads(&book.dir()));
    assert_eq!(digest(&restored)["digest"], digest(&copy)["digest"]);
    let log = FileLog::open(&restored).unwrap();
    let next = log.end().get();
    assert_eq!(next, found["end"].as_u64().unwrap() + 1, "its opening");
    drop(log);
    assert_eq!(json(&["log", "verify", &restored], 0)["sound"], true);

    // Whoever knows the original does not take the new log's segments for its own.
    let original = FileLog::open_read_only(book.dir()).unwrap();
    let names = fs::read_dir(&restored)
        .unwrap()
        .map(|file| file.unwrap().path());
    for path in names.filter(|path| path.extension().is_some_and(|e| e == "log")) {
        fs::copy(
            &path,
            Path::new(&book.dir()).join(path.file_name().unwrap()),
        )
        .unwrap();
    }
    let read = original.tail(Position::new(next - 1)).map(|_| ());
    assert!(matches!(read, Err(ReadError::WrongLog { .. })), "{read:?}");
}

/// The writer rotates and compacts while copies are taken, one after the other. Each holds all that
/// was acknowledged when it began, and nothing that the log does not hold.
#[test]
fn a_backup_beside_a_writer_is_whole() {
    let mut book = Book::new();
    let version = book.change('b', LOWER, 5, book.assigning('a'));
    let mut version = book.change('a', LOWER, version, book.owned('a'));
    let dir = book.dir();
    let copies: Vec<_> = (0..4)
        .map(|index| book.place(&format!("copy-{index}")))
        .collect();
    let done = AtomicBool::new(false);
    let reader = FileLog::open_read_only(&dir).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut round = 0;
            while !done.load(Ordering::Acquire) {
                version = book.transfer('a', version);
                version = book.transfer('b', version);
                round += 1;
                if round % 40 == 0 {
                    book.compact();
                }
            }
        });
        for copy in &copies {
            let end = inspect::stat(&FsStorage::existing(&dir).unwrap())
                .unwrap()
                .end;
            let copied = json(&["log", "backup", &dir, copy], 0);
            assert!(copied["end"].as_u64() >= Some(end.get()));
            let verified = json(&["log", "verify", copy], 0);
            assert_eq!(
                (&verified["sound"], &verified["torn_end"]),
                (&true.into(), &serde_json::Value::Null)
            );
        }
        done.store(true, Ordering::Release);
        writer.join().unwrap();
    });
    let newest = payloads(copies.last().unwrap());
    let first = newest[0].0;
    let mut tail = reader.tail(first);
    if tail.is_err() {
        // It was trimmed since; the copies can still be held against each other.
        tail = Ok(FileLog::open_read_only(copies.last().unwrap())
            .unwrap()
            .tail(first)
            .unwrap());
    }
    let mut tail = tail.unwrap();
    for (position, payload) in newest {
        let item = tail.poll().unwrap().unwrap();
        assert_eq!(item, deedbook::log::TailItem::Payload { position, payload });
    }
}

#[test]
fn nothing_is_copied_over_anything() {
    let book = Book::trimmed();
    fs::write(book.place("file"), "").unwrap();
    for target in [&book.dir(), &book.place("file")] {
        let said = refused(&["log", "backup", &book.dir(), target]);
        assert!(said.contains("is not empty"), "{said}");
    }
    fs::create_dir(book.place("copy.part")).unwrap();
    let said = refused(&["log", "backup", &book.dir(), &book.place("copy")]);
    assert!(said.contains("copy.part is in the way"), "{said}");
    fs::create_dir(book.place("empty")).unwrap();
    json(&["log", "backup", &book.dir(), &book.place("empty")], 0);
    let names: BTreeSet<_> = fs::read_dir(book.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        names,
        ["copy.part", "empty", "file", "log"]
            .map(str::to_owned)
            .into()
    );
}

#[test]
fn damage_is_not_copied() {
    let folder = Book::trimmed().close();
    let dir = folder.path().join("log");
    super::damage::flip(&super::damage::segments(&dir)[1], 100);
    let target = folder.path().join("copy");
    let (dir, target) = (dir.to_str().unwrap(), target.to_str().unwrap());
    let said = refused(&["log", "backup", dir, target]);
    assert!(said.contains("is damaged at byte"), "{said}");
    assert!(!Path::new(target).exists());
}
