//! Looking into the files of a log without opening it: every record, and what is wrong where.
//!
//! Reads only, takes no lock, and works beside a process that writes; what that one is just writing
//! may then show as a torn end.

mod stat;
mod verify;

pub use stat::{SegmentStat, SnapshotStat, Stat, stat};
pub use verify::{Report, SegmentReport, SnapshotReport, Verification, verify};

use super::reader::LogReader;
use super::{OpenError, directory, recovery};
use crate::ids::Position;
use crate::log::{Payload, ReadError};
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

/// All retained records of a log, in order. Ends at the present end, at a torn one, and with the
/// first error.
#[derive(Debug)]
pub struct Records {
    storage: Arc<dyn Storage>,
    reader: LogReader,
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
    records_from(storage, Position::ZERO)
}

/// Begins to read the retained records from a position on. Of the files before it nothing is read
/// but their headers.
///
/// # Errors
///
/// As [`records`].
pub fn records_from(storage: Arc<dyn Storage>, from: Position) -> Result<Records, OpenError> {
    let chain = directory::read_settled(&*storage, |listing| recovery::found(&*storage, listing))?;
    let first = chain.segments.first().copied().unwrap_or_default();
    Ok(Records {
        reader: LogReader::new(storage.clone(), chain.log, first.max(from)),
        storage,
        ready: VecDeque::new(),
        has_failed: false,
    })
}

impl Iterator for Records {
    type Item = Result<StoredRecord, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() && !self.has_failed {
            let storage = &*self.storage;
            match self.reader.read(&|| directory::segments(storage)) {
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
