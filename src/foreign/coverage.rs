//! How the bundles of a namespace cover its key space.

use super::audit::Held;
use crate::ids::KeyRange;
use crate::state::State;

/// How the bundles of a namespace cover its key space.
///
/// What is deleted covers nothing, and the children of a split that is under way cover nothing of
/// their parent twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Keys that two bundles hold.
    pub overlaps: Vec<Overlap>,
    /// Keys that no bundle holds. Apache Pulsar writes of a bundle when somebody first asks for it,
    /// so that a gap need not mean a loss.
    pub gaps: Vec<KeyRange>,
}

/// Two bundles of one namespace that hold the same keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The one that begins first; the narrower one if both begin at the same key.
    pub first: KeyRange,
    /// The other.
    pub second: KeyRange,
}

impl Coverage {
    /// Whether every key belongs to exactly one bundle.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.overlaps.is_empty() && self.gaps.is_empty()
    }
}

/// Goes through the bundles of a namespace in order of their ranges.
///
/// Of several that overlap, each is told with the one before it that reaches furthest.
pub(super) fn cover<'a>(rows: impl Iterator<Item = (KeyRange, &'a Held)>) -> Coverage {
    let mut coverage = Coverage::default();
    let mut furthest: Option<(KeyRange, &Held)> = None;
    for (range, held) in rows {
        if matches!(held.observed.record.state, State::Init | State::Deleted) {
            continue;
        }
        let covered = furthest.map_or(0, |(before, _)| before.upper());
        match furthest {
            Some((before, of)) if before.overlaps(range) => {
                if !is_child(before, of, range) && !is_child(range, held, before) {
                    coverage.overlaps.push(Overlap {
                        first: before,
                        second: range,
                    });
                }
            }
            _ => coverage.gaps.extend(KeyRange::new(covered, range.lower())),
        }
        if range.upper() > covered {
            furthest = Some((range, held));
        }
    }
    let covered = furthest.map_or(0, |(before, _)| before.upper());
    coverage.gaps.extend(KeyRange::new(covered, u32::MAX));
    coverage
}

/// Whether `child` is, or may be, a child of a bundle that is being split.
pub(super) fn is_child(parent: KeyRange, held: &Held, child: KeyRange) -> bool {
    let children = &held.observed.children;
    let inside = parent.lower() <= child.lower() && child.upper() <= parent.upper();
    held.observed.record.state == State::Splitting
        && inside
        && parent != child
        && (children.is_empty() || children.contains_key(&child))
}
