//! Everything that is left to chance, drawn from one seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::Duration;

/// A stream of numbers that means the same on every machine and next year.
#[derive(Clone, Debug)]
pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `bound`; zero if there is none.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64().checked_rem(bound).unwrap_or(0)
    }

    /// True in `share` of a thousand cases.
    pub(super) fn per_mille(&mut self, share: u64) -> bool {
        self.below(1_000) < share
    }

    /// A duration of the range, both ends included, to the microsecond.
    pub(super) fn between(&mut self, span: Span) -> Duration {
        let width = span.max.saturating_sub(span.min).as_micros();
        let width = u64::try_from(width).unwrap_or(u64::MAX - 1);
        span.min + Duration::from_micros(self.below(width + 1))
    }

    /// One of them.
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let index = self.below(u64::try_from(all.len()).unwrap_or(0));
        all.get(usize::try_from(index).unwrap_or(0))
    }
}

/// From how short to how long something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The shortest time.
    pub min: Duration,
    /// The longest time.
    pub max: Duration,
}

impl Span {
    /// From `min` to `max` milliseconds.
    #[must_use]
    pub const fn millis(min: u64, max: u64) -> Self {
        Self {
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
        }
    }
}
