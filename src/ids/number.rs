//! Numbers of the log's one order. Each kind is a type of its own.

use super::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Declares a number of one kind: a transparent `u64` with order, text form and nothing else.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Wraps a number.
            #[must_use]
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// The bare number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                text.parse().map(Self).map_err(|_| Error::Form {
                    what: $what,
                    text: text.to_owned(),
                    expected: "a whole number from 0 to 18446744073709551615",
                })
            }
        }
    };
}

number! {
    /// Where an entry stands in the log's one total order.
    ///
    /// Strictly increasing, never reused, on some engines not contiguous. [`Position::ZERO`] means
    /// "before the first". As the version of a bundle it is the position of the last accepted entry
    /// that changed it, and 0 for a bundle that is absent.
    Position, "position"
}

number! {
    /// A broker's registration: grows with each one, so that it also is the broker's incarnation.
    SessionToken, "session token"
}

number! {
    /// A leader's term: grows with each election.
    Epoch, "epoch"
}

number! {
    /// The fencing token of an ownership: the position of the entry that chose this owner.
    ///
    /// Hand it to storage with every write; storage keeps the highest it saw for a key and refuses
    /// lower ones.
    Fence, "fence"
}

impl Position {
    /// Before the first entry.
    pub const ZERO: Self = Self(0);

    /// The next position on an engine whose positions are contiguous, and the smallest later one on
    /// any.
    ///
    /// # Panics
    ///
    /// After 2^64 - 1 entries.
    #[must_use]
    pub const fn next(self) -> Self {
        assert!(self.0 < u64::MAX, "positions are used up");
        Self(self.0 + 1)
    }

    /// The position before this one; [`Position::ZERO`] stays.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl Fence {
    /// The fence that an entry at `position` hands out to the owner it chooses.
    #[must_use]
    pub const fn at(position: Position) -> Self {
        Self(position.0)
    }
}

impl SessionToken {
    /// The token of a registration that stands in the log at `position`.
    #[must_use]
    pub const fn at(position: Position) -> Self {
        Self(position.0)
    }
}

impl Epoch {
    /// The epoch of an election that stands in the log at `position`.
    #[must_use]
    pub const fn at(position: Position) -> Self {
        Self(position.0)
    }
}

/// What makes an append the same append when it is sent again: who wrote it, and the writer's own
/// count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntryId {
    /// The writer's session.
    pub session: SessionToken,
    /// Counts the writer's entries from 1, within its session.
    pub counter: u64,
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.session, self.counter)
    }
}

/// Which history a log holds. Another id means that all positions known so far are void.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogId(u128);

impl LogId {
    /// Wraps a number; 128 random bits make it unique.
    #[must_use]
    pub const fn new(id: u128) -> Self {
        Self(id)
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u128 {
        self.0
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogId({:032x})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_and_parse() {
        assert_eq!("7".parse::<Position>().unwrap(), Position::new(7));
        assert_eq!(Position::new(7).to_string(), "7");
        assert!("-1".parse::<Epoch>().is_err());
        assert_eq!(format!("{:05}", Fence::new(42)), "00042");
    }

    #[test]
    fn zero_has_no_predecessor() {
        assert_eq!(Position::ZERO.previous(), Position::ZERO);
        assert_eq!(Position::ZERO.next().previous(), Position::ZERO);
    }
}
