//! Files that version 1 wrote still open, and today's writer still writes the same bytes. A second
//! reader, made by hand from docs/format.md alone, finds the same in them.
#![cfg(test)]

mod files;

use deedbook::ids::Position;
use deedbook::log::codec::Dictionary;
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

/// CRC-32 (IEEE), bit by bit.
fn crc(parts: &[&[u8]]) -> u32 {
    let mut crc = u32::MAX;
    for byte in parts.concat() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
    }
    !crc
}

fn number(bytes: &[u8], offset: usize, size: usize) -> u64 {
    let digits = bytes[offset..offset + size].iter().rev();
    digits.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn check_header(bytes: &[u8], magic: &[u8], start: u64, origin: u64) {
    assert_eq!(&bytes[..8], magic);
    assert_eq!(number(bytes, 8, 4), 1, "version");
    assert_eq!(number(bytes, 12, 4), 1, "codec");
    let log = u128::from_le_bytes(bytes[16..32].try_into().unwrap());
    assert_eq!(log, LOG.get());
    assert_eq!(number(bytes, 32, 8), start);
    assert_eq!(number(bytes, 40, 8), origin);
    assert_eq!(bytes[48..60], [0; 12]);
    assert_eq!(number(bytes, 60, 4), u64::from(crc(&[&bytes[..60]])));
}

#[test]
fn the_document_describes_segments() {
    let (_, expected) = write();
    let mut found = Vec::new();
    let mut frame_records = Vec::new();
    for (name, start, origin) in [(0, 1, 0), (1, 16, 1)] {
        let bytes = GOLDEN[name].1;
        check_header(bytes, b"deedlog\n", start, origin);
        let mut names = Dictionary::default();
        let mut offset = 64;
        let mut position = start;
        while bytes.len() - offset >= 12 && number(bytes, offset, 4) != 0 {
            let word = number(bytes, offset, 4);
            assert_ne!(word & 0x8000_0000, 0, "everything was synced before");
            let length = usize::try_from(word & 0x7fff_ffff).unwrap();
            assert_eq!(number(bytes, offset + 8, 4), position - start, "index");
            let payload = &bytes[offset + 12..offset + 12 + length];
            let sum = crc(&[&bytes[offset..offset + 4], &position.to_le_bytes(), payload]);
            assert_eq!(number(bytes, offset + 4, 4), u64::from(sum));
            let mut at = 0;
            let before = found.len();
            while at < payload.len() {
                assert!(payload[at] < 0x80, "a short record");
                let record = &payload[at + 1..at + 1 + usize::from(payload[at])];
                found.push((Position::new(position), names.decode(record).unwrap()));
                at += 1 + record.len();
                position += 1;
            }
            frame_records.push(found.len() - before);
            offset += 12 + length;
        }
        assert!(bytes[offset..].iter().all(|&byte| byte == 0));
    }
    assert_eq!(found, expected);
    assert_eq!(
        frame_records[..4],
        [1, 1, 1, 3],
        "a frame is what was written together"
    );
}

#[test]
fn the_document_describes_snapshots() {
    let bytes = GOLDEN[2].1;
    check_header(bytes, b"deedsnp\n", 12, 3);
    let content = b"everything below 12";
    assert_eq!(number(bytes, 64, 4), content.len() as u64);
    let horizon = 12_u64.to_le_bytes();
    let sum = crc(&[&bytes[64..68], &horizon, &0_u64.to_le_bytes(), content]);
    assert_eq!(number(bytes, 68, 4), u64::from(sum));
    assert_eq!(&bytes[72..91], content);

    let footer = &bytes[91..];
    assert_eq!(footer.len(), 24);
    assert_eq!(number(footer, 0, 4), 0xffff_ffff);
    assert_eq!(number(footer, 8, 8), 1, "blocks");
    assert_eq!(number(footer, 16, 8), content.len() as u64);
    let sum = crc(&[&footer[..4], &horizon, &footer[8..16], &footer[16..]]);
    assert_eq!(number(footer, 4, 4), u64::from(sum));
}
