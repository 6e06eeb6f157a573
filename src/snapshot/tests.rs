//! Snapshots whole, damaged, in disorder, and of every size.

use super::*;
use crate::ids::{
    BrokerId, BundleId, Cuts, Epoch, Fence, Holder, KeyRange, Namespace, Position, SessionToken,
};
use crate::log::{ENTRY_BYTES_MAX, SnapshotError, SnapshotSink, SnapshotSource, codec};
use crate::state::{Facts, PARTS_MAX, Phase, Record, Row};
use crate::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

const HORIZON: Position = Position::new(1_000);

/// Blocks in memory, to write and to read.
#[derive(Clone, Debug, Default)]
struct Blocks(Arc<Mutex<VecDeque<Vec<u8>>>>);

impl SnapshotSink for Blocks {
    fn write_block(&mut self, block: &[u8]) -> Result<(), SnapshotError> {
        assert!(block.len() <= ENTRY_BYTES_MAX, "a block is too large");
        self.0.lock().push_back(block.to_vec());
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

impl SnapshotSource for Blocks {
    fn horizon(&self) -> Position {
        HORIZON
    }

    fn next_block(&mut self) -> Result<Option<Vec<u8>>, SnapshotError> {
        Ok(self.0.lock().pop_front())
    }
}

fn bundle(namespace: &str, lower: u32, upper: u32) -> BundleId {
    let range = KeyRange::new(lower, upper).unwrap();
    BundleId::new(Namespace::new(namespace).unwrap(), range)
}

fn row(record: Record, version: u64, fence: u64) -> Row {
    Row {
        record,
        version: Position::new(version),
        fence: Fence::new(fence),
    }
}

fn holder(broker: &str, session: u64) -> Holder {
    Holder::new(BrokerId::new(broker).unwrap(), SessionToken::new(session))
}

/// Every kind of record, in two namespaces; a broker that has spoken, and one that is only named.
fn example() -> (Facts, Vec<(BundleId, Row)>) {
    let mut facts = Facts {
        epoch: Epoch::new(7),
        floor: Position::new(400),
        ..Facts::default()
    };
    let namespace = |name| Namespace::new(name).unwrap();
    facts.namespaces.insert(namespace("t/a"), Phase::Live);
    facts
        .namespaces
        .insert(namespace("t/b"), Phase::BeingDeleted);
    for (broker, session) in [("a:1", 3), ("b:1", 300)] {
        let broker = BrokerId::new(broker).unwrap();
        facts.sessions.insert(broker, SessionToken::new(session));
    }
    let only_named = BrokerId::new("c:1").unwrap();
    let to = |destination| Record::Releasing {
        source: holder("a:1", 3),
        destination,
    };
    let split = |source| Record::Splitting {
        source,
        cuts: Cuts::new(vec![0x4800]).unwrap(),
    };
    let owned = Record::Owned {
        owner: holder("b:1", 300),
    };
    let assigning = Record::Assigning {
        destination: only_named.clone(),
    };
    let rows = vec![
        (bundle("t/a", 0, 0x1000), row(Record::Deleted, 900, 0)),
        (bundle("t/a", 0, 0x2000), row(Record::Free, 12, 0)),
        (bundle("t/a", 0x2000, 0x3000), row(assigning, 13, 13)),
        (bundle("t/a", 0x3000, 0x4000), row(owned, 14, 13)),
        (
            bundle("t/a", 0x4000, 0x5000),
            row(split(Some(holder("a:1", 3))), 15, 9),
        ),
        (bundle("t/b", 0, 0x1000), row(to(None), 16, 9)),
        (
            bundle("t/b", 0x1000, 0x4000),
            row(to(Some(only_named)), 17, 9),
        ),
        (bundle("t/b", 0x4000, 0x5000), row(split(None), 999, 0)),
    ];
    (facts, rows)
}

fn write(facts: &Facts, rows: &[(BundleId, Row)], block_bytes: usize) -> Vec<Vec<u8>> {
    let sink = Blocks::default();
    let mut writer = Writer::begin(Box::new(sink.clone()), HORIZON, facts, block_bytes).unwrap();
    for (bundle, row) in rows {
        writer.write_row(bundle, row).unwrap();
    }
    let sealed = writer.seal().unwrap();
    let blocks: Vec<Vec<u8>> = sink.0.lock().iter().cloned().collect();
    let bytes: usize = blocks.iter().map(Vec::len).sum();
    assert_eq!(sealed.byte_count(), bytes as u64);
    assert_eq!(sealed.row_count(), rows.len() as u64);
    sealed.commit().unwrap();
    blocks
}

type Read = (Facts, Vec<(BundleId, Row)>);

fn read(blocks: &[Vec<u8>]) -> Result<Read, Error> {
    let source = Blocks(Arc::new(Mutex::new(blocks.iter().cloned().collect())));
    let snapshot = Snapshot::open(Box::new(source))?;
    assert_eq!(snapshot.horizon, HORIZON);
    Ok((snapshot.facts, snapshot.rows.collect::<Result<_, _>>()?))
}

#[test]
fn what_was_written_is_read_whatever_the_size_of_blocks() {
    let (facts, rows) = example();
    for block_bytes in [0, 1, 150, 300, BLOCK_BYTES, usize::MAX] {
        let blocks = write(&facts, &rows, block_bytes);
        assert_eq!(read(&blocks), Ok((facts.clone(), rows.clone())));
        // First, numbers, last; then one for each item, or one for each kind.
        let expected = match block_bytes {
            0 | 1 => 3 + 2 + 2 + 8,
            BLOCK_BYTES.. => 3 + 1 + 1 + 1,
            _ => continue,
        };
        assert_eq!(blocks.len(), expected, "blocks of {block_bytes}");
    }
}

#[test]
fn nothing_is_a_snapshot_too() {
    let facts = Facts::default();
    let blocks = write(&facts, &[], BLOCK_BYTES);
    assert_eq!(blocks.len(), 3);
    assert_eq!(read(&blocks), Ok((facts, Vec::new())));
    assert_eq!(read(&[]), Err(Error::Unfinished { blocks: 0 }));
}

#[test]
fn every_flipped_bit_is_detected() {
    let (facts, rows) = example();
    let blocks = write(&facts, &rows, 300);
    for block in 0..blocks.len() {
        for bit in 0..8 * blocks[block].len() {
            let mut damaged = blocks.clone();
            damaged[block][bit / 8] ^= 1 << (bit % 8);
            assert!(read(&damaged).is_err(), "bit {bit} of block {block}");
        }
    }
}

#[test]
fn blocks_that_are_missing_twice_or_in_another_order_are_detected() {
    let (facts, rows) = example();
    let blocks = write(&facts, &rows, 1);
    let last = blocks.len() - 1;
    for at in 0..=last {
        assert_eq!(
            read(&blocks[..at]),
            Err(Error::Unfinished { blocks: at as u64 }),
            "cut before block {at}"
        );
        let mut without = blocks.clone();
        without.remove(at);
        assert!(read(&without).is_err(), "without block {at}");
        let mut twice = blocks.clone();
        twice.insert(at, blocks[at].clone());
        assert!(read(&twice).is_err(), "block {at} twice");
        let mut swapped = blocks.clone();
        swapped.swap(at, last.min(at + 1));
        assert!(at == last || read(&swapped).is_err(), "block {at} later");
    }
    let mut more = blocks.clone();
    more.push(Vec::new());
    let trailing = Error::Trailing { block: last as u64 };
    assert_eq!(read(&more), Err(trailing));
}

#[test]
fn blocks_of_two_snapshots_do_not_mix() {
    let (facts, rows) = example();
    let ours = write(&facts, &rows, 1);
    let mut later = rows.clone();
    later[0].1.version = Position::new(901);
    let theirs = write(&facts, &later, 1);
    let mut mixed = ours.clone();
    let last = mixed.len() - 2;
    mixed[last] = theirs[last].clone();
    assert!(matches!(read(&mixed), Err(Error::BadChain { .. })));
}

#[test]
fn newer_snapshots_and_other_things_are_told_apart() {
    let (facts, rows) = example();
    let blocks = write(&facts, &rows, BLOCK_BYTES);
    let with_version = |version: u32| {
        let mut blocks = blocks.clone();
        blocks[0][8..12].copy_from_slice(&version.to_le_bytes());
        blocks[0].extend(b"whatever a later version has there");
        read(&blocks)
    };
    let newer = Error::NewerFormat {
        version: 2,
        known: 1,
    };
    assert_eq!(with_version(2), Err(newer));
    assert_eq!(with_version(0), Err(Error::NotASnapshot));
    assert_eq!(read(&[b"deedlog".to_vec()]), Err(Error::NotASnapshot));
    assert_eq!(read(&[Vec::new()]), Err(Error::NotASnapshot));
}

/// The chain holds, but the content is not what a writer writes.
#[test]
fn rows_out_of_order_and_wrong_counts_are_refused() {
    let (facts, mut rows) = example();
    rows.swap(1, 2);
    let blocks = write(&facts, &rows, BLOCK_BYTES);
    assert_eq!(read(&blocks), Err(Error::NotInOrder { block: 4 }));
    rows.swap(1, 2);
    rows.insert(1, rows[0].clone());
    let blocks = write(&facts, &rows, BLOCK_BYTES);
    assert_eq!(read(&blocks), Err(Error::NotInOrder { block: 4 }));

    let sink = Blocks::default();
    let mut writer = Writer::begin(Box::new(sink.clone()), HORIZON, &facts, 1).unwrap();
    writer.write_row(&rows[0].0, &rows[0].1).unwrap();
    writer.row_count += 1;
    writer.seal().unwrap();
    let blocks: Vec<Vec<u8>> = sink.0.lock().iter().cloned().collect();
    let wrong = Error::WrongCount {
        expected: 2,
        found: 1,
    };
    assert_eq!(read(&blocks), Err(wrong));
}

#[test]
fn a_snapshot_under_another_horizon_is_refused() {
    let (facts, rows) = example();
    let sink = Blocks::default();
    let elsewhere = Position::new(77);
    let mut writer = Writer::begin(Box::new(sink.clone()), elsewhere, &facts, 1).unwrap();
    for (bundle, row) in &rows {
        writer.write_row(bundle, row).unwrap();
    }
    writer.seal().unwrap();
    let blocks: Vec<Vec<u8>> = sink.0.lock().iter().cloned().collect();
    let wrong = Error::WrongHorizon {
        expected: HORIZON,
        found: elsewhere,
    };
    assert_eq!(read(&blocks), Err(wrong));
}

/// A row is never divided among blocks, however many cuts it has; the sink checks their size.
#[test]
fn the_largest_rows_fit_into_blocks_of_any_size() {
    let mut facts = Facts::default();
    let namespace = Namespace::new(format!("t/{}", "n".repeat(253))).unwrap();
    facts.namespaces.insert(namespace.clone(), Phase::Live);
    let mut rows = Vec::new();
    for index in 0..8 {
        let range = KeyRange::new(index << 28, (index + 1) << 28).unwrap();
        let record = Record::Splitting {
            source: Some(holder(&format!("{index}{}", "b".repeat(254)), u64::MAX)),
            cuts: Cuts::even(range, u32::try_from(PARTS_MAX).unwrap()).unwrap(),
        };
        rows.push((
            BundleId::new(namespace.clone(), range),
            row(record, 999, 998),
        ));
    }
    for block_bytes in [1, BLOCK_BYTES, usize::MAX] {
        let blocks = write(&facts, &rows, block_bytes);
        assert_eq!(read(&blocks), Ok((facts.clone(), rows.clone())));
    }
}

/// What a block takes is never underestimated, so that no block is larger than what was asked for
/// and one item.
#[test]
fn many_names_do_not_make_a_block_too_large() {
    let mut facts = Facts::default();
    for index in 0..3_000_u64 {
        let name = format!("t/{index:05}{}", "n".repeat(248));
        let name = Namespace::new(name).unwrap();
        facts.namespaces.insert(name, Phase::Live);
        let broker = BrokerId::new(format!("{index:05}{}", "b".repeat(250))).unwrap();
        facts
            .sessions
            .insert(broker, SessionToken::new(u64::MAX - index));
    }
    let blocks = write(&facts, &[], 10_000);
    assert!(blocks.iter().all(|block| block.len() < 10_400));
    assert_eq!(read(&blocks), Ok((facts, Vec::new())));
}

#[test]
fn a_name_that_is_never_introduced_is_an_error() {
    let (facts, rows) = example();
    let sink = Blocks::default();
    let mut writer = Writer::begin(Box::new(sink.clone()), HORIZON, &facts, BLOCK_BYTES).unwrap();
    writer.write_row(&rows[2].0, &rows[2].1).unwrap();
    writer.blocks.dictionary.take_introduced();
    writer.seal().unwrap();
    let blocks: Vec<Vec<u8>> = sink.0.lock().iter().cloned().collect();
    let unknown = Error::Codec {
        block: 4,
        source: codec::Error::UnknownName { number: 2 },
    };
    assert_eq!(read(&blocks), Err(unknown));
}
