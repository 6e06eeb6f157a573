//! Foreign records under the native rules.
//!
//! A foreign record has no author, no session and no position. So it is read with the benefit of
//! the doubt: its author is whoever the transition needs, and what is there was written by a
//! session of that broker. Everything else is judged by [`resolve_change`], as in a log of ours.

use super::audit::Held;
use super::event::{Event, Observed};
use crate::ids::{BrokerId, BundleId, Cuts, Fence, Holder, KeyRange, Position, SessionToken};
use crate::state::pulsar::{PulsarRecord, Refusal};
use crate::state::rules::{By, FORCED, ORDINARY, find};
use crate::state::{Change, Context, Phase, Record, Rejection, Row, State, resolve_change};
use std::collections::BTreeMap;

/// Why a foreign record is nothing that the native rules know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotNative {
    /// A state needs a broker that the record does not name, or names by something that is no name.
    #[error("{state} needs {role}")]
    NobodyNamed {
        /// The state.
        state: State,
        /// Who is missing.
        role: &'static str,
    },
    /// A split does not say which children it makes.
    #[error("Splitting names its children, which partition the bundle")]
    NoChildren,
    /// A bundle is let go of to the broker that has it.
    #[error("Releasing names another destination than its source")]
    ToItself,
}

/// Why the native rules drop a record.
pub(super) enum Against {
    Number(Refusal),
    Form(NotNative),
    Rule(Rejection),
}

/// The session in which everything that is there was written.
pub(super) const BEFORE: SessionToken = SessionToken::new(1);

/// The session of whoever takes over.
const AFTER: SessionToken = SessionToken::new(2);

/// Judges an event against what is there; `around` are the other bundles of its namespace.
pub(super) fn judge(
    kept: Option<&Held>,
    event: &Event,
    around: &BTreeMap<KeyRange, Held>,
) -> Result<(), Against> {
    let next = event.observed.as_ref();
    let Some(next) = next.filter(|next| next.record.state != State::Init) else {
        return removal(kept, &event.bundle);
    };
    let Some(kept) = kept else {
        let record = native(next, event.bundle.range(), BEFORE).map_err(Against::Form)?;
        return match record {
            // It is what is left of a parent: its keys are its children's.
            Record::Deleted => Ok(()),
            _ => birth(event, around),
        };
    };
    follows(&kept.observed.record, &next.record).map_err(Against::Number)?;
    let (from, to) = (kept.observed.record.state, next.record.state);
    // Force adds to what may be done: what the leader has no rule for, anybody may do.
    let by_force = find(FORCED, from, to).filter(|_| next.record.forced);
    // Only the broker that holds a bundle comes back to it in a newer session.
    let comes_back = kept.observed.record.holder() == next.record.holder();
    let by_anybody = find(ORDINARY, from, to).filter(|rule| rule.by != By::Successor || comes_back);
    let Some(rule) = by_force.or(by_anybody) else {
        return Err(Against::Rule(Rejection::InvalidTransition {
            bundle: event.bundle.clone(),
            from,
            to,
            forced: next.record.forced,
        }));
    };
    let takes_over = matches!(rule.by, By::Successor | By::Leader);
    let session = if takes_over { AFTER } else { BEFORE };
    let range = event.bundle.range();
    let before = native(&kept.observed, range, BEFORE).map_err(Against::Form)?;
    let after = native(next, range, session).map_err(Against::Form)?;
    let nobody = NotNative::NobodyNamed {
        state: from,
        role: "a broker",
    };
    let author = author(rule.by, &before, &after).ok_or(Against::Form(nobody))?;
    let row = Row {
        record: before,
        version: Position::new(1),
        fence: Fence::default(),
    };
    let change = Change {
        bundle: event.bundle.clone(),
        expected: row.version,
        next: Some(after),
    };
    let context = Context {
        position: Position::new(2),
        author: &author,
        forced: by_force.is_some(),
        phase: Phase::Live,
    };
    resolve_change(Some(&row), &change, context).map_err(Against::Rule)?;
    Ok(())
}

/// A bundle ends as a parent after its split, or free with its namespace.
fn removal(kept: Option<&Held>, bundle: &BundleId) -> Result<(), Against> {
    let from = kept.map_or(State::Init, |kept| kept.observed.record.state);
    match from {
        State::Init | State::Free | State::Deleted => Ok(()),
        from => Err(Against::Rule(Rejection::InvalidTransition {
            bundle: bundle.clone(),
            from,
            to: State::Init,
            forced: true,
        })),
    }
}

/// A bundle is there from its namespace's creation, which foreign logs do not tell, or is a child
/// of one that is split: the first record may be in any state, but holds nobody else's keys.
fn birth(event: &Event, around: &BTreeMap<KeyRange, Held>) -> Result<(), Against> {
    let range = event.bundle.range();
    let in_the_way = around.iter().filter(|(other, held)| {
        let observed = &held.observed;
        let counts = !matches!(observed.record.state, State::Init | State::Deleted);
        let is_parent =
            observed.record.state == State::Splitting && observed.children.contains_key(&range);
        counts && other.overlaps(range) && !is_parent
    });
    let bundles: Vec<_> = in_the_way
        .take(crate::state::COVERING_MAX)
        .map(|(other, _)| BundleId::new(event.bundle.namespace().clone(), *other))
        .collect();
    if bundles.is_empty() {
        Ok(())
    } else {
        Err(Against::Rule(Rejection::Overlaps { bundles }))
    }
}

/// Natively a record names the one it follows. Logs that count nothing leave all numbers at 0.
fn follows(kept: &PulsarRecord, next: &PulsarRecord) -> Result<(), Refusal> {
    let (kept, version) = (kept.version, next.version);
    if (kept, version) == (0, 0) || version == kept.wrapping_add(1) {
        Ok(())
    } else if version > kept {
        Err(Refusal::Gap { version, kept })
    } else {
        Err(Refusal::Stale { version, kept })
    }
}

/// Whoever may say so; where it makes no difference, somebody that the records name.
fn author(by: By, before: &Record, after: &Record) -> Option<Holder> {
    let holder = || before.holder().cloned();
    let destined = |record: &Record| {
        let broker = record.destination().cloned();
        broker.map(|broker| Holder::new(broker, BEFORE))
    };
    match by {
        By::Destination => destined(before),
        By::Source => holder(),
        By::Successor => holder().map(|holder| Holder::new(holder.broker, AFTER)),
        By::Anyone | By::Leader => holder()
            .or_else(|| destined(before))
            .or_else(|| destined(after)),
    }
}

/// The record as one of ours, if it has what its state needs.
pub(super) fn native(
    observed: &Observed,
    range: KeyRange,
    session: SessionToken,
) -> Result<Record, NotNative> {
    let record = &observed.record;
    let state = record.state;
    let named = |name: &Option<Box<str>>| BrokerId::new(name.as_deref().unwrap_or_default()).ok();
    let needed =
        |name: &Option<Box<str>>, role| named(name).ok_or(NotNative::NobodyNamed { state, role });
    let holder = |name, role| Ok(Holder::new(needed(name, role)?, session));
    Ok(match state {
        State::Init | State::Free => Record::Free,
        State::Deleted => Record::Deleted,
        State::Assigning => Record::Assigning {
            destination: needed(&record.destination, "a destination")?,
        },
        State::Owned => Record::Owned {
            owner: holder(&record.destination, "an owner")?,
        },
        State::Releasing if record.holder().is_some() && record.holder() == record.successor() => {
            return Err(NotNative::ToItself);
        }
        State::Releasing => Record::Releasing {
            source: holder(&record.source, "a source")?,
            destination: named(&record.destination),
        },
        State::Splitting => Record::Splitting {
            source: Some(holder(&record.source, "a source")?),
            cuts: cuts(observed, range).ok_or(NotNative::NoChildren)?,
        },
    })
}

/// Where the children of a split meet, if they partition the bundle.
pub(super) fn cuts(observed: &Observed, range: KeyRange) -> Option<Cuts> {
    let mut next = range.lower();
    let mut cuts = Vec::new();
    for child in observed.children.keys() {
        if child.lower() != next {
            return None;
        }
        if next != range.lower() {
            cuts.push(next);
        }
        next = child.upper();
    }
    let cuts = Cuts::new(cuts).ok()?;
    (next == range.upper() && cuts.divide(range)).then_some(cuts)
}
