//! A log in files that this process only reads.

use super::builder::Snapshots;
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
use std::sync::Arc;

/// A log in files that another process may be writing; this one follows it. Clones are handles to
/// the same log.
#[derive(Clone, Debug)]
pub struct ReadOnlyFileLog {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    id: LogId,
    snapshots: Snapshots,
    /// Snapshots above it are left out.
    horizon_max: Option<Position>,
}

impl ReadOnlyFileLog {
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        snapshots: Snapshots,
    ) -> Result<Self, OpenError> {
        let chain =
            directory::read_settled(&*storage, |listing| recovery::found(&*storage, listing))?;
        Ok(Self {
            storage,
            clock,
            id: chain.log,
            snapshots,
            horizon_max: None,
        })
    }

    /// The same log as if it had no snapshot with a horizon above this one: for whoever is to see
    /// what was before the newest.
    #[must_use]
    pub fn with_snapshots_up_to(&self, horizon: Position) -> Self {
        Self {
            horizon_max: Some(horizon),
            ..self.clone()
        }
    }

    fn open_snapshot(&self, listing: &Listing) -> Result<Option<SnapshotReader>, SnapshotError> {
        let wanted = |horizon: &&Position| self.horizon_max.is_none_or(|max| **horizon <= max);
        for &horizon in listing.snapshots.iter().rev().filter(wanted) {
            let open = || SnapshotReader::open(&*self.storage, horizon, Some(self.id));
            if self.snapshots == Snapshots::AsTheyAre {
                return open().map(Some);
            }
            match open().and_then(|mut reader| reader.verify()) {
                Ok(()) => return open().map(Some),
                Err(SnapshotError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
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
        let newest =
            directory::read_settled(&*self.storage, |listing| self.open_snapshot(listing))?;
        Ok(newest.map(|reader| Box::new(reader) as Box<dyn SnapshotSource>))
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
