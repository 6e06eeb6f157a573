//! Reading every byte of every file, one file at a time.

use crate::ids::{Epoch, LogId, Position};
use crate::log::file::OpenError;
use crate::log::file::directory::{self, Listing};
use crate::log::file::recovery::{self, Cut};
use crate::log::file::segment::{SegmentReader, Step};
use crate::log::file::snapshot::SnapshotReader;
use crate::log::{ReadError, SnapshotError};
use crate::storage::{Access, Storage};
use std::path::PathBuf;

/// How often names may change under a verification before what does not fit counts as a flaw.
const ATTEMPTS_MAX: u32 = 8;

/// What is in the files of a log, and whether it is as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Which history it is; unknown if no segment has a header that can be read.
    pub log: Option<LogId>,
    /// The segments, in order.
    pub segments: Vec<SegmentReport>,
    /// The snapshots, in order.
    pub snapshots: Vec<SnapshotReport>,
    /// A torn write at the end, which the next opening will cut. No damage.
    pub cut: Option<Cut>,
    /// A segment that is missing, or that belongs to another log.
    pub flaw: Option<ReadError>,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// The file.
    pub path: PathBuf,
    /// Its first position.
    pub first: Position,
    /// The position behind its last record that could be read.
    pub end: Position,
    /// How many bytes its header and frames take.
    pub used_bytes: u64,
    /// What is wrong with it.
    pub flaw: Option<ReadError>,
}

/// One snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotReport {
    /// The next position to read after it.
    pub horizon: Position,
    /// In whose name it was written, if its header can be read.
    pub epoch: Option<Epoch>,
    /// How many blocks could be read.
    pub block_count: u64,
    /// What is wrong with it.
    pub flaw: Option<SnapshotError>,
}

impl Report {
    /// Whether everything is as it was written. A torn end counts as such.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.flaw.is_none()
            && self.segments.iter().all(|segment| segment.flaw.is_none())
            && self
                .snapshots
                .iter()
                .all(|snapshot| snapshot.flaw.is_none())
    }
}

/// Reads every byte of every file of a log.
///
/// # Errors
///
/// [`OpenError::Storage`] if the directory cannot be listed; damage is in the report.
pub fn verify(storage: &dyn Storage) -> Result<Report, OpenError> {
    let mut verification = Verification::begin(storage)?;
    while verification.step()? {}
    Ok(verification.finish())
}

/// A verification that reads one file at each [`step`](Self::step).
///
/// It works beside a process that writes: files that are trimmed meanwhile are left out, and if the
/// files do not fit together because they came and went, it begins again.
#[derive(Debug)]
pub struct Verification<'a> {
    storage: &'a dyn Storage,
    listing: Listing,
    /// First positions of the segments that make the log.
    segments: Vec<Position>,
    next: usize,
    attempts: u32,
    bytes_done: u64,
    bytes: u64,
    report: Report,
}

impl<'a> Verification<'a> {
    /// Lists the files and reads their headers.
    ///
    /// # Errors
    ///
    /// [`OpenError::Storage`] if the directory cannot be listed.
    pub fn begin(storage: &'a dyn Storage) -> Result<Self, OpenError> {
        let listing = directory::list(storage)?;
        let mut verification = Self {
            storage,
            listing,
            segments: Vec::new(),
            next: 0,
            attempts: 0,
            bytes_done: 0,
            bytes: 0,
            report: Report::default(),
        };
        verification.begin_again();
        Ok(verification)
    }

    fn begin_again(&mut self) {
        let (chain, flaw) = match recovery::chain(self.storage, &self.listing, None) {
            Ok(chain) => (chain, None),
            Err(error) => (None, Some(error)),
        };
        self.report = Report {
            log: chain.as_ref().map(|chain| chain.log),
            flaw,
            ..Report::default()
        };
        self.segments = chain.map_or_else(|| self.listing.segments.clone(), |chain| chain.segments);
        self.next = 0;
        self.attempts += 1;
        self.bytes_done = 0;
        self.bytes = self.names().map(|name| self.size(&name)).sum();
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let segments = self.segments.iter().copied().map(directory::segment_name);
        let snapshots = self.listing.snapshots.iter().copied();
        segments.chain(snapshots.map(directory::snapshot_name))
    }

    /// The size of a file; of one that cannot be opened, which its report will say, zero.
    fn size(&self, name: &str) -> u64 {
        let file = self.storage.open(name, Access::Read);
        file.and_then(|file| file.size()).unwrap_or(0)
    }

    /// How many bytes the files have in all.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many of them were read so far.
    #[must_use]
    pub fn bytes_done(&self) -> u64 {
        self.bytes_done
    }

    /// Reads the next file; false if there is none.
    ///
    /// # Errors
    ///
    /// [`OpenError::Storage`] if the directory cannot be listed.
    pub fn step(&mut self) -> Result<bool, OpenError> {
        let Some(name) = self.names().nth(self.next) else {
            return self.judge_whole();
        };
        let size = self.size(&name);
        if let Some(&first) = self.segments.get(self.next) {
            let following = self.segments.get(self.next + 1).copied();
            let (segment, cut) = verify_segment(self.storage, first, following);
            if segment.flaw.is_none() || self.is_there(&name)? {
                self.report.segments.push(segment);
                self.report.cut = cut;
            }
        } else if let Some(&horizon) = self.listing.snapshots.get(self.next - self.segments.len()) {
            let snapshot = verify_snapshot(self.storage, horizon, self.report.log);
            if snapshot.flaw.is_none() || self.is_there(&name)? {
                self.report.snapshots.push(snapshot);
            }
        }
        self.next += 1;
        self.bytes_done += size;
        Ok(true)
    }

    fn is_there(&self, name: &str) -> Result<bool, OpenError> {
        Ok(self.storage.list()?.iter().any(|other| other == name))
    }

    /// Whether the files fit together. If not, and others are there by now, begins again.
    fn judge_whole(&mut self) -> Result<bool, OpenError> {
        let newest = self.listing.snapshots.last().copied().unwrap_or_default();
        if let Some(last) = self.report.segments.last()
            && last.flaw.is_none()
            && self.report.flaw.is_none()
        {
            self.report.flaw = recovery::check_end(newest, last.end).err();
        }
        let is_quiet = self.report.is_sound() && self.report.cut.is_none();
        if is_quiet || self.attempts >= ATTEMPTS_MAX {
            return Ok(false);
        }
        let now = directory::list(self.storage)?;
        if now == self.listing {
            return Ok(false);
        }
        self.listing = now;
        self.begin_again();
        Ok(true)
    }

    /// What was found.
    #[must_use]
    pub fn finish(self) -> Report {
        self.report
    }
}

/// A segment with a successor has frames up to it, then zeroes; the last one may have a torn end.
fn verify_segment(
    storage: &dyn Storage,
    first: Position,
    following: Option<Position>,
) -> (SegmentReport, Option<Cut>) {
    let mut report = SegmentReport {
        path: storage.path().join(directory::segment_name(first)),
        first,
        end: first,
        used_bytes: 0,
        flaw: None,
    };
    let cut = match following {
        Some(following) => report.read_sealed(storage, following).map(|()| None),
        None => report.read_last(storage),
    };
    match cut {
        Ok(cut) => (report, cut),
        Err(flaw) => {
            report.flaw = Some(flaw);
            (report, None)
        }
    }
}

impl SegmentReport {
    fn read_sealed(&mut self, storage: &dyn Storage, following: Position) -> Result<(), ReadError> {
        let mut reader = SegmentReader::open(storage, self.first, None)?;
        loop {
            self.end = reader.next();
            self.used_bytes = reader.offset();
            match reader.read_frame()? {
                Step::Frame(_) => {}
                Step::Bad(found) => return Err(reader.damaged(found)),
                Step::Unwritten => break,
            }
        }
        if reader.read_rest()?.iter().any(|&byte| byte != 0) {
            return Err(reader.damaged("something else than zeroes behind the last frame"));
        }
        if reader.next() != following {
            return Err(ReadError::Gap {
                expected: reader.next(),
                found: following,
            });
        }
        Ok(())
    }

    fn read_last(&mut self, storage: &dyn Storage) -> Result<Option<Cut>, ReadError> {
        let reader = SegmentReader::open(storage, self.first, None)?;
        let tail = recovery::read_tail(storage, self.first, reader.log())?;
        self.end = tail.next();
        self.used_bytes = tail.used_bytes();
        Ok(tail.cut().cloned())
    }
}

fn verify_snapshot(storage: &dyn Storage, horizon: Position, log: Option<LogId>) -> SnapshotReport {
    let mut report = SnapshotReport {
        horizon,
        epoch: None,
        block_count: 0,
        flaw: None,
    };
    match SnapshotReader::open(storage, horizon, log) {
        Ok(mut reader) => {
            report.epoch = Some(reader.epoch());
            report.flaw = reader.verify().err();
            report.block_count = reader.block_count();
        }
        Err(error) => report.flaw = Some(error),
    }
    report
}
