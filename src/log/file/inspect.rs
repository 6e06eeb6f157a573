//! Looking into the files of a log without opening it: every record, and what is wrong where.
//!
//! Reads only, takes no lock, and works beside a process that writes; what that one is just writing
//! may then show as a torn end.

use super::OpenError;
use super::directory;
use super::reader::LogReader;
use super::recovery::{self, Cut};
use super::segment::{SegmentReader, Step};
use super::snapshot::SnapshotReader;
use crate::ids::{Epoch, LogId, Position};
use crate::log::{Payload, ReadError, SnapshotError};
use crate::storage::Storage;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// A record and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Where it stands in the log.
    pub position: Position,
    /// The segment that holds it.
    pub path: PathBuf,
    /// Where in the segment its frame begins, in bytes. Records that were written together share a
    /// frame.
    pub offset: u64,
    /// What it says.
    pub payload: Payload,
}

/// All retained records of a log, in order. Ends at a torn end, and with the first error.
#[derive(Debug)]
pub struct Records {
    reader: LogReader,
    segments: Vec<Position>,
    ready: VecDeque<StoredRecord>,
    has_failed: bool,
}

/// Begins to read all retained records.
///
/// # Errors
///
/// [`OpenError::Empty`] if there is no log; [`OpenError`] if it cannot be read.
///
/// # Examples
///
/// ```
/// use deedbook::log::file::{FileLog, inspect};
/// use deedbook::log::{Member, Payload};
/// use deedbook::storage::FsStorage;
/// use std::sync::Arc;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path();
/// FileLog::open(dir)?.close();
/// let records: Vec<_> = inspect::records(Arc::new(FsStorage::existing(dir)?))?.collect();
/// assert_eq!(records[0].as_ref().unwrap().payload, Payload::Member(Member::Opened));
/// # Ok::<(), deedbook::log::file::OpenError>(())
/// ```
pub fn records(storage: Arc<dyn Storage>) -> Result<Records, OpenError> {
    let listing = directory::list(&*storage)?;
    let Some(chain) = recovery::chain(&*storage, &listing, None)? else {
        let path = storage.path().to_owned();
        return Err(OpenError::Empty { path });
    };
    let first = chain.segments.first().copied().unwrap_or_default();
    Ok(Records {
        reader: LogReader::new(storage, chain.log, first),
        segments: chain.segments,
        ready: VecDeque::new(),
        has_failed: false,
    })
}

impl Iterator for Records {
    type Item = Result<StoredRecord, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() && !self.has_failed {
            let segments = &self.segments;
            match self.reader.read(&|| Ok(segments.clone())) {
                Ok(payloads) => {
                    let segment = self.reader.segment()?;
                    let (path, offset) = (segment.path().to_owned(), segment.frame_offset());
                    self.ready = payloads
                        .into_iter()
                        .map(|(position, payload)| StoredRecord {
                            position,
                            path: path.clone(),
                            offset,
                            payload,
                        })
                        .collect();
                }
                Err(error) => {
                    self.has_failed = true;
                    return Some(Err(error));
                }
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

/// What is in the files of a log, and whether it is as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    let listing = directory::list(storage)?;
    let (chain, mut flaw) = match recovery::chain(storage, &listing, None) {
        Ok(chain) => (chain, None),
        Err(error) => (None, Some(error)),
    };
    let log = chain.as_ref().map(|chain| chain.log);
    let mut report = Report {
        log,
        segments: Vec::new(),
        snapshots: Vec::new(),
        cut: None,
        flaw: None,
    };
    let firsts = chain.map_or(listing.segments.clone(), |chain| chain.segments);
    for (index, &first) in firsts.iter().enumerate() {
        let following = firsts.get(index + 1).copied();
        let segment = match following {
            Some(following) => verify_sealed(storage, first, following),
            None => verify_last(storage, first, &mut report),
        };
        report.segments.push(segment);
    }
    if let Some(last) = report.segments.last()
        && last.flaw.is_none()
    {
        flaw = flaw.or(recovery::check_horizon(&listing, last.end).err());
    }
    report.flaw = flaw;
    for &horizon in &listing.snapshots {
        report
            .snapshots
            .push(verify_snapshot(storage, horizon, log));
    }
    Ok(report)
}

/// A segment with a successor: frames up to it, then zeroes.
fn verify_sealed(storage: &dyn Storage, first: Position, following: Position) -> SegmentReport {
    let mut report = SegmentReport::new(storage, first);
    report.flaw = report.read(storage, following).err();
    report
}

impl SegmentReport {
    fn new(storage: &dyn Storage, first: Position) -> Self {
        Self {
            path: storage.path().join(directory::segment_name(first)),
            first,
            end: first,
            used_bytes: 0,
            flaw: None,
        }
    }

    fn read(&mut self, storage: &dyn Storage, following: Position) -> Result<(), ReadError> {
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
}

fn verify_last(storage: &dyn Storage, first: Position, report: &mut Report) -> SegmentReport {
    let mut segment = SegmentReport::new(storage, first);
    let tail = SegmentReader::open(storage, first, None)
        .and_then(|reader| recovery::read_tail(storage, first, reader.log()));
    match tail {
        Ok(tail) => {
            segment.end = tail.next();
            segment.used_bytes = tail.used_bytes();
            report.cut = tail.cut().cloned();
        }
        Err(error) => segment.flaw = Some(error),
    }
    segment
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
