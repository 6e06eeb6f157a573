//! What is wrong with a name.

/// Why a text is no name of the kind that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is empty, or a part of it is.
    #[error("the {what} {text:?} is empty or has an empty part")]
    Empty {
        /// The kind of name.
        what: &'static str,
        /// What was given.
        text: String,
    },
    /// The name is longer than [`NAME_BYTES_MAX`](super::NAME_BYTES_MAX).
    #[error("the {what} is {bytes} bytes long; at most {max} are allowed")]
    TooLong {
        /// The kind of name.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The name has a character that its kind cannot hold.
    #[error("the {what} {text:?} has the character {found:?}, which is not allowed there")]
    Character {
        /// The kind of name.
        what: &'static str,
        /// What was given.
        text: String,
        /// The first offending character.
        found: char,
    },
    /// The text does not have the form of its kind.
    #[error("{text:?} is no {what}; expected {expected}")]
    Form {
        /// The kind of name.
        what: &'static str,
        /// What was given.
        text: String,
        /// The form, in words.
        expected: &'static str,
    },
    /// The range does not grow: its lower bound is not below its upper bound.
    #[error(
        "the range {lower:#010x}..{upper:#010x} holds no keys; the lower bound must be \
         below the upper one"
    )]
    EmptyRange {
        /// Lower bound, inclusive.
        lower: u32,
        /// Upper bound, exclusive.
        upper: u32,
    },
    /// Cuts must grow strictly, and there must be at least one.
    #[error("the boundaries {cuts:x?} do not grow strictly, or there are none")]
    Cuts {
        /// What was given.
        cuts: Vec<u32>,
    },
}
