//! What the handles, tails and workers of one open log share.
//!
//! Locks are taken in this order: snapshots, baton, writer, then one of queue or published. Wakers
//! and completers run outside of all of them.

use super::directory;
use super::group::{Group, Submission, Written};
use super::snapshot::SnapshotReader;
use super::spare::Spare;
use super::writer::Writer;
use crate::clock::Clock;
use crate::ids::{Epoch, LogId, Position};
use crate::log::{AppendResult, Guard, Payload, Refusal, SnapshotError, TrimError};
use crate::pending::{self, Pending};
use crate::storage::{self, Lock, Storage};
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many appends may wait for the writer.
pub const PENDING_APPENDS_MAX: usize = 1 << 16;

/// How many encoded bytes of the newest payloads are kept at hand for tails.
const RECENT_BYTES_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) id: LogId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) snapshots_kept: usize,
    pub(super) spare: Spare,
    /// Guards what was submitted and not yet taken.
    queue: Mutex<Queue>,
    submitted: Condvar,
    /// Whoever holds it forms the next group; held through the group's write and sync.
    baton: Mutex<()>,
    /// Guards the end of the log on disk; held through a group's write and sync.
    writer: Mutex<Writer>,
    /// Guards what readers may see.
    pub(super) published: Mutex<Published>,
    pub(super) grew: Condvar,
    /// Guards which snapshots there are and what is trimmed; horizons in order. Held while names
    /// of snapshots and segments change.
    snapshots: Mutex<Vec<Position>>,
    /// Counts the snapshots that were begun, so that no two have one name.
    attempts: AtomicU64,
    /// Guards the lock of the one writer, which is given back when the log is closed.
    lock: Mutex<Option<Box<dyn Lock>>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Submission>,
    is_closed: bool,
}

/// What readers may see.
#[derive(Debug)]
pub(super) struct Published {
    /// The next position to be written: everything before it was acknowledged.
    pub(super) end: Position,
    /// The first positions of the retained segments, in order.
    pub(super) segments: Vec<Position>,
    pub(super) is_closed: bool,
    /// The newest payloads, up to the end.
    recent: VecDeque<Written>,
    recent_bytes: usize,
}

impl Published {
    pub(super) fn new(end: Position, segments: Vec<Position>) -> Self {
        Self {
            end,
            segments,
            is_closed: false,
            recent: VecDeque::new(),
            recent_bytes: 0,
        }
    }

    /// The first position that is retained.
    pub(super) fn horizon(&self) -> Position {
        self.segments.first().copied().unwrap_or(self.end)
    }

    /// Up to `count` payloads from `from` on, if they are at hand.
    pub(super) fn recent(&self, from: Position, count: usize) -> Option<Vec<Payload>> {
        let back = usize::try_from(self.end.get().checked_sub(from.get())?).ok()?;
        let index = self.recent.len().checked_sub(back)?;
        let payloads = self.recent.iter().skip(index).take(count);
        Some(payloads.map(|written| written.payload.clone()).collect())
    }

    fn push(&mut self, segment: Position, written: Vec<Written>) {
        if self.segments.last() != Some(&segment) {
            self.segments.push(segment);
        }
        self.end = Position::new(self.end.get() + written.len() as u64);
        for written in written {
            self.recent_bytes += written.bytes;
            self.recent.push_back(written);
        }
        while self.recent_bytes > RECENT_BYTES_MAX
            && let Some(oldest) = self.recent.pop_front()
        {
            self.recent_bytes -= oldest.bytes;
        }
    }
}

/// What a log was opened with.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) id: LogId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) snapshots_kept: usize,
    pub(super) spare: Spare,
    pub(super) writer: Writer,
    pub(super) published: Published,
    pub(super) snapshots: Vec<Position>,
    pub(super) lock: Box<dyn Lock>,
}

impl Shared {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            id: parts.id,
            clock: parts.clock,
            storage: parts.storage,
            snapshots_kept: parts.snapshots_kept,
            spare: parts.spare,
            queue: Mutex::default(),
            submitted: Condvar::new(),
            baton: Mutex::new(()),
            writer: Mutex::new(parts.writer),
            published: Mutex::new(parts.published),
            grew: Condvar::new(),
            snapshots: Mutex::new(parts.snapshots),
            attempts: AtomicU64::new(0),
            lock: Mutex::new(Some(parts.lock)),
        }
    }

    pub(super) fn submit(&self, payload: Payload, guard: Guard) -> Pending<AppendResult> {
        let (answer, pending) = pending::channel();
        let submission = Submission {
            payload,
            guard,
            answer,
        };
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return pending::ready(Err(Refusal::Closed.into()));
        }
        if queue.waiting.len() >= PENDING_APPENDS_MAX {
            let max = PENDING_APPENDS_MAX;
            return pending::ready(Err(Refusal::Busy { max }.into()));
        }
        queue.waiting.push_back(submission);
        drop(queue);
        self.submitted.notify_one();
        pending
    }

    /// A worker: forms groups until the log is closed and nothing waits any more.
    ///
    /// Two of them take turns: while one answers the appends of its group, which wakes threads, the
    /// other already writes the next one.
    pub(super) fn work(&self) {
        loop {
            let baton = self.baton.lock();
            let Some(mut batch) = self.wait_for_work() else {
                return;
            };
            let group = self.commit(&mut batch);
            drop(baton);
            group.answer();
        }
    }

    /// Forms one group of what waits; false if nothing did.
    pub(super) fn drive(&self) -> bool {
        let baton = self.baton.lock();
        let mut batch = std::mem::take(&mut self.queue.lock().waiting);
        let is_idle = batch.is_empty();
        let group = self.commit(&mut batch);
        drop(baton);
        group.answer();
        !is_idle
    }

    /// Writes submissions that come before all that is queued, and answers them.
    pub(super) fn write_now(&self, mut batch: VecDeque<Submission>) {
        let baton = self.baton.lock();
        let group = self.commit(&mut batch);
        drop(baton);
        group.answer();
    }

    /// Waits until something was submitted, a sync is due, or the log was closed: nothing then.
    fn wait_for_work(&self) -> Option<VecDeque<Submission>> {
        let due = self.writer.lock().due();
        let mut queue = self.queue.lock();
        loop {
            if !queue.waiting.is_empty() {
                return Some(std::mem::take(&mut queue.waiting));
            }
            if queue.is_closed {
                return None;
            }
            match due.map(|due| due.since(self.clock.now())) {
                None => self.submitted.wait(&mut queue),
                Some(Duration::ZERO) => return Some(VecDeque::new()),
                Some(wait) => _ = self.submitted.wait_for(&mut queue, wait),
            }
        }
    }

    /// Writes one group and lets readers see it; what it leaves goes back to the queue's front.
    fn commit(&self, batch: &mut VecDeque<Submission>) -> Group {
        let mut writer = self.writer.lock();
        let now = self.clock.now();
        let group_due = writer.due().is_some_and(|due| due <= now);
        let segment = writer.segment();
        let mut group = writer.step(batch, &self.spare, now);
        if group_due {
            // A failure is kept: no later append is taken.
            let _ = writer.sync();
        }
        let is_new = segment != writer.segment();
        let written = group.take_written();
        if !written.is_empty() {
            self.published.lock().push(writer.segment(), written);
            self.grew.notify_all();
        }
        drop(writer);
        if is_new {
            self.spare.order();
        }
        let mut queue = self.queue.lock();
        while let Some(submission) = batch.pop_back() {
            queue.waiting.push_front(submission);
        }
        group
    }

    /// Takes no more; workers end once nothing waits.
    pub(super) fn begin_close(&self) {
        self.queue.lock().is_closed = true;
        self.submitted.notify_all();
        self.spare.end();
    }

    /// Ends what the workers left: the last sync, the readers, the lock.
    pub(super) fn end_close(&self) {
        let snapshots = self.snapshots.lock();
        // A failure has been reported to whoever it concerns; what is not synced may be lost.
        let _ = self.writer.lock().sync();
        self.published.lock().is_closed = true;
        self.grew.notify_all();
        drop(snapshots);
        drop(self.lock.lock().take());
    }

    /// A worker died of a mistake of ours: nobody may wait for it.
    pub(super) fn abandon(&self) {
        let waiting = {
            let mut queue = self.queue.lock();
            queue.is_closed = true;
            std::mem::take(&mut queue.waiting)
        };
        drop(waiting);
        self.submitted.notify_all();
        self.published.lock().is_closed = true;
        self.grew.notify_all();
    }

    pub(super) fn snapshot(&self) -> Result<Option<SnapshotReader>, SnapshotError> {
        let snapshots = self.snapshots.lock();
        let newest = snapshots.last().copied();
        newest
            .map(|horizon| SnapshotReader::open(&*self.storage, horizon, Some(self.id)))
            .transpose()
    }

    /// Whether a snapshot of this horizon may be committed now, in this leader's name.
    pub(super) fn may_commit(&self, horizon: Position, epoch: Epoch) -> Result<(), SnapshotError> {
        self.check_commit(&self.snapshots.lock(), horizon, epoch)
    }

    fn check_commit(
        &self,
        snapshots: &[Position],
        wanted: Position,
        epoch: Epoch,
    ) -> Result<(), SnapshotError> {
        let (end, is_closed) = {
            let published = self.published.lock();
            (published.end, published.is_closed)
        };
        if is_closed {
            return Err(SnapshotError::Closed);
        }
        let leader = self.writer.lock().memory().members.leader();
        if leader.is_none_or(|leader| leader.epoch != epoch) {
            return Err(SnapshotError::Fenced);
        }
        let committed = snapshots.last().copied().unwrap_or_default();
        if wanted <= committed {
            return Err(SnapshotError::Stale { wanted, committed });
        }
        if wanted > end {
            return Err(SnapshotError::BeyondEnd { wanted, end });
        }
        Ok(())
    }

    pub(super) fn next_attempt(&self) -> u64 {
        self.attempts.fetch_add(1, Ordering::Relaxed)
    }

    /// Publishes a finished snapshot, if it still may be.
    pub(super) fn commit_snapshot(
        &self,
        horizon: Position,
        epoch: Epoch,
        publish: impl FnOnce() -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let mut snapshots = self.snapshots.lock();
        self.check_commit(&snapshots, horizon, epoch)?;
        // The log must not end before the horizon, even if its own syncs come later.
        if self.writer.lock().sync().is_err() {
            return Err(SnapshotError::Poisoned);
        }
        publish()?;
        snapshots.push(horizon);
        Ok(())
    }

    pub(super) fn trim(&self, wanted: Position) -> Result<(), TrimError> {
        let mut snapshots = self.snapshots.lock();
        if self.published.lock().is_closed {
            return Err(TrimError::Closed);
        }
        let committed = snapshots.last().copied().unwrap_or_default();
        if wanted > committed {
            return Err(TrimError::BeyondSnapshot { wanted, committed });
        }
        let kept = self.snapshots_kept.max(1);
        let Some(index) = snapshots.len().checked_sub(kept) else {
            return Ok(());
        };
        let oldest = snapshots.get(index).copied().unwrap_or_default();
        // What is removed can be had from this snapshot alone: it is read once more before.
        SnapshotReader::open(&*self.storage, committed, Some(self.id))?.verify()?;
        let told = |error: storage::Error| TrimError::Unavailable {
            path: error.path().to_owned(),
            kind: error.kind(),
        };
        let horizon = self.remove_segments(wanted.min(oldest)).map_err(told)?;
        for horizon in snapshots.drain(..index).collect::<Vec<_>>() {
            self.storage
                .remove(&directory::snapshot_name(horizon))
                .map_err(told)?;
        }
        self.storage.sync().map_err(told)?;
        self.writer.lock().forget_below(horizon);
        Ok(())
    }

    /// Removes the segments wholly below `horizon`, oldest first, so that a crash leaves no gap
    /// that the snapshot does not cover; says what is retained.
    ///
    /// Readers are told first: one that still reads a removed segment finds out that it is gone.
    fn remove_segments(&self, horizon: Position) -> Result<Position, storage::Error> {
        loop {
            let first = {
                let mut published = self.published.lock();
                match *published.segments {
                    [first, second, ..] if second <= horizon => {
                        published.segments.remove(0);
                        first
                    }
                    _ => return Ok(published.horizon()),
                }
            };
            self.spare.retire(first)?;
        }
    }
}
