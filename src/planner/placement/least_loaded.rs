//! Safe placement by load: always the least loaded, never a lottery.

use super::below_average::well_below_average;
use super::standings::Standings;
use super::{Placement, UsageConfig, long_term_messages};
use crate::ids::{BrokerId, BundleId};
use crate::planner::{BrokerLoad, ClusterLoad, Error, Mode, Weights, score};
use std::collections::BTreeMap;

/// The candidate that bears least, by exact arithmetic; a bundle placed since the last report
/// counts as an average one, ties go by name.
///
/// Loads are smoothed with each report, and not with each question. Who has not reported comes
/// after all that have.
#[derive(Clone, Debug)]
pub struct LeastLoaded {
    measure: Measure,
    smoothed: BTreeMap<BrokerId, f64>,
    standings: Standings,
}

#[derive(Clone, Copy, Debug)]
enum Measure {
    /// The weighted points of the fullest resource, smoothed here.
    Usage(UsageConfig),
    /// The same as brokers smooth it.
    Reported(UsageConfig),
    /// Messages a second over a long time, unless a broker is overloaded.
    Messages { limit_points: f64, weights: Weights },
}

impl LeastLoaded {
    /// By the fullest resource of each broker.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn by_usage(config: UsageConfig) -> Result<Self, Error> {
        config.check()?;
        Ok(Self::by(Measure::Usage(config)))
    }

    /// By the load that brokers smooth themselves.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn by_reported_usage(config: UsageConfig) -> Result<Self, Error> {
        config.check()?;
        Ok(Self::by(Measure::Reported(config)))
    }

    /// By messages a second over a long time; a broker above so many points comes last.
    #[must_use]
    pub fn by_messages(limit_points: f64, weights: Weights) -> Self {
        Self::by(Measure::Messages {
            limit_points,
            weights,
        })
    }

    fn by(measure: Measure) -> Self {
        Self {
            measure,
            smoothed: BTreeMap::new(),
            standings: Standings::default(),
        }
    }

    /// The candidates whose reported load is well below the average of all, or all if none is: the
    /// pool from which Apache Pulsar draws lots, in exact arithmetic. The least loaded is one.
    #[must_use]
    pub fn pool(&self, candidates: &[BrokerId]) -> Vec<BrokerId> {
        let difference = match &self.measure {
            Measure::Usage(config) | Measure::Reported(config) => config.difference_points,
            Measure::Messages { .. } => 0.0,
        };
        well_below_average(
            candidates,
            |broker| self.standings.reported(broker),
            difference,
        )
    }

    /// The load of a broker, smoothed if that is done here.
    fn load(&mut self, broker: &BrokerId, of: &BrokerLoad) -> Option<f64> {
        match self.measure {
            Measure::Usage(config) => {
                let now = score::score(of, config.weights, Mode::Safe)?.points;
                let idle = of.bundles.is_empty() || of.traffic.messages() == 0.0;
                let before = self.smoothed.get(broker).filter(|_| !idle);
                let history = config.history_ratio;
                Some(before.map_or(now, |before| before * history + (1.0 - history) * now))
            }
            Measure::Reported(_) => {
                let usage = of.smoothed.as_ref()?.usage;
                (usage.is_finite() && usage >= 0.0).then_some(usage * 100.0)
            }
            Measure::Messages {
                limit_points,
                weights,
            } => {
                let score = score::score(of, weights, Mode::Safe);
                let overloaded = score.is_some_and(|score| score.points > limit_points);
                let messages = long_term_messages(of);
                let usable = messages.is_finite() && messages >= 0.0;
                usable.then_some(if overloaded { f64::INFINITY } else { messages })
            }
        }
    }
}

impl Placement for LeastLoaded {
    fn place(&mut self, _: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        let chosen = self.standings.least(candidates.iter())?.clone();
        self.standings.place(&chosen);
        Some(chosen)
    }

    fn observe(&mut self, load: &ClusterLoad) {
        let mut smoothed = BTreeMap::new();
        let mut reports = Vec::new();
        for (broker, of) in &load.brokers {
            let points = self.load(broker, of);
            smoothed.extend(points.map(|points| (broker.clone(), points)));
            reports.push((broker.clone(), points, of.bundles.len()));
        }
        self.smoothed = smoothed;
        self.standings.renew(reports);
    }
}
