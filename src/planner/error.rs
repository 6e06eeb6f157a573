//! What is wrong with a planner's configuration.

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
}
