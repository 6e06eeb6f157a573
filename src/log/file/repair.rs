//! What can be saved of a log that is damaged, and the log that goes on with it.
//!
//! Nothing is changed in place. Whoever repairs folds what can be read into a table, founds a log
//! that begins with that table as its snapshot, and puts the one in the place of the other. The new
//! log goes on above every position that the old one can have given out: versions, fences, tokens
//! and epochs keep growing although entries are lost.

use super::OpenError;
use super::directory::{self, Listing, segment_name};
use super::header::{Header, Kind};
use super::reader::LogReader;
use super::segment::SegmentReader;
use super::snapshot::{SnapshotReader, SnapshotWriter};
use crate::ids::{Epoch, LogId, Position};
use crate::log::{Payload, ReadError, SnapshotError, SnapshotSink, SnapshotSource};
use crate::storage::{Access, Storage};
use std::collections::VecDeque;
use std::sync::Arc;

/// What can be read of a damaged log: the newest sound snapshot, and what follows it up to the
/// first damage.
#[derive(Debug)]
pub struct Salvage {
    storage: Arc<dyn Storage>,
    listing: Listing,
    log: LogId,
    horizon: Option<Position>,
    reader: LogReader,
    ready: VecDeque<(Position, Payload)>,
    is_damaged: bool,
}

/// Looks for what can be saved. Reads only.
///
/// # Errors
///
/// [`OpenError::Empty`] if there is no log; [`ReadError::Gap`] if there is no sound snapshot, and
/// what was before the first segment is gone; and what is no damage: a newer format, files of two
/// logs, and files that cannot be read now.
///
/// # Examples
///
/// ```
/// use deedbook::ids::Position;
/// use deedbook::log::file::{FileLog, repair};
/// use deedbook::storage::FsStorage;
/// use std::sync::Arc;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path();
/// FileLog::open(dir)?.close();
/// let mut salvage = repair::salvage(Arc::new(FsStorage::existing(dir)?))?;
/// assert!(salvage.snapshot()?.is_none());
/// assert!(salvage.read()?.is_some()); // the opening
/// assert!(salvage.read()?.is_none());
/// assert_eq!(salvage.beyond()?, Position::new(2));
/// # Ok::<(), deedbook::log::file::OpenError>(())
/// ```
pub fn salvage(storage: Arc<dyn Storage>) -> Result<Salvage, OpenError> {
    let listing = directory::list(&*storage)?;
    if listing.segments.is_empty() && listing.snapshots.is_empty() {
        return Err(OpenError::Empty {
            path: storage.path().to_owned(),
        });
    }
    let log = find_log(&*storage, &listing)?;
    let horizon = find_snapshot(&*storage, &listing)?;
    let beginning = Position::ZERO.next();
    let first = listing.segments.first().copied().unwrap_or_default();
    if horizon.is_none() && first != beginning {
        return Err(ReadError::Gap {
            expected: beginning,
            found: first,
        }
        .into());
    }
    Ok(Salvage {
        reader: LogReader::new(storage.clone(), log, horizon.unwrap_or(beginning)),
        storage,
        listing,
        log,
        horizon,
        ready: VecDeque::new(),
        is_damaged: false,
    })
}

/// Whose files these are, by all headers that can be read.
fn find_log(storage: &dyn Storage, listing: &Listing) -> Result<LogId, OpenError> {
    let mut log = None;
    let mut flaw = None;
    for &first in &listing.segments {
        match SegmentReader::open(storage, first, log) {
            Ok(segment) => log = Some(segment.log()),
            Err(error @ ReadError::Damaged { .. }) => flaw = Some(OpenError::Read(error)),
            Err(error) => return Err(error.into()),
        }
    }
    for &horizon in &listing.snapshots {
        match SnapshotReader::open(storage, horizon, log) {
            Ok(snapshot) => log = Some(snapshot.log()),
            Err(error @ SnapshotError::Damaged { .. }) => flaw = Some(OpenError::Snapshot(error)),
            Err(error) => return Err(error.into()),
        }
    }
    let empty = || OpenError::Empty {
        path: storage.path().to_owned(),
    };
    log.ok_or_else(|| flaw.unwrap_or_else(empty))
}

/// The newest snapshot that is whole.
fn find_snapshot(
    storage: &dyn Storage,
    listing: &Listing,
) -> Result<Option<Position>, SnapshotError> {
    for &horizon in listing.snapshots.iter().rev() {
        let opened = SnapshotReader::open(storage, horizon, None);
        match opened.and_then(|mut reader| reader.verify()) {
            Ok(()) => return Ok(Some(horizon)),
            Err(SnapshotError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

impl Salvage {
    /// Which history it is.
    #[must_use]
    pub fn log(&self) -> LogId {
        self.log
    }

    /// The newest sound snapshot. If there is none, records begin with the first one ever.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if it cannot be read any more.
    pub fn snapshot(&self) -> Result<Option<Box<dyn SnapshotSource>>, SnapshotError> {
        let open = |horizon| SnapshotReader::open(&*self.storage, horizon, Some(self.log));
        let reader = self.horizon.map(open).transpose()?;
        Ok(reader.map(|reader| Box::new(reader) as Box<dyn SnapshotSource>))
    }

    /// The next record behind the snapshot; none at the end, a torn write left out.
    ///
    /// # Errors
    ///
    /// The damage behind which nothing can be read.
    pub fn read(&mut self) -> Result<Option<(Position, Payload)>, ReadError> {
        if self.ready.is_empty() {
            let segments = &self.listing.segments;
            let read = self.reader.read(&|| Ok(segments.clone()));
            self.is_damaged = read.is_err();
            self.ready = read?;
        }
        Ok(self.ready.pop_front())
    }

    /// A position above every one that the log can have given out. After damage that is as many
    /// as its last segment has bytes: each record takes more than one.
    ///
    /// # Errors
    ///
    /// [`OpenError::Storage`] if the size of a file cannot be told.
    pub fn beyond(&self) -> Result<Position, OpenError> {
        let newest = self.listing.snapshots.last().copied().unwrap_or_default();
        let beyond = self.reader.next().max(newest);
        if !self.is_damaged {
            return Ok(beyond);
        }
        let Some(&last) = self.listing.segments.last() else {
            return Ok(beyond);
        };
        let file = self.storage.open(&segment_name(last), Access::Read)?;
        Ok(beyond.max(Position::new(last.get().saturating_add(file.size()?))))
    }
}

/// Begins a log, in an empty directory, with a snapshot of everything below `next`, where the log
/// goes on. Once the snapshot is committed, the log is there.
///
/// # Errors
///
/// [`SnapshotError`] if the directory cannot be written.
pub fn found_log(
    target: Arc<dyn Storage>,
    log: LogId,
    next: Position,
    epoch: Epoch,
) -> Result<Box<dyn SnapshotSink>, SnapshotError> {
    let writer = SnapshotWriter::create(target.clone(), log, next, epoch, 0)?;
    Ok(Box::new(Founding {
        target,
        log,
        writer,
    }))
}

#[derive(Debug)]
struct Founding {
    target: Arc<dyn Storage>,
    log: LogId,
    writer: SnapshotWriter,
}

impl SnapshotSink for Founding {
    fn write_block(&mut self, block: &[u8]) -> Result<(), SnapshotError> {
        self.writer.write_block(block)
    }

    /// A crash before the segment has its name leaves a snapshot alone, which is no log.
    fn commit(mut self: Box<Self>) -> Result<(), SnapshotError> {
        self.writer.write_footer()?;
        self.writer.sync()?;
        self.writer.publish()?;
        let first = self.writer.horizon();
        let header = Header {
            kind: Kind::Segment,
            log: self.log,
            start: first.get(),
            origin: 0,
        };
        let file = self.target.create(&segment_name(first))?;
        file.write_at(0, &header.encode())?;
        file.sync()?;
        self.target.sync()?;
        Ok(())
    }
}
