//! Why an attempt to compact did not do all that it was to do.

use crate::ids::Position;
use crate::log::{SnapshotError, TrimError};
use crate::{snapshot, table};

/// Why an attempt to compact did not do all that it was to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The log was not understood to its end. What was not understood must not be compacted away,
    /// so nothing was written and nothing trimmed.
    #[error("the log cannot be compacted, since it cannot be replayed: {0}")]
    Replay(#[from] table::Error),
    /// The snapshot could not be written; nothing of it is visible.
    #[error("the snapshot cannot be written: {0}")]
    Write(#[from] snapshot::Error),
    /// The snapshot was refused: it came too late, or its epoch is over. Nothing of it is visible.
    #[error("the snapshot cannot be published: {0}")]
    Publish(#[from] SnapshotError),
    /// The snapshot is published, but what it covers is still there. The next attempt trims it.
    #[error("the snapshot at {horizon} is published, but nothing was trimmed: {source}")]
    Trim {
        /// The published horizon.
        horizon: Position,
        /// Why nothing was trimmed.
        source: TrimError,
    },
    /// The compactor was stopped before it was done.
    #[error("the compactor was stopped")]
    Stopped,
    /// The compactor panicked, in this attempt or in one before. It does nothing more until it is
    /// started anew.
    #[error("the compactor panicked, and does nothing more until it is started anew")]
    Panicked,
    /// The system gave no thread.
    #[error("no thread for the compactor: {kind}")]
    NoThread {
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
}
