//! How much should move, and how often that was found.

use crate::reports::Traffic;
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

    pub(in crate::planner) const fn unit(self) -> &'static str {
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
