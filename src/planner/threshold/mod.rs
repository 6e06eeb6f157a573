//! The threshold strategy: who stands far above the average of all, sheds down to near it.

mod config;
mod history;
mod safe;

pub use config::Config;

use super::draft::{Draft, until};
use super::unsettled::UnreportedMoves;
use super::{
    BrokerLoad, ClusterLoad, Constraints, Error, Measure, Mode, Plan, Score, Shedder, Stopped,
    Trigger, Wanted, score,
};
use crate::ids::BrokerId;
use history::History;
use std::collections::BTreeMap;

/// How far below the threshold a broker is brought, as a ratio.
const MARGIN: f64 = 0.05;
/// The share of the threshold that leaves the most loaded broker if one is far below the average.
const LOWER_BOUNDARY_SHARE: f64 = 0.5;

/// Sheds from every broker whose load is far above the average: in bytes what it has above the
/// threshold and 5 points more, the biggest bundle first, until enough is chosen, one at least.
///
/// The load is that of the fullest resource with a long memory, nine parts of history and one of
/// what is reported now. So a broker goes on shedding for rounds after it has become even, and one
/// that became hot is found late; [`BrokerVerdict`](super::BrokerVerdict) has both numbers. A share
/// of a resource is taken for the same share of bytes.
///
/// With [`Config::lower_boundary`], if nobody shed anything, and a broker is far below the average,
/// the most loaded one with more than one bundle sheds half a threshold. For that the memory takes
/// in the same report a second time.
///
/// [`Mode::Reference`] decides like this, as Apache Pulsar does, and leaves the destination to
/// placement. [`Mode::Safe`], the default, differs:
///
/// - who is far above the average by history alone gives nothing: what it bears now must be, too;
/// - what is above counts as a share of what the broker bears, in bytes, or in messages if it has
///   no bytes; no more than brings it down to the average, and nothing more once it is 5 points
///   below the threshold;
/// - each bundle gets its destination, the least loaded broker that may have it, before anything
///   leaves; it moves only if the sum of the squares of both scores falls, whether cpu and memory
///   follow messages or bytes;
/// - the same report is taken in once, and who has left is forgotten;
/// - a broker whose report does not show a move yet takes no part, for three rounds at most.
///
/// # Examples
///
/// ```
/// use deedbook::planner::threshold::{Config, ThresholdShedder};
/// use deedbook::planner::{BrokerLoad, ClusterLoad, Constraints, Resource, Shedder};
///
/// let mut load = ClusterLoad::default();
/// for (name, percent) in [("a", 55.0), ("b", 45.0)] {
///     let broker = load.brokers.entry(name.parse()?).or_default();
///     broker.cpu = Some(Resource::new(percent, 100.0));
/// }
/// let mut shedder = ThresholdShedder::new(Config::default())?;
/// let plan = shedder.plan(&load, &Constraints::default());
/// let stopped = plan.brokers[&"a".parse()?].stopped.as_ref().map(ToString::to_string);
/// assert_eq!(
///     stopped.as_deref(),
///     Some("55.0 points with history (55.0 without) are less than 10 above the average of 50.0")
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ThresholdShedder {
    config: Config,
    history: History,
    unreported: UnreportedMoves,
}

/// What all brokers are measured by.
#[derive(Clone, Copy, Debug)]
struct Bar {
    /// The average of all, a ratio.
    average: f64,
    /// A ratio.
    threshold: f64,
}

impl ThresholdShedder {
    /// A strategy that remembers nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            config,
            ..Self::default()
        })
    }

    /// How it decides.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The load of each broker with its history after the last round, 1.0 being a resource used up
    /// to its limit.
    #[must_use]
    pub const fn usage(&self) -> &BTreeMap<BrokerId, f64> {
        self.history.usage()
    }

    /// Takes in what the brokers report; what to measure them by from then on.
    fn smooth(&mut self, draft: &mut Draft<'_>) -> Bar {
        let usage = draft.brokers().map(|(broker, load)| {
            let score = score::score(load, self.config.weights, Mode::Reference);
            (broker, score.as_ref().map_or(0.0, Score::ratio))
        });
        let average = self.history.smooth(usage, self.config.history_ratio);
        for (broker, usage) in self.history.usage() {
            if let Some(verdict) = draft.verdict(broker) {
                verdict.smoothed = Some(usage * 100.0);
            }
        }
        Bar {
            average,
            threshold: self.config.threshold_points / 100.0,
        }
    }

    fn usage_of(&self, broker: &BrokerId) -> f64 {
        self.usage().get(broker).copied().unwrap_or_default()
    }

    /// Sheds from one broker if it is far above the average.
    fn judge<'a>(&self, draft: &mut Draft<'a>, broker: (&'a BrokerId, &'a BrokerLoad), bar: Bar) {
        let usage = self.usage_of(broker.0);
        let Bar { average, threshold } = bar;
        let verdict = draft.verdict(broker.0);
        let current = verdict.and_then(|verdict| verdict.score.as_ref());
        let current = current.map_or(0.0, |score| score.points);
        if usage < average + threshold {
            let stopped = Stopped::NearAverage {
                smoothed: usage * 100.0,
                current,
                average: average * 100.0,
                threshold: self.config.threshold_points,
            };
            return draft.stop(broker.0, stopped);
        }
        let trigger = Trigger::AboveAverage {
            smoothed: usage * 100.0,
            current,
            average: average * 100.0,
            threshold: self.config.threshold_points,
        };
        draft.trigger(broker.0, trigger);
        let amount = broker.1.traffic.bytes() * (usage - average - threshold + MARGIN);
        if amount < self.config.throughput_min {
            return self.too_little(draft, broker.0, amount);
        }
        draft.shed(broker, (Measure::Bytes, amount), until(amount));
    }

    fn too_little(&self, draft: &mut Draft<'_>, broker: &BrokerId, amount: f64) {
        let wanted = Wanted {
            measure: Measure::Bytes,
            amount,
            minimum: self.config.throughput_min,
        };
        draft.stop(broker, Stopped::TooLittle { wanted });
    }

    /// Sheds from the most loaded broker for the sake of one that is far below the average.
    fn fill_from_the_top(&mut self, draft: &mut Draft<'_>) {
        let Bar { average, threshold } = self.smooth(draft);
        let floor = average - threshold;
        if !draft
            .brokers()
            .any(|(broker, _)| self.usage_of(broker) < floor)
        {
            return;
        }
        let mut top = None;
        let mut highest = floor;
        for broker in draft.brokers() {
            let usage = self.usage_of(broker.0);
            if usage > highest && broker.1.bundles.len() > 1 {
                (top, highest) = (Some(broker), usage);
            }
        }
        let Some(top) = top else {
            return;
        };
        let trigger = Trigger::MostLoaded {
            smoothed: highest * 100.0,
            average: average * 100.0,
        };
        draft.trigger(top.0, trigger);
        let amount = top.1.traffic.bytes() * threshold * LOWER_BOUNDARY_SHARE;
        if self.config.throughput_min > amount {
            return self.too_little(draft, top.0, amount);
        }
        draft.shed(top, (Measure::Bytes, amount), until(amount));
    }

    fn plan_like_the_reference(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let weights = self.config.weights;
        let score = |of: &BrokerLoad| score::score(of, weights, Mode::Reference);
        let mut draft = Draft::new(load, constraints, score);
        let bar = self.smooth(&mut draft);
        for broker in draft.brokers() {
            if bar.average == 0.0 {
                draft.stop(broker.0, Stopped::AllIdle);
            } else {
                self.judge(&mut draft, broker, bar);
            }
        }
        if self.config.lower_boundary && draft.is_empty() && bar.average != 0.0 {
            self.fill_from_the_top(&mut draft);
        }
        draft.finish()
    }
}

impl Shedder for ThresholdShedder {
    fn plan(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        match self.config.mode {
            Mode::Safe => self.plan_safely(load, constraints),
            Mode::Reference => self.plan_like_the_reference(load, constraints),
        }
    }
}
