//! Why a bundle is split, and why one that is too big is not.

use std::fmt;

/// The limit that a bundle exceeds: the first of them, in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SplitReason {
    /// Too many topics.
    Topics {
        /// How many it has.
        topics: u64,
        /// How many it may have.
        max: u64,
    },
    /// Too many producers and consumers.
    Sessions {
        /// How many it has.
        sessions: u64,
        /// How many it may have.
        max: u64,
    },
    /// Too many messages a second.
    MessageRate {
        /// How many it has.
        rate: f64,
        /// How many it may have.
        max: f64,
    },
    /// Too many bytes a second.
    Bandwidth {
        /// How many it has.
        bytes: f64,
        /// How many it may have.
        max: f64,
    },
}

impl SplitReason {
    /// By how much a bundle exceeds its limit: the one divided by the other.
    #[must_use]
    pub fn excess(&self) -> f64 {
        match *self {
            Self::Topics { topics: has, max } | Self::Sessions { sessions: has, max } => {
                has as f64 / max as f64
            }
            Self::MessageRate { rate: has, max } | Self::Bandwidth { bytes: has, max } => has / max,
        }
    }
}

impl SplitReason {
    /// A short word for the limit, the same in every release, such as `topics`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::Topics { .. } => "topics",
            Self::Sessions { .. } => "sessions",
            Self::MessageRate { .. } => "message_rate",
            Self::Bandwidth { .. } => "bandwidth",
        }
    }
}

impl fmt::Display for SplitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topics { topics, max } => write!(f, "{topics} topics, over {max}"),
            Self::Sessions { sessions, max } => {
                write!(f, "{sessions} producers and consumers, over {max}")
            }
            Self::MessageRate { rate, max } => {
                write!(f, "{rate:.1} msg/s, over {max}")
            }
            Self::Bandwidth { bytes, max } => {
                write!(f, "{bytes:.1} B/s, over {max}")
            }
        }
    }
}

/// Why a bundle that is too big, or might be, stays whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Whole {
    /// Its load was reported with numbers that make no sense.
    UnsoundTraffic,
    /// It has fewer than two topics, or all of them have one key.
    OneTopic,
    /// It is being split, or it overlaps one that is.
    Splitting,
    /// It has not been too big for long enough.
    Hits {
        /// For so many rounds in a row.
        hits: u32,
        /// More than so many are needed.
        needed: u32,
    },
    /// As many were split in this round as may be.
    RoundFull,
    /// Its namespace has as many bundles as it may have.
    NamespaceFull {
        /// How many that is.
        max: usize,
    },
    /// There is no place to cut: the range is too narrow, the keys of its topics are not known, its
    /// traffic is not far enough above the limits, or no given position is inside.
    NoCut,
}

impl Whole {
    /// A short word for the rule, the same in every release, such as `one_topic`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::UnsoundTraffic => "unsound_traffic",
            Self::OneTopic => "one_topic",
            Self::Splitting => "splitting",
            Self::Hits { .. } => "too_few_hits",
            Self::RoundFull => "round_full",
            Self::NamespaceFull { .. } => "namespace_full",
            Self::NoCut => "no_cut",
        }
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsoundTraffic => f.write_str("its traffic makes no sense"),
            Self::OneTopic => f.write_str("all its topics have one key"),
            Self::Splitting => f.write_str("it is being split, or overlaps a bundle that is"),
            Self::Hits { hits, needed } => {
                write!(
                    f,
                    "too big for {hits} rounds; more than {needed} are needed"
                )
            }
            Self::RoundFull => f.write_str("enough splits in this round"),
            Self::NamespaceFull { max } => write!(f, "its namespace may have {max} bundles"),
            Self::NoCut => f.write_str("there is no place to cut it"),
        }
    }
}
