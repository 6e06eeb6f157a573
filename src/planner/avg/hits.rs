//! What the strategy remembers of earlier rounds: how often in a row a difference was large.

use super::config::Config;
use crate::ids::BrokerId;
use crate::planner::{Hits, Mode};
use std::collections::BTreeMap;

/// Two brokers that are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub(super) hot: &'a BrokerId,
    pub(super) cold: &'a BrokerId,
    /// Points, never negative.
    pub(super) difference: f64,
}

/// Rounds in a row over each of the two thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HitCounts {
    /// Over the low one.
    pub low: u32,
    /// Over the high one.
    pub high: u32,
}

/// Counts of hits, by broker.
#[derive(Clone, Debug, Default)]
pub(super) struct HitBook {
    counts: BTreeMap<BrokerId, HitCounts>,
}

impl HitBook {
    pub(super) const fn counts(&self) -> &BTreeMap<BrokerId, HitCounts> {
        &self.counts
    }

    /// Counts one round.
    pub(super) fn count(&mut self, pairs: &[Pair<'_>], config: &Config) {
        match config.mode {
            Mode::Safe => self.count_in_a_row(pairs, config),
            Mode::Reference => self.count_like_reference(pairs, config),
        }
    }

    /// A count belongs to the hotter broker, whoever its partner is: noise among the colder ones
    /// changes partners in nearly every round. Who is not the hotter one of a pair over the
    /// threshold in this round, starts anew; who has left, too.
    fn count_in_a_row(&mut self, pairs: &[Pair<'_>], config: &Config) {
        let mut before = std::mem::take(&mut self.counts);
        for pair in pairs {
            if pair.difference < config.low_threshold_points {
                continue;
            }
            let mut counts = before.remove(pair.hot).unwrap_or_default();
            counts.low = counts.low.saturating_add(1);
            counts.high = if pair.difference < config.high_threshold_points {
                0
            } else {
                counts.high.saturating_add(1)
            };
            self.counts.insert(pair.hot.clone(), counts);
        }
    }

    /// Counts belong to both brokers and survive a change of partner; those of brokers that left
    /// survive until a round without any pair over the threshold.
    fn count_like_reference(&mut self, pairs: &[Pair<'_>], config: &Config) {
        let mut any = false;
        for pair in pairs {
            let below = pair.difference < config.low_threshold_points;
            any |= !below;
            // The one in the middle is paired with itself and counted twice.
            for broker in [pair.hot, pair.cold] {
                if below {
                    self.counts.remove(broker);
                    continue;
                }
                let counts = self.counts.entry(broker.clone()).or_default();
                counts.low = counts.low.saturating_add(1);
                counts.high = if pair.difference < config.high_threshold_points {
                    0
                } else {
                    counts.high.saturating_add(1)
                };
            }
        }
        if !any {
            self.counts.clear();
        }
    }

    /// The counts that decide about a pair: over the low and over the high threshold.
    pub(super) fn of(&self, pair: &Pair<'_>, config: &Config) -> (Hits, Hits) {
        let own = |broker: &BrokerId| self.counts.get(broker).copied().unwrap_or_default();
        let hot = own(pair.hot);
        // In safe mode the colder one has none.
        let cold = own(pair.cold);
        let low = Hits {
            count: hot.low.max(cold.low),
            needed: config.low_hits,
        };
        let high = Hits {
            count: hot.high.max(cold.high),
            needed: config.high_hits,
        };
        (low, high)
    }

    /// Starts anew for both brokers of a pair.
    pub(super) fn reset(&mut self, pair: &Pair<'_>) {
        self.forget(pair.hot);
        self.forget(pair.cold);
    }

    /// Starts anew for one broker.
    pub(super) fn forget(&mut self, broker: &BrokerId) {
        self.counts.remove(broker);
    }
}
