//! Why a bundle may not go to a broker.

use std::fmt;

/// Why a bundle may not go to a broker, whatever the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Barred {
    /// The broker owns it already.
    Owner,
    /// The broker is being drained.
    Drained,
    /// The broker is none of those that the namespace may use.
    NotAllowed,
    /// The broker runs an older version than the owner does, or, where a bundle has no owner, than
    /// another candidate.
    OlderVersion,
    /// The broker would have too many topics.
    TooManyTopics {
        /// How many it may have.
        max: u64,
    },
    /// The broker has more namespaces of the same anti-affinity group than the owner has, or, where
    /// a bundle has no owner, than another candidate.
    AntiAffinity,
}

impl Barred {
    /// A short word for the rule, the same in every release, such as `not_allowed`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Drained => "drained",
            Self::NotAllowed => "not_allowed",
            Self::OlderVersion => "older_version",
            Self::TooManyTopics { .. } => "too_many_topics",
            Self::AntiAffinity => "anti_affinity",
        }
    }
}

impl fmt::Display for Barred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("is the owner"),
            Self::Drained => f.write_str("is being drained"),
            Self::NotAllowed => f.write_str("is not allowed for the namespace"),
            Self::OlderVersion => f.write_str("runs an older version"),
            Self::TooManyTopics { max } => write!(f, "would have more than {max} topics"),
            Self::AntiAffinity => f.write_str("has more namespaces of its anti-affinity group"),
        }
    }
}
