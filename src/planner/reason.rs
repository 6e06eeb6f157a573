//! The rules that stop a move, in words an operator can act on.

use super::Traffic;
use crate::ids::BrokerId;
use std::fmt;

/// By what a bundle's traffic is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Messages a second, both ways together.
    Messages,
    /// Bytes a second, both ways together.
    Bytes,
}

impl Measure {
    /// How much of it some traffic is, a second.
    #[must_use]
    pub fn of(self, traffic: &Traffic) -> f64 {
        match self {
            Self::Messages => traffic.messages(),
            Self::Bytes => traffic.bytes(),
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Messages => "msg/s",
            Self::Bytes => "B/s",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Messages => "messages",
            Self::Bytes => "bytes",
        })
    }
}

/// How often in a row a threshold was reached, and how often it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hits {
    /// Rounds so far, this one included.
    pub count: u32,
    /// Rounds after which something moves.
    pub needed: u32,
}

impl Hits {
    /// Whether it was often enough.
    #[must_use]
    pub const fn suffice(self) -> bool {
        self.count >= self.needed
    }
}

impl fmt::Display for Hits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.count, self.needed)
    }
}

/// An amount of traffic that was wanted, and the least that is worth a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// The unit of both numbers.
    pub measure: Measure,
    /// How much should move, a second. Negative if the hotter broker has less traffic.
    pub amount: f64,
    /// How much it must be more than, a second.
    pub minimum: f64,
}

impl Wanted {
    /// Whether it is worth a move.
    #[must_use]
    pub fn is_enough(self) -> bool {
        self.amount > self.minimum
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = if self.amount > self.minimum {
            "above"
        } else if self.amount < self.minimum {
            "below"
        } else {
            "not above"
        };
        let Self {
            measure,
            amount,
            minimum,
        } = self;
        let unit = measure.unit();
        write!(
            f,
            "wanted {amount:.1} {unit}, {relation} the minimum of {minimum}"
        )
    }
}

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
    /// The pair would not be more even without it.
    WouldNotGain,
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
            Self::WouldNotGain => f.write_str("moving it would not make the pair more even"),
        }
    }
}
