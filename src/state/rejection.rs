//! Why an entry was not accepted.

use super::record::State;
use super::rules::{By, Term};
use crate::ids::{BrokerId, BundleId, Epoch, Namespace, Position, SessionToken};

/// Why an entry changes nothing. The first reason found is the one that is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The author did not know the bundle's latest change.
    #[error("{bundle} was last changed at {found}, not at {expected}")]
    StaleVersion {
        /// The bundle.
        bundle: BundleId,
        /// The version that the author saw.
        expected: Position,
        /// The version that it has.
        found: Position,
    },
    /// No such transition, for this kind of entry.
    #[error("{bundle} cannot go from {from} to {to}{}", if *.forced { " by force" } else { "" })]
    InvalidTransition {
        /// The bundle.
        bundle: BundleId,
        /// Its state.
        from: State,
        /// The state that was wanted.
        to: State,
        /// Whether the entry claimed the leader's powers.
        forced: bool,
    },
    /// The transition exists, but it is not this author's.
    #[error("the change of {bundle} needs the word of {needed}")]
    WrongAuthor {
        /// The bundle.
        bundle: BundleId,
        /// Whose word it needs.
        needed: By,
    },
    /// The new record breaks a term of the transition.
    #[error("the change of {bundle} breaks the term: {term}")]
    TermBroken {
        /// The bundle.
        bundle: BundleId,
        /// The term.
        term: Term,
    },
    /// The cuts do not divide the bundle into a partition.
    #[error("the cuts do not partition {bundle}")]
    NotAPartition {
        /// The bundle.
        bundle: BundleId,
    },
    /// A newer session of the author's broker has already spoken.
    #[error("session {session} of {broker} is over: session {highest} has spoken")]
    StaleSession {
        /// The author's broker.
        broker: BrokerId,
        /// The author's session.
        session: SessionToken,
        /// The newest session seen.
        highest: SessionToken,
    },
    /// A newer leader has already spoken.
    #[error("epoch {epoch} is over: epoch {highest} has spoken")]
    StaleEpoch {
        /// The author's epoch.
        epoch: Epoch,
        /// The newest epoch seen.
        highest: Epoch,
    },
    /// Only a leader may say this, and the entry claims no epoch.
    #[error("only a leader may say this, and the entry claims no epoch")]
    NoEpoch,
    /// Bundles that are there already hold some of the keys.
    #[error("its keys belong to {} already", list(.bundles))]
    Overlaps {
        /// The bundles in the way.
        bundles: Vec<BundleId>,
    },
    /// The entry changes a bundle twice.
    #[error("the entry changes {bundle} twice")]
    DuplicateBundle {
        /// The bundle.
        bundle: BundleId,
    },
    /// The entry has no changes, or more than [`CHANGES_MAX`](super::CHANGES_MAX).
    #[error("an entry holds 1 to {max} changes, not {count}", max = super::CHANGES_MAX)]
    ChangeCount {
        /// How many it has.
        count: usize,
    },
    /// The namespace is being deleted.
    #[error("{namespace} is being deleted")]
    NamespaceBeingDeleted {
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace exists.
    #[error("{namespace} exists already")]
    NamespaceExists {
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace does not exist.
    #[error("there is no namespace {namespace}")]
    UnknownNamespace {
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace cannot end: it is not marked as being deleted.
    #[error("{namespace} is not being deleted")]
    NamespaceNotMarked {
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace cannot end: somebody still has bundles of it.
    #[error("{namespace} cannot end while {bundle} is {state}")]
    NamespaceInUse {
        /// The namespace.
        namespace: Namespace,
        /// The first bundle that is neither free nor deleted.
        bundle: BundleId,
        /// Its state.
        state: State,
    },
    /// The author of a creation or deletion had not read of the last removal.
    #[error("the author had read up to {applied}; the last removal stands at {floor}")]
    StaleView {
        /// How far the author had read.
        applied: Position,
        /// The position of the last removal.
        floor: Position,
    },
    /// The rules are at this version already.
    #[error("the rules are at version {current} already, {version} was asked for")]
    RulesNotNewer {
        /// The version asked for.
        version: u32,
        /// The present version.
        current: u32,
    },
}

impl Rejection {
    /// A stable short name, for counters and reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::StaleVersion { .. } => "stale_version",
            Self::InvalidTransition { .. } => "invalid_transition",
            Self::WrongAuthor { .. } => "wrong_author",
            Self::TermBroken { .. } => "term_broken",
            Self::NotAPartition { .. } => "not_a_partition",
            Self::StaleSession { .. } => "stale_session",
            Self::StaleEpoch { .. } => "stale_epoch",
            Self::NoEpoch => "no_epoch",
            Self::Overlaps { .. } => "overlaps",
            Self::DuplicateBundle { .. } => "duplicate_bundle",
            Self::ChangeCount { .. } => "change_count",
            Self::NamespaceBeingDeleted { .. } => "namespace_being_deleted",
            Self::NamespaceExists { .. } => "namespace_exists",
            Self::UnknownNamespace { .. } => "unknown_namespace",
            Self::NamespaceNotMarked { .. } => "namespace_not_marked",
            Self::NamespaceInUse { .. } => "namespace_in_use",
            Self::StaleView { .. } => "stale_view",
            Self::RulesNotNewer { .. } => "rules_not_newer",
        }
    }
}

/// Bundles in a sentence.
fn list(bundles: &[BundleId]) -> String {
    let names: Vec<String> = bundles.iter().map(ToString::to_string).collect();
    names.join(", ")
}
