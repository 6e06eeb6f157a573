//! Why a command cannot do what it was asked.

use deedbook::ids::Position;
use deedbook::log::file::{CopyError, OpenError};
use deedbook::log::{AppendError, ReadError, SnapshotError};
use deedbook::reports::{self, ReadError as ReportError};
use deedbook::{compactor, planner, registry, sim, snapshot, storage, table};
use std::io;
use std::path::PathBuf;

/// Why a command cannot do what it was asked. Each message is one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder was expected.
    #[error("{} is not a folder; name the folder that holds the reports", path.display())]
    NotAFolder {
        /// What was named.
        path: PathBuf,
    },
    /// The folder holds no report.
    #[error(
        "there is no *.json in {}; put the load report of each broker there, one file a broker",
        path.display()
    )]
    NoReports {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds more reports than a cluster can have.
    #[error("there are {count} reports in {}; at most {max} make a cluster", path.display())]
    TooManyReports {
        /// The folder.
        path: PathBuf,
        /// How many it holds.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// A file is too large to be a load report.
    #[error(
        "{} is larger than {} MiB, too large for a load report; move it out of the folder",
        path.display(),
        bytes_max >> 20
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        bytes_max: u64,
    },
    /// A file holds no load report.
    #[error(
        "{} is no load report: {source}; mend it, or move it out of the folder",
        path.display()
    )]
    NoReport {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ReportError<serde_json::Error>,
    },
    /// The reports make no cluster.
    #[error(transparent)]
    Cluster(#[from] reports::Error),
    /// The planner cannot work as it was told to.
    #[error(transparent)]
    Planner(#[from] planner::Error),
    /// A strategy cannot be set that way.
    #[error("--set {key}={value}: {reason} ({strategy}); see docs/planner.md")]
    NoSetting {
        /// Which setting.
        key: String,
        /// What it was to be.
        value: String,
        /// Of which strategy.
        strategy: planner::Strategy,
        /// What is wrong with it.
        reason: String,
    },
    /// Splits cannot be set that way.
    #[error("--set-split {key}={value}: {reason}; see docs/planner.md")]
    NoSplitSetting {
        /// Which setting.
        key: String,
        /// What it was to be.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file holds no constraints.
    #[error("{} holds no constraints: {reason}; see docs/planner.md", path.display())]
    NoConstraints {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing to say about a name.
    #[error("no report has {name}; --explain takes a broker or a bundle by its full name")]
    NothingToExplain {
        /// The name.
        name: String,
    },
    /// A file holds no scenario.
    #[error("{} is no scenario: {reason}; see scenarios/ and docs/cli.md", path.display())]
    NoScenario {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, in a line.
        reason: String,
    },
    /// A log is to be written into a folder that holds something.
    #[error("{} is not empty; name a folder that is, or that is not there", path.display())]
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// There is no place for a temporary log.
    #[error("no temporary folder can be made: {0}; name one with --log")]
    Temporary(#[source] io::Error),
    /// A scenario could not be played to its end.
    #[error(transparent)]
    Play(#[from] sim::play::Error),
    /// A folder holds no log.
    #[error("{} holds no log", path.display())]
    NoLog {
        /// The folder.
        path: PathBuf,
    },
    /// A log cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A log's folder is out of reach.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// A record of a log cannot be read.
    #[error(transparent)]
    Record(#[from] ReadError),
    /// A log does not take an entry.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A snapshot of a log cannot be read or written.
    #[error(transparent)]
    LogSnapshot(#[from] SnapshotError),
    /// What a snapshot says cannot be read or written.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// A log cannot be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// What was at this position can no longer be told.
    #[error(
        "position {position} was trimmed away; ownership can be told from position {oldest} on"
    )]
    TrimmedAway {
        /// What was asked for.
        position: Position,
        /// The lowest position that can be asked for.
        oldest: Position,
    },
    /// The records at this position are gone.
    #[error("position {position} was trimmed away; the log begins with position {first}")]
    NotRetained {
        /// What was asked for.
        position: Position,
        /// The first position that is retained.
        first: Position,
    },
    /// There is nothing at this position yet.
    #[error("position {position} is not written yet: the log ends with position {last}")]
    NotWritten {
        /// What was asked for.
        position: Position,
        /// The highest position that can be asked for.
        last: Position,
    },
    /// What an earlier run left in the way.
    #[error(
        "{} is in the way, left by a run that did not end well; look at it and remove it",
        path.display()
    )]
    InTheWay {
        /// The folder.
        path: PathBuf,
    },
    /// A folder cannot be given its name.
    #[error("cannot rename {} to {}: {source}", from.display(), to.display())]
    Rename {
        /// Its name.
        from: PathBuf,
        /// The name it was to get.
        to: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Ownership cannot be rebuilt from a log.
    #[error(transparent)]
    Table(#[from] table::Error),
    /// A log cannot be compacted.
    #[error(transparent)]
    Compact(#[from] compactor::Error),
    /// No log can begin with what was imported.
    #[error("no log can begin with what is there: {0}; import it without --out to see all of it")]
    Founding(#[from] deedbook::foreign::FoundingError),
    /// An entry of a new log did not count.
    #[error("an entry of the new log was rejected: {0}")]
    Founded(#[source] deedbook::state::Rejection),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A log's members cannot be written.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// Somebody else leads the log.
    #[error("somebody else leads this log; stop the broker that has it open")]
    NotLeading,
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[source] io::Error),
}
