//! What can go wrong with a log, by who asked for what.

use super::codec;
use crate::ids::{LogId, Position};
use crate::storage::advice;
use std::path::PathBuf;

/// Why an append did not say "taken".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The entry is certainly not in the log, nor will it be.
    #[error("the entry was refused: {0}")]
    Refused(#[from] Refusal),
    /// The entry may or may not be in the log. Append it again, unchanged, to find out.
    #[error("it is unknown whether the entry is in the log: {0}")]
    Unknown(#[from] Doubt),
}

/// Why it is unknown what became of an append.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Doubt {
    /// No answer came, in time or at all.
    #[error("no answer came; append the same entry again to find out")]
    NoAnswer,
    /// It was written, and what was to make it durable failed.
    #[error(
        "{} could not be made durable ({kind}){}; reopen the log and append the same entry again",
        .path.display(),
        advice(*.kind)
    )]
    Unsynced {
        /// What could not be made durable.
        path: PathBuf,
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
    /// Whether an earlier opening of the log took it cannot be read.
    #[error("what was appended earlier cannot be read, and may hold it: {0}")]
    Unreadable(ReadError),
}

/// Why an entry was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The session or epoch of the guard is over.
    #[error("the session or epoch of its author is over")]
    Fenced,
    /// The encoded entry is too large.
    #[error("it takes {bytes} bytes, and at most {max} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// It cannot be written as it is.
    #[error("it cannot be encoded: {0}")]
    Codec(#[from] codec::Error),
    /// There is no room; the log goes on once there is.
    #[error("there is no room left at {}; make room and append again", .path.display())]
    Full {
        /// Where room is missing.
        path: PathBuf,
    },
    /// The engine cannot be reached or refuses to write now.
    #[error("the log cannot be written at {}: {kind}{}", .path.display(), advice(*.kind))]
    Unavailable {
        /// What could not be written.
        path: PathBuf,
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
    /// A sync failed earlier, or what is written was removed, so nothing that follows can be
    /// promised. Reopen the log.
    #[error(
        "{} could not be made durable ({kind}){}; nothing more is taken until the log is reopened",
        .path.display(),
        advice(*.kind)
    )]
    Poisoned {
        /// What could not be made durable.
        path: PathBuf,
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
    /// Too many appends wait for the writer. Append again once some were answered.
    #[error("{max} appends wait already; append again once some were answered")]
    Busy {
        /// How many may wait.
        max: usize,
    },
    /// The log was opened to be read only.
    #[error("the log was opened to be read only")]
    ReadOnly,
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}

/// Why reading cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// What was asked for has been trimmed away: load the snapshot and go on at its horizon.
    #[error("everything below {horizon} was trimmed; load the snapshot and go on there")]
    Trimmed {
        /// The first position that is retained.
        horizon: Position,
    },
    /// A position is missing that should be there.
    #[error("position {expected} is missing: {found} came instead")]
    Gap {
        /// What should have come.
        expected: Position,
        /// What came.
        found: Position,
    },
    /// This is another history than the one that was read so far.
    #[error("this is log {found}, not {expected}; positions of the other log mean nothing here")]
    WrongLog {
        /// The history read so far.
        expected: LogId,
        /// The history found.
        found: LogId,
    },
    /// Something newer than this library wrote here.
    #[error("{} is newer (version {version}) than this library reads ({known}); upgrade before opening", .path.display())]
    NewerFormat {
        /// What is newer.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The newest version known.
        known: u32,
    },
    /// A payload does not decode although its checksum holds.
    #[error("the payload at position {position} cannot be decoded: {source}")]
    Codec {
        /// Where it stands.
        position: Position,
        /// What is wrong with it.
        source: codec::Error,
    },
    /// Stored bytes are not what was written.
    #[error("{} is damaged at byte {offset}: {found}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What was found there.
        found: &'static str,
    },
    /// The log cannot be read now.
    #[error("{} cannot be read: {kind}{}", .path.display(), advice(*.kind))]
    Unavailable {
        /// What could not be read.
        path: PathBuf,
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}

/// Why a snapshot could not be read, written or committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The horizon is not above the one that is committed: a late or repeated attempt.
    #[error("a snapshot of horizon {wanted} comes too late: {committed} is committed")]
    Stale {
        /// The attempt's horizon.
        wanted: Position,
        /// The committed horizon.
        committed: Position,
    },
    /// The horizon lies beyond the end of the log.
    #[error("a snapshot cannot have horizon {wanted}: the log ends at {end}")]
    BeyondEnd {
        /// The attempt's horizon.
        wanted: Position,
        /// The next position to be written.
        end: Position,
    },
    /// The epoch in whose name it was written is over.
    #[error("the epoch in whose name the snapshot was written is over")]
    Fenced,
    /// Stored bytes are not what was written.
    #[error("snapshot {} is damaged at byte {offset}: {found}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What was found there.
        found: &'static str,
    },
    /// Something newer than this library wrote it.
    #[error("snapshot {} is newer (version {version}) than this library reads ({known}); upgrade before opening", .path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The newest version known.
        known: u32,
    },
    /// A block is too large.
    #[error("a block of {bytes} bytes is too large; at most {max} are allowed")]
    BlockTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// A sync of the log failed, or what is written was removed, so a snapshot of it might outlive
    /// it. Reopen the log.
    #[error(
        "{} could not be made durable ({kind}){}; reopen the log before a snapshot of it is taken",
        .path.display(),
        advice(*.kind)
    )]
    Poisoned {
        /// What could not be made durable.
        path: PathBuf,
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
    /// The log was opened to be read only.
    #[error("the log was opened to be read only")]
    ReadOnly,
    /// There is no room for it.
    #[error("there is no room for the snapshot at {}; make room and compact again", .path.display())]
    Full {
        /// Where room is missing.
        path: PathBuf,
    },
    /// It cannot be read or written now.
    #[error("snapshot {} is out of reach: {kind}{}", .path.display(), advice(*.kind))]
    Unavailable {
        /// What could not be read or written.
        path: PathBuf,
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}

/// Why not everything was trimmed that could have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrimError {
    /// Only what a committed snapshot covers may go.
    #[error(
        "cannot trim below {wanted}: the committed snapshot covers only what is below {committed}"
    )]
    BeyondSnapshot {
        /// What was asked for.
        wanted: Position,
        /// The committed horizon.
        committed: Position,
    },
    /// The log cannot be written now; trimming again later is safe.
    #[error("{} cannot be trimmed: {kind}{}", .path.display(), advice(*.kind))]
    Unavailable {
        /// What could not be removed.
        path: PathBuf,
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
    /// The snapshot that covers what was to be trimmed cannot be read. Nothing was removed.
    #[error("nothing is trimmed, since the snapshot cannot be read: {0}")]
    Snapshot(#[from] SnapshotError),
    /// The log was opened to be read only.
    #[error("the log was opened to be read only")]
    ReadOnly,
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}
