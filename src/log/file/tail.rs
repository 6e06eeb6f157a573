//! Following the log: within the process that writes it, and from any other that only reads.

use super::directory;
use super::reader::LogReader;
use super::shared::Shared;
use crate::clock::{Clock, Tick};
use crate::ids::{LogId, Position};
use crate::log::{Payload, ReadError, Tail, TailItem};
use crate::storage::Storage;
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How many payloads are taken at a time from those at hand.
const RECENT_COUNT: usize = 256;

/// How often a process that only reads looks for news.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// What was read and not yet handed out, and what was said.
#[derive(Debug)]
struct Outbox {
    ready: VecDeque<(Position, Payload)>,
    next: Position,
    told_caught_up: bool,
}

impl Outbox {
    fn new(next: Position) -> Self {
        Self {
            ready: VecDeque::new(),
            next,
            told_caught_up: false,
        }
    }

    fn ahead(&self) -> Box<dyn Iterator<Item = &Payload> + '_> {
        Box::new(self.ready.iter().map(|(_, payload)| payload))
    }

    /// The next item, if something is ready or the end is to be told.
    fn item(&mut self) -> Option<TailItem> {
        if let Some((position, payload)) = self.ready.pop_front() {
            self.next = position.next();
            self.told_caught_up = false;
            return Some(TailItem::Payload { position, payload });
        }
        if self.told_caught_up {
            return None;
        }
        self.told_caught_up = true;
        Some(TailItem::CaughtUp { next: self.next })
    }
}

/// Follows a log in the process that writes it. It never sees what was not acknowledged.
#[derive(Debug)]
pub(super) struct LiveTail {
    shared: Arc<Shared>,
    reader: Option<LogReader>,
    outbox: Outbox,
    live_at: Tick,
}

impl LiveTail {
    pub(super) fn new(shared: Arc<Shared>, from: Position) -> Result<Self, ReadError> {
        let next = from.max(Position::ZERO.next());
        let live_at = shared.clock.now();
        let mut tail = Self {
            shared,
            reader: None,
            outbox: Outbox::new(next),
            live_at,
        };
        tail.refill()?;
        Ok(tail)
    }

    /// Reads what is there, from memory or from files.
    fn refill(&mut self) -> Result<(), ReadError> {
        let next = self.outbox.next;
        let first = {
            let published = self.shared.published.lock();
            let horizon = published.horizon();
            if next < horizon {
                return Err(ReadError::Trimmed { horizon });
            }
            if next >= published.end {
                return if published.is_closed {
                    Err(ReadError::Closed)
                } else {
                    Ok(())
                };
            }
            published.recent(next, RECENT_COUNT)
        };
        if let Some(payloads) = first {
            self.reader = None;
            let positions = (next.get()..).map(Position::new);
            self.outbox.ready.extend(positions.zip(payloads));
            return Ok(());
        }
        let shared = &self.shared;
        let reader = self
            .reader
            .get_or_insert_with(|| LogReader::new(shared.storage.clone(), shared.id, next));
        self.outbox.ready = reader.read(&|| Ok(shared.published.lock().segments.clone()))?;
        if self.outbox.ready.is_empty() {
            // It was acknowledged, so it must be there.
            return Err(match reader.segment() {
                Some(segment) => segment.damaged("zeroes in the place of a frame"),
                None => ReadError::Gap {
                    expected: next,
                    found: Position::ZERO,
                },
            });
        }
        Ok(())
    }
}

impl Tail for LiveTail {
    fn poll(&mut self) -> Result<Option<TailItem>, ReadError> {
        if self.outbox.ready.is_empty() {
            self.refill()?;
            self.live_at = self.shared.clock.now();
        }
        Ok(self.outbox.item())
    }

    fn next(&mut self, limit: Duration) -> Result<Option<TailItem>, ReadError> {
        if let Some(item) = self.poll()? {
            return Ok(Some(item));
        }
        let shared = Arc::clone(&self.shared);
        let mut published = shared.published.lock();
        let next = self.outbox.next;
        shared.grew.wait_while_for(
            &mut published,
            |published| published.end <= next && !published.is_closed,
            limit,
        );
        drop(published);
        self.poll()
    }

    fn live_at(&self) -> Tick {
        if self.shared.published.lock().is_closed {
            self.live_at
        } else {
            self.shared.clock.now()
        }
    }

    fn ahead(&self) -> Box<dyn Iterator<Item = &Payload> + '_> {
        self.outbox.ahead()
    }
}

/// Follows a log in a directory that another process may be writing.
///
/// It sees whole frames only, and possibly some that are not acknowledged yet; these it
/// keeps seeing unless the machine itself goes down.
#[derive(Debug)]
pub(super) struct DirectoryTail {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    reader: LogReader,
    outbox: Outbox,
    live_at: Tick,
    /// Nobody else has them: waiting with a limit is how this tail passes time.
    idle: (Mutex<()>, Condvar),
}

impl DirectoryTail {
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        log: LogId,
        from: Position,
    ) -> Result<Self, ReadError> {
        let next = from.max(Position::ZERO.next());
        let live_at = clock.now();
        let mut tail = Self {
            reader: LogReader::new(storage.clone(), log, next),
            storage,
            clock,
            outbox: Outbox::new(next),
            live_at,
            idle: (Mutex::new(()), Condvar::new()),
        };
        tail.refill()?;
        Ok(tail)
    }

    fn refill(&mut self) -> Result<(), ReadError> {
        let storage = &*self.storage;
        let now = self.clock.now();
        let read = self.reader.read(&|| directory::segments(storage));
        self.outbox.ready = read.map_err(|error| match (error, directory::list(storage)) {
            // A trim was interrupted; what is missing is in the snapshot.
            (ReadError::Gap { found, .. }, Ok(listing))
                if listing.snapshots.last() >= Some(&found) =>
            {
                ReadError::Trimmed { horizon: found }
            }
            (error, _) => error,
        })?;
        self.live_at = now;
        Ok(())
    }
}

impl Tail for DirectoryTail {
    fn poll(&mut self) -> Result<Option<TailItem>, ReadError> {
        if self.outbox.ready.is_empty() {
            self.refill()?;
        }
        Ok(self.outbox.item())
    }

    fn next(&mut self, limit: Duration) -> Result<Option<TailItem>, ReadError> {
        let until = self.clock.now().after(limit);
        loop {
            if let Some(item) = self.poll()? {
                return Ok(Some(item));
            }
            let left = until.since(self.clock.now());
            if left.is_zero() {
                return Ok(None);
            }
            let (lock, bell) = &self.idle;
            bell.wait_for(&mut lock.lock(), left.min(LOOK_INTERVAL));
        }
    }

    fn live_at(&self) -> Tick {
        self.live_at
    }

    fn ahead(&self) -> Box<dyn Iterator<Item = &Payload> + '_> {
        self.outbox.ahead()
    }
}
