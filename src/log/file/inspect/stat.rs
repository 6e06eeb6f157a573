//! What there is, by names, headers and sizes; only the last segment is read.

use crate::ids::{LogId, Position};
use crate::log::file::OpenError;
use crate::log::file::directory::{self, Listing, SPARE_RAW, SPARE_READY};
use crate::log::file::recovery::{self, Cut};
use crate::storage::{self, Access, Storage};
use std::path::PathBuf;

/// What a log's directory holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Which history it is.
    pub log: LogId,
    /// The segments, in order; there is at least one.
    pub segments: Vec<SegmentStat>,
    /// The snapshots, in order.
    pub snapshots: Vec<SnapshotStat>,
    /// How many bytes wait to become segments.
    pub spare_bytes: u64,
    /// The next position that will be written.
    pub end: Position,
    /// How many bytes of the last segment are written.
    pub last_used_bytes: u64,
    /// A torn write at the end, which the next opening will cut.
    pub cut: Option<Cut>,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentStat {
    /// The file.
    pub path: PathBuf,
    /// Its first position.
    pub first: Position,
    /// Its size, zeroes at the end included.
    pub bytes: u64,
}

/// One snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotStat {
    /// The file.
    pub path: PathBuf,
    /// The next position to read after it.
    pub horizon: Position,
    /// Its size.
    pub bytes: u64,
}

impl Stat {
    /// The first position that is retained.
    #[must_use]
    pub fn first(&self) -> Position {
        self.segments
            .first()
            .map_or(self.end, |segment| segment.first)
    }

    /// The horizon of the newest snapshot; zero without one.
    #[must_use]
    pub fn horizon(&self) -> Position {
        let newest = self.snapshots.last();
        newest.map_or(Position::ZERO, |snapshot| snapshot.horizon)
    }

    /// The lowest `next` of a table that can still be rebuilt: the horizon of the oldest snapshot
    /// whose entries are all there, or 1 if the log was never trimmed.
    #[must_use]
    pub fn rebuilt_from(&self) -> Position {
        let first = self.first();
        if first <= Position::ZERO.next() {
            return first;
        }
        let mut horizons = self.snapshots.iter().map(|snapshot| snapshot.horizon);
        horizons
            .find(|horizon| *horizon >= first)
            .unwrap_or(self.end)
    }
}

/// Says what a log's directory holds.
///
/// # Errors
///
/// [`OpenError::Empty`] if there is no log; [`OpenError`] if the header of a segment, or the last
/// segment, cannot be read. Of snapshots no more is read than that they are there.
///
/// # Examples
///
/// ```
/// use deedbook::ids::Position;
/// use deedbook::log::file::{FileLog, inspect};
/// use deedbook::storage::FsStorage;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path();
/// FileLog::open(dir)?.close();
/// let stat = inspect::stat(&FsStorage::existing(dir)?)?;
/// assert_eq!(stat.end, Position::new(2)); // the opening stands at 1
/// assert_eq!(stat.rebuilt_from(), Position::new(1));
/// # Ok::<(), deedbook::log::file::OpenError>(())
/// ```
pub fn stat(storage: &dyn Storage) -> Result<Stat, OpenError> {
    directory::read_settled(storage, |listing| look(storage, listing))
}

fn look(storage: &dyn Storage, listing: &Listing) -> Result<Stat, OpenError> {
    let chain = recovery::found(storage, listing)?;
    let size = |name: &str| storage.open(name, Access::Read)?.size();
    let mut segments = Vec::new();
    for &first in &chain.segments {
        let name = directory::segment_name(first);
        segments.push(SegmentStat {
            bytes: size(&name)?,
            path: storage.path().join(name),
            first,
        });
    }
    let mut snapshots = Vec::new();
    for &horizon in &listing.snapshots {
        let name = directory::snapshot_name(horizon);
        snapshots.push(SnapshotStat {
            bytes: size(&name)?,
            path: storage.path().join(name),
            horizon,
        });
    }
    let last = chain.segments.last().copied().unwrap_or_default();
    let tail = recovery::read_tail(storage, last, chain.log)?;
    if !directory::segments(storage)?.contains(&last) {
        // It was trimmed meanwhile, and what was read may be of its next life.
        let path = storage.path().join(directory::segment_name(last));
        return Err(storage::Error::NotFound { path }.into());
    }
    recovery::check_end(
        listing.snapshots.last().copied().unwrap_or_default(),
        tail.next(),
    )?;
    let spare = |name| match size(name) {
        Err(storage::Error::NotFound { .. }) => Ok(0),
        size => size,
    };
    Ok(Stat {
        log: chain.log,
        segments,
        snapshots,
        spare_bytes: spare(SPARE_RAW)? + spare(SPARE_READY)?,
        end: tail.next(),
        last_used_bytes: tail.used_bytes(),
        cut: tail.cut().cloned(),
    })
}
