//! Why a broker gives nothing away.

use super::{Hits, Measure, Wanted};
use crate::ids::BrokerId;
use std::fmt;

/// Why nothing moves away from a broker: the first rule that stopped it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stopped {
    /// None of its resources was reported in a way that makes sense.
    NoData,
    /// It is being emptied, which is not the planner's work.
    Drained,
    /// It gave or was to get bundles, and the reports do not show it yet.
    Unsettled,
    /// It stands in the middle of an odd number of brokers: it has no partner.
    Middle,
    /// It is the colder half of its pair: it may receive, not give.
    Colder {
        /// The hotter half.
        hot: BrokerId,
    },
    /// The difference of its pair does not reach the low threshold.
    BelowThreshold {
        /// Points.
        difference: f64,
        /// Points.
        threshold: f64,
    },
    /// The difference was not large for long enough.
    TooFewHits {
        /// Rounds in a row over the low threshold.
        low: Hits,
        /// Rounds in a row over the high threshold.
        high: Hits,
    },
    /// Its own traffic, or that of its partner, makes no sense, so nobody knows how much to move.
    UnsoundTraffic {
        /// Whose.
        broker: BrokerId,
    },
    /// What should move is not worth a move, by either measure.
    BelowMinimum {
        /// By messages.
        messages: Wanted,
        /// By bytes.
        bytes: Wanted,
    },
    /// Enough is wanted, but each bundle is too big, or must stay.
    NoBundleFits {
        /// The unit.
        measure: Measure,
        /// How much should have moved, a second.
        wanted: f64,
    },
    /// There are bundles that fit, but moving any of them would not make the pair more even.
    WouldNotGain {
        /// The unit.
        measure: Measure,
        /// How much should have moved, a second.
        wanted: f64,
    },
}

impl Stopped {
    /// A short word for the rule, the same in every release, such as `below_minimum`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::NoData => "no_data",
            Self::Drained => "drained",
            Self::Unsettled => "unsettled",
            Self::Middle => "middle",
            Self::Colder { .. } => "colder",
            Self::BelowThreshold { .. } => "below_threshold",
            Self::TooFewHits { .. } => "too_few_hits",
            Self::UnsoundTraffic { .. } => "unsound_traffic",
            Self::BelowMinimum { .. } => "below_minimum",
            Self::NoBundleFits { .. } => "no_bundle_fits",
            Self::WouldNotGain { .. } => "would_not_gain",
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoData => f.write_str("no usable report of any resource"),
            Self::Drained => f.write_str("is being drained"),
            Self::Unsettled => f.write_str("waiting for a planned move to show in its report"),
            Self::Middle => f.write_str("in the middle: no partner to share with"),
            Self::Colder { hot } => write!(f, "colder half of its pair; {hot} is the hotter"),
            Self::BelowThreshold {
                difference,
                threshold,
            } => write!(
                f,
                "difference of {difference:.1} points is below the threshold of {threshold}"
            ),
            Self::TooFewHits { low, high } => write!(
                f,
                "too few hits in a row: {low} over the low threshold, {high} over the high one"
            ),
            Self::UnsoundTraffic { broker } => {
                write!(f, "the traffic that {broker} reports makes no sense")
            }
            Self::BelowMinimum { messages, bytes } => write!(f, "{messages}; {bytes}"),
            Self::NoBundleFits { measure, wanted } => write!(
                f,
                "no bundle fits into the {wanted:.1} {} that should move",
                measure.unit()
            ),
            Self::WouldNotGain { measure, wanted } => write!(
                f,
                "no bundle within the {wanted:.1} {} to move would make the pair more even",
                measure.unit()
            ),
        }
    }
}
