//! The content of a snapshot's blocks, by the page.

use crate::page::{Structures, structures};
use crate::walk::{Walk, crc};
use crate::{Cut, Table, lines};
use deedbook::ids::{BrokerId, BundleId, Cuts, Epoch, Fence, Holder, Namespace};
use deedbook::ids::{KeyRange, Position, SessionToken};
use deedbook::log::{SnapshotError, SnapshotSink, SnapshotSource};
use deedbook::snapshot::{Snapshot, Writer};
use deedbook::state::{Facts, Phase, Record, Row};
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

const GOLDEN: &str = include_str!("../golden/v1/content.txt");
const HORIZON: u64 = 1000;

/// Blocks in memory, to write and to read.
#[derive(Clone, Debug, Default)]
struct Blocks(Arc<Mutex<VecDeque<Vec<u8>>>>);

impl SnapshotSink for Blocks {
    fn write_block(&mut self, block: &[u8]) -> Result<(), SnapshotError> {
        self.0.lock().push_back(block.to_vec());
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

impl SnapshotSource for Blocks {
    fn horizon(&self) -> Position {
        Position::new(HORIZON)
    }

    fn next_block(&mut self) -> Result<Option<Vec<u8>>, SnapshotError> {
        Ok(self.0.lock().pop_front())
    }
}

/// Two namespaces, two brokers, a bundle that is owned and one that splits.
fn example() -> (Facts, Vec<(BundleId, Row)>) {
    let namespace = |name| Namespace::new(name).unwrap();
    let broker = |name| BrokerId::new(name).unwrap();
    let mut facts = Facts {
        epoch: Epoch::new(9),
        floor: Position::new(400),
        ..Facts::default()
    };
    facts.namespaces = [
        (namespace("t/a"), Phase::Live),
        (namespace("t/b"), Phase::BeingDeleted),
    ]
    .into();
    facts.sessions = [
        (broker("a:1"), SessionToken::new(7)),
        (broker("b:1"), SessionToken::new(300)),
    ]
    .into();
    let row = |name, lower, upper, record, version, fence| {
        let range = KeyRange::new(lower, upper).unwrap();
        let row = Row {
            record,
            version: Position::new(version),
            fence: Fence::new(fence),
        };
        (BundleId::new(namespace(name), range), row)
    };
    let owned = Record::Owned {
        owner: Holder::new(broker("b:1"), SessionToken::new(300)),
    };
    let splitting = Record::Splitting {
        source: Some(Holder::new(broker("c:1"), SessionToken::new(8))),
        cuts: Cuts::new(vec![0x2800]).unwrap(),
    };
    let rows = vec![
        row("t/a", 0, u32::MAX, owned, 14, 13),
        row("t/b", 0x2000, 0x3000, splitting, 999, 10),
    ];
    (facts, rows)
}

/// What each block is to say, from the example and the page.
const SAID: [&str; 7] = [
    "(names [], part 0(epoch 9, floor 400, rules version 1))",
    "(names [1(name t/a)], part 1(namespaces [(namespace 0, phase 0())]))",
    "(names [1(name t/b)], part 1(namespaces [(namespace 1, phase 1())]))",
    "(names [0(name a:1)], part 2(sessions [(broker 0, session 7)]))",
    "(names [0(name b:1)], part 2(sessions [(broker 1, session 300)]))",
    "(names [], part 3(rows [(namespace 0, range (lower 0, upper 4294967295), \
     version 14, fence 13, state 2(owner 1, session 300))]))",
    "(names [0(name c:1)], part 3(rows [(namespace 1, range (lower 8192, upper 12288), \
     version 999, fence 10, state 4(source (broker 2, session 8), cuts [10240]))]))",
];
const END: &str = "(names [], part 4(rows in all 2))";

#[test]
fn the_writer_of_today_writes_what_version_1_wrote() {
    let (facts, rows) = example();
    let blocks = Blocks::default();
    let horizon = Position::new(HORIZON);
    // A block for each item.
    let mut writer = Writer::begin(Box::new(blocks.clone()), horizon, &facts, 1).unwrap();
    for (bundle, row) in &rows {
        writer.write_row(bundle, row).unwrap();
    }
    writer.seal().unwrap().commit().unwrap();
    let written: Vec<_> = blocks.0.lock().drain(..).collect();
    let hex = |block: &Vec<u8>| {
        let digits = block.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<String>()
    };
    let written: Vec<_> = written.iter().map(hex).collect();
    let golden: Vec<_> = lines(GOLDEN).map(|(_, block)| hex(&block)).collect();
    assert_eq!(written, golden);
}

#[test]
fn what_version_1_wrote_is_still_read() {
    let blocks = lines(GOLDEN).map(|(_, block)| block).collect();
    let source = Blocks(Arc::new(Mutex::new(blocks)));
    let snapshot = Snapshot::open(Box::new(source)).unwrap();
    assert_eq!(snapshot.horizon.get(), HORIZON);
    let (facts, rows) = example();
    assert_eq!(snapshot.facts, facts);
    let found: Vec<_> = snapshot.rows.map(Result::unwrap).collect();
    assert_eq!(found, rows);
}

#[test]
fn blocks_say_by_the_page_what_they_are_to_say() {
    met(&structures());
}

/// Reads the golden blocks by the page; says which forms it met.
pub(crate) fn met(structures: &Structures) -> BTreeSet<(String, Option<u64>)> {
    let blocks: Vec<_> = lines(GOLDEN).map(|(_, block)| block).collect();
    let (head, following) = blocks.split_first().unwrap();
    let cut = Cut::new(Table::Head, head);
    assert_eq!(head.len(), cut.fixed());
    assert_eq!(cut.field("magic"), b"deedsnap");
    assert_eq!(cut.number("version"), 1);
    assert_eq!(cut.number("horizon"), HORIZON);
    let covered = &head[..cut.offset("chain")];
    let mut chain = crc(&[&[0; 4], covered]);
    assert_eq!(cut.number("chain"), u64::from(chain));
    let mut met = BTreeSet::new();
    assert_eq!(following.len(), SAID.len() + 1);
    for (block, said) in following.iter().zip(SAID.iter().chain([&END])) {
        let cut = Cut::new(Table::Part, block);
        chain = crc(&[&chain.to_le_bytes(), cut.field("part")]);
        assert_eq!(cut.number("chain"), u64::from(chain));
        let mut walk = Walk::new(structures, cut.field("part"));
        assert_eq!(walk.whole("block"), *said);
        met.append(&mut walk.met);
    }
    met
}
