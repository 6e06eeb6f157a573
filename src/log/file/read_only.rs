//! A log in files that this process only reads.

use super::directory::{self, Listing};
use super::snapshot::SnapshotReader;
use super::tail::DirectoryTail;
use super::{LIMITS, OpenError, recovery};
use crate::clock::Clock;
use crate::ids::{Epoch, LogId, Position};
use crate::log::{
    Append, AppendResult, EventLog, Limits, ReadError, Refusal, SnapshotError, SnapshotSink,
    SnapshotSource, Tail, TrimError,
};
use crate::pending::{self, Pending};
use crate::storage::Storage;
use std::io::ErrorKind;
use std::sync::Arc;

/// How often a snapshot may vanish between being listed and being opened before that is an error.
const ATTEMPTS_MAX: usize = 8;

/// A log in files that another process may be writing; this one follows it. Clones are handles to
/// the same log.
#[derive(Clone, Debug)]
pub struct ReadOnlyFileLog {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    id: LogId,
}

impl ReadOnlyFileLog {
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        for _ in 0..ATTEMPTS_MAX {
            let listing = directory::list(&*storage)?;
            match recovery::chain(&*storage, &listing, None) {
                Ok(Some(chain)) => {
                    let id = chain.log;
                    return Ok(Self { storage, clock, id });
                }
                Ok(None) => break,
                // A segment was trimmed since it was listed.
                Err(ReadError::Unavailable {
                    kind: ErrorKind::NotFound,
                    ..
                }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let path = storage.path().to_owned();
        Err(OpenError::Empty { path })
    }
}

impl EventLog for ReadOnlyFileLog {
    fn id(&self) -> LogId {
        self.id
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    /// Refuses: [`Refusal::ReadOnly`].
    fn append(&self, _: Append) -> Pending<AppendResult> {
        pending::ready(Err(Refusal::ReadOnly.into()))
    }

    fn tail(&self, from: Position) -> Result<Box<dyn Tail>, ReadError> {
        let (storage, clock) = (self.storage.clone(), self.clock.clone());
        Ok(Box::new(DirectoryTail::new(storage, clock, self.id, from)?))
    }

    fn snapshot(&self) -> Result<Option<Box<dyn SnapshotSource>>, SnapshotError> {
        let mut last = SnapshotError::Closed;
        for _ in 0..ATTEMPTS_MAX {
            let Listing { snapshots, .. } =
                directory::list(&*self.storage).map_err(|error| super::snapshot::failed(&error))?;
            let Some(&horizon) = snapshots.last() else {
                return Ok(None);
            };
            match SnapshotReader::open(&*self.storage, horizon, Some(self.id)) {
                Ok(reader) => return Ok(Some(Box::new(reader))),
                // A newer one took its place since it was listed.
                Err(
                    error @ SnapshotError::Unavailable {
                        kind: ErrorKind::NotFound,
                        ..
                    },
                ) => {
                    last = error;
                }
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Refuses: [`SnapshotError::ReadOnly`].
    fn put_snapshot(&self, _: Position, _: Epoch) -> Result<Box<dyn SnapshotSink>, SnapshotError> {
        Err(SnapshotError::ReadOnly)
    }

    /// Refuses: [`TrimError::ReadOnly`].
    fn trim(&self, _: Position) -> Result<(), TrimError> {
        Err(TrimError::ReadOnly)
    }
}
