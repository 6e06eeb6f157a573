//! Copying a log, live or not, file by file: to keep it, or to begin another history with it.

use super::builder::random_log;
use super::directory::{self, Listing, segment_name, snapshot_name};
use super::header::{Header, Kind};
use super::recovery;
use super::segment::{SegmentReader, Step};
use super::snapshot::{SnapshotReader, SnapshotWriter};
use super::{OpenError, inspect};
use crate::ids::{LogId, Position};
use crate::log::{ReadError, SnapshotSource};
use crate::storage::{Access, Lock, Storage};
use std::path::PathBuf;
use std::sync::Arc;

/// How often the files of a live log may go away under a copy before it gives up.
const ATTEMPTS_MAX: u32 = 8;

/// How many bytes are copied at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// Whose history the copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The same: a backup, to be looked at or restored, never to be written.
    Same,
    /// One of its own, which begins where the copy ends. A reader of the original does not take it
    /// for the original, whose later positions mean something else there.
    New,
}

/// Why a log cannot be copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The log cannot be read, or the copy cannot be written; the path in it says which. Damage is
    /// not copied.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The target holds files.
    #[error("{} is not empty; name a folder that is, or that is not there", path.display())]
    NotEmpty {
        /// The target.
        path: PathBuf,
    },
    /// The log was trimmed faster than it could be copied.
    #[error("{} was trimmed while it was copied, {attempts} times; try again later", path.display())]
    Overtaken {
        /// The log.
        path: PathBuf,
        /// How often it was tried.
        attempts: u32,
    },
}

/// A finished copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Which history it is.
    pub log: LogId,
    /// Its first retained position.
    pub first: Position,
    /// The next position that will be written to it.
    pub end: Position,
    /// The horizon of its newest snapshot; zero without one.
    pub horizon: Position,
    /// How many files were written.
    pub files: usize,
    /// How many bytes these have.
    pub bytes: u64,
}

/// A copy in the making, one file at each [`step`](Self::step).
///
/// It holds everything that was acknowledged when it began. It works beside a process that writes,
/// rotates and compacts; every frame and every block is checked on the way. Until it is done the
/// target holds some of the files, which may look like an older log: write into a directory that
/// gets its name at the end.
#[derive(Debug)]
pub struct Copying {
    source: Arc<dyn Storage>,
    target: Arc<dyn Storage>,
    attempts: u32,
    plan: Plan,
    next: usize,
    copied: Copied,
    /// Nobody else writes to the target meanwhile.
    _lock: Box<dyn Lock>,
}

/// What is to be copied.
#[derive(Debug)]
struct Plan {
    listing: Listing,
    files: Vec<PlannedFile>,
    /// The position up to which the copy must reach.
    end_min: Position,
    log: LogId,
}

#[derive(Clone, Copy, Debug)]
struct PlannedFile {
    what: What,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Segment {
        first: Position,
        following: Option<Position>,
    },
    Snapshot {
        horizon: Position,
    },
}

impl Plan {
    /// Segments from the oldest on, which a trim would remove first; then snapshots.
    fn new(source: &dyn Storage) -> Result<Self, OpenError> {
        let listing = directory::list(source)?;
        let stat = inspect::stat(source)?;
        let mut files = Vec::new();
        for (index, segment) in stat.segments.iter().enumerate() {
            let following = stat.segments.get(index + 1).map(|segment| segment.first);
            files.push(PlannedFile {
                what: What::Segment {
                    first: segment.first,
                    following,
                },
                bytes: segment.bytes,
            });
        }
        for snapshot in &stat.snapshots {
            // Without the entries behind it a snapshot is of no use.
            if snapshot.horizon >= stat.first() {
                files.push(PlannedFile {
                    what: What::Snapshot {
                        horizon: snapshot.horizon,
                    },
                    bytes: snapshot.bytes,
                });
            }
        }
        Ok(Self {
            listing,
            files,
            end_min: stat.end,
            log: stat.log,
        })
    }
}

impl Copying {
    /// Begins to copy the log in `source` to `target`, which must be empty.
    ///
    /// # Errors
    ///
    /// [`CopyError`].
    pub fn begin(
        source: Arc<dyn Storage>,
        target: Arc<dyn Storage>,
        identity: Identity,
    ) -> Result<Self, CopyError> {
        let plan = Plan::new(&*source)?;
        let lock = target.lock().map_err(OpenError::Storage)?;
        if !target.list().map_err(OpenError::Storage)?.is_empty() {
            return Err(CopyError::NotEmpty {
                path: target.path().to_owned(),
            });
        }
        let log = match identity {
            Identity::Same => plan.log,
            Identity::New => random_log(),
        };
        Ok(Self {
            source,
            target,
            attempts: 1,
            copied: Copied::none(log),
            plan,
            next: 0,
            _lock: lock,
        })
    }

    /// About how many bytes are to be read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.plan.files.iter().map(|file| file.bytes).sum()
    }

    /// How many of them were read so far.
    #[must_use]
    pub fn bytes_done(&self) -> u64 {
        let done = self.plan.files.iter().take(self.next);
        done.map(|file| file.bytes).sum()
    }

    /// Copies the next file; at the end makes all of it durable and says what was copied.
    ///
    /// # Errors
    ///
    /// [`CopyError`]; what stands in the target is of no use then.
    pub fn step(&mut self) -> Result<Option<Copied>, CopyError> {
        let Some(file) = self.plan.files.get(self.next).copied() else {
            self.target.sync().map_err(OpenError::Storage)?;
            return Ok(Some(self.copied.clone()));
        };
        let copied = match file.what {
            What::Segment { first, following } => self.copy_segment(first, following),
            What::Snapshot { horizon } => self.copy_snapshot(horizon),
        };
        match copied {
            Ok(()) => self.next += 1,
            Err(error) => self.begin_again(error)?,
        }
        Ok(None)
    }

    /// Begins again if files came and went meanwhile; else the error stands.
    fn begin_again(&mut self, error: OpenError) -> Result<(), CopyError> {
        let now = directory::list(&*self.source).map_err(OpenError::Storage)?;
        if now == self.plan.listing {
            return Err(error.into());
        }
        if self.attempts == ATTEMPTS_MAX {
            return Err(CopyError::Overtaken {
                path: self.source.path().to_owned(),
                attempts: self.attempts,
            });
        }
        for name in self.target.list().map_err(OpenError::Storage)? {
            self.target.remove(&name).map_err(OpenError::Storage)?;
        }
        self.attempts += 1;
        self.plan = Plan::new(&*self.source)?;
        self.next = 0;
        self.copied = Copied::none(self.copied.log);
        Ok(())
    }

    /// Copies the bytes as they are, then reads the copy: only what is whole there counts.
    fn copy_segment(
        &mut self,
        first: Position,
        following: Option<Position>,
    ) -> Result<(), OpenError> {
        let name = segment_name(first);
        let header = SegmentReader::open(&*self.source, first, Some(self.plan.log))?;
        let header = Header {
            kind: Kind::Segment,
            log: self.copied.log,
            start: first.get(),
            origin: header.previous().get(),
        };
        let from = self.source.open(&name, Access::Read)?;
        let to = self.target.create(&name)?;
        let size = from.size()?;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut offset = 0;
        while offset < size {
            let count = from.read_at(offset, &mut chunk)?;
            if count == 0 {
                break;
            }
            to.write_at(offset, chunk.get(..count).unwrap_or_default())?;
            offset += count as u64;
        }
        to.write_at(0, &header.encode())?;
        let mut reader = SegmentReader::open(&*self.target, first, Some(self.copied.log))?;
        while let Step::Frame(_) = reader.read_frame()? {}
        let (end, used) = (reader.next(), reader.offset());
        if following.map_or(end < self.plan.end_min, |following| end != following) {
            let found = following.unwrap_or(self.plan.end_min);
            let expected = end;
            return Err(self
                .flaw(first, following)?
                .unwrap_or(ReadError::Gap { expected, found }))?;
        }
        to.set_size(used)?;
        to.sync()?;
        self.copied.count(used);
        if self.copied.first == Position::ZERO {
            self.copied.first = first;
        }
        self.copied.end = end;
        Ok(())
    }

    /// What is wrong with a segment of the source, if that can be told.
    fn flaw(
        &self,
        first: Position,
        following: Option<Position>,
    ) -> Result<Option<ReadError>, OpenError> {
        let mut reader = SegmentReader::open(&*self.source, first, Some(self.plan.log))?;
        loop {
            match reader.read_frame()? {
                Step::Frame(_) => {}
                Step::Bad(found) => return Ok(Some(reader.damaged(found))),
                Step::Unwritten if following.is_none() => {
                    recovery::read_tail(&*self.source, first, self.plan.log)?;
                    return Ok(None);
                }
                Step::Unwritten => return Ok(None),
            }
        }
    }

    fn copy_snapshot(&mut self, horizon: Position) -> Result<(), OpenError> {
        let mut reader = SnapshotReader::open(&*self.source, horizon, Some(self.plan.log))?;
        let (target, log) = (Arc::clone(&self.target), self.copied.log);
        let mut writer = SnapshotWriter::create(target, log, horizon, reader.epoch(), 0)?;
        while let Some(block) = reader.next_block()? {
            writer.write_block(&block)?;
        }
        writer.write_footer()?;
        writer.sync()?;
        writer.publish()?;
        let file = self.target.open(&snapshot_name(horizon), Access::Read)?;
        self.copied.count(file.size()?);
        self.copied.horizon = horizon;
        Ok(())
    }
}

impl Copied {
    fn none(log: LogId) -> Self {
        Self {
            log,
            first: Position::ZERO,
            end: Position::ZERO,
            horizon: Position::ZERO,
            files: 0,
            bytes: 0,
        }
    }

    fn count(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}
