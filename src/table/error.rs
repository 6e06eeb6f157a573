//! Why a table cannot be built or cannot go on.

use crate::ids::{BundleId, Namespace, Position};
use crate::log::{ReadError, SnapshotError};
use crate::snapshot;

/// Why a table cannot be built or cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The log's rules were raised above what this library applies.
    #[error(
        "the log follows rules of version {version}, this library knows {known}; upgrade before reading on"
    )]
    NewerRules {
        /// The version in force.
        version: u32,
        /// The newest version known.
        known: u32,
    },
    /// A snapshot has a row twice.
    #[error("the snapshot has {bundle} twice")]
    Twice {
        /// The bundle.
        bundle: BundleId,
    },
    /// A snapshot has a row of a namespace that it does not know.
    #[error("the snapshot has {bundle}, but not its namespace")]
    Stray {
        /// The bundle.
        bundle: BundleId,
    },
    /// A snapshot's row was changed at or after the snapshot's horizon.
    #[error("the snapshot has {bundle} with a version that lies beyond its horizon")]
    FromTheFuture {
        /// The bundle.
        bundle: BundleId,
    },
    /// A namespace's bundles overlap or leave a gap.
    #[error(
        "the bundles of {namespace} do not partition its key space: {key:#010x} belongs to none or to two"
    )]
    NotWhole {
        /// The namespace.
        namespace: Namespace,
        /// The first key where it goes wrong.
        key: u32,
    },
    /// The snapshot is not to be read.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// The log is not to be read.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// What follows the newest snapshot is gone: history has a hole.
    #[error(
        "everything below {trimmed} was trimmed, but no snapshot leads beyond {horizon}; restore the log from a backup"
    )]
    SnapshotBehind {
        /// The next position to read: the newest snapshot's horizon, or the first position if there
        /// is none.
        horizon: Position,
        /// The first position that is retained.
        trimmed: Position,
    },
}

impl From<SnapshotError> for Error {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error.into())
    }
}
