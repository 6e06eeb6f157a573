//! What the handles, tails and workers of one open log share.
//!
//! Who has the lead of the queue forms and writes groups. Locks are taken in this order: snapshots,
//! writer, then one of published and those within the queue. Wakers and completers run outside of
//! all of them.

use super::directory;
use super::group::{Group, Submission, Written};
use super::queue::{Job, Queue};
use super::snapshot::SnapshotReader;
use super::spare::Spare;
use super::writer::Writer;
use crate::clock::Clock;
use crate::ids::{Epoch, LogId, Position};
use crate::log::{AppendResult, Guard, Payload, SnapshotError, TrimError};
use crate::pending::{self, Driver, Pending};
use crate::storage::{self, Lock, Storage};
use crate::sync::{Condvar, Mutex, thread};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many encoded bytes of the newest payloads are kept at hand for tails.
const RECENT_BYTES_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) id: LogId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) snapshots_kept: usize,
    pub(super) spare: Spare,
    pub(super) queue: Queue,
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

    /// Lets go of the segments wholly below `horizon`; the first position that is retained then.
    fn trim(&mut self, horizon: Position) -> Position {
        let below = self.segments.iter().filter(|first| **first <= horizon);
        let gone = below.count().saturating_sub(1);
        self.segments.drain(..gone);
        self.horizon()
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
            queue: Queue::default(),
            writer: Mutex::new(parts.writer),
            published: Mutex::new(parts.published),
            grew: Condvar::new(),
            snapshots: Mutex::new(parts.snapshots),
            attempts: AtomicU64::new(0),
            lock: Mutex::new(Some(parts.lock)),
        }
    }

    pub(super) fn submit(
        self: &Arc<Self>,
        payload: Payload,
        guard: Guard,
    ) -> Pending<AppendResult> {
        let (answer, pending) = pending::driven_channel(Arc::clone(self) as Arc<dyn Driver>);
        let submission = Submission {
            payload,
            guard,
            answer,
        };
        match self.queue.push(submission) {
            Ok(()) => pending,
            Err(refusal) => pending::ready(Err(refusal.into())),
        }
    }

    /// The worker: does what no waiting thread does, until the log is closed and nothing is left.
    pub(super) fn work(&self) {
        while let Some(job) = self.queue.next_job(&*self.clock) {
            match job {
                Job::Lead => self.lead(),
                // A failure poisons the writer, and whoever appends hears of it.
                Job::Sync => _ = self.sync(),
            }
        }
    }

    /// Forms one group of what waits, unless another thread is about to, and syncs what is due;
    /// false if nothing waited.
    pub(super) fn drive(&self) -> bool {
        let count = if self.queue.try_lead() {
            self.write_group()
        } else {
            0
        };
        let due = self.writer.lock().due();
        if due.is_some_and(|due| due <= self.clock.now()) {
            // A failure poisons the writer, and whoever appends hears of it.
            let _ = self.sync();
        }
        count > 0
    }

    /// Writes submissions that come before all that is queued, and answers them.
    pub(super) fn write_now(&self, mut batch: VecDeque<Submission>) {
        self.commit(&mut batch).answer();
    }

    /// Forms a group of what waits, for who has the lead, and gives the lead away; says how much
    /// had waited.
    fn write_group(&self) -> usize {
        let led = Led(self);
        let mut batch = self.queue.take();
        let count = batch.len();
        let group = self.commit(&mut batch);
        self.queue.hand_on(batch);
        std::mem::forget(led);
        group.answer();
        count
    }

    /// Writes one group and lets readers see it.
    fn commit(&self, batch: &mut VecDeque<Submission>) -> Group {
        let mut writer = self.writer.lock();
        let segment = writer.segment();
        let mut group = writer.step(batch, &self.spare, self.clock.now());
        let is_new = segment != writer.segment();
        let written = group.take_written();
        if !written.is_empty() {
            self.published.lock().push(writer.segment(), written);
            self.grew.notify_all();
        }
        if let Some(due) = writer.due() {
            self.queue.set_sync_due(Some(due));
        }
        drop(writer);
        if is_new {
            self.spare.order();
        }
        group
    }

    /// Makes durable what was written so far, while further appends may be written, and makes sure
    /// that the segment is still there.
    ///
    /// # Errors
    ///
    /// What failed, now or earlier.
    fn sync(&self) -> Result<(), storage::Error> {
        let (segment, unsynced) = {
            let writer = self.writer.lock();
            (writer.written(), writer.unsynced(self.clock.now()))
        };
        let result = unsynced.as_ref().map(|unsynced| unsynced.file.sync());
        let kept = segment.file.check_name();
        let mut writer = self.writer.lock();
        if let (Some(unsynced), Some(result)) = (&unsynced, result) {
            writer.note_sync(unsynced, result);
        }
        if let Err(error) = kept {
            writer.note_removed(&segment, error);
        }
        self.queue.set_sync_due(writer.due());
        writer.check()
    }

    /// Takes no more; workers end once nothing waits.
    pub(super) fn begin_close(&self) {
        self.queue.close();
        self.spare.end();
    }

    /// Ends what the workers left: the last groups, the last sync, the readers, the lock.
    pub(super) fn end_close(&self) {
        while self.queue.lead_rest() {
            self.write_group();
        }
        let snapshots = self.snapshots.lock();
        // A failure has been reported to whoever it concerns; what is not synced may be lost.
        let _ = self.writer.lock().sync();
        self.published.lock().is_closed = true;
        self.grew.notify_all();
        drop(snapshots);
        drop(self.lock.lock().take());
    }

    /// A thread died of a mistake of ours: nobody may wait for it.
    pub(super) fn abandon(&self) {
        drop(self.queue.abandon());
        self.spare.end();
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
        // The log must not end before the horizon, even if its own syncs come later. Appends go on
        // meanwhile.
        self.sync().map_err(|error| SnapshotError::Poisoned {
            path: error.path().to_owned(),
            kind: error.kind(),
        })?;
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
        // Readers are told first: one that still reads a removed segment finds out that it is gone.
        let horizon = self.published.lock().trim(wanted.min(oldest));
        snapshots.drain(..index);
        self.remove_below(horizon, oldest).map_err(told)?;
        self.writer.lock().forget_below(horizon);
        Ok(())
    }

    /// Removes what lies in the directory below what is retained, also what an earlier trim that
    /// failed has left. Segments go oldest first, so that a crash leaves no gap that the snapshot
    /// does not cover.
    fn remove_below(&self, first: Position, oldest: Position) -> Result<(), storage::Error> {
        let listing = directory::list(&*self.storage)?;
        for segment in listing.segments.into_iter().filter(|at| *at < first) {
            self.spare.retire(segment)?;
        }
        for horizon in listing.snapshots.into_iter().filter(|at| *at < oldest) {
            self.storage.remove(&directory::snapshot_name(horizon))?;
        }
        self.storage.sync()
    }
}

impl Driver for Shared {
    fn try_lead(&self) -> bool {
        self.queue.try_lead()
    }

    fn lead(&self) {
        self.write_group();
    }

    fn urge(&self) {
        self.queue.urge();
    }
}

/// Sees to it that nobody waits for a thread that died while it had the lead.
struct Led<'a>(&'a Shared);

impl Drop for Led<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abandon();
        }
    }
}
