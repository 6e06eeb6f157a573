//! Reads a snapshot, block by block, and believes nothing that it has not checked.

use super::error::Error;
use super::format::{FORMAT_VERSION, MAGIC, StoredBlockV1, StoredPart, StoredRow, chain};
use crate::ids::{BundleId, Epoch, Position, SessionToken};
use crate::log::SnapshotSource;
use crate::log::codec::{self, Dictionary};
use crate::state::{Facts, Row};
use std::collections::BTreeMap;
use std::vec;

/// A snapshot whose facts have been read and whose rows are to come.
#[derive(Debug)]
pub struct Snapshot {
    /// The next position to read after it.
    pub horizon: Position,
    /// What it knows beside rows.
    pub facts: Facts,
    /// Its rows.
    pub rows: Rows,
}

impl Snapshot {
    /// Reads up to the first row.
    ///
    /// # Errors
    ///
    /// [`Error`] if the blocks are not what [`Writer`](super::Writer) writes for this horizon.
    pub fn open(source: Box<dyn SnapshotSource>) -> Result<Self, Error> {
        let horizon = source.horizon();
        let mut blocks = Blocks::open(source)?;
        let StoredPart::Numbers(numbers) = blocks.read()? else {
            return Err(blocks.not_in_order());
        };
        let mut facts = Facts {
            epoch: Epoch::new(numbers.epoch),
            floor: Position::new(numbers.floor),
            rules_version: numbers.rules_version,
            ..Facts::default()
        };
        let rows = loop {
            match blocks.read()? {
                StoredPart::Namespaces(list) if facts.sessions.is_empty() => {
                    blocks.extend(&mut facts.namespaces, list, |names, (number, phase)| {
                        Ok((names.namespace(number)?, phase.into()))
                    })?;
                }
                StoredPart::Sessions(list) => {
                    blocks.extend(&mut facts.sessions, list, |names, (number, session)| {
                        Ok((names.broker(number)?, SessionToken::new(session)))
                    })?;
                }
                part => break Rows::new(blocks, part)?,
            }
        };
        Ok(Self {
            horizon,
            facts,
            rows,
        })
    }
}

/// The rows of a snapshot, in order. It is whole only if the last item is not an error.
#[derive(Debug)]
pub struct Rows {
    blocks: Blocks,
    waiting: vec::IntoIter<StoredRow>,
    last: Option<BundleId>,
    count: u64,
    ended: bool,
}

impl Rows {
    fn new(blocks: Blocks, first: StoredPart) -> Result<Self, Error> {
        let mut rows = Self {
            blocks,
            waiting: Vec::new().into_iter(),
            last: None,
            count: 0,
            ended: false,
        };
        rows.take_in(first)?;
        Ok(rows)
    }

    fn read(&mut self) -> Result<Option<(BundleId, Row)>, Error> {
        loop {
            if let Some(stored) = self.waiting.next() {
                return self.load(stored).map(Some);
            }
            if self.ended {
                return Ok(None);
            }
            let part = self.blocks.read()?;
            self.take_in(part)?;
        }
    }

    fn take_in(&mut self, part: StoredPart) -> Result<(), Error> {
        match part {
            StoredPart::Rows(rows) if !rows.is_empty() => {
                self.waiting = rows.into_iter();
                Ok(())
            }
            StoredPart::End { rows } => {
                self.ended = true;
                if rows != self.count {
                    return Err(Error::WrongCount {
                        expected: rows,
                        found: self.count,
                    });
                }
                self.blocks.end()
            }
            _ => Err(self.blocks.not_in_order()),
        }
    }

    fn load(&mut self, stored: StoredRow) -> Result<(BundleId, Row), Error> {
        let loaded = stored.load(&self.blocks.dictionary);
        let (bundle, row) = loaded.map_err(|source| self.blocks.codec(source))?;
        if self.last.as_ref().is_some_and(|last| *last >= bundle) {
            return Err(self.blocks.not_in_order());
        }
        self.last = Some(bundle.clone());
        self.count += 1;
        Ok((bundle, row))
    }
}

impl Iterator for Rows {
    type Item = Result<(BundleId, Row), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.read();
        if row.is_err() {
            self.ended = true;
            self.waiting = Vec::new().into_iter();
        }
        row.transpose()
    }
}

/// The blocks read so far: where they come from, and what the next one must build on.
#[derive(Debug)]
struct Blocks {
    source: Box<dyn SnapshotSource>,
    dictionary: Dictionary,
    chain: u32,
    /// The number of the next block.
    next: u64,
}

impl Blocks {
    /// Reads the first block.
    fn open(source: Box<dyn SnapshotSource>) -> Result<Self, Error> {
        let mut blocks = Self {
            source,
            dictionary: Dictionary::default(),
            chain: 0,
            next: 0,
        };
        let head = blocks.take()?;
        let rest = head.strip_prefix(&MAGIC).ok_or(Error::NotASnapshot)?;
        let (version, rest) = rest.split_first_chunk().ok_or(Error::NotASnapshot)?;
        let version = u32::from_le_bytes(*version);
        if version > FORMAT_VERSION {
            return Err(Error::NewerFormat {
                version,
                known: FORMAT_VERSION,
            });
        }
        if version == 0 {
            return Err(Error::NotASnapshot);
        }
        let (horizon, found) = rest.split_first_chunk().ok_or(Error::NotASnapshot)?;
        let found = u32::from_le_bytes(found.try_into().map_err(|_| Error::NotASnapshot)?);
        let covered = head.split_last_chunk::<4>().ok_or(Error::NotASnapshot)?.0;
        blocks.follow(covered, found)?;
        let found = Position::new(u64::from_le_bytes(*horizon));
        let expected = blocks.source.horizon();
        if found != expected {
            return Err(Error::WrongHorizon { expected, found });
        }
        Ok(blocks)
    }

    /// Reads the next block, which must be there.
    fn read(&mut self) -> Result<StoredPart, Error> {
        let block = self.take()?;
        let malformed = self.codec(codec::Error::Malformed);
        let (found, body) = block.split_first_chunk().ok_or(malformed)?;
        self.follow(body, u32::from_le_bytes(*found))?;
        let stored: StoredBlockV1 = codec::from_bytes(body).map_err(|source| self.codec(source))?;
        let taken_in = self.dictionary.take_in(stored.introduced);
        taken_in.map_err(|source| self.codec(source))?;
        Ok(stored.part)
    }

    /// Adds what a block lists to a map that holds what came before it.
    fn extend<S, K: Ord, V>(
        &self,
        map: &mut BTreeMap<K, V>,
        list: Vec<S>,
        load: impl Fn(&Dictionary, S) -> Result<(K, V), codec::Error>,
    ) -> Result<(), Error> {
        if list.is_empty() {
            return Err(self.not_in_order());
        }
        for stored in list {
            let loaded = load(&self.dictionary, stored);
            let (key, value) = loaded.map_err(|source| self.codec(source))?;
            if map.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(self.not_in_order());
            }
            map.insert(key, value);
        }
        Ok(())
    }

    /// Nothing may follow.
    fn end(&mut self) -> Result<(), Error> {
        match self.source.next_block()? {
            None => Ok(()),
            Some(_) => Err(Error::Trailing { block: self.last() }),
        }
    }

    fn take(&mut self) -> Result<Vec<u8>, Error> {
        let block = self.source.next_block()?;
        let block = block.ok_or(Error::Unfinished { blocks: self.next })?;
        self.next += 1;
        Ok(block)
    }

    fn follow(&mut self, covered: &[u8], found: u32) -> Result<(), Error> {
        let expected = chain(self.chain, covered);
        if found != expected {
            return Err(Error::BadChain {
                block: self.last(),
                expected,
                found,
            });
        }
        self.chain = found;
        Ok(())
    }

    /// The number of the block that was read last.
    fn last(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    fn codec(&self, source: codec::Error) -> Error {
        Error::Codec {
            block: self.last(),
            source,
        }
    }

    fn not_in_order(&self) -> Error {
        Error::NotInOrder { block: self.last() }
    }
}
