//! What a plan says about one bundle.

use super::{ClusterLoad, Kept, Move, PairVerdict, Plan, SearchVerdict, Stopped, Trigger, Unload};
use crate::ids::{BrokerId, BundleId};
use std::fmt;

/// What becomes of one bundle, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fate<'p> {
    /// It moves.
    Moves {
        /// Where to.
        planned: &'p Move,
        /// Why its owner gives something; none if the plan does not say.
        because: Option<Cause<'p>>,
    },
    /// It leaves its owner, and placement says where to.
    Leaves {
        /// Whom it leaves.
        planned: &'p Unload,
        /// Why its owner gives something; none if the plan does not say.
        because: Option<Cause<'p>>,
    },
    /// It was looked at, and a rule keeps it.
    Kept {
        /// Who owns it.
        owner: &'p BrokerId,
        /// The rule.
        rule: &'p Kept,
    },
    /// It was not looked at, because its owner gives nothing.
    OwnerGivesNothing {
        /// Who owns it.
        owner: &'p BrokerId,
        /// What stopped its owner.
        rule: &'p Stopped,
    },
    /// Its owner gives something, but this one was not looked at.
    NotLookedAt {
        /// Who owns it.
        owner: &'p BrokerId,
    },
    /// No broker reports it.
    Unknown,
}

/// Why a broker gives something away.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cause<'p> {
    /// What it bears, beside the others.
    Trigger(&'p Trigger),
    /// What it bears, beside another one.
    Pair(&'p PairVerdict),
    /// What is best for the cluster as a whole.
    Search(&'p SearchVerdict),
}

impl Plan {
    /// What becomes of a bundle of the cluster that this plan was made for, and why.
    #[must_use]
    pub fn fate<'p>(&'p self, bundle: &BundleId, load: &'p ClusterLoad) -> Fate<'p> {
        if let Some(planned) = self.moves.iter().find(|one| one.bundle == *bundle) {
            let because = self.cause(&planned.from);
            return Fate::Moves { planned, because };
        }
        if let Some(planned) = self.unloads.iter().find(|one| one.bundle == *bundle) {
            let because = self.cause(&planned.from);
            return Fate::Leaves { planned, because };
        }
        let mut owners = load.brokers.iter();
        let Some((owner, _)) = owners.find(|(_, of)| of.bundles.contains_key(bundle)) else {
            return Fate::Unknown;
        };
        let Some(verdict) = self.brokers.get(owner) else {
            return Fate::NotLookedAt { owner };
        };
        let mut kept = verdict.kept.iter();
        if let Some((_, rule)) = kept.find(|(kept, _)| kept == bundle) {
            return Fate::Kept { owner, rule };
        }
        match &verdict.stopped {
            Some(rule) => Fate::OwnerGivesNothing { owner, rule },
            None => Fate::NotLookedAt { owner },
        }
    }

    /// Why a broker gives something away; none if it does not.
    #[must_use]
    pub fn cause(&self, broker: &BrokerId) -> Option<Cause<'_>> {
        let verdict = self.brokers.get(broker)?;
        if verdict.stopped.is_some() {
            return None;
        }
        if let Some(search) = &self.search {
            return Some(Cause::Search(search));
        }
        let pair = self.pairs.iter().find(|pair| pair.hot == *broker);
        let trigger = verdict.triggered.as_ref().map(Cause::Trigger);
        trigger.or(pair.map(Cause::Pair))
    }
}

impl Fate<'_> {
    /// A short word, the same in every release: `moves`, `leaves`, `not_looked_at`, `unknown`, or
    /// that of the rule that keeps the bundle or stopped its owner, such as `pinned`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::Moves { .. } => "moves",
            Self::Leaves { .. } => "leaves",
            Self::Kept { rule, .. } => rule.rule(),
            Self::OwnerGivesNothing { rule, .. } => rule.rule(),
            Self::NotLookedAt { .. } => "not_looked_at",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Fate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = |f: &mut fmt::Formatter<'_>, because: &Option<Cause<'_>>| match because {
            Some(cause) => write!(f, ", because {cause}"),
            None => Ok(()),
        };
        match self {
            Self::Moves { planned, because } => {
                let Move { from, to, .. } = planned;
                write!(f, "moves from {from} to {to}")?;
                why(f, because)
            }
            Self::Leaves { planned, because } => {
                write!(f, "leaves {}", planned.from)?;
                why(f, because)
            }
            Self::Kept { owner, rule } => write!(f, "stays on {owner}: {rule}"),
            Self::OwnerGivesNothing { owner, rule } => {
                write!(f, "stays on {owner}, which gives nothing: {rule}")
            }
            Self::NotLookedAt { owner } => {
                write!(f, "stays on {owner}, which gives enough without it")
            }
            Self::Unknown => f.write_str("no report has it"),
        }
    }
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trigger(trigger) => write!(f, "its owner stands out: {trigger}"),
            Self::Pair(pair) => write!(
                f,
                "its owner stood {:.1} points above {}: {} rounds over the low threshold, {} over \
                 the high one",
                pair.difference, pair.cold, pair.low, pair.high
            ),
            Self::Search(search) => write!(
                f,
                "all brokers should stand near {:.1} points, for as little moved load as can be",
                search.level
            ),
        }
    }
}
