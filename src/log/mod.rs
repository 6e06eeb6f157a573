//! The event log: one total order of entries, and the seam that every engine fills.
//!
//! Above it stand snapshots, the table view and the protocol; it knows of the layers below only
//! what an entry is. To it a snapshot is opaque blocks under a horizon.

pub mod codec;
mod error;
pub mod file;
mod member;
mod memory;
mod stored;

pub use error::{AppendError, Doubt, ReadError, Refusal, SnapshotError, TrimError};
pub use member::{Leader, Member, MemberInfo, Members};
pub use memory::MemoryLog;
pub(crate) use stored::{StoredName, StoredState};

use crate::clock::Tick;
use crate::ids::{Epoch, LogId, Position, SessionToken};
use crate::pending::Pending;
use crate::state::Entry;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// The largest encoded entry, in bytes, on every engine.
pub const ENTRY_BYTES_MAX: usize = 1 << 20;

/// What a log carries: entries of brokers and, where membership is in the log's order, members
/// coming and going.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// An entry.
    Entry(Arc<Entry>),
    /// A member came, left, or was elected.
    Member(Member),
}

/// What is asked of [`EventLog::append`].
#[derive(Clone, Debug)]
pub struct Append {
    /// The entry; its [`id`](Entry::id) makes a repeated append the same append.
    pub entry: Arc<Entry>,
    /// What the engine checks before it takes the entry.
    pub guard: Guard,
}

/// What must hold for an append to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Nothing.
    None,
    /// The session is still alive.
    Session(SessionToken),
    /// The epoch is still the leader's.
    Epoch(Epoch),
}

/// A taken append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Where the entry stands.
    pub position: Position,
    /// Whether an earlier try had put it there.
    pub already: bool,
}

/// How an append ended. `Err(Unknown)` and an abandoned answer both mean: ask again, with the same
/// entry.
pub type AppendResult = Result<Appended, AppendError>;

/// What an engine can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest encoded entry, in bytes.
    pub entry_bytes_max: usize,
    /// The shortest time to live of a session.
    pub session_ttl_min: Duration,
    /// Whether each position follows the one before it without a step.
    pub contiguous: bool,
    /// Whether the engine itself refuses an append whose guard does not hold.
    pub guards: bool,
    /// Whether members come and go in the log's own order.
    pub members_in_order: bool,
}

/// One item of a tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TailItem {
    /// A payload and where it stands.
    Payload {
        /// Its position.
        position: Position,
        /// What stands there.
        payload: Payload,
    },
    /// Everything that was in the log when this was asked has been read; the next to read is at or
    /// after `next`.
    CaughtUp {
        /// The next position to read.
        next: Position,
    },
}

impl TailItem {
    /// The next position to read after it.
    #[must_use]
    pub const fn next(&self) -> Position {
        match self {
            Self::Payload { position, .. } => position.next(),
            Self::CaughtUp { next } => *next,
        }
    }
}

/// One totally ordered, append-only log of entries that a cluster shares.
///
/// An implementation must:
///
/// - give every taken entry a position greater than any before it, and never use one again;
/// - answer an append only once the entry will survive what the engine promises to survive;
/// - take an entry with a known [`id`](Entry::id) no second time while it is retained, and answer
///   with the first position;
/// - refuse an append whose guard does not hold, if [`Limits::guards`] says so;
/// - show every reader the same payloads at the same positions, in order, leaving out none above
///   the horizon;
/// - move the horizon only forward, and trim nothing above it.
pub trait EventLog: Send + Sync + Debug {
    /// Which history this is.
    fn id(&self) -> LogId;

    /// What this engine can do.
    fn limits(&self) -> Limits;

    /// Submits an entry and returns at once.
    fn append(&self, append: Append) -> Pending<AppendResult>;

    /// Reads from `from` on, which is the next position to read, and follows.
    ///
    /// # Errors
    ///
    /// [`ReadError::Trimmed`] if `from` lies below what is retained: load the snapshot, take the
    /// difference, go on at its horizon. Everything else means: stop and report.
    fn tail(&self, from: Position) -> Result<Box<dyn Tail>, ReadError>;

    /// The newest snapshot, if there is one.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if it cannot be read.
    fn snapshot(&self) -> Result<Option<Box<dyn SnapshotSource>>, SnapshotError>;

    /// Begins a snapshot of everything below `horizon`, in the name of the leader of `epoch`.
    /// Nothing of it is visible until it is committed.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if `horizon` is not above the present one, or there is no room.
    fn put_snapshot(
        &self,
        horizon: Position,
        epoch: Epoch,
    ) -> Result<Box<dyn SnapshotSink>, SnapshotError>;

    /// Nothing below `horizon` is needed any more, and may go. How much of it is kept nevertheless,
    /// for history and for readers that lag, is the engine's own setting.
    ///
    /// # Errors
    ///
    /// [`TrimError`] if `horizon` lies beyond the committed snapshot's.
    fn trim(&self, horizon: Position) -> Result<(), TrimError>;
}

/// A log that carries its members in its own order: the embedded engines.
pub trait MemberLog: EventLog {
    /// Submits a membership record; its position is the token or epoch it gives out.
    fn append_member(&self, member: Member) -> Pending<AppendResult>;
}

/// A reader that follows the log.
pub trait Tail: Send + Debug {
    /// The next item, if there is one now. After the last one it says [`TailItem::CaughtUp`] once,
    /// and again after each later burst.
    ///
    /// # Errors
    ///
    /// [`ReadError`]; nothing is skipped, a later call fails alike.
    fn poll(&mut self) -> Result<Option<TailItem>, ReadError>;

    /// Waits for the next item, but no longer than `limit`.
    ///
    /// # Errors
    ///
    /// As [`Tail::poll`].
    fn next(&mut self, limit: Duration) -> Result<Option<TailItem>, ReadError>;

    /// When this reader last had proof that it is attached to the log, by the clock of the log.
    fn live_at(&self) -> Tick;

    /// What comes next, as far as it is at hand: for whoever can prepare for it. None is at hand
    /// unless an engine says otherwise.
    fn ahead(&self) -> Box<dyn Iterator<Item = &Payload> + '_> {
        Box::new(std::iter::empty())
    }
}

/// A snapshot to read.
pub trait SnapshotSource: Send + Debug {
    /// The next position to read after it.
    fn horizon(&self) -> Position;

    /// The next block, as it was written; none after the last. May wait for the disk or the
    /// network.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if a block is damaged or cannot be read.
    fn next_block(&mut self) -> Result<Option<Vec<u8>>, SnapshotError>;
}

/// A snapshot to write. Dropping it without [`commit`](SnapshotSink::commit) leaves nothing behind.
pub trait SnapshotSink: Send + Debug {
    /// Writes the next block. May wait for the disk or the network.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if it cannot be written.
    fn write_block(&mut self, block: &[u8]) -> Result<(), SnapshotError>;

    /// Makes it the newest snapshot, durably and at once.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if a newer one was committed meanwhile, or the epoch is over; the horizon
    /// never moves back.
    fn commit(self: Box<Self>) -> Result<(), SnapshotError>;
}
