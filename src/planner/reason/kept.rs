//! Why a bundle stays.

use super::{Barred, Measure};
use std::fmt;

/// Why a bundle of a broker that sheds stays where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kept {
    /// Its load is not known.
    NoData,
    /// Its load was reported with numbers that make no sense.
    UnsoundTraffic,
    /// It moved a short while ago.
    RecentlyMoved,
    /// Another broker lists it too: the destination, or one from which it moves already.
    Disputed,
    /// The constraints pin it.
    Pinned,
    /// The constraints exclude its namespace.
    ExcludedNamespace,
    /// It has no traffic: moving it changes nothing.
    Idle,
    /// It has more traffic than was still to be moved when its turn came.
    TooBig {
        /// Its own traffic, a second.
        traffic: f64,
        /// What was still wanted, a second.
        remaining: f64,
        /// The unit of both.
        measure: Measure,
    },
    /// The two brokers would not be more even without it.
    WouldNotGain,
    /// Enough moves without it, or its broker is loaded as it should be.
    NotNeeded,
    /// As many bundles as may leave in one round were chosen before its turn came.
    CountReached,
    /// It is the last one of those that its broker reported.
    LastReported,
    /// The constraints bar it from every broker that would gain by it.
    NoLegalDestination {
        /// What bars it from the first of them.
        barred: Barred,
    },
    /// Every broker that may have it would be too loaded with it.
    NoRoom,
    /// The search ended before its turn came: at a bundle that was too big, because the plan was
    /// full, or because the time to think was over.
    NotReached,
}

impl Kept {
    /// A short word for the rule, the same in every release, such as `pinned`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::NoData => "no_data",
            Self::UnsoundTraffic => "unsound_traffic",
            Self::RecentlyMoved => "recently_moved",
            Self::Pinned => "pinned",
            Self::ExcludedNamespace => "excluded_namespace",
            Self::Idle => "idle",
            Self::TooBig { .. } => "too_big",
            Self::WouldNotGain => "would_not_gain",
            Self::Disputed => "disputed",
            Self::NotNeeded => "not_needed",
            Self::CountReached => "count_reached",
            Self::LastReported => "last_reported",
            Self::NoLegalDestination { .. } => "no_legal_destination",
            Self::NoRoom => "no_room",
            Self::NotReached => "not_reached",
        }
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoData => f.write_str("no load data"),
            Self::UnsoundTraffic => f.write_str("its load data makes no sense"),
            Self::RecentlyMoved => f.write_str("moved a short while ago"),
            Self::Disputed => f.write_str("another broker lists it too"),
            Self::Pinned => f.write_str("pinned"),
            Self::ExcludedNamespace => f.write_str("its namespace is excluded"),
            Self::Idle => f.write_str("has no traffic"),
            Self::TooBig {
                traffic,
                remaining,
                measure,
            } => write!(
                f,
                "too big: {traffic:.1} {unit}, and {remaining:.1} {unit} are left to move",
                unit = measure.unit()
            ),
            Self::WouldNotGain => f.write_str("moving it would not lower the imbalance"),
            Self::NotNeeded => f.write_str("enough moves without it"),
            Self::CountReached => f.write_str("as many as may leave in a round come before it"),
            Self::LastReported => f.write_str("the last one that its broker reported"),
            Self::NoLegalDestination { barred } => {
                write!(f, "may go to no broker that would gain by it: {barred}")
            }
            Self::NoRoom => f.write_str("no broker has room for it"),
            Self::NotReached => f.write_str("the search ended before its turn came"),
        }
    }
}
