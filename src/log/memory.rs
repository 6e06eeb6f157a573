//! A log in memory: for tests, for simulations, and for clusters that live and die with one
//! process.

use super::codec;
use super::{
    Append, AppendError, AppendResult, Appended, ENTRY_BYTES_MAX, EventLog, Guard, Limits, Member,
    MemberLog, Members, Payload, ReadError, Refusal, SnapshotError, SnapshotSink, SnapshotSource,
    Tail, TailItem, TrimError,
};
use crate::clock::{Clock, Tick};
use crate::ids::{EntryId, Epoch, LogId, Position};
use crate::pending::{self, Pending};
use crate::sync::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A log in memory. Clones are handles to the same log.
///
/// # Examples
///
/// ```
/// use deedbook::clock::BootClock;
/// use deedbook::ids::{LogId, Position};
/// use deedbook::log::{EventLog, Member, MemberLog, MemoryLog};
/// use std::sync::Arc;
///
/// let log = MemoryLog::new(LogId::new(1), Arc::new(BootClock));
/// let joined = log.append_member(Member::Joined { broker: "b:1".parse().unwrap() });
/// assert_eq!(joined.wait().unwrap().unwrap().position, Position::new(1));
/// ```
#[derive(Clone, Debug)]
pub struct MemoryLog {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    id: LogId,
    clock: Arc<dyn Clock>,
    /// Guards everything the log holds; nothing else is locked while it is held.
    inner: Mutex<Inner>,
    grew: Condvar,
}

#[derive(Debug)]
struct Inner {
    /// The position of the first retained payload; those that follow are contiguous.
    first: Position,
    payloads: VecDeque<Payload>,
    ids: HashMap<EntryId, Position>,
    members: Members,
    snapshot: Option<Snapshot>,
}

#[derive(Clone, Debug)]
struct Snapshot {
    horizon: Position,
    blocks: Arc<Vec<Vec<u8>>>,
}

impl MemoryLog {
    /// An empty log.
    #[must_use]
    pub fn new(id: LogId, clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            first: Position::ZERO.next(),
            payloads: VecDeque::new(),
            ids: HashMap::new(),
            members: Members::default(),
            snapshot: None,
        };
        let shared = Shared {
            id,
            clock,
            inner: Mutex::new(inner),
            grew: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The next position to be written.
    #[must_use]
    pub fn end(&self) -> Position {
        self.shared.inner.lock().end()
    }

    fn submit(&self, payload: Payload, guard: Guard) -> AppendResult {
        let bytes = codec::encode(&payload).map_err(|error| match error {
            codec::Error::TooLarge { bytes, max } => Refusal::TooLarge { bytes, max },
            error => Refusal::Codec(error),
        })?;
        debug_assert!(bytes.len() <= ENTRY_BYTES_MAX, "the codec keeps the limit");
        let appended = self.shared.inner.lock().take(payload, guard)?;
        self.shared.grew.notify_all();
        Ok(appended)
    }
}

impl Inner {
    fn end(&self) -> Position {
        let count = u64::try_from(self.payloads.len()).unwrap_or(u64::MAX);
        Position::new(self.first.get() + count)
    }

    fn horizon(&self) -> Position {
        self.snapshot
            .as_ref()
            .map_or(Position::ZERO, |snapshot| snapshot.horizon)
    }

    fn take(&mut self, payload: Payload, guard: Guard) -> Result<Appended, AppendError> {
        let position = self.end();
        if let Payload::Entry(entry) = &payload
            && let Some(&position) = self.ids.get(&entry.id())
        {
            return Ok(Appended {
                position,
                already: true,
            });
        }
        let holds = match guard {
            Guard::None => true,
            Guard::Session(session) => self.members.is_alive(session),
            Guard::Epoch(epoch) => self.members.leader().is_some_and(|l| l.epoch == epoch),
        };
        if !holds {
            return Err(Refusal::Fenced.into());
        }
        match &payload {
            Payload::Entry(entry) => _ = self.ids.insert(entry.id(), position),
            Payload::Member(member) => self.members.apply(position, member),
        }
        self.payloads.push_back(payload);
        Ok(Appended {
            position,
            already: false,
        })
    }

    fn get(&self, position: Position) -> Option<&Payload> {
        let index = position.get().checked_sub(self.first.get())?;
        self.payloads.get(usize::try_from(index).ok()?)
    }
}

impl EventLog for MemoryLog {
    fn id(&self) -> LogId {
        self.shared.id
    }

    fn limits(&self) -> Limits {
        Limits {
            entry_bytes_max: ENTRY_BYTES_MAX,
            session_ttl_min: Duration::ZERO,
            contiguous: true,
            guards: true,
            members_in_order: true,
        }
    }

    fn append(&self, append: Append) -> Pending<AppendResult> {
        pending::ready(self.submit(Payload::Entry(append.entry), append.guard))
    }

    fn tail(&self, from: Position) -> Result<Box<dyn Tail>, ReadError> {
        let next = from.max(Position::ZERO.next());
        let first = self.shared.inner.lock().first;
        if next < first {
            return Err(ReadError::Trimmed { horizon: first });
        }
        let log = Arc::clone(&self.shared);
        Ok(Box::new(MemoryTail {
            log,
            next,
            told_caught_up: false,
        }))
    }

    fn snapshot(&self) -> Result<Option<Box<dyn SnapshotSource>>, SnapshotError> {
        let snapshot = self.shared.inner.lock().snapshot.clone();
        Ok(snapshot
            .map(|snapshot| Box::new(Source { snapshot, next: 0 }) as Box<dyn SnapshotSource>))
    }

    fn put_snapshot(
        &self,
        horizon: Position,
        epoch: Epoch,
    ) -> Result<Box<dyn SnapshotSink>, SnapshotError> {
        self.shared.inner.lock().may_commit(horizon, epoch)?;
        let log = Arc::clone(&self.shared);
        Ok(Box::new(Sink {
            log,
            horizon,
            epoch,
            blocks: Vec::new(),
        }))
    }

    fn trim(&self, horizon: Position) -> Result<(), TrimError> {
        let mut inner = self.shared.inner.lock();
        let committed = inner.horizon();
        if horizon > committed {
            return Err(TrimError::BeyondSnapshot {
                wanted: horizon,
                committed,
            });
        }
        while inner.first < horizon && inner.payloads.pop_front().is_some() {
            inner.first = inner.first.next();
        }
        inner.ids.retain(|_, position| *position >= horizon);
        Ok(())
    }
}

impl MemberLog for MemoryLog {
    fn append_member(&self, member: Member) -> Pending<AppendResult> {
        pending::ready(self.submit(Payload::Member(member), Guard::None))
    }
}

impl Inner {
    fn may_commit(&self, horizon: Position, epoch: Epoch) -> Result<(), SnapshotError> {
        if self
            .members
            .leader()
            .is_none_or(|leader| leader.epoch != epoch)
        {
            return Err(SnapshotError::Fenced);
        }
        let committed = self.horizon();
        if horizon <= committed {
            return Err(SnapshotError::Stale {
                wanted: horizon,
                committed,
            });
        }
        if horizon > self.end() {
            return Err(SnapshotError::BeyondEnd {
                wanted: horizon,
                end: self.end(),
            });
        }
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryTail {
    log: Arc<Shared>,
    next: Position,
    told_caught_up: bool,
}

impl MemoryTail {
    fn read(&mut self, inner: &Inner) -> Result<Option<TailItem>, ReadError> {
        if self.next < inner.first {
            return Err(ReadError::Trimmed {
                horizon: inner.first,
            });
        }
        if let Some(payload) = inner.get(self.next) {
            let item = TailItem::Payload {
                position: self.next,
                payload: payload.clone(),
            };
            self.next = self.next.next();
            self.told_caught_up = false;
            return Ok(Some(item));
        }
        if self.told_caught_up {
            return Ok(None);
        }
        self.told_caught_up = true;
        Ok(Some(TailItem::CaughtUp { next: self.next }))
    }
}

impl Tail for MemoryTail {
    fn poll(&mut self) -> Result<Option<TailItem>, ReadError> {
        let log = Arc::clone(&self.log);
        self.read(&log.inner.lock())
    }

    fn next(&mut self, limit: Duration) -> Result<Option<TailItem>, ReadError> {
        let log = Arc::clone(&self.log);
        let mut inner = log.inner.lock();
        match self.read(&inner)? {
            Some(item) => Ok(Some(item)),
            None => {
                log.grew.wait_for(&mut inner, limit);
                self.read(&inner)
            }
        }
    }

    fn live_at(&self) -> Tick {
        self.log.clock.now()
    }
}

#[derive(Debug)]
struct Source {
    snapshot: Snapshot,
    next: usize,
}

impl SnapshotSource for Source {
    fn horizon(&self) -> Position {
        self.snapshot.horizon
    }

    fn next_block(&mut self) -> Result<Option<Vec<u8>>, SnapshotError> {
        let block = self.snapshot.blocks.get(self.next).cloned();
        self.next += 1;
        Ok(block)
    }
}

#[derive(Debug)]
struct Sink {
    log: Arc<Shared>,
    horizon: Position,
    epoch: Epoch,
    blocks: Vec<Vec<u8>>,
}

impl SnapshotSink for Sink {
    fn write_block(&mut self, block: &[u8]) -> Result<(), SnapshotError> {
        self.blocks.push(block.to_vec());
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), SnapshotError> {
        let mut inner = self.log.inner.lock();
        inner.may_commit(self.horizon, self.epoch)?;
        inner.snapshot = Some(Snapshot {
            horizon: self.horizon,
            blocks: Arc::new(self.blocks),
        });
        Ok(())
    }
}
