//! The log in files: one directory, one process that writes, any number that follow.
//!
//! docs/format.md describes every byte, and what a crash leaves at every step.
//!
//! From the bottom: `format` holds the numbers, `header`, `frame` and `block` turn values into
//! bytes and back and know nothing of files; `directory`, `segment`, `reader` and `snapshot` read
//! and write files; `group` and `writer` are the step machine that appends; `recovery` opens;
//! `queue` says which thread runs the machine; `shared` puts locks around it; `inspect`, `copy` and
//! `repair` serve operators; the types here are its handles.

mod block;
mod builder;
mod copy;
mod directory;
mod format;
mod frame;
mod group;
mod header;
pub mod inspect;
mod known;
mod queue;
mod read_only;
mod reader;
mod recovery;
pub mod repair;
mod segment;
mod shared;
mod snapshot;
mod spare;
mod tail;
mod writer;

pub use builder::{FileLogBuilder, OpenError};
pub use copy::{Copied, CopyError, Copying, Identity};
pub use format::{SEGMENT_BYTES_MIN, SNAPSHOT_BLOCK_BYTES_MAX};
pub use queue::PENDING_APPENDS_MAX;
pub use read_only::ReadOnlyFileLog;
pub use recovery::Cut;

use super::{
    Append, AppendResult, ENTRY_BYTES_MAX, EventLog, Guard, Limits, Member, MemberLog, Payload,
    ReadError, SnapshotError, SnapshotSink, SnapshotSource, Tail, TrimError,
};
use crate::ids::{Epoch, LogId, Position};
use crate::pending::Pending;
use crate::sync::Mutex;
use crate::sync::thread::{self, JoinHandle};
use shared::Shared;
use snapshot::SnapshotWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tail::LiveTail;

/// The usual size of a segment, in bytes: 64 MiB.
pub const SEGMENT_BYTES: u64 = 64 << 20;

/// The largest segment that can be asked for, in bytes.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// How many snapshots are kept, with the entries behind them.
pub const SNAPSHOTS_KEPT: usize = 2;

/// When an append is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Once it was synced: it survives a loss of power. The default.
    #[default]
    Always,
    /// Once the operating system has it; all is synced after this time at the latest.
    Interval(Duration),
    /// Once the operating system has it, which syncs when it sees fit.
    Never,
}

/// A log in files, open for writing. Clones are handles to the same log; the last one closes it.
///
/// # Examples
///
/// ```
/// use deedbook::log::file::FileLog;
/// use deedbook::log::{EventLog, Member, MemberLog};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path();
/// let log = FileLog::open(dir)?;
/// let joined = log.append_member(Member::Joined { broker: "b:1".parse().unwrap() });
/// assert!(joined.wait().unwrap().is_ok()); // it is on the disk
///
/// // Nobody else can write here meanwhile, but everybody can read.
/// assert!(FileLog::open(dir).is_err());
/// assert_eq!(FileLog::open_read_only(dir)?.id(), log.id());
/// # Ok::<(), deedbook::log::file::OpenError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileLog {
    shared: Arc<Shared>,
    owner: Arc<Owner>,
}

/// Closes the log when the last handle goes.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    /// Guards the threads until they are joined; nothing else is locked while it is held.
    workers: Mutex<Vec<JoinHandle<()>>>,
    found: Found,
}

/// What opening a log found and dealt with.
#[derive(Debug, Default)]
struct Found {
    cut: Option<Cut>,
    set_aside: Vec<PathBuf>,
}

/// Whether the log has threads of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    Own,
    /// Whoever calls [`FileLog::drive`] does the work.
    None,
}

impl FileLog {
    /// Opens the log in a directory, creating both if need be, with what
    /// [`builder`](Self::builder) sets by default. Ends all sessions of earlier openings.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    #[cfg(unix)]
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, OpenError> {
        Self::builder(dir).open()
    }

    /// Opens the log in a directory for reading, whether or not another process writes it.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    #[cfg(unix)]
    pub fn open_read_only(dir: impl Into<PathBuf>) -> Result<ReadOnlyFileLog, OpenError> {
        Self::builder(dir).open_read_only()
    }

    /// Says how to open the log in a directory.
    #[cfg(unix)]
    pub fn builder(dir: impl Into<PathBuf>) -> FileLogBuilder {
        FileLogBuilder::of_directory(dir.into())
    }

    fn start(shared: Shared, found: Found, threads: Threads) -> Result<Self, std::io::Error> {
        let shared = Arc::new(shared);
        let owner = Arc::new(Owner {
            shared: Arc::clone(&shared),
            workers: Mutex::default(),
            found,
        });
        if threads == Threads::Own {
            // If one cannot be started, dropping the owner ends those that were.
            owner.spawn("deedbook-log", Shared::work)?;
            owner.spawn("deedbook-log-spare", |shared| shared.spare.work())?;
            shared.spare.order();
        }
        Ok(Self { shared, owner })
    }

    /// The next position to be written.
    #[must_use]
    pub fn end(&self) -> Position {
        self.shared.published.lock().end
    }

    /// The torn write that opening this log cut off, if there was one.
    #[must_use]
    pub fn cut(&self) -> Option<&Cut> {
        self.owner.found.cut.as_ref()
    }

    /// Damaged snapshots, under the names that opening this log gave them
    /// [on an operator's word](FileLogBuilder::without_damaged_snapshots).
    #[must_use]
    pub fn set_aside(&self) -> &[PathBuf] {
        &self.owner.found.set_aside
    }

    /// Writes what was submitted, as one group, and answers it; false if there was nothing, or
    /// another thread is about to. For logs opened [without threads](FileLogBuilder::without_threads).
    pub fn drive(&self) -> bool {
        self.shared.drive()
    }

    /// Writes and syncs what was submitted, ends all tails and gives the directory free. Appends
    /// that come later are refused.
    pub fn close(&self) {
        self.owner.close();
    }
}

impl Owner {
    fn spawn(&self, name: &str, work: fn(&Shared)) -> Result<(), std::io::Error> {
        let shared = Arc::clone(&self.shared);
        let worker = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let exit = Exit(&shared);
                work(exit.0);
            })?;
        self.workers.lock().push(worker);
        Ok(())
    }

    fn close(&self) {
        self.shared.begin_close();
        let workers = std::mem::take(&mut *self.workers.lock());
        for worker in workers {
            // The last handle may go in what a worker calls: it cannot wait for itself.
            if worker.thread().id() != thread::current().id() {
                // A panic was dealt with when it happened.
                let _ = worker.join();
            }
        }
        self.shared.end_close();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.close();
    }
}

/// Sees to it that nobody waits for a worker that died of a mistake of ours.
struct Exit<'a>(&'a Shared);

impl Drop for Exit<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abandon();
        }
    }
}

const LIMITS: Limits = Limits {
    entry_bytes_max: ENTRY_BYTES_MAX,
    session_ttl_min: Duration::ZERO,
    contiguous: true,
    guards: true,
    members_in_order: true,
};

impl EventLog for FileLog {
    fn id(&self) -> LogId {
        self.shared.id
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn append(&self, append: Append) -> Pending<AppendResult> {
        self.shared
            .submit(Payload::Entry(append.entry), append.guard)
    }

    fn tail(&self, from: Position) -> Result<Box<dyn Tail>, ReadError> {
        let tail = LiveTail::new(Arc::clone(&self.shared), from)?;
        Ok(Box::new(tail))
    }

    fn snapshot(&self) -> Result<Option<Box<dyn SnapshotSource>>, SnapshotError> {
        let newest = self.shared.snapshot()?;
        Ok(newest.map(|reader| Box::new(reader) as Box<dyn SnapshotSource>))
    }

    fn put_snapshot(
        &self,
        horizon: Position,
        epoch: Epoch,
    ) -> Result<Box<dyn SnapshotSink>, SnapshotError> {
        let shared = Arc::clone(&self.shared);
        shared.may_commit(horizon, epoch)?;
        let storage = shared.storage.clone();
        let attempt = shared.next_attempt();
        let writer = with_room(&shared, || {
            SnapshotWriter::create(storage.clone(), shared.id, horizon, epoch, attempt)
        })?;
        Ok(Box::new(Sink {
            shared,
            writer,
            epoch,
        }))
    }

    fn trim(&self, horizon: Position) -> Result<(), TrimError> {
        self.shared.trim(horizon)
    }
}

impl MemberLog for FileLog {
    fn append_member(&self, member: Member) -> Pending<AppendResult> {
        self.shared.submit(Payload::Member(member), Guard::None)
    }
}

#[derive(Debug)]
struct Sink {
    shared: Arc<Shared>,
    writer: SnapshotWriter,
    epoch: Epoch,
}

/// Tries again, if the disk is full, with the room of the spare segment: a snapshot makes more room
/// than it takes.
fn with_room<T>(
    shared: &Shared,
    mut write: impl FnMut() -> Result<T, SnapshotError>,
) -> Result<T, SnapshotError> {
    match write() {
        Err(SnapshotError::Full { .. }) => {
            shared.spare.give_up();
            write()
        }
        result => result,
    }
}

impl SnapshotSink for Sink {
    fn write_block(&mut self, block: &[u8]) -> Result<(), SnapshotError> {
        with_room(&self.shared, || self.writer.write_block(block))
    }

    fn commit(mut self: Box<Self>) -> Result<(), SnapshotError> {
        with_room(&self.shared, || self.writer.write_footer())?;
        self.writer.sync()?;
        let writer = &mut self.writer;
        self.shared
            .commit_snapshot(writer.horizon(), self.epoch, || writer.publish())
    }
}
