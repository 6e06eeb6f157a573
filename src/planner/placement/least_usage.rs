//! Placement by how full the fullest resource of each broker is.

use super::below_average::well_below_average;
use super::{AtRandom, Placement};
use crate::ids::{BrokerId, BundleId};
use crate::planner::{BrokerLoad, ClusterLoad, Error, Mode, Weights, score};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How placement by load decides. The defaults are those of Apache Pulsar.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageConfig {
    /// A broker this many points below the average is a good one. Default: 10.
    pub difference_points: f64,
    /// The share of its history in a broker's load. Default: 0.9.
    pub history_ratio: f64,
    /// How much each resource counts.
    pub weights: Weights,
}

impl Default for UsageConfig {
    fn default() -> Self {
        Self {
            difference_points: 10.0,
            history_ratio: 0.9,
            weights: Weights::default(),
        }
    }
}

impl UsageConfig {
    /// Looks for numbers that cannot be worked with.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for the first number that is negative or not finite.
    pub fn check(&self) -> Result<(), Error> {
        let numbers = [
            ("difference_points", self.difference_points),
            ("history_ratio", self.history_ratio),
        ];
        Error::unless_usable(numbers.into_iter().chain(self.weights.settings()))
    }
}

/// Any of the candidates whose load is well below their average; any at all if none is.
///
/// The load of each is smoothed here: with every question, so that the memory is one of placements
/// and not of time. A broker without bundles or messages has no history: it has just started. Like
/// Apache Pulsar's `LeastResourceUsageWithWeight` of the modular load manager.
#[derive(Clone, Debug, Default)]
pub struct LeastResourceUsage {
    config: UsageConfig,
    chance: AtRandom,
    reported: BTreeMap<BrokerId, Reported>,
    usage: BTreeMap<BrokerId, f64>,
}

/// What a broker reported.
#[derive(Clone, Copy, Debug)]
struct Reported {
    /// A ratio.
    usage: f64,
    /// It bears nothing yet.
    is_fresh: bool,
}

impl LeastResourceUsage {
    /// One that was shown no load yet. The seed decides between equals.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn new(seed: u64, config: UsageConfig) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            config,
            chance: AtRandom::new(seed),
            ..Self::default()
        })
    }

    /// The smoothed load of every broker that was a candidate, 1.0 being a full resource.
    #[must_use]
    pub const fn usage(&self) -> &BTreeMap<BrokerId, f64> {
        &self.usage
    }

    /// The good candidates, one of which is to be taken. Their loads are smoothed once more.
    pub fn best(&mut self, candidates: &[BrokerId]) -> Vec<BrokerId> {
        let history = self.config.history_ratio;
        for broker in candidates {
            let Some(reported) = self.reported.get(broker) else {
                continue;
            };
            let now = reported.usage;
            let before = self.usage.get(broker).filter(|_| !reported.is_fresh);
            let usage = before.map_or(now, |before| before * history + (1.0 - history) * now);
            self.usage.insert(broker.clone(), usage);
        }
        let difference = self.config.difference_points / 100.0;
        well_below_average(
            candidates,
            |broker| self.usage.get(broker).copied(),
            difference,
        )
    }
}

impl Placement for LeastResourceUsage {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        let best = self.best(candidates);
        self.chance.place(bundle, &best)
    }

    fn observe(&mut self, load: &ClusterLoad) {
        let weights = self.config.weights;
        let reported = |of: &BrokerLoad| Reported {
            usage: score::score(of, weights, Mode::Reference).map_or(0.0, |score| score.ratio()),
            is_fresh: of.bundles.is_empty()
                || (of.traffic.message_rate_in == 0.0 && of.traffic.message_rate_out == 0.0),
        };
        let brokers = load.brokers.iter();
        self.reported = brokers.map(|(id, of)| (id.clone(), reported(of))).collect();
        self.usage
            .retain(|broker, _| load.brokers.contains_key(broker));
    }
}

/// The same by the load that brokers smooth themselves; a candidate that has not reported is taken
/// only if no other is good.
///
/// Like Apache Pulsar's `LeastResourceUsageWithWeight` of the extensible load manager.
#[derive(Clone, Debug, Default)]
pub struct LeastReportedUsage {
    config: UsageConfig,
    chance: AtRandom,
    usage: BTreeMap<BrokerId, f64>,
}

impl LeastReportedUsage {
    /// One that was shown no load yet. The seed decides between equals. What brokers report is
    /// smoothed already: history and weights are their affair.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn new(seed: u64, config: UsageConfig) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            config,
            chance: AtRandom::new(seed),
            usage: BTreeMap::new(),
        })
    }

    /// The good candidates, one of which is to be taken.
    #[must_use]
    pub fn best(&self, candidates: &[BrokerId]) -> Vec<BrokerId> {
        let difference = self.config.difference_points / 100.0;
        well_below_average(
            candidates,
            |broker| self.usage.get(broker).copied(),
            difference,
        )
    }
}

impl Placement for LeastReportedUsage {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        self.chance.place(bundle, &self.best(candidates))
    }

    fn observe(&mut self, load: &ClusterLoad) {
        let reported = load.brokers.iter().filter_map(|(broker, of)| {
            let smoothed = of.smoothed.as_ref()?;
            Some((broker.clone(), smoothed.usage))
        });
        self.usage = reported.collect();
    }
}
