//! What is written into the log: entries, and the changes they hold.

use super::record::Record;
use crate::ids::{BundleId, Cuts, EntryId, Epoch, Holder, Namespace, Position};

/// Most changes that one entry may hold.
pub const CHANGES_MAX: usize = 1_000;

/// Most bundles that one namespace may be created with, and most children of one split.
pub const PARTS_MAX: usize = 1 << 16;

/// One append to the log: atomic, signed by its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The broker that wrote it, in the session in which it did.
    pub author: Holder,
    /// Counts the author's entries from 1, within its session: makes a repeated append the same
    /// append.
    pub counter: u64,
    /// The leader's epoch, if the entry claims the leader's powers.
    pub epoch: Option<Epoch>,
    /// What it says.
    pub body: Body,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Changes bundles, at most one change each: all of them or none.
    Changes(Vec<Change>),
    /// Creates a namespace: all its bundles at once, free.
    CreateNamespace {
        /// The new namespace.
        namespace: Namespace,
        /// Where its bundles meet; none for a single bundle.
        cuts: Option<Cuts>,
        /// How far the author had read: who does not know of the last removal may not create.
        applied: Position,
    },
    /// Marks a namespace as being deleted: nothing in it is assigned, moved or split from here on.
    DeleteNamespace {
        /// The namespace to delete.
        namespace: Namespace,
        /// How far the author had read: who does not know of the last removal may mean a namespace
        /// of the same name that is gone.
        applied: Position,
    },
    /// Ends a namespace being deleted, with all its bundles, which are free or deleted. The
    /// leader's.
    EndNamespace {
        /// The namespace to end.
        namespace: Namespace,
    },
    /// A leader begins; it acts once it has read this. The leader's.
    LeaderStarted,
    /// From here on a newer version of the rules holds. The leader's, once every member knows it.
    RaiseRules {
        /// The new version.
        version: u32,
    },
}

/// "This bundle, last changed at `expected`, becomes this record", or is removed.
///
/// Children are not named: a change of a splitting bundle to `Deleted` brings them into being, as
/// its record says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// Which bundle.
    pub bundle: BundleId,
    /// The version that the author saw; zero for an absent bundle.
    pub expected: Position,
    /// What it becomes; none removes it.
    pub next: Option<Record>,
}

impl Entry {
    /// What makes a repeated append the same append.
    #[must_use]
    pub const fn id(&self) -> EntryId {
        EntryId {
            session: self.author.session,
            counter: self.counter,
        }
    }

    /// The changes it spells out; empty for an entry about a namespace or a leader.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        match &self.body {
            Body::Changes(changes) => changes,
            _ => &[],
        }
    }
}
