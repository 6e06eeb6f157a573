//! Any bytes into the files of a log, and damage to those of a real one.

use super::bytes::Bytes;
use deedbook::ids::{BrokerId, Epoch, Holder, LogId, Position, SessionToken};
use deedbook::log::codec::Dictionary;
use deedbook::log::file::{FileLog, FileLogBuilder, inspect};
use deedbook::log::{Append, EventLog, Guard, Member, MemberLog, Payload};
use deedbook::state::{Body, Entry};
use deedbook::storage::{Access, MemoryStorage, Storage};
use std::sync::Arc;

const LOG: LogId = LogId::new(7);

/// Few frames fill a segment.
const SEGMENT_BYTES: u64 = 256;

/// The first byte says what becomes of the others.
pub(crate) fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    match bytes.below(4) {
        0 => check_any(&mut bytes),
        1 => check_signed(&mut bytes),
        2 => check_snapshot(&mut bytes),
        _ => check_damaged(&mut bytes),
    }
}

/// A segment as it is.
fn check_any(bytes: &mut Bytes<'_>) {
    let storage = MemoryStorage::new();
    put(&storage, "00000000000000000001.log", bytes.rest());
    check_files(&storage);
}

/// Frames whose place and checksums are right: what stands behind checksums.
fn check_signed(bytes: &mut Bytes<'_>) {
    let first = match bytes.below(2) {
        0 => 1,
        _ => bytes.number(),
    };
    let mut segment = header(first);
    // What was written, as long as it is known what the records are.
    let mut records = Vec::new();
    let mut is_known = true;
    let mut index = 0_u32;
    while !bytes.is_empty() {
        let control = bytes.byte();
        let mut payload = Vec::new();
        let mut count = 1;
        if control & 1 == 0 {
            payload.extend(bytes.chunk());
            is_known = false;
        } else {
            count = 1 + u32::from(control >> 1 & 3);
            for _ in 0..count {
                let record = bytes.chunk();
                push_length(&mut payload, record.len());
                payload.extend(record);
                if is_known {
                    records.push(record);
                }
            }
        }
        let synced = u32::from(control >> 7) << 31;
        let word = u32::try_from(payload.len()).unwrap_or(0) | synced;
        let position = first.wrapping_add(u64::from(index));
        let parts = [&word.to_le_bytes()[..], &position.to_le_bytes(), &payload];
        segment.extend(word.to_le_bytes());
        segment.extend(checksum(&parts).to_le_bytes());
        segment.extend(index.to_le_bytes());
        segment.extend(payload);
        index += count;
    }
    let storage = MemoryStorage::new();
    put(&storage, &format!("{first:020}.log"), &segment);
    let read = check_files(&storage);
    let mut writer = Dictionary::default();
    for ((_, payload), record) in read.iter().zip(records) {
        assert_eq!(
            writer.encode(payload).as_deref(),
            Ok(record),
            "{payload:?} has a second spelling"
        );
    }
}

/// The header of a segment of version 1.
fn header(first: u64) -> Vec<u8> {
    let mut header = b"deedlog\n".to_vec();
    header.extend(1_u32.to_le_bytes());
    header.extend(1_u32.to_le_bytes());
    header.extend(LOG.get().to_le_bytes());
    header.extend(first.to_le_bytes());
    header.extend([0; 20]);
    header.extend(checksum(&[&header]).to_le_bytes());
    header
}

fn push_length(bytes: &mut Vec<u8>, length: usize) {
    let mut rest = length;
    while rest > 0x7f {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// A snapshot as it is, beside a real log.
fn check_snapshot(bytes: &mut Bytes<'_>) {
    let storage = real();
    let name = format!("{:020}.snapshot", 1 + bytes.number_below(16));
    put(&storage, &name, bytes.rest());
    check_files(&storage);
}

/// A real log of which one byte is changed, or one file cut short. No more, because that is what
/// the checksum is sure to find; a fuzzer that may change four bytes can make them fit.
fn check_damaged(bytes: &mut Bytes<'_>) {
    let storage = real();
    let written = records(&storage);
    let names = storage.list().expect("memory can be listed");
    let name = &names[bytes.below(names.len())];
    let file = storage.open(name, Access::Write).expect("it is there");
    let at = bytes.number() % file.size().expect("memory has a size").max(1);
    match bytes.byte() {
        0 => file.set_size(at).expect("memory can be cut"),
        flip => {
            let mut byte = [0];
            file.read_at(at, &mut byte).expect("memory can be read");
            file.write_at(at, &[byte[0] ^ flip])
                .expect("memory can be written");
        }
    }
    for (position, payload) in check_files(&storage) {
        let stood = written.iter().find(|(at, _)| *at == position);
        assert_eq!(stood.map(|(_, payload)| payload), Some(&payload));
    }
}

type Records = Vec<(Position, Payload)>;

/// What is read up to an error. The same again once the log was opened, and what opening adds.
fn check_files(storage: &MemoryStorage) -> Records {
    let before = records(storage);
    let is_sound = inspect::verify(storage).is_ok_and(|report| report.is_sound());
    match open(storage) {
        Ok(log) => log.close(),
        Err(error) => assert!(!is_sound, "sound, and not to be opened: {error}"),
    }
    let after = records(&storage.restart());
    if let Some(((_, last), kept)) = after.split_last()
        && after.len() > before.len()
    {
        assert_eq!(kept, before, "opening changes what is read");
        assert_eq!(*last, Payload::Member(Member::Opened));
    } else {
        assert_eq!(after, before, "opening takes something away");
    }
    before
}

fn records(storage: &MemoryStorage) -> Records {
    let Ok(records) = inspect::records(Arc::new(storage.clone())) else {
        return Vec::new();
    };
    let read = records.map_while(Result::ok);
    read.map(|record| (record.position, record.payload))
        .collect()
}

fn put(storage: &MemoryStorage, name: &str, bytes: &[u8]) {
    let file = match storage.create(name) {
        Ok(file) => file,
        Err(_) => storage.open(name, Access::Write).expect("it is there"),
    };
    file.write_at(0, bytes).expect("memory can be written");
}

fn open(storage: &MemoryStorage) -> Result<FileLog, deedbook::log::file::OpenError> {
    FileLogBuilder::on(Arc::new(storage.clone()))
        .segment_bytes(SEGMENT_BYTES)
        .new_log(LOG)
        .without_threads()
        .open()
}

/// Three segments and a snapshot.
fn real() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let log = open(&storage).expect("an empty storage can be opened");
    let broker = BrokerId::new("a:1").expect("a short name is a name");
    let joined = log.append_member(Member::Joined {
        broker: broker.clone(),
    });
    log.drive();
    drop(joined);
    let session = SessionToken::new(2);
    drop(log.append_member(Member::Elected { session }));
    log.drive();
    for counter in 1..=12 {
        let entry = Arc::new(Entry {
            author: Holder::new(broker.clone(), session),
            counter,
            epoch: None,
            body: Body::LeaderStarted,
        });
        let guard = Guard::None;
        drop(log.append(Append { entry, guard }));
        log.drive();
    }
    let sink = log.put_snapshot(Position::new(4), Epoch::new(3));
    let mut sink = sink.expect("the leader may write a snapshot");
    sink.write_block(b"a block").expect("memory has room");
    sink.commit().expect("the leader may commit a snapshot");
    log.close();
    storage.restart()
}
