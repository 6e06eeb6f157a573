//! Placement by long-term message rates, with what was placed and is not reported yet.

use super::{AtRandom, Placement};
use crate::ids::{BrokerId, BundleId};
use crate::planner::{BrokerLoad, ClusterLoad, Mode, Score, Weights, score};
use std::collections::BTreeMap;

/// What a bundle is taken to bear whose load nobody has reported: messages a second.
const UNKNOWN_MESSAGES: f64 = 100.0;

/// Any of the candidates with the least messages a second over a long time, what is placed on them
/// and not reported yet included; any at all if each of them is overloaded.
///
/// A bundle counts where it was placed until a report shows who owns it, or its broker leaves. Like
/// Apache Pulsar's `LeastLongTermMessageRate`.
#[derive(Clone, Debug)]
pub struct LeastLongTermMessageRate {
    limit_points: f64,
    weights: Weights,
    chance: AtRandom,
    /// Messages a second; infinite for a broker that is overloaded.
    rates: BTreeMap<BrokerId, f64>,
    /// Messages a second of each bundle that was reported.
    bundles: BTreeMap<BundleId, f64>,
    placed: BTreeMap<BundleId, (BrokerId, f64)>,
}

impl LeastLongTermMessageRate {
    /// A broker above so many points is overloaded: what Apache Pulsar has for default.
    pub const OVERLOADED_POINTS: f64 = 85.0;

    /// One that was shown no load yet. The seed decides between equals.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_limit(seed, Self::OVERLOADED_POINTS, Weights::default())
    }

    /// One with a limit of its own, in points.
    #[must_use]
    pub const fn with_limit(seed: u64, limit_points: f64, weights: Weights) -> Self {
        Self {
            limit_points,
            weights,
            chance: AtRandom::new(seed),
            rates: BTreeMap::new(),
            bundles: BTreeMap::new(),
            placed: BTreeMap::new(),
        }
    }

    /// The candidates with the least messages a second, one of which is to be taken.
    #[must_use]
    pub fn best(&self, candidates: &[BrokerId]) -> Vec<BrokerId> {
        let rate = |broker: &BrokerId| self.expected(broker);
        let least = candidates.iter().map(rate).fold(f64::INFINITY, f64::min);
        let is_best = |broker: &&BrokerId| least == f64::INFINITY || rate(broker) <= least;
        candidates.iter().filter(is_best).cloned().collect()
    }

    /// What a broker is expected to bear, in messages a second; infinite if it is overloaded.
    #[must_use]
    pub fn expected(&self, broker: &BrokerId) -> f64 {
        let placed = self.placed.values().filter(|(on, _)| on == broker);
        let placed: f64 = placed.map(|(_, messages)| messages).sum();
        placed + self.rates.get(broker).copied().unwrap_or_default()
    }

    fn rate(&self, load: &BrokerLoad) -> f64 {
        let score = score::score(load, self.weights, Mode::Reference);
        if score.as_ref().map_or(0.0, Score::ratio) > self.limit_points / 100.0 {
            return f64::INFINITY;
        }
        long_term_messages(load)
    }
}

/// Messages a second over a long time, with those of bundles that are not reported yet.
pub(super) fn long_term_messages(load: &BrokerLoad) -> f64 {
    let preallocated: f64 = load.preallocated.values().map(|of| of.messages()).sum();
    let reported = load.long_term.unwrap_or_else(|| {
        let bundles = load.bundles.values().flatten();
        bundles
            .map(|of| of.long_term.unwrap_or(of.short_term))
            .sum()
    });
    preallocated + reported.messages()
}

impl Placement for LeastLongTermMessageRate {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        self.placed.remove(bundle);
        let chosen = self.chance.place(bundle, &self.best(candidates))?;
        let messages = self.bundles.get(bundle).copied();
        let messages = messages.unwrap_or(UNKNOWN_MESSAGES);
        self.placed
            .insert(bundle.clone(), (chosen.clone(), messages));
        Some(chosen)
    }

    fn observe(&mut self, load: &ClusterLoad) {
        let brokers = load.brokers.iter();
        self.rates = brokers
            .map(|(id, of)| (id.clone(), self.rate(of)))
            .collect();
        let knows = |of: &BrokerLoad, bundle: &BundleId| {
            of.bundles.contains_key(bundle) || of.preallocated.contains_key(bundle)
        };
        self.placed.retain(|bundle, (broker, _)| {
            load.brokers.contains_key(broker) && !load.brokers.values().any(|of| knows(of, bundle))
        });
        let bundles = load.brokers.values().flat_map(|of| &of.bundles);
        let messages = bundles.filter_map(|(bundle, of)| {
            let of = of.as_ref()?;
            let messages = of.long_term.unwrap_or(of.short_term).messages();
            Some((bundle.clone(), messages))
        });
        // A bundle that is nobody's for a while keeps the load that it had.
        self.bundles.extend(messages);
    }
}
