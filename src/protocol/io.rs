//! What goes into the protocol and what comes out of it.

use super::answer::Answer;
use crate::clock::Tick;
use crate::ids::{
    BrokerId, BundleId, Cuts, EntryId, Epoch, Fence, Holder, Namespace, Position, SessionToken,
};
use crate::log::{AppendResult, Guard, Members, TailItem};
use crate::registry;
use crate::state::{Entry, State};
use crate::table::{Applied, RowChange, Table};
use std::sync::Arc;

/// Names a question, so that its answer finds whoever asked. The asker counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Names one run of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookId(pub u64);

/// What happens to a broker.
#[derive(Debug)]
pub enum Input {
    /// The tail gave an item.
    Tail(TailItem),
    /// The tail fell behind what is retained; this is the table of the snapshot it goes on from.
    Jumped(Box<Table>),
    /// The log cannot be read any further, for good.
    ReadFailed,
    /// An append was answered.
    Appended {
        /// Which.
        id: EntryId,
        /// How it ended.
        result: AppendResult,
    },
    /// The registry answered.
    Registry(RegistryAnswer),
    /// Somebody asks.
    Ask {
        /// To be given back with the answer.
        ticket: Ticket,
        /// What is asked.
        request: Request,
        /// Until when the asker waits; none means the configured limit.
        deadline: Option<Tick>,
    },
    /// A hook ended.
    HookDone {
        /// Which run.
        id: HookId,
        /// How.
        result: HookResult,
    },
    /// The broker is to hand over what it owns and end, by the deadline.
    Close {
        /// When it must have ended, whatever is left.
        deadline: Tick,
    },
    /// Time passed.
    Wake,
}

/// What the registry said. `sent_at` is when it was asked.
#[derive(Debug)]
pub enum RegistryAnswer {
    /// To [`Effect::Register`].
    Registered {
        /// When it was asked.
        sent_at: Tick,
        /// The new session.
        result: Result<SessionToken, registry::Error>,
    },
    /// To [`Effect::Renew`].
    Renewed {
        /// When it was asked.
        sent_at: Tick,
        /// Which session.
        session: SessionToken,
        /// Whether it lives.
        result: Result<(), registry::Error>,
    },
    /// To [`Effect::ListMembers`].
    Members {
        /// Which request.
        request: u64,
        /// The list.
        result: Result<Members, registry::Error>,
    },
    /// To [`Effect::Campaign`].
    Campaigned {
        /// Which session.
        session: SessionToken,
        /// The epoch; none if somebody else leads.
        result: Result<Option<Epoch>, registry::Error>,
    },
}

/// How a hook ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookResult {
    /// It did what it was to do.
    Done,
    /// It failed or panicked.
    Failed,
}

/// What may be asked of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Create a namespace.
    CreateNamespace {
        /// Its name.
        namespace: Namespace,
        /// Where its bundles meet; none for one bundle.
        cuts: Option<Cuts>,
        /// The version that the asker saw, as [`Protocol::version_of`](super::Protocol::version_of)
        /// tells it: [`Position::ZERO`] if it was absent. None for whatever it is.
        expected: Option<Position>,
    },
    /// Delete a namespace and all its bundles.
    DeleteNamespace {
        /// Its name.
        namespace: Namespace,
        /// The version that the asker saw; none for whatever it is.
        expected: Option<Position>,
    },
    /// Empty a broker: it gets no more bundles, and gives away what it has. So it stays until its
    /// process ends.
    Drain {
        /// Which.
        broker: BrokerId,
        /// The session that the asker saw; none for whichever it is.
        expected: Option<SessionToken>,
    },
    /// Change who owns a bundle.
    Bundle {
        /// Which.
        bundle: BundleId,
        /// The version that the asker saw; none for whatever it is.
        expected: Option<Position>,
        /// What to do.
        action: Action,
    },
    /// Who owns the bundle?
    Owner {
        /// Which.
        bundle: BundleId,
    },
    /// Who owns the bundle that holds this key? Assigns it if nobody does.
    Locate {
        /// The namespace.
        namespace: Namespace,
        /// The key.
        key: u32,
    },
}

/// What to do with a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Give a free bundle to a broker.
    Assign {
        /// Whom to; none leaves it to placement.
        destination: Option<BrokerId>,
    },
    /// Move an owned bundle to another broker.
    Transfer {
        /// Whom to.
        destination: BrokerId,
    },
    /// Take a bundle from its owner and leave it free.
    Unload,
    /// Divide an owned bundle.
    Split {
        /// Where its children meet.
        cuts: Cuts,
    },
}

/// What the protocol wants done.
#[derive(Debug)]
pub enum Effect {
    /// Append this entry; answer with [`Input::Appended`].
    Append {
        /// The entry.
        entry: Arc<Entry>,
        /// What the engine checks.
        guard: Guard,
    },
    /// Begin a session; answer with [`RegistryAnswer::Registered`].
    Register,
    /// Keep the session alive; answer with [`RegistryAnswer::Renewed`].
    Renew(SessionToken),
    /// List the members; answer with [`RegistryAnswer::Members`].
    ListMembers {
        /// To be given back.
        request: u64,
    },
    /// Try to lead; answer with [`RegistryAnswer::Campaigned`].
    Campaign(SessionToken),
    /// Make it known that this session leaves.
    Drain(SessionToken),
    /// Give up leading.
    Resign(Epoch),
    /// End the session.
    Leave(SessionToken),
    /// Run a hook; say [`Input::HookDone`] when it ended.
    RunHook {
        /// Names the run.
        id: HookId,
        /// What to do.
        hook: Hook,
    },
    /// Give an answer.
    Answer {
        /// Whose.
        ticket: Ticket,
        /// The answer.
        answer: Answer,
    },
    /// The table changed, or did not: for listeners, in log order.
    Applied(Applied),
    /// The table jumped to a snapshot: each net change once.
    Jumped {
        /// The next position to read.
        horizon: Position,
        /// What changed on the way.
        changes: Vec<RowChange>,
    },
    /// The broker has ended.
    Closed(CloseReport),
}

/// What an embedder does when ownership changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Begin to serve a bundle; hand the fence to storage with every write.
    Acquire {
        /// Which.
        bundle: BundleId,
        /// The fencing token of this ownership.
        fence: Fence,
    },
    /// Stop serving a bundle.
    Release {
        /// Which.
        bundle: BundleId,
        /// The fencing token that it was acquired with.
        fence: Fence,
        /// Who serves it next, if that is known, so that clients can be sent there.
        destination: Option<BrokerId>,
    },
    /// Prepare what a bundle holds to be divided. It is served until its children are.
    Split {
        /// Which.
        bundle: BundleId,
        /// The fencing token of the parent's ownership.
        fence: Fence,
        /// What it becomes, in order.
        children: Vec<BundleId>,
    },
}

impl Hook {
    /// Which bundle it is about.
    #[must_use]
    pub const fn bundle(&self) -> &BundleId {
        match self {
            Self::Acquire { bundle, .. }
            | Self::Release { bundle, .. }
            | Self::Split { bundle, .. } => bundle,
        }
    }

    /// A word for what it does: `acquire`, `release` or `split`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Acquire { .. } => "acquire",
            Self::Release { .. } => "release",
            Self::Split { .. } => "split",
        }
    }
}

/// How a broker ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloseReport {
    /// What it still owned when its time was over.
    pub left: Vec<BundleId>,
}

/// A session that the leader saw dead, and waits for before it takes what that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The session, and whose it is.
    pub holder: Holder,
    /// How many bundles it holds.
    pub bundles: usize,
    /// When this leader first saw it dead, by its own clock.
    pub since: Tick,
    /// When its bundles are taken; those in flight are taken earlier by the grace that is granted
    /// for its return.
    pub until: Tick,
}

/// Whether a bundle is this broker's, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mine {
    /// It is. Hand the fence to storage with every write.
    Yes {
        /// The fencing token.
        fence: Fence,
    },
    /// It is not.
    No(NotMine),
    /// The session is not certain any more: it may be somebody else's by now.
    Unknown,
}

/// Why a bundle is not this broker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotMine {
    /// There is no such bundle.
    Absent,
    /// It is in this state, and this session does not hold it.
    NotHeld(State),
    /// It will be, once the acquire hook has ended.
    Acquiring,
}
