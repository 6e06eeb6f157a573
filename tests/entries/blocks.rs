//! A table's snapshot as blocks in memory, and back.

use deedbook::ids::Position;
use deedbook::log::{SnapshotError, SnapshotSink, SnapshotSource};
use deedbook::snapshot::{Snapshot, Writer};
use deedbook::table::{self, Table};
use std::sync::mpsc;

/// Writes a table as a snapshot, in blocks of about this size.
pub(crate) fn write(table: &Table, block_bytes: usize) -> Vec<Vec<u8>> {
    let (sender, written) = mpsc::channel();
    let sink = Box::new(Sink(sender));
    let mut writer = Writer::begin(sink, table.next(), table.facts(), block_bytes)
        .expect("memory takes every block");
    for (bundle, row) in table.rows() {
        writer
            .write_row(bundle, row)
            .expect("rows of a table are in order");
    }
    let sealed = writer.seal().expect("memory takes every block");
    sealed.commit().expect("memory takes every snapshot");
    written.iter().collect()
}

/// Reads blocks that lie under a horizon.
pub(crate) fn load(horizon: Position, blocks: Vec<Vec<u8>>) -> Result<Table, table::Error> {
    let blocks = blocks.into_iter();
    Table::load(Snapshot::open(Box::new(Source { horizon, blocks }))?)
}

#[derive(Debug)]
struct Sink(mpsc::Sender<Vec<u8>>);

impl SnapshotSink for Sink {
    fn write_block(&mut self, block: &[u8]) -> Result<(), SnapshotError> {
        self.0
            .send(block.to_vec())
            .expect("the receiver outlives the writer");
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

#[derive(Debug)]
struct Source {
    horizon: Position,
    blocks: std::vec::IntoIter<Vec<u8>>,
}

impl SnapshotSource for Source {
    fn horizon(&self) -> Position {
        self.horizon
    }

    fn next_block(&mut self) -> Result<Option<Vec<u8>>, SnapshotError> {
        Ok(self.blocks.next())
    }
}
