//! How a request ends.

use crate::ids::{BrokerId, BundleId, Fence, Namespace, Position, SessionToken};
use crate::log::Refusal;
use crate::planner::split::Whole;
use crate::state::{Rejection, Row, State};

/// An answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// It is done, and stands in the log.
    Done {
        /// The position of the entry that completed it.
        position: Position,
        /// The fencing token of the ownership that came of it; none if it is not about one.
        fence: Option<Fence>,
    },
    /// The broker that serves the bundle, or is about to.
    Served {
        /// The bundle.
        bundle: BundleId,
        /// The broker.
        broker: BrokerId,
    },
    /// Nobody serves the bundle now.
    Nobody {
        /// The bundle.
        bundle: BundleId,
    },
    /// Somebody else's change came first.
    Conflict {
        /// Why this one did not count.
        rejection: Rejection,
        /// The row that won; none if the bundle is gone or the conflict is not about one.
        row: Option<Row>,
    },
    /// It counted, but something else took over before it was complete.
    Superseded {
        /// The row as it is.
        row: Option<Row>,
    },
    /// Nothing was written.
    Refused(Refused),
    /// It did not end in time. It may still happen.
    TimedOut {
        /// The row as it is.
        last_seen: Option<Row>,
    },
    /// The broker that was to be emptied had not given everything away in time. It goes on.
    NotEmpty {
        /// What it still held or was promised, in order.
        left: Vec<BundleId>,
    },
    /// The broker lost its session meanwhile. It may have happened.
    Unknown {
        /// The row as it is.
        last_seen: Option<Row>,
    },
    /// The broker ended before the answer was known.
    Closed,
}

impl Answer {
    /// A word for how it ended, the same in every release, such as `timed_out`.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Done { .. } => "done",
            Self::Served { .. } => "served",
            Self::Nobody { .. } => "nobody",
            Self::Conflict { .. } => "conflict",
            Self::Superseded { .. } => "superseded",
            Self::Refused(_) => "refused",
            Self::TimedOut { .. } => "timed_out",
            Self::NotEmpty { .. } => "not_empty",
            Self::Unknown { .. } => "unknown",
            Self::Closed => "closed",
        }
    }
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The broker has no certain session, or has not read the log to its end.
    #[error("this broker has no certain session yet, or has not read the log to its end")]
    NotReady,
    /// The destination is not alive, or about to leave.
    #[error("{broker} is not alive, or about to leave")]
    NotADestination {
        /// The destination.
        broker: BrokerId,
    },
    /// The broker is no member: it has no living session.
    #[error("{broker} has no living session")]
    NotAMember {
        /// The broker.
        broker: BrokerId,
    },
    /// The broker has another session than the asker saw.
    #[error("{broker} has session {found}, not {expected}")]
    OtherSession {
        /// The broker.
        broker: BrokerId,
        /// What the asker saw.
        expected: SessionToken,
        /// What it is.
        found: SessionToken,
    },
    /// The destination owns the bundle already.
    #[error("{broker} owns it already")]
    OwnerAlready {
        /// The owner.
        broker: BrokerId,
    },
    /// No living broker may take the bundle.
    #[error("no living broker may take it")]
    NoDestination,
    /// The bundle is not there.
    #[error("there is no {bundle}; its keys belong to {covering:?}")]
    Absent {
        /// The bundle.
        bundle: BundleId,
        /// Who holds its keys.
        covering: Vec<BundleId>,
    },
    /// There is no such namespace.
    #[error("there is no namespace {namespace}")]
    UnknownNamespace {
        /// The namespace.
        namespace: Namespace,
    },
    /// The bundle is in a state that does not allow it.
    #[error("{bundle} is {state}")]
    WrongState {
        /// The bundle.
        bundle: BundleId,
        /// Its state.
        state: State,
    },
    /// The cuts do not divide the bundle.
    #[error("the cuts do not lie inside {bundle}")]
    NotAPartition {
        /// The bundle.
        bundle: BundleId,
    },
    /// The split strategy finds no place to cut.
    #[error("{bundle} stays whole: {why}")]
    StaysWhole {
        /// The bundle.
        bundle: BundleId,
        /// Why.
        why: Whole,
    },
    /// The namespace has another version than the asker saw.
    #[error("{namespace} was last changed at {found}, not at {expected}")]
    StaleNamespace {
        /// The namespace.
        namespace: Namespace,
        /// What the asker saw.
        expected: Position,
        /// What it is; [`Position::ZERO`] if it is absent.
        found: Position,
    },
    /// The bundle has another version than the asker saw.
    #[error("{bundle} was last changed at {found}, not at {expected}")]
    StaleVersion {
        /// The bundle.
        bundle: BundleId,
        /// What the asker saw.
        expected: Position,
        /// What it is.
        found: Position,
    },
    /// The log does not take it.
    #[error("the log does not take it: {0}")]
    Log(#[from] Refusal),
    /// Too many wait already.
    #[error("too many requests wait already")]
    TooMany,
    /// The broker is leaving.
    #[error("this broker is leaving")]
    Leaving,
}
