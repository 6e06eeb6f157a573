//! What can go wrong with files.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why an operation on a file or its directory failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no room left on the disk.
    #[error("there is no room left at {}", .path.display())]
    Full {
        /// What was to be written.
        path: PathBuf,
    },
    /// There is no room left in a quota.
    #[error("the quota is used up at {}{}", .path.display(), advice(ErrorKind::QuotaExceeded))]
    Quota {
        /// What was to be written.
        path: PathBuf,
    },
    /// The file system takes no writes.
    #[error(
        "{} lies on a file system that is read-only{}",
        .path.display(),
        advice(ErrorKind::ReadOnlyFilesystem)
    )]
    ReadOnly {
        /// What was to be written.
        path: PathBuf,
    },
    /// This process may not do it.
    #[error(
        "permission to use {} is missing{}",
        .path.display(),
        advice(ErrorKind::PermissionDenied)
    )]
    Permission {
        /// What was asked for.
        path: PathBuf,
    },
    /// It is not there.
    #[error("{} does not exist", .path.display())]
    NotFound {
        /// What was asked for.
        path: PathBuf,
    },
    /// It is there already.
    #[error("{} exists already", .path.display())]
    AlreadyExists {
        /// What was to be created.
        path: PathBuf,
    },
    /// Another writer holds the lock of this directory.
    #[error("{} is open for writing elsewhere; close it there, or open it read-only", .path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// Anything else that the operating system reports.
    #[error("{}: {kind}", .path.display())]
    Io {
        /// What was asked for.
        path: PathBuf,
        /// The operating system's kind of error.
        kind: ErrorKind,
    },
}

/// What to do about a kind of error, to go behind a message; nothing where there is no advice.
pub(crate) const fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::QuotaExceeded => "; make room, or ask for more",
        ErrorKind::ReadOnlyFilesystem => "; mount it writable, or only read the log",
        ErrorKind::PermissionDenied => "; see who owns it and what its mode allows",
        ErrorKind::NotFound => "; bring back what was moved or removed",
        _ => "",
    }
}

impl Error {
    /// What the operating system said about `path`.
    #[must_use]
    pub fn of(path: &Path, error: &io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::StorageFull => Self::Full { path },
            ErrorKind::QuotaExceeded => Self::Quota { path },
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            ErrorKind::PermissionDenied => Self::Permission { path },
            ErrorKind::NotFound => Self::NotFound { path },
            ErrorKind::AlreadyExists => Self::AlreadyExists { path },
            kind => Self::Io { path, kind },
        }
    }

    /// What it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Full { path }
            | Self::Quota { path }
            | Self::ReadOnly { path }
            | Self::Permission { path }
            | Self::NotFound { path }
            | Self::AlreadyExists { path }
            | Self::Locked { path }
            | Self::Io { path, .. } => path,
        }
    }

    /// The operating system's kind of error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Full { .. } => ErrorKind::StorageFull,
            Self::Quota { .. } => ErrorKind::QuotaExceeded,
            Self::ReadOnly { .. } => ErrorKind::ReadOnlyFilesystem,
            Self::Permission { .. } => ErrorKind::PermissionDenied,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::AlreadyExists { .. } => ErrorKind::AlreadyExists,
            Self::Locked { .. } => ErrorKind::WouldBlock,
            Self::Io { kind, .. } => *kind,
        }
    }
}
