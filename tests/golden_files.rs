//! Files that version 1 wrote still open, and today's writer still writes the same bytes.
#![cfg(test)]

mod files;

use deedbook::ids::Position;
use deedbook::log::{EventLog, Payload};
use deedbook::storage::MemoryStorage;
use files::{LOG, append, entry, open, put_snapshot, read_all};
use std::collections::BTreeMap;

/// What version 1 wrote.
const GOLDEN: [(&str, &[u8]); 3] = [
    (
        "00000000000000000001.log",
        include_bytes!("golden/v1/log/00000000000000000001.log"),
    ),
    (
        "00000000000000000016.log",
        include_bytes!("golden/v1/log/00000000000000000016.log"),
    ),
    (
        "00000000000000000012.snapshot",
        include_bytes!("golden/v1/log/00000000000000000012.snapshot"),
    ),
];

/// Two sessions and a leader, entries in groups of three, a snapshot of one block.
fn write() -> (MemoryStorage, Vec<(Position, Payload)>) {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    let epoch = files::lead(&log).unwrap();
    for group in 0..8 {
        (1..=3).for_each(|index| drop(append(&log, &entry(2, group * 3 + index))));
        log.drive();
    }
    put_snapshot(&log, Position::new(12), epoch).unwrap();
    let payloads = read_all(&log, Position::ZERO).unwrap();
    (storage, payloads)
}

#[test]
fn the_writer_of_today_writes_what_version_1_wrote() {
    let (storage, _) = write();
    let written: BTreeMap<_, _> = files::files_of(&storage).into_iter().collect();
    assert_eq!(written.len(), GOLDEN.len(), "{:?}", written.keys());
    for (name, golden) in GOLDEN {
        let written = &written[name];
        let first = written.iter().zip(golden).position(|(a, b)| a != b);
        assert_eq!(first, None, "{name} differs from here on");
        assert_eq!(written.len(), golden.len(), "{name}");
    }
}

#[test]
fn what_version_1_wrote_still_opens() {
    let (_, expected) = write();
    let storage = files::storage_of(&GOLDEN);
    let log = open(&storage).unwrap();
    assert_eq!(log.id(), LOG);
    assert_eq!(log.cut(), None);
    let mut found = read_all(&log, Position::ZERO).unwrap();
    found.pop(); // the opening
    assert_eq!(found, expected);
    let mut snapshot = log.snapshot().unwrap().unwrap();
    assert_eq!(snapshot.horizon(), Position::new(12));
    let block = snapshot.next_block().unwrap().unwrap();
    assert_eq!(block, b"everything below 12");
    assert_eq!(snapshot.next_block().unwrap(), None);
}
