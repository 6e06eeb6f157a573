//! What a broker of Apache Pulsar writes about a bundle.

use crate::state::State;

/// An ownership record of Apache Pulsar, as far as rules look at it.
///
/// Any state may come with any brokers: which belong together is for the
/// [rules](super::Rules) to say. A broker that is missing and one with an empty name are different
/// values, of which neither names anybody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PulsarRecord {
    /// The state, by its name of today.
    pub state: State,
    /// The broker that owns the bundle or is to own it.
    pub destination: Option<Box<str>>,
    /// The broker that owned it before, or lets go of it.
    pub source: Option<Box<str>>,
    /// Counts the bundle's records; wraps around at the ends of its range.
    pub version: i64,
    /// Whether its author overrides what is there.
    pub forced: bool,
}

impl PulsarRecord {
    /// Whether a broker can write and read it: only a free bundle may name no broker at all.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        let named = [&self.destination, &self.source];
        self.state == State::Free || named.into_iter().any(|name| !is_blank(name.as_deref()))
    }

    /// Who serves the bundle by this record, or still holds it.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        let holder = match self.state {
            State::Owned => &self.destination,
            State::Releasing | State::Splitting => &self.source,
            State::Init | State::Free | State::Assigning | State::Deleted => &None,
        };
        holder.as_deref().filter(|name| !is_blank(Some(name)))
    }

    /// Who is to own the bundle next by this record.
    #[must_use]
    pub fn successor(&self) -> Option<&str> {
        let next = match self.state {
            State::Assigning | State::Releasing => &self.destination,
            State::Init | State::Free | State::Owned | State::Splitting | State::Deleted => &None,
        };
        next.as_deref().filter(|name| !is_blank(Some(name)))
    }
}

/// Whether a name names nobody.
pub(super) fn is_blank(name: Option<&str>) -> bool {
    name.is_none_or(|name| name.trim().is_empty())
}

/// The state that a name stands for, in any of the spellings that drafts and releases have used.
///
/// `Assigned` and `Transfer_Assigned` became `Assigning`, `Released` became `Releasing`.
#[must_use]
pub fn state_named(name: &str) -> Option<State> {
    Some(match name {
        "Init" => State::Init,
        "Free" => State::Free,
        "Owned" => State::Owned,
        "Assigning" | "Assigned" | "Transfer_Assigned" => State::Assigning,
        "Releasing" | "Released" => State::Releasing,
        "Splitting" => State::Splitting,
        "Deleted" => State::Deleted,
        _ => return None,
    })
}
