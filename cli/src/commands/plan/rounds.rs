//! Rounds that see the same load again and again.

use deedbook::planner::{BrokerVerdict, PairVerdict, Plan, Stopped};
use std::collections::BTreeMap;

/// The outcomes of rounds that saw the same load, as one.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    count: u32,
    told: Plan,
}

impl Rounds {
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Whether another round of the same load can show something new: nothing moves yet, and some
    /// pair has not been looked into because its difference has not lasted long enough.
    pub(super) fn may_change(&self) -> bool {
        let mut brokers = self.told.brokers.values();
        self.count == 0 || self.told.moves.is_empty() && brokers.any(waits)
    }

    /// Adds a round. What it found replaces what the one before found, unless it merely says that
    /// the waiting began anew: what stopped a pair when its time had come tells more.
    pub(super) fn add(&mut self, plan: Plan) {
        self.count += 1;
        let earlier = std::mem::replace(&mut self.told, plan);
        for (broker, verdict) in earlier.brokers {
            if let Some(later) = self.told.brokers.get_mut(&broker)
                && waits(later)
                && !waits(&verdict)
            {
                *later = verdict;
            }
        }
        let key = |pair: &PairVerdict| (pair.hot.clone(), pair.cold.clone());
        let earlier = earlier.pairs.into_iter().filter(is_due);
        let mut due: BTreeMap<_, _> = earlier.map(|pair| (key(&pair), pair)).collect();
        for later in self.told.pairs.iter_mut().filter(|pair| !is_due(pair)) {
            if let Some(pair) = due.remove(&key(later)) {
                *later = pair;
            }
        }
    }

    /// How many rounds there were, and what they found.
    pub(super) fn into_plan(self) -> (u32, Plan) {
        (self.count, self.told)
    }
}

fn waits(verdict: &BrokerVerdict) -> bool {
    matches!(verdict.stopped, Some(Stopped::TooFewHits { .. }))
}

fn is_due(pair: &PairVerdict) -> bool {
    pair.low.suffice() || pair.high.suffice()
}
