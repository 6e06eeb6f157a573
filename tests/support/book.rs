//! A log, read by a table from its beginning and by others from what was compacted on the way.

use super::{at, bundle, change, create, entry, owned};
use deedbook::ids::{BundleId, Position};
use deedbook::log::{SnapshotError, SnapshotSink, SnapshotSource};
use deedbook::snapshot::{Snapshot, Writer};
use deedbook::state::{Body, Entry, Record, Rejection, Row};
use deedbook::table::Table;
use std::sync::mpsc;

pub(crate) const MIDDLE: u32 = 0x8000_0000;

/// The lower half of the namespace `t/n`.
pub(crate) fn lower() -> BundleId {
    bundle(0, MIDDLE)
}

/// A change of the lower half.
pub(crate) fn changes(expected: u64, next: Option<Record>) -> Body {
    Body::Changes(vec![change(&lower(), expected, next)])
}

/// The table of a newcomer that starts from the compacted output of another: written as a snapshot,
/// in many small blocks, and read back.
pub(crate) fn compacted(table: &Table) -> Table {
    let (sender, written) = mpsc::channel();
    let sink = Box::new(Blocks(sender));
    let mut writer = Writer::begin(sink, table.next(), table.facts(), 100).unwrap();
    for (bundle, row) in table.rows() {
        writer.write_row(bundle, row).unwrap();
    }
    writer.seal().unwrap().commit().unwrap();
    let blocks: Vec<Vec<u8>> = written.iter().collect();
    let source = Box::new(Written {
        horizon: table.next(),
        blocks: blocks.into_iter(),
    });
    Table::load(Snapshot::open(source).unwrap()).unwrap()
}

/// Blocks on their way out.
#[derive(Debug)]
struct Blocks(mpsc::Sender<Vec<u8>>);

impl SnapshotSink for Blocks {
    fn write_block(&mut self, block: &[u8]) -> Result<(), SnapshotError> {
        self.0.send(block.to_vec()).unwrap();
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

/// Blocks on their way back.
#[derive(Debug)]
struct Written {
    horizon: Position,
    blocks: std::vec::IntoIter<Vec<u8>>,
}

impl SnapshotSource for Written {
    fn horizon(&self) -> Position {
        self.horizon
    }

    fn next_block(&mut self) -> Result<Option<Vec<u8>>, SnapshotError> {
        Ok(self.blocks.next())
    }
}

#[derive(Default)]
pub(crate) struct Book {
    pub(crate) table: Table,
    newcomers: Vec<Table>,
}

impl Book {
    /// The namespace `t/n` in two halves, of which broker `a` in session 5 owns the lower one since
    /// position 3.
    pub(crate) fn with_owner() -> Self {
        let mut book = Self::default();
        book.write("a5", None, create("t/n", &[MIDDLE], 0)); // 1
        book.becomes("a5", super::assigning("a")); // 2
        book.becomes("a5", owned("a5")); // 3
        book
    }

    /// Compacts; from here on one more reader follows, from the compacted output.
    pub(crate) fn compact(&mut self) {
        self.newcomers.push(compacted(&self.table));
    }

    /// Writes an entry. All readers must agree about it.
    pub(crate) fn judge(&mut self, entry: &Entry) -> Result<(), Rejection> {
        let position = self.table.next();
        let applied = self.table.apply(position, entry).unwrap().unwrap();
        for newcomer in &mut self.newcomers {
            let too = newcomer.apply(position, entry).unwrap().unwrap();
            assert_eq!(
                too, applied,
                "a reader of compacted output sees it otherwise"
            );
            assert_eq!(newcomer.digest(), self.table.digest());
        }
        applied.outcome.map(|_| ())
    }

    /// Writes an entry that must be accepted.
    pub(crate) fn write(&mut self, author: &str, epoch: Option<u64>, body: Body) {
        self.judge(&entry(author, epoch, body)).unwrap();
    }

    /// Changes the lower half, which must be accepted.
    pub(crate) fn becomes(&mut self, author: &str, next: Record) {
        let version = self.version();
        self.write(author, None, changes(version, Some(next)));
    }

    pub(crate) fn row(&self) -> &Row {
        self.table.get(&lower()).unwrap()
    }

    pub(crate) fn version(&self) -> u64 {
        self.row().version.get()
    }

    /// Writes an entry that must change no row, and gives the reason.
    pub(crate) fn refused(&mut self, author: &str, epoch: Option<u64>, body: Body) -> Rejection {
        let before = self.table.clone();
        let rejection = self.judge(&entry(author, epoch, body)).unwrap_err();
        assert_eq!(
            before.difference(&self.table),
            [],
            "a rejected entry changes no row"
        );
        rejection
    }

    /// Writes entries until the next position is the one asked for.
    pub(crate) fn pass_until(&mut self, position: u64) {
        while self.table.next() < at(position) {
            self.write("a5", Some(1), Body::LeaderStarted);
        }
    }
}
