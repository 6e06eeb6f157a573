//! What the tests of logs share: entries to append, and logs in memory that are driven by hand.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]
#![allow(dead_code, reason = "not every test uses every one")]

pub(crate) mod watched;

use deedbook::clock::ManualClock;
use deedbook::ids::{BrokerId, BundleId, Epoch, Holder, LogId, Position, SessionToken};
use deedbook::log::file::{Durability, FileLog, FileLogBuilder, OpenError};
use deedbook::log::{
    Append, AppendError, AppendResult, Doubt, EventLog, Guard, Member, MemberLog, Payload,
    ReadError, SnapshotError, Tail, TailItem,
};
use deedbook::pending::Pending;
use deedbook::state::{Body, Change, Entry, Record};
use deedbook::storage::{Access, MemoryStorage, Storage};
use std::sync::Arc;

/// Small enough that a few entries fill a segment.
pub(crate) const SEGMENT_BYTES: u64 = 512;

pub(crate) const LOG: LogId = LogId::new(0x00de_ed00_0000_0000_0000_0000_0000_0001);

pub(crate) fn broker(index: u64) -> BrokerId {
    BrokerId::new(format!("broker-{index}:8080")).unwrap()
}

pub(crate) fn bundle(index: u64) -> BundleId {
    let lower = u32::try_from(index).unwrap() << 16;
    format!("acme/orders/{lower:#010x}_{:#010x}", lower + 0xffff)
        .parse()
        .unwrap()
}

/// The `counter`-th entry of a session: assigns one of ten bundles to one of three brokers.
pub(crate) fn entry(session: u64, counter: u64) -> Arc<Entry> {
    let change = Change {
        bundle: bundle(counter % 10),
        expected: Position::new(counter / 2),
        next: Some(Record::Assigning {
            destination: broker(counter % 3),
        }),
    };
    Arc::new(Entry {
        author: Holder::new(broker(session % 3), SessionToken::new(session)),
        counter,
        epoch: None,
        body: Body::Changes(vec![change]),
    })
}

/// An entry that takes several sectors of a disk.
pub(crate) fn wide_entry(session: u64, counter: u64) -> Arc<Entry> {
    let narrow = entry(session, counter);
    let change = |index| Change {
        bundle: bundle(index),
        ..narrow.changes()[0].clone()
    };
    Arc::new(Entry {
        body: Body::Changes((0..100).map(change).collect()),
        ..Entry::clone(&narrow)
    })
}

pub(crate) fn append(log: &dyn EventLog, entry: &Arc<Entry>) -> Pending<AppendResult> {
    log.append(Append {
        entry: Arc::clone(entry),
        guard: Guard::None,
    })
}

/// A log without threads on storage in memory.
pub(crate) fn builder(storage: &MemoryStorage) -> FileLogBuilder {
    FileLogBuilder::on(Arc::new(storage.clone()))
        .segment_bytes(SEGMENT_BYTES)
        .clock(Arc::new(ManualClock::default()))
        .new_log(LOG)
        .without_threads()
}

pub(crate) fn open(storage: &MemoryStorage) -> Result<FileLog, OpenError> {
    builder(storage).open()
}

pub(crate) fn open_with(
    storage: &MemoryStorage,
    durability: Durability,
) -> Result<FileLog, OpenError> {
    builder(storage).durability(durability).open()
}

/// Appends one entry as a group of its own.
pub(crate) fn append_now(log: &FileLog, entry: &Arc<Entry>) -> AppendResult {
    let pending = append(log, entry);
    log.drive();
    pending
        .wait()
        .unwrap_or(Err(AppendError::Unknown(Doubt::NoAnswer)))
}

/// Writes a membership record; its position.
pub(crate) fn member_now(log: &FileLog, member: Member) -> Result<Position, AppendError> {
    let pending = log.append_member(member);
    log.drive();
    let result = pending
        .wait()
        .unwrap_or(Err(AppendError::Unknown(Doubt::NoAnswer)));
    result.map(|appended| appended.position)
}

/// Registers a broker and lets it lead.
pub(crate) fn lead(log: &FileLog) -> Result<Epoch, AppendError> {
    let broker = broker(0);
    let session = SessionToken::at(member_now(log, Member::Joined { broker })?);
    member_now(log, Member::Elected { session }).map(Epoch::at)
}

/// Takes a snapshot of one block.
pub(crate) fn put_snapshot(
    log: &dyn EventLog,
    horizon: Position,
    epoch: Epoch,
) -> Result<(), SnapshotError> {
    let mut sink = log.put_snapshot(horizon, epoch)?;
    sink.write_block(format!("everything below {horizon}").as_bytes())?;
    sink.commit()
}

/// Everything that a tail says until it has caught up.
pub(crate) fn drain(tail: &mut dyn Tail) -> Result<Vec<(Position, Payload)>, ReadError> {
    let mut payloads = Vec::new();
    while let Some(TailItem::Payload { position, payload }) = tail.poll()? {
        payloads.push((position, payload));
    }
    Ok(payloads)
}

pub(crate) fn read_all(
    log: &dyn EventLog,
    from: Position,
) -> Result<Vec<(Position, Payload)>, ReadError> {
    drain(&mut *log.tail(from)?)
}

/// The entries of a log, membership records left out.
pub(crate) fn entries(log: &dyn EventLog, from: Position) -> Result<Vec<Arc<Entry>>, ReadError> {
    let payloads = read_all(log, from)?;
    Ok(payloads
        .into_iter()
        .filter_map(|(_, payload)| match payload {
            Payload::Entry(entry) => Some(entry),
            Payload::Member(_) => None,
        })
        .collect())
}

/// The bytes of a file.
pub(crate) fn bytes(storage: &MemoryStorage, name: &str) -> Vec<u8> {
    let file = storage.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size().unwrap()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

/// How many bytes stand before the zeroes at the end.
pub(crate) fn used(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1)
}

/// A directory of these files, all durable.
pub(crate) fn storage_of<N: AsRef<str>, B: AsRef<[u8]>>(files: &[(N, B)]) -> MemoryStorage {
    let storage = MemoryStorage::new();
    put_files(&storage, files);
    storage
}

/// Writes these files, all durable.
pub(crate) fn put_files<N: AsRef<str>, B: AsRef<[u8]>>(storage: &MemoryStorage, files: &[(N, B)]) {
    for (name, bytes) in files {
        let file = storage.create(name.as_ref()).unwrap();
        file.write_at(0, bytes.as_ref()).unwrap();
        file.sync().unwrap();
    }
    storage.sync().unwrap();
}

/// All files of a directory.
pub(crate) fn files_of(storage: &MemoryStorage) -> Vec<(String, Vec<u8>)> {
    let names = storage.list().unwrap();
    names
        .into_iter()
        .map(|name| {
            let bytes = bytes(storage, &name);
            (name, bytes)
        })
        .collect()
}
