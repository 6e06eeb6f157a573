//! Writes a snapshot, block by block.

use super::error::Error;
use super::format::{
    BLOCK_BYTES_MAX, FORMAT_VERSION, MAGIC, NUMBER_BYTES_MAX, StoredBlockV1, StoredNumbers,
    StoredPart, StoredRow, chain,
};
use crate::ids::{BundleId, Position};
use crate::log::codec::{self, Dictionary};
use crate::log::{SnapshotError, SnapshotSink};
use crate::state::{Facts, Row};

/// A snapshot being written. Dropping it leaves nothing behind.
///
/// Rows are given in order, each once, as [`Table::rows`](crate::table::Table::rows) has them.
#[derive(Debug)]
pub struct Writer {
    pub(super) blocks: Blocks,
    rows: Vec<StoredRow>,
    /// More than the rows that wait take as a block.
    waiting_bytes: usize,
    pub(super) row_count: u64,
    block_bytes: usize,
}

/// A snapshot that is written to its end, but not visible yet. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Sealed {
    sink: Box<dyn SnapshotSink>,
    row_count: u64,
    byte_count: u64,
}

impl Writer {
    /// Writes the facts of everything below `horizon`, the horizon that the sink was made for.
    ///
    /// A block is written out once it takes about `block_bytes`; more than [`BLOCK_BYTES_MAX`] is
    /// taken as that.
    ///
    /// # Errors
    ///
    /// [`Error`] if a block cannot be written; the snapshot is lost then.
    pub fn begin(
        sink: Box<dyn SnapshotSink>,
        horizon: Position,
        facts: &Facts,
        block_bytes: usize,
    ) -> Result<Self, Error> {
        let mut writer = Self {
            blocks: Blocks::begin(sink, horizon)?,
            rows: Vec::new(),
            waiting_bytes: 0,
            row_count: 0,
            block_bytes: block_bytes.min(BLOCK_BYTES_MAX),
        };
        writer.write_facts(facts)?;
        Ok(writer)
    }

    /// Takes in the next row, and writes a block once there are enough of them.
    ///
    /// # Errors
    ///
    /// [`Error`] if a block cannot be written; the snapshot is lost then.
    pub fn write_row(&mut self, bundle: &BundleId, row: &Row) -> Result<(), Error> {
        let dictionary = &mut self.blocks.dictionary;
        let known = dictionary.introduced_count();
        self.rows.push(StoredRow::store(dictionary, bundle, row));
        self.row_count += 1;
        self.waiting_bytes += StoredRow::bytes_max(row) + dictionary.introduced_bytes_max(known);
        if self.waiting_bytes >= self.block_bytes {
            self.write_rows()?;
        }
        Ok(())
    }

    /// Writes what waits, and the last block.
    ///
    /// # Errors
    ///
    /// [`Error`] if a block cannot be written; the snapshot is lost then.
    pub fn seal(mut self) -> Result<Sealed, Error> {
        self.write_rows()?;
        self.blocks.write(StoredPart::End {
            rows: self.row_count,
        })?;
        Ok(Sealed {
            sink: self.blocks.sink,
            row_count: self.row_count,
            byte_count: self.blocks.byte_count,
        })
    }

    fn write_rows(&mut self) -> Result<(), Error> {
        self.waiting_bytes = 0;
        if self.rows.is_empty() {
            return Ok(());
        }
        self.blocks
            .write(StoredPart::Rows(std::mem::take(&mut self.rows)))
    }

    fn write_facts(&mut self, facts: &Facts) -> Result<(), Error> {
        self.blocks.write(StoredPart::Numbers(StoredNumbers {
            epoch: facts.epoch.get(),
            floor: facts.floor.get(),
            rules_version: facts.rules_version,
        }))?;
        let namespaces = facts.namespaces.iter();
        self.write_list(
            StoredPart::Namespaces,
            namespaces,
            |names, (name, phase)| (names.namespace_number(name), (*phase).into()),
        )?;
        let sessions = facts.sessions.iter();
        self.write_list(StoredPart::Sessions, sessions, |names, (name, session)| {
            (names.broker_number(name), session.get())
        })
    }

    /// Writes a list of names with something small each, in as many blocks as it takes.
    fn write_list<T, S>(
        &mut self,
        part: fn(Vec<S>) -> StoredPart,
        items: impl Iterator<Item = T>,
        store: impl Fn(&mut Dictionary, T) -> S,
    ) -> Result<(), Error> {
        let (mut list, mut waiting_bytes) = (Vec::new(), 0);
        for item in items {
            let dictionary = &mut self.blocks.dictionary;
            let known = dictionary.introduced_count();
            list.push(store(dictionary, item));
            waiting_bytes += 2 * NUMBER_BYTES_MAX + dictionary.introduced_bytes_max(known);
            if waiting_bytes >= self.block_bytes {
                self.blocks.write(part(std::mem::take(&mut list)))?;
                waiting_bytes = 0;
            }
        }
        if list.is_empty() {
            return Ok(());
        }
        self.blocks.write(part(list))
    }
}

impl Sealed {
    /// How many rows it has.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// How many bytes its blocks have.
    #[must_use]
    pub fn byte_count(&self) -> u64 {
        self.byte_count
    }

    /// Makes it the newest snapshot, durably and at once.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if a newer one was committed meanwhile, or the epoch is over.
    pub fn commit(self) -> Result<(), SnapshotError> {
        self.sink.commit()
    }
}

/// The blocks written so far: where they go, and what the next one builds on.
#[derive(Debug)]
pub(super) struct Blocks {
    sink: Box<dyn SnapshotSink>,
    pub(super) dictionary: Dictionary,
    chain: u32,
    /// The number of the next block.
    next: u64,
    byte_count: u64,
}

impl Blocks {
    /// Writes the first block.
    fn begin(sink: Box<dyn SnapshotSink>, horizon: Position) -> Result<Self, Error> {
        let mut blocks = Self {
            sink,
            dictionary: Dictionary::default(),
            chain: 0,
            next: 0,
            byte_count: 0,
        };
        let mut head = MAGIC.to_vec();
        head.extend(FORMAT_VERSION.to_le_bytes());
        head.extend(horizon.get().to_le_bytes());
        blocks.chain = chain(blocks.chain, &head);
        head.extend(blocks.chain.to_le_bytes());
        blocks.put(&head)?;
        Ok(blocks)
    }

    fn write(&mut self, part: StoredPart) -> Result<(), Error> {
        let stored = StoredBlockV1 {
            introduced: self.dictionary.take_introduced(),
            part,
        };
        let body = codec::to_bytes(&stored).map_err(|source| Error::Codec {
            block: self.next,
            source,
        })?;
        self.chain = chain(self.chain, &body);
        let mut block = self.chain.to_le_bytes().to_vec();
        block.extend(body);
        self.put(&block)
    }

    fn put(&mut self, block: &[u8]) -> Result<(), Error> {
        self.sink.write_block(block)?;
        self.next += 1;
        self.byte_count += u64::try_from(block.len()).unwrap_or(u64::MAX);
        Ok(())
    }
}
