//! Whether a record is accepted under a set of rules.

use super::record::{PulsarRecord, is_blank};
use super::rules::{Rules, Term, Versions};
use crate::state::State;

/// Whether the terms about brokers are looked at; Apache Pulsar can be told not to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Brokers {
    /// They are.
    #[default]
    Checked,
    /// They are not.
    Unchecked,
}

/// Why a record is dropped. The first reason found is the one that is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A record with this number, or a higher one, is there.
    #[error("version {version} is not newer than {kept}")]
    Stale {
        /// Its number.
        version: i64,
        /// The number of the record that is there.
        kept: i64,
    },
    /// Numbers before this one are missing.
    #[error("version {version} does not follow {kept}")]
    Gap {
        /// Its number.
        version: i64,
        /// The number of the record that is there; 0 without one.
        kept: i64,
    },
    /// No such transition.
    #[error("{from} cannot become {to}")]
    InvalidTransition {
        /// The present state.
        from: State,
        /// The state that was wanted.
        to: State,
    },
    /// The brokers of the new record break a term.
    #[error("{from} becomes {to} only if {term}")]
    TermBroken {
        /// The present state.
        from: State,
        /// The state that was wanted.
        to: State,
        /// The term.
        term: Term,
    },
    /// The record that is there is owned by nobody: the judge of Apache Pulsar fails on it.
    #[error("the record that is there is Owned and names no owner, on which brokers fail")]
    OwnerMissing,
}

impl Refusal {
    /// A stable short name, for counters and reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "stale_version",
            Self::Gap { .. } => "version_gap",
            Self::InvalidTransition { .. } => "invalid_transition",
            Self::TermBroken { .. } => "term_broken",
            Self::OwnerMissing => "owner_missing",
        }
    }
}

impl Rules {
    /// Judges a record against the one that is there, or its removal.
    ///
    /// A removal is always accepted. Then versions decide, then force, then the table, then its
    /// terms.
    ///
    /// # Errors
    ///
    /// The [`Refusal`] that keeps it from changing anything.
    pub fn judge(
        &self,
        kept: Option<&PulsarRecord>,
        next: Option<&PulsarRecord>,
        brokers: Brokers,
    ) -> Result<(), Refusal> {
        let Some(next) = next else {
            return Ok(());
        };
        if self.counts(kept, next)? || next.forced {
            return Ok(());
        }
        let from = kept.map_or(self.missing, |kept| kept.state);
        let to = next.state;
        let allowed = self
            .find(from, to)
            .ok_or(Refusal::InvalidTransition { from, to })?;
        if let (Some(kept), Brokers::Checked) = (kept, brokers) {
            for &term in allowed.terms {
                if !holds(term, kept, next)? {
                    return Err(Refusal::TermBroken { from, to, term });
                }
            }
        }
        Ok(())
    }

    /// Whether the versions alone let a record pass; `false` means that the rest of the rules
    /// decide.
    fn counts(&self, kept: Option<&PulsarRecord>, next: &PulsarRecord) -> Result<bool, Refusal> {
        let version = next.version;
        match (self.versions, kept) {
            (Versions::Uncounted, _) | (Versions::GapsPass, None) => Ok(false),
            (Versions::GapsStop, None) if version == 1 => Ok(true),
            (Versions::GapsStop, None) => Err(Refusal::Gap { version, kept: 0 }),
            (counted, Some(kept)) => {
                let kept = kept.version;
                let wrapped = kept == i64::MAX && version == i64::MIN;
                if kept >= version && !wrapped {
                    return Err(Refusal::Stale { version, kept });
                }
                // Over the whole range the distance wraps too, and then counts as none.
                match counted {
                    _ if version.wrapping_sub(kept) < 2 => Ok(false),
                    Versions::GapsPass => Ok(true),
                    _ => Err(Refusal::Gap { version, kept }),
                }
            }
        }
    }
}

fn holds(term: Term, kept: &PulsarRecord, next: &PulsarRecord) -> Result<bool, Refusal> {
    Ok(match term {
        Term::NoDestination => is_blank(next.destination.as_deref()),
        Term::SomeDestination => !is_blank(next.destination.as_deref()),
        Term::SameDestination => next.destination == kept.destination,
        Term::OtherDestination => next.destination != kept.destination,
        Term::NoSource => is_blank(next.source.as_deref()),
        Term::SomeSource => !is_blank(next.source.as_deref()),
        Term::SameSource => next.source == kept.source,
        Term::SourceIsOwner => match &kept.destination {
            None => return Err(Refusal::OwnerMissing),
            owner => next.source == *owner,
        },
    })
}
