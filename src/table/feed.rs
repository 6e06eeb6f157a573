//! The log as whoever keeps a table needs it: snapshots where entries are gone, entries else.

use super::error::Error;
use super::fold::Table;
use crate::clock::Tick;
use crate::ids::Position;
use crate::log::{EventLog, ReadError, Tail, TailItem};
use crate::snapshot::Snapshot;
use std::sync::Arc;
use std::time::Duration;

impl Table {
    /// The table of a snapshot, checked in every respect.
    ///
    /// # Errors
    ///
    /// [`Error`] if the snapshot is damaged, unfinished or newer than this library, or if what it
    /// says contradicts itself.
    pub fn load(snapshot: Snapshot) -> Result<Self, Error> {
        let Snapshot {
            horizon,
            facts,
            mut rows,
        } = snapshot;
        let mut failure = None;
        let good_rows = std::iter::from_fn(|| match rows.next()? {
            Ok(row) => Some(row),
            Err(error) => {
                failure = Some(error);
                None
            }
        });
        let table = Self::from_snapshot(horizon, facts, good_rows);
        match failure {
            Some(error) => Err(error.into()),
            None => table,
        }
    }
}

/// What a [`Feed`] gives.
#[derive(Debug)]
pub enum FeedItem {
    /// The table at a snapshot's horizon, to go on from: entries below it are no longer there.
    Jump(Box<Table>),
    /// An item of the tail that follows.
    Tail(TailItem),
}

/// Reads a log from a position on and follows it, over snapshots where entries were trimmed.
///
/// It holds no table. [`Reader`](super::Reader) does.
#[derive(Debug)]
pub struct Feed {
    log: Arc<dyn EventLog>,
    /// The next position to read.
    next: Position,
    /// None until it was opened, and after it fell behind.
    tail: Option<Box<dyn Tail>>,
    /// How many items are still to come for which a table has prepared.
    prepared: usize,
}

/// For how many items a table prepares at a time: as many lines of its cache as a processor has
/// on their way at once, and some more.
const PREPARED_COUNT: usize = 32;

impl Feed {
    /// Everything from `next` on, the next position to read. From the beginning on, the newest
    /// snapshot comes first if there is one.
    #[must_use]
    pub fn new(log: Arc<dyn EventLog>, next: Position) -> Self {
        Self {
            log,
            next,
            tail: None,
            prepared: 0,
        }
    }

    /// Has a table prepare for what comes next, now and then. To be called once an item.
    pub(crate) fn prepare(&mut self, table: &Table) {
        if self.prepared > 0 {
            self.prepared -= 1;
        } else if let Some(tail) = &self.tail {
            self.prepared = table.touch(tail.ahead().take(PREPARED_COUNT));
        }
    }

    /// The next item, if there is one now.
    ///
    /// # Errors
    ///
    /// [`Error`] if the log or its snapshot cannot be read. Nothing is skipped: a later call tries
    /// again, which helps if a snapshot went out of reach because a newer one replaced it.
    pub fn poll(&mut self) -> Result<Option<FeedItem>, Error> {
        self.read(|tail| tail.poll())
    }

    /// Waits for the next item, but no longer than `limit`.
    ///
    /// # Errors
    ///
    /// As [`Feed::poll`].
    pub fn wait(&mut self, limit: Duration) -> Result<Option<FeedItem>, Error> {
        self.read(|tail| tail.next(limit))
    }

    /// When it last had proof that it is attached to the log, by the clock of the log; none before
    /// the first item of a tail.
    #[must_use]
    pub fn live_at(&self) -> Option<Tick> {
        self.tail.as_ref().map(|tail| tail.live_at())
    }

    fn read(
        &mut self,
        ask: impl FnOnce(&mut dyn Tail) -> Result<Option<TailItem>, ReadError>,
    ) -> Result<Option<FeedItem>, Error> {
        if self.tail.is_none()
            && let Some(jump) = self.connect()?
        {
            return Ok(Some(jump));
        }
        let Some(tail) = &mut self.tail else {
            return Ok(None);
        };
        match ask(tail.as_mut()) {
            Ok(item) => {
                if let Some(TailItem::Payload { position, .. }) = &item {
                    self.next = position.next();
                }
                Ok(item.map(FeedItem::Tail))
            }
            Err(ReadError::Trimmed { .. }) => {
                self.tail = None;
                self.connect()
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the tail, or gives the table of a snapshot to go on from.
    fn connect(&mut self) -> Result<Option<FeedItem>, Error> {
        let from_the_beginning = self.next <= Position::ZERO.next();
        if from_the_beginning && let Some(jump) = self.jump()? {
            return Ok(Some(jump));
        }
        match self.log.tail(self.next) {
            Ok(tail) => {
                self.tail = Some(tail);
                Ok(None)
            }
            // A snapshot is published before anything is trimmed, so by now there is a newer one.
            Err(ReadError::Trimmed { horizon }) => match self.jump()? {
                Some(jump) => Ok(Some(jump)),
                None => Err(Error::SnapshotBehind {
                    horizon: self.next,
                    trimmed: horizon,
                }),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Loads the newest snapshot if it leads further than what was read.
    fn jump(&mut self) -> Result<Option<FeedItem>, Error> {
        let newest = self.log.snapshot()?;
        let Some(source) = newest.filter(|source| source.horizon() > self.next) else {
            return Ok(None);
        };
        let table = Table::load(Snapshot::open(source)?)?;
        self.next = table.next();
        Ok(Some(FeedItem::Jump(Box::new(table))))
    }
}
