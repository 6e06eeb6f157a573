//! The one writer: a step machine that turns submissions into frames, synced as promised.
//!
//! A step takes what was submitted and gives back a group whose answers are decided. It runs where
//! it is called: on a worker's thread, or on the simulator's.
//!
//! After a failed sync nobody knows what is durable. The operating system has marked the bytes
//! clean, so that another sync would say "done" and save nothing: the writer takes nothing more.
//! Nor does it once the segment was removed from under it, which each sync looks for: whatever it
//! syncs there is gone with the process.

use super::format::{FRAME_BYTES_MAX, header};
use super::frame::{Before, FrameBuilder, Place};
use super::group::{Full, Group, Memory, Submission};
use super::header::{Header, Kind};
use super::spare::{Spare, TakeError};
use super::{Durability, recovery};
use crate::clock::Tick;
use crate::ids::{LogId, Position, SessionToken};
use crate::log::codec;
use crate::log::{Doubt, Payload, ReadError, Refusal};
use crate::storage::{self, File, Storage, write_zeroes};
use std::collections::VecDeque;
use std::sync::Arc;

/// The segment that is written.
#[derive(Debug)]
pub(super) struct ActiveSegment {
    pub(super) file: Arc<dyn File>,
    pub(super) first: Position,
    /// Where the next frame begins.
    pub(super) offset: u64,
    /// How far zeroes go.
    pub(super) size: u64,
}

/// What the writer needs to know besides.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) log: LogId,
    pub(super) durability: Durability,
    /// Entries of sessions below this one are of an earlier opening.
    pub(super) opened: SessionToken,
}

/// What was written and not synced.
#[derive(Debug)]
pub(super) struct Unsynced {
    /// The segment; those before it are durable.
    pub(super) file: Arc<dyn File>,
    /// The position behind it.
    end: Position,
    /// A sync that begins at this moment is about all of it.
    seen_at: Tick,
}

/// The segment that is written, as it was at a moment.
#[derive(Debug)]
pub(super) struct WrittenSegment {
    first: Position,
    pub(super) file: Arc<dyn File>,
}

/// Writes the log.
#[derive(Debug)]
pub(super) struct Writer {
    setting: Setting,
    segment: ActiveSegment,
    memory: Memory,
    frame: FrameBuilder,
    next: Position,
    /// When the oldest bytes that were not synced were written.
    unsynced_since: Option<Tick>,
    /// Behind this offset a failed write left something that is to be zeroes again.
    scrub_to: Option<u64>,
    /// Whether the ids of entries of earlier openings are known, too.
    knows_older: bool,
    /// The sync that failed, or the segment that is gone: nothing more is taken.
    poison: Option<storage::Error>,
}

impl Writer {
    /// A writer that goes on at `next`, all before which is durable.
    pub(super) fn new(
        setting: Setting,
        segment: ActiveSegment,
        memory: Memory,
        next: Position,
    ) -> Self {
        Self {
            setting,
            segment,
            memory,
            frame: FrameBuilder::default(),
            next,
            unsynced_since: None,
            scrub_to: None,
            knows_older: false,
            poison: None,
        }
    }

    /// What it remembers.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Forgets entries that were trimmed.
    pub(super) fn forget_below(&mut self, first: Position) {
        self.memory.known.trim(first);
    }

    /// The first position of the segment that is written.
    pub(super) fn segment(&self) -> Position {
        self.segment.first
    }

    /// When the next sync is due, with [`Durability::Interval`].
    pub(super) fn due(&self) -> Option<Tick> {
        match self.setting.durability {
            Durability::Interval(wait) if self.poison.is_none() => {
                self.unsynced_since.map(|since| since.after(wait))
            }
            _ => None,
        }
    }

    /// What is to be synced, if anything is and can be.
    pub(super) fn unsynced(&self, now: Tick) -> Option<Unsynced> {
        let is_wanted = self.unsynced_since.is_some() && self.poison.is_none();
        is_wanted.then(|| Unsynced {
            file: Arc::clone(&self.segment.file),
            end: self.next,
            seen_at: now,
        })
    }

    /// Takes note of how the sync of it ended. Meanwhile more may have been written and synced.
    pub(super) fn note_sync(&mut self, unsynced: &Unsynced, result: Result<(), storage::Error>) {
        if let Err(error) = result {
            self.poison.get_or_insert(error);
        } else if self.next == unsynced.end {
            self.unsynced_since = None;
        } else {
            self.unsynced_since = self.unsynced_since.map(|since| since.max(unsynced.seen_at));
        }
    }

    /// The segment that is written.
    pub(super) fn written(&self) -> WrittenSegment {
        WrittenSegment {
            first: self.segment.first,
            file: Arc::clone(&self.segment.file),
        }
    }

    /// Takes note that a segment was removed. If it is not written any more, a trim may have done
    /// that.
    pub(super) fn note_removed(&mut self, segment: &WrittenSegment, error: storage::Error) {
        if segment.first == self.segment.first {
            self.poison.get_or_insert(error);
        }
    }

    /// Takes submissions from the front of the queue and writes them as one frame.
    pub(super) fn step(
        &mut self,
        queue: &mut VecDeque<Submission>,
        spare: &Spare,
        now: Tick,
    ) -> Group {
        let mut group = Group::begin(self.next, &self.memory);
        if let Err(error) = self.learn_older(queue) {
            // Whoever sends what no earlier opening can hold does not have to wait for it.
            let (older, rest) = queue.drain(..).partition(|next| self.is_older(next));
            *queue = rest;
            let older: VecDeque<_> = older;
            group.refuse(older, &self.memory, &Doubt::Unreadable(error).into());
        }
        if let Err(refusal) = self.gather(&mut group, queue, spare) {
            group.refuse(queue.drain(..), &self.memory, &refusal.into());
        } else if !group.is_empty() {
            self.write(&mut group, now);
        }
        self.next = group.end();
        group
    }

    /// Fills the group and its frame, in a new segment if need be.
    fn gather(
        &mut self,
        group: &mut Group,
        queue: &mut VecDeque<Submission>,
        spare: &Spare,
    ) -> Result<(), Refusal> {
        self.check().map_err(poisoned)?;
        self.scrub()?;
        self.frame.clear();
        let room = self.room();
        let full = group.take(queue, &mut self.memory, &mut self.frame, room);
        if let (Full::Segment, true, Some(submission)) = (full, group.is_empty(), queue.front()) {
            // What is too large for any segment is refused below.
            let record = codec::encode(&submission.payload);
            let record_bytes = record.map_or(0, |record| record.len());
            self.make_room(FrameBuilder::bytes_of(record_bytes), spare)?;
            group.move_on(&mut self.memory);
            let room = self.room();
            group.take(queue, &mut self.memory, &mut self.frame, room);
        }
        Ok(())
    }

    /// How large the next frame may be.
    fn room(&self) -> usize {
        let left = self.segment.size.saturating_sub(self.segment.offset);
        usize::try_from(left).map_or(FRAME_BYTES_MAX, |left| left.min(FRAME_BYTES_MAX))
    }

    fn write(&mut self, group: &mut Group, now: Tick) {
        let place = Place {
            segment: self.segment.first,
            first: group.first(),
        };
        let before = match self.unsynced_since {
            None => Before::Synced,
            Some(_) => Before::Unsynced,
        };
        let bytes = self.frame.finish(place, before);
        let end = self.segment.offset + bytes.len() as u64;
        if let Err(error) = self.segment.file.write_at(self.segment.offset, bytes) {
            // A part of the frame may stand there. It is no frame, and before the next one it goes.
            self.scrub_to = Some(end);
            group.fail(&mut self.memory, &unwritten(&error));
            return;
        }
        self.segment.offset = end;
        self.unsynced_since.get_or_insert(now);
        if self.setting.durability == Durability::Always
            && let Err(error) = self.sync()
        {
            let (path, kind) = (error.path().to_owned(), error.kind());
            group.doubt(&mut self.memory, Doubt::Unsynced { path, kind });
        }
    }

    /// Makes durable what was written, and makes sure that it is still there.
    ///
    /// # Errors
    ///
    /// What failed, now or earlier.
    pub(super) fn sync(&mut self) -> Result<(), storage::Error> {
        self.check()?;
        if self.unsynced_since.is_some() {
            self.sync_segment()
        } else {
            self.check_kept()
        }
    }

    fn sync_segment(&mut self) -> Result<(), storage::Error> {
        let synced = self.segment.file.sync();
        synced.inspect_err(|error| self.poison = Some(error.clone()))?;
        self.unsynced_since = None;
        self.check_kept()
    }

    /// Whether anything can be promised, and the segment is still there.
    ///
    /// # Errors
    ///
    /// The sync that failed earlier, or that the segment was removed.
    fn check_kept(&mut self) -> Result<(), storage::Error> {
        self.check()?;
        let kept = self.segment.file.check_name();
        kept.inspect_err(|error| self.poison = Some(error.clone()))
    }

    /// Whether anything can be promised.
    ///
    /// # Errors
    ///
    /// What failed earlier.
    pub(super) fn check(&self) -> Result<(), storage::Error> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    /// Makes what a failed write left zeroes again, durably: the next frame may go into another
    /// segment, and what is left behind in this one would be damage after a crash.
    fn scrub(&mut self) -> Result<(), Refusal> {
        if let Some(end) = self.scrub_to {
            write_zeroes(&*self.segment.file, self.segment.offset, end)
                .map_err(|error| unwritten(&error))?;
            self.sync_segment().map_err(poisoned)?;
            self.scrub_to = None;
        }
        Ok(())
    }

    /// Makes room for a frame of so many bytes: a new segment, or more of one that has no frame
    /// yet. The segment before it is synced first, whatever the durability: only the last one can
    /// have a torn end.
    fn make_room(&mut self, frame_bytes: usize, spare: &Spare) -> Result<(), Refusal> {
        self.sync().map_err(poisoned)?;
        let bytes = (header::BYTES + frame_bytes) as u64;
        if self.segment.first == self.next {
            let file = &*self.segment.file;
            write_zeroes(file, self.segment.size, bytes).map_err(|error| unwritten(&error))?;
            self.segment.size = bytes;
            return Ok(());
        }
        let header = Header {
            kind: Kind::Segment,
            log: self.setting.log,
            start: self.next.get(),
            origin: self.segment.first.get(),
        };
        match spare.take(self.next, &header.encode(), bytes) {
            Ok((file, size)) => {
                self.segment = ActiveSegment {
                    file,
                    first: self.next,
                    offset: header::BYTES as u64,
                    size,
                };
                Ok(())
            }
            Err(TakeError::Make(error)) => Err(unwritten(&error)),
            Err(TakeError::Names(error)) => {
                self.poison = Some(error.clone());
                Err(poisoned(error))
            }
        }
    }

    /// An entry of an earlier opening may be in the log already. Nobody sends one but to find out,
    /// so the ids of all that is retained are read only then.
    fn learn_older(&mut self, queue: &VecDeque<Submission>) -> Result<(), ReadError> {
        if !self.knows_older && queue.iter().any(|next| self.is_older(next)) {
            recovery::learn_ids(&self.setting, self.next, &mut self.memory.known)?;
            self.knows_older = true;
        }
        Ok(())
    }

    fn is_older(&self, submission: &Submission) -> bool {
        match &submission.payload {
            Payload::Entry(entry) => entry.author.session < self.setting.opened,
            Payload::Member(_) => false,
        }
    }
}

/// Nothing is taken after this sync failed.
fn poisoned(error: storage::Error) -> Refusal {
    Refusal::Poisoned {
        path: error.path().to_owned(),
        kind: error.kind(),
    }
}

/// Nothing of it is in the log, nor will it be.
fn unwritten(error: &storage::Error) -> Refusal {
    let path = error.path().to_owned();
    match error {
        storage::Error::Full { .. } => Refusal::Full { path },
        error => Refusal::Unavailable {
            path,
            kind: error.kind(),
        },
    }
}
