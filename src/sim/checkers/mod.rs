//! What must hold, one file an invariant. Each checker watches what happens and says what it
//! contradicts.

mod answers;
mod fences;
mod first_valid;
mod hooks;
mod horizon;
mod one_fold;
mod one_owner;
mod orphans;
mod restraint;
mod whole;

pub(super) use answers::Answers;
pub(super) use fences::{Fences, Store, Write};
pub(super) use first_valid::FirstValid;
pub(super) use hooks::Hooks;
pub(super) use horizon::Horizon;
pub(super) use one_fold::OneFold;
pub(super) use one_owner::{check_closed, check_one_owner};
pub(super) use orphans::Orphans;
pub(super) use restraint::Restraint;
pub(super) use whole::check_whole;

use crate::clock::Tick;
use crate::compactor;
use crate::ids::{BrokerId, BundleId, Fence, Holder, Position};
use crate::log::{ReadError, SnapshotError};
use crate::protocol::{Hook, Ticket};
use crate::state::Row;
use crate::table::{self, Digest};
use std::time::Duration;

/// An invariant that does not hold, by the names of the design.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A reader's fold is not the log's.
    #[error("I1 one fold: up to {next} {broker} has {found}, and the whole log gives {expected}")]
    TwoFolds {
        /// Whose table.
        broker: BrokerId,
        /// Up to where it has read.
        next: Position,
        /// Its digest.
        found: Digest,
        /// The digest of the whole history.
        expected: Digest,
    },
    /// A snapshot is not the fold of what it stands for.
    #[error("I1 one fold: the snapshot of {horizon} has {found}, and the whole log {expected}")]
    WrongSnapshot {
        /// Its horizon.
        horizon: Position,
        /// Its digest.
        found: Digest,
        /// The digest of the whole history.
        expected: Digest,
    },
    /// Two changes of one version both counted.
    #[error(
        "I2 first valid wins: {bundle} of version {version} was changed twice, at last at {position}"
    )]
    ChangedTwice {
        /// The bundle.
        bundle: BundleId,
        /// The version that both changed.
        version: Position,
        /// Where the second one stands.
        position: Position,
    },
    /// A reader accepted what others reject, or the other way round.
    #[error("I2 first valid wins: {broker} judged the entry at {position} unlike the others")]
    JudgedOtherwise {
        /// The reader.
        broker: BrokerId,
        /// Where the entry stands.
        position: Position,
    },
    /// Two brokers say "mine" for the same keys.
    #[error(
        "I3 one owner: {first} says mine for {bundle} (fence {fence}), {second} for {other} (fence {other_fence})"
    )]
    TwoOwners {
        /// One broker.
        first: BrokerId,
        /// Its bundle.
        bundle: BundleId,
        /// Its fence.
        fence: Fence,
        /// The other broker.
        second: BrokerId,
        /// The other one's bundle.
        other: BundleId,
        /// The other one's fence.
        other_fence: Fence,
    },
    /// A broker that has closed says "mine".
    #[error("I3 one owner: {broker} has closed, and says mine for {bundle}")]
    ClosedOwner {
        /// The broker.
        broker: BrokerId,
        /// The bundle.
        bundle: BundleId,
    },
    /// An owner got a fence that is not above the one before.
    #[error(
        "I4 fences grow: {holder} got {bundle} with fence {fence}, after {before} had {earlier}"
    )]
    FenceNotAbove {
        /// The new owner.
        holder: Holder,
        /// The bundle.
        bundle: BundleId,
        /// Its fence.
        fence: Fence,
        /// The owner before.
        before: Holder,
        /// That one's fence.
        earlier: Fence,
    },
    /// Storage refused the present owner.
    #[error(
        "I4 fences grow: storage refused {broker}, the owner of {bundle} (fence {fence}), for {highest}"
    )]
    OwnerRefused {
        /// The owner.
        broker: BrokerId,
        /// The bundle.
        bundle: BundleId,
        /// Its fence.
        fence: Fence,
        /// The higher one that storage had seen.
        highest: Fence,
    },
    /// A namespace has a hole or an overlap.
    #[error("I5 whole: at {position}: {error}")]
    NotWhole {
        /// After which entry.
        position: Position,
        /// What is wrong.
        error: table::Error,
    },
    /// Somebody waits longer than agreed.
    #[error("I6 nobody waits for ever: ticket {} at {broker} was to end by {due:?}", .ticket.0)]
    StillWaiting {
        /// Who waits.
        ticket: Ticket,
        /// At which broker.
        broker: BrokerId,
        /// Until when at most.
        due: Tick,
    },
    /// One question was answered twice, or nobody asked it.
    #[error("I6 nobody waits for ever: {broker} answered ticket {} again", .ticket.0)]
    AnsweredAgain {
        /// Whose.
        ticket: Ticket,
        /// By whom.
        broker: BrokerId,
    },
    /// A hook ran at the wrong moment.
    #[error("I7 replay is live: {broker} ran {hook:?}: {wrong}")]
    WrongHook {
        /// By whom.
        broker: BrokerId,
        /// The hook.
        hook: Hook,
        /// What is wrong about it.
        wrong: &'static str,
    },
    /// What hooks acquired is not what the table says.
    #[error(
        "I7 replay is live: {broker} at rest has acquired {acquired:?} of {bundle}, its row says {row:?}"
    )]
    HookMissing {
        /// By whom.
        broker: BrokerId,
        /// The bundle.
        bundle: BundleId,
        /// The fence that its hook got, if it got one and did not release it.
        acquired: Option<Fence>,
        /// The fence of its row, if it names this session.
        row: Option<Fence>,
    },
    /// The horizon moved back, or something above it is gone.
    #[error("I10 horizon: {found} after {before}, and the log begins at {first}")]
    Horizon {
        /// The horizon before.
        before: Position,
        /// The horizon now.
        found: Position,
        /// The first position that can be read.
        first: Position,
    },
    /// A bundle has been without a living owner for too long.
    #[error("I11 orphans heal: {bundle} has been {row:?} for {waited:?}, allowed are {allowed:?}")]
    OrphanLeft {
        /// The bundle.
        bundle: BundleId,
        /// Its row.
        row: Row,
        /// For how long.
        waited: Duration,
        /// For how long it may.
        allowed: Duration,
    },
    /// After the faults ended, something had not come to rest within the bound.
    #[error("liveness: {bundle} is still {row:?}")]
    NotAtRest {
        /// The bundle.
        bundle: BundleId,
        /// Its row.
        row: Row,
    },
    /// After the faults ended, a namespace that is being deleted is still there.
    #[error("liveness: {0} is still being deleted")]
    NotDeleted(crate::ids::Namespace),
    /// After the faults ended, nobody leads.
    #[error("liveness: brokers live, and none of them leads")]
    NobodyLeads,
    /// A broker asks the registry again and again.
    #[error(
        "{broker} made {count} requests to the registry in {window:?}, at most {max} are its due"
    )]
    Flood {
        /// The broker.
        broker: BrokerId,
        /// How many requests.
        count: u64,
        /// How many it may make.
        max: u64,
        /// In what time.
        window: Duration,
    },
    /// A compaction failed that had no reason to.
    #[error("compaction: {0}")]
    Compaction(#[from] compactor::Error),
    /// The log could not be read.
    #[error("the log could not be read: {0}")]
    Unreadable(#[from] ReadError),
    /// A snapshot could not be read.
    #[error("a snapshot could not be read: {0}")]
    SnapshotUnreadable(#[from] SnapshotError),
    /// A table could not be built or went on no more.
    #[error("{0}")]
    Table(#[from] table::Error),
    /// Brokers keep each other busy without time going on.
    #[error("{events} events at one moment: somebody goes round in circles")]
    TimeStandsStill {
        /// How many.
        events: u64,
    },
}
