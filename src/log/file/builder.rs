//! How a log in files is opened.

use super::directory::{self, Listing};
use super::format::{SEGMENT_BYTES_MIN, header};
use super::group::{self, Memory};
use super::header::{Header, Kind};
use super::recovery::{self, End};
use super::shared::{Parts, Published, Shared};
use super::snapshot::SnapshotReader;
use super::spare::{Spare, TakeError};
use super::writer::{ActiveSegment, Setting, Writer};
use super::{
    Durability, FileLog, Found, ReadOnlyFileLog, SEGMENT_BYTES, SEGMENT_BYTES_MAX, SNAPSHOTS_KEPT,
    Threads,
};
use crate::clock::{BootClock, Clock};
use crate::ids::{LogId, Position, SessionToken};
use crate::log::codec::Dictionary;
use crate::log::{AppendError, Doubt, ReadError, SnapshotError};
use crate::pending;
#[cfg(unix)]
use crate::storage::FsStorage;
use crate::storage::{self, Storage};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;

/// Why a log could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory cannot be used: somebody else writes there, it is read-only or full, it does
    /// not exist, or whatever else the operating system reports.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// What is stored there is damaged, incomplete, newer, or of another log.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A snapshot is damaged, and the log cannot do without it.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The record that ends earlier sessions could not be appended.
    #[error("earlier sessions could not be ended: {0}")]
    Append(#[from] AppendError),
    /// A thread could not be started.
    #[error("a thread of the log could not be started: {kind}")]
    Thread {
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
    },
    /// The directory holds no log, and it may not be created here.
    #[error("{} holds no log", .path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
}

/// Says how to open a log in files.
///
/// # Examples
///
/// ```
/// use deedbook::log::file::{Durability, FileLog};
/// use std::time::Duration;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path();
/// let log = FileLog::builder(dir)
///     .segment_bytes(16 << 20)
///     .durability(Durability::Interval(Duration::from_millis(10)))
///     .open()?;
/// # Ok::<(), deedbook::log::file::OpenError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FileLogBuilder {
    place: Place,
    segment_bytes: u64,
    durability: Durability,
    snapshots_kept: usize,
    clock: Arc<dyn Clock>,
    new_log: Option<LogId>,
    threads: Threads,
    snapshots: Snapshots,
}

/// What becomes of a damaged snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Snapshots {
    /// Whoever reads it hears of the damage.
    AsTheyAre,
    /// An older one takes its place.
    WithoutDamaged,
}

#[derive(Clone, Debug)]
enum Place {
    #[cfg(unix)]
    Directory(PathBuf),
    Storage(Arc<dyn Storage>),
}

impl FileLogBuilder {
    #[cfg(unix)]
    pub(super) fn of_directory(dir: PathBuf) -> Self {
        Self::at(Place::Directory(dir))
    }

    /// A log that lives in any storage, for example in memory.
    pub fn on(storage: Arc<dyn Storage>) -> Self {
        Self::at(Place::Storage(storage))
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            segment_bytes: SEGMENT_BYTES,
            durability: Durability::default(),
            snapshots_kept: SNAPSHOTS_KEPT,
            clock: Arc::new(BootClock),
            new_log: None,
            threads: Threads::Own,
            snapshots: Snapshots::AsTheyAre,
        }
    }

    /// How large a segment is, in bytes, within [`SEGMENT_BYTES_MIN`] and [`SEGMENT_BYTES_MAX`]. A
    /// single larger entry gets a segment of its own. Default = [`SEGMENT_BYTES`].
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes.clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX);
        self
    }

    /// When an append is acknowledged. Default = [`Durability::Always`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How many snapshots are kept, at least 1, with all entries behind the oldest of them.
    /// Default = [`SNAPSHOTS_KEPT`].
    pub fn snapshots_kept(mut self, count: usize) -> Self {
        self.snapshots_kept = count.max(1);
        self
    }

    /// Where time comes from. Default = [`BootClock`].
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The id of the log, if it is created now. Default = 128 random bits.
    pub fn new_log(mut self, id: LogId) -> Self {
        self.new_log = Some(id);
        self
    }

    /// A damaged snapshot is not used, and the newest sound one takes its place with the entries
    /// behind it. Opening for writing reads all snapshots and gives damaged ones another name
    /// ([`FileLog::set_aside`]); opening for reading passes over them. Without this whoever reads a
    /// damaged snapshot gets an error that names it, and nothing is trimmed.
    ///
    /// Damage means a disk that is not to be trusted: this is for an operator to say.
    pub fn without_damaged_snapshots(mut self) -> Self {
        self.snapshots = Snapshots::WithoutDamaged;
        self
    }

    /// The log starts no threads: [`FileLog::drive`] does all the work, for simulations and tests.
    pub fn without_threads(mut self) -> Self {
        self.threads = Threads::None;
        self
    }

    /// Opens the log for writing, creating it if there is none. Ends all sessions of earlier
    /// openings.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; nothing is lost, and once the cause is gone opening succeeds.
    pub fn open(self) -> Result<FileLog, OpenError> {
        let storage: Arc<dyn Storage> = match &self.place {
            #[cfg(unix)]
            Place::Directory(dir) => Arc::new(FsStorage::create(dir)?),
            Place::Storage(storage) => Arc::clone(storage),
        };
        let lock = storage.lock()?;
        // Names that an earlier process did not get to sync are durable from here on.
        storage.sync()?;
        let mut listing = directory::list(&*storage)?;
        let end_min = listing.snapshots.last().copied().unwrap_or_default();
        let set_aside = match self.snapshots {
            Snapshots::AsTheyAre => Vec::new(),
            Snapshots::WithoutDamaged => recovery::set_damaged_aside(&*storage, &mut listing)?,
        };
        let spare = Spare::new(storage.clone(), self.segment_bytes);
        let (log, segments, end) = match recovery::chain(&*storage, &listing, None)? {
            Some(chain) => {
                let end = recover(&*storage, &listing, &chain, end_min)?;
                (chain.log, chain.segments, end)
            }
            None => {
                let log = self.new_log.unwrap_or_else(random_log);
                let end = create(&spare, log)?;
                (log, vec![end.segment.first], end)
            }
        };
        let setting = Setting {
            storage: storage.clone(),
            log,
            durability: self.durability,
            opened: SessionToken::at(end.next),
        };
        let memory = Memory {
            dictionary: end.dictionary,
            ..Memory::default()
        };
        let published = Published::new(end.next, segments);
        let parts = Parts {
            id: log,
            clock: self.clock,
            storage,
            snapshots_kept: self.snapshots_kept,
            writer: Writer::new(setting, end.segment, memory, end.next),
            spare,
            published,
            snapshots: listing.snapshots,
            lock,
        };
        let found = Found {
            cut: end.cut,
            set_aside,
        };
        start(Shared::new(parts), found, self.threads)
    }

    /// Opens the log for reading, whether or not another process writes it.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; [`OpenError::Empty`] if there is no log.
    pub fn open_read_only(self) -> Result<ReadOnlyFileLog, OpenError> {
        let storage: Arc<dyn Storage> = match &self.place {
            #[cfg(unix)]
            Place::Directory(dir) => Arc::new(FsStorage::existing(dir)?),
            Place::Storage(storage) => Arc::clone(storage),
        };
        ReadOnlyFileLog::open(storage, self.clock, self.snapshots)
    }
}

/// Makes an existing log ready to be written, and removes what a crash left over.
fn recover(
    storage: &dyn Storage,
    listing: &Listing,
    chain: &recovery::Chain,
    end_min: Position,
) -> Result<End, OpenError> {
    let last = chain.segments.last().copied().unwrap_or_default();
    let tail = recovery::read_tail(storage, last, chain.log)?;
    recovery::check_end(end_min, tail.next())?;
    if let (false, Some(&newest)) = (chain.leftovers.is_empty(), listing.snapshots.last()) {
        // What is removed can be had from this snapshot alone: it is read before.
        SnapshotReader::open(storage, newest, Some(chain.log))?.verify()?;
    }
    let end = tail.repair(storage)?;
    for &first in &chain.leftovers {
        storage.remove(&directory::segment_name(first))?;
    }
    for part in &listing.parts {
        storage.remove(part)?;
    }
    if !(chain.leftovers.is_empty() && listing.parts.is_empty()) {
        storage.sync()?;
    }
    Ok(end)
}

/// Creates the first segment of a log.
fn create(spare: &Spare, log: LogId) -> Result<End, OpenError> {
    let first = Position::ZERO.next();
    let header = Header {
        kind: Kind::Segment,
        log,
        start: first.get(),
        origin: 0,
    };
    let taken = spare.take(first, &header.encode(), 0);
    // In either case nobody was answered anything yet.
    let (file, size) = taken.map_err(|(TakeError::Make(error) | TakeError::Names(error))| error)?;
    Ok(End {
        segment: ActiveSegment {
            file,
            first,
            offset: header::BYTES as u64,
            size,
        },
        next: first,
        dictionary: Dictionary::default(),
        cut: None,
    })
}

/// Ends earlier sessions, then lets everybody in.
fn start(shared: Shared, found: Found, threads: Threads) -> Result<FileLog, OpenError> {
    let (answer, opened) = pending::channel();
    shared.write_now(VecDeque::from([group::opened(answer)]));
    let opened = opened.wait();
    opened.map_err(|_| AppendError::Unknown(Doubt::NoAnswer))??;
    FileLog::start(shared, found, threads).map_err(|error| OpenError::Thread { kind: error.kind() })
}

/// The standard library's hashers are seeded by the operating system: enough for an id that must
/// not be met twice and need not be secret.
pub(super) fn random_log() -> LogId {
    let half = || u128::from(RandomState::new().hash_one(0));
    LogId::new(half() << 64 | half())
}
