//! What the book says of one bundle.

use crate::ids::{BrokerId, Cuts, Fence, Holder, Position};
use std::fmt;

/// The states of a bundle, named as Apache Pulsar names them today.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Absent: not yet born, or removed.
    Init,
    /// Owned by nobody.
    Free,
    /// A destination was chosen and has not taken it yet; nobody holds it.
    Assigning,
    /// A broker serves it.
    Owned,
    /// Its owner is letting go of it.
    Releasing,
    /// Its owner is dividing it.
    Splitting,
    /// A parent after its split; its children took its place.
    Deleted,
}

impl State {
    /// All of them, in the order of a bundle's life.
    pub const ALL: [Self; 7] = [
        Self::Init,
        Self::Free,
        Self::Assigning,
        Self::Owned,
        Self::Releasing,
        Self::Splitting,
        Self::Deleted,
    ];

    /// Whether somebody has a step to finish.
    #[must_use]
    pub const fn is_in_flight(self) -> bool {
        matches!(self, Self::Assigning | Self::Releasing | Self::Splitting)
    }

    /// Whether a broker serves it or is about to.
    #[must_use]
    pub const fn is_active(self) -> bool {
        self.is_in_flight() || matches!(self, Self::Owned)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A state with exactly the facts that it needs.
///
/// An absent bundle has no record. Who may still hold the bundle's resources, the *holder*, is the
/// owner of `Owned` and the source of `Releasing` and `Splitting`; `Assigning` has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Record {
    /// Owned by nobody.
    Free,
    /// Promised to a broker, which owns it once it says so.
    Assigning {
        /// The broker that is to own it.
        destination: BrokerId,
    },
    /// A broker serves it.
    Owned {
        /// The broker, in the life in which it took the bundle.
        owner: Holder,
    },
    /// The source lets go of it; then the destination gets it, or nobody.
    Releasing {
        /// Who served it.
        source: Holder,
        /// Who is to own it next; none means that it becomes free.
        destination: Option<BrokerId>,
    },
    /// The source divides it; its children will be the source's.
    Splitting {
        /// Who serves it meanwhile; none if that broker is gone and nobody lives to take its
        /// place.
        source: Option<Holder>,
        /// Where its children meet, chosen once and for all.
        cuts: Cuts,
    },
    /// Divided; its children took its place.
    Deleted,
}

impl Record {
    /// The bare state.
    #[must_use]
    pub const fn state(&self) -> State {
        match self {
            Self::Free => State::Free,
            Self::Assigning { .. } => State::Assigning,
            Self::Owned { .. } => State::Owned,
            Self::Releasing { .. } => State::Releasing,
            Self::Splitting { .. } => State::Splitting,
            Self::Deleted => State::Deleted,
        }
    }

    /// Who may still hold the bundle's resources.
    #[must_use]
    pub const fn holder(&self) -> Option<&Holder> {
        match self {
            Self::Owned { owner } => Some(owner),
            Self::Releasing { source, .. } => Some(source),
            Self::Splitting { source, .. } => source.as_ref(),
            Self::Free | Self::Assigning { .. } | Self::Deleted => None,
        }
    }

    /// Who is to own the bundle next.
    #[must_use]
    pub const fn destination(&self) -> Option<&BrokerId> {
        match self {
            Self::Assigning { destination } => Some(destination),
            Self::Releasing { destination, .. } => destination.as_ref(),
            Self::Free | Self::Owned { .. } | Self::Splitting { .. } | Self::Deleted => None,
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free | Self::Deleted => write!(f, "{}", self.state()),
            Self::Assigning { destination } => write!(f, "Assigning -> {destination}"),
            Self::Owned { owner } => write!(f, "Owned by {owner}"),
            Self::Releasing {
                source,
                destination: None,
            } => write!(f, "Releasing from {source}"),
            Self::Releasing {
                source,
                destination: Some(destination),
            } => {
                write!(f, "Releasing from {source} -> {destination}")
            }
            Self::Splitting { source, cuts } => {
                match source {
                    Some(source) => write!(f, "Splitting by {source} at")?,
                    None => write!(f, "Splitting by nobody at")?,
                }
                cuts.as_slice()
                    .iter()
                    .try_for_each(|cut| write!(f, " {cut:#010x}"))
            }
        }
    }
}

/// A record as it stands in the table: with its version and, where somebody was chosen to own the
/// bundle, the fence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// What the book says.
    pub record: Record,
    /// The position of the entry that said so.
    pub version: Position,
    /// The fencing token of whoever was chosen: the position of the entry that chose it. Zero where
    /// nobody is named: for `Free`, `Deleted`, and a `Splitting` without source.
    pub fence: Fence,
}

impl Row {
    /// The bare state of a row that may be absent.
    #[must_use]
    pub fn state_of(row: Option<&Self>) -> State {
        row.map_or(State::Init, |row| row.record.state())
    }

    /// Whether this session serves the bundle: it owns it, or owns it while it divides it.
    #[must_use]
    pub fn is_served_by(&self, session: Option<&Holder>) -> bool {
        let holds = session.is_some() && self.record.holder() == session;
        holds && matches!(self.record.state(), State::Owned | State::Splitting)
    }

    /// The version of a row that may be absent: zero then.
    #[must_use]
    pub fn version_of(row: Option<&Self>) -> Position {
        row.map_or(Position::ZERO, |row| row.version)
    }
}
