//! What is wrong with a planner's configuration.

use super::{PlacementKind, Strategy};

/// Why a strategy cannot work as it was told to.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of the configuration is outside of its range.
    #[error("{what} is {value}; expected {expected}")]
    OutOfRange {
        /// The name of the setting.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed, in words.
        expected: &'static str,
    },
    /// There is no placement of this name.
    #[error("no such placement: {name}; there is {all}", all = placements())]
    UnknownPlacement {
        /// What was asked for.
        name: String,
    },
    /// There is no strategy of this name.
    #[error("no such strategy: {name}; there is {all}", all = strategies())]
    UnknownStrategy {
        /// What was asked for.
        name: String,
    },
    /// A text is no version.
    #[error("no version: {text}; expected numbers with dots between them, such as 3.0.1")]
    NoVersion {
        /// What was given.
        text: String,
    },
}

fn placements() -> String {
    PlacementKind::ALL.map(PlacementKind::name).join(", ")
}

fn strategies() -> String {
    Strategy::ALL.map(Strategy::name).join(", ")
}

impl Error {
    /// Complains of the first setting that is negative or not finite.
    pub(super) fn unless_usable(
        settings: impl IntoIterator<Item = (&'static str, f64)>,
    ) -> Result<(), Self> {
        let usable = |number: f64| number.is_finite() && number >= 0.0;
        match settings.into_iter().find(|&(_, number)| !usable(number)) {
            Some((what, value)) => Err(Self::OutOfRange {
                what,
                value,
                expected: "a finite number that is not negative",
            }),
            None => Ok(()),
        }
    }
}
