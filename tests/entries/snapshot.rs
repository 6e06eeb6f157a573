//! Any blocks into the reader of snapshots, and damaged blocks of a real one.

use super::blocks::{load, write};
use super::bytes::Bytes;
use deedbook::ids::{BrokerId, BundleId, Cuts, Epoch, Holder, KeyRange, Namespace, Position};
use deedbook::ids::{Fence, SessionToken};
use deedbook::state::{Facts, Phase, Record, Row};
use deedbook::table::Table;

/// What begins the first block, and the only version there is.
const MAGIC: [u8; 8] = *b"deedsnap";
const VERSION: u32 = 1;

/// The first byte says what becomes of the others.
pub(crate) fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    match bytes.below(3) {
        0 => check_any(&mut bytes),
        1 => check_signed(&mut bytes),
        _ => check_damaged(&mut bytes),
    }
}

/// Blocks as they are.
fn check_any(bytes: &mut Bytes<'_>) {
    let horizon = Position::new(bytes.number());
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        blocks.push(bytes.chunk().to_vec());
    }
    check_loaded(horizon, blocks);
}

/// Bodies of blocks, under a head and chains that are right: what stands behind checksums.
fn check_signed(bytes: &mut Bytes<'_>) {
    let horizon = Position::new(bytes.number());
    let mut head = MAGIC.to_vec();
    head.extend(VERSION.to_le_bytes());
    head.extend(horizon.get().to_le_bytes());
    let mut chain = next_chain(0, &head);
    head.extend(chain.to_le_bytes());
    let mut blocks = vec![head];
    while !bytes.is_empty() {
        let body = bytes.chunk();
        chain = next_chain(chain, body);
        blocks.push([&chain.to_le_bytes(), body].concat());
    }
    check_loaded(horizon, blocks);
}

fn next_chain(before: u32, rest: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&before.to_le_bytes());
    hasher.update(rest);
    hasher.finalize()
}

/// What is loaded is whole, and is the same after it was written and loaded once more.
fn check_loaded(horizon: Position, blocks: Vec<Vec<u8>>) {
    if let Ok(table) = load(horizon, blocks) {
        assert_eq!(table.check_whole(), Ok(()));
        assert_eq!(table.next(), horizon);
        let again = load(horizon, write(&table, 200)).expect("what was written is read");
        assert_eq!(again.digest(), table.digest());
    }
}

/// The snapshot of a table with a bundle in every state, damaged in one or two ways: an error, or
/// the same table. No more than one byte is changed, because that is what the checksum is sure to
/// find; a fuzzer that may change four can make them fit.
fn check_damaged(bytes: &mut Bytes<'_>) {
    let table = in_every_state();
    let mut blocks = write(&table, 40 + 8 * usize::from(bytes.byte()));
    let flip = bytes.byte();
    if flip != 0 {
        let block = bytes.below(blocks.len());
        let at = usize::from(bytes.pair()) % blocks[block].len();
        blocks[block][at] ^= flip;
    }
    let kind = bytes.below(6);
    let (one, other) = (bytes.below(blocks.len()), bytes.below(blocks.len()));
    match kind {
        0 => drop(blocks.remove(one)),
        1 => blocks.swap(one, other),
        2 => blocks.insert(one, blocks[other].clone()),
        3 => blocks[one].truncate(usize::from(bytes.byte())),
        4 => blocks.truncate(one),
        _ => {}
    }
    if let Ok(loaded) = load(table.next(), blocks) {
        assert_eq!(
            loaded.digest(),
            table.digest(),
            "damage made another table of it"
        );
    }
}

fn in_every_state() -> Table {
    let holder = |name: &str, session| {
        let broker = BrokerId::new(name).expect("a short name is a name");
        Holder::new(broker, SessionToken::new(session))
    };
    let (a, b) = (holder("a:1", 5), holder("b:1", 7));
    let namespace = Namespace::new("t/n").expect("two short parts are a namespace");
    let cuts = Cuts::even(KeyRange::FULL, 8).expect("the key space has eight parts");
    let split = |source| Record::Splitting {
        source,
        cuts: Cuts::new(vec![0xc000_0001, 0xc000_0100]).expect("these cuts grow"),
    };
    let releasing = |destination| Record::Releasing {
        source: a.clone(),
        destination,
    };
    let records = [
        Record::Free,
        Record::Assigning {
            destination: b.broker.clone(),
        },
        Record::Owned { owner: a.clone() },
        Record::Owned { owner: b.clone() },
        releasing(None),
        releasing(Some(b.broker.clone())),
        split(Some(b.clone())),
        split(None),
    ];
    let of = |range| BundleId::new(namespace.clone(), range);
    let parts = cuts.parts(KeyRange::FULL).map(of);
    let deleted = (of(KeyRange::FULL), Record::Deleted);
    let all = parts.zip(records).chain([deleted]);
    let rows = all.zip(10..).map(|((bundle, record), version)| {
        let row = Row {
            record,
            version: Position::new(version),
            fence: Fence::new(version),
        };
        (bundle, row)
    });
    let facts = Facts {
        namespaces: [(namespace.clone(), Phase::Live)].into(),
        sessions: [(a.broker.clone(), a.session), (b.broker.clone(), b.session)].into(),
        epoch: Epoch::new(3),
        floor: Position::new(9),
        rules_version: 1,
    };
    Table::from_snapshot(Position::new(42), facts, rows).expect("these rows are a table")
}
