//! The overload strategy: who is above a fixed limit sheds down to below it, whatever the others
//! bear.

mod config;
mod safe;

pub use config::Config;

use super::draft::{Draft, until};
use super::unsettled::UnreportedMoves;
use super::{
    BrokerLoad, ClusterLoad, Constraints, Error, Measure, Mode, Plan, Score, Shedder, Stopped,
    Trigger, Weights, score,
};

/// How far below the limit a broker is brought, as a ratio.
const MARGIN: f64 = 0.05;

/// Sheds from every broker whose fullest resource is used up to a limit: in bytes what is above and
/// 5 points more, the biggest bundle first, until enough is chosen, one at least.
///
/// [`Mode::Reference`] decides like Apache Pulsar and leaves the destination to placement. Nobody
/// is asked whether there is room elsewhere: if all brokers are overloaded, all shed. Usage is kept
/// in single precision to the end, so 90 of 100 are less than 90 %, and 85 of 100 are 85 %.
/// [`Mode::Safe`], the default, differs:
///
/// - percentages are exact, and who reports nothing usable takes no part;
/// - what is above counts as a share of what the broker bears, in bytes, or in messages if it has
///   no bytes; no more than brings it down to the average of all, and nothing more once it is 5
///   points below the limit;
/// - each bundle gets its destination, the least loaded broker that may have it and stays below the
///   limit with it, before anything leaves; it moves only if the sum of the squares of both scores
///   falls, whether cpu and memory follow messages or bytes;
/// - a broker whose report does not show a move yet takes no part, for three rounds at most.
#[derive(Clone, Debug, Default)]
pub struct OverloadShedder {
    config: Config,
    unreported: UnreportedMoves,
}

impl OverloadShedder {
    /// A strategy.
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
}

impl OverloadShedder {
    fn plan_like_the_reference(&self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let mut draft = Draft::new(load, constraints, score_of);
        let limit = self.config.limit_points / 100.0;
        for broker in draft.brokers() {
            let usage = score_of(broker.1).as_ref().map_or(0.0, ratio);
            if usage < limit {
                let stopped = Stopped::WithinLimit {
                    points: usage * 100.0,
                    limit: self.config.limit_points,
                };
                draft.stop(broker.0, stopped);
                continue;
            }
            let trigger = Trigger::AboveLimit {
                points: usage * 100.0,
                limit: self.config.limit_points,
            };
            draft.trigger(broker.0, trigger);
            let wanted = broker.1.traffic.bytes() * (usage - limit + MARGIN);
            draft.shed(broker, (Measure::Bytes, wanted), until(wanted));
        }
        draft.finish()
    }
}

impl Shedder for OverloadShedder {
    fn plan(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        match self.config.mode {
            Mode::Safe => self.plan_safely(load, constraints),
            Mode::Reference => self.plan_like_the_reference(load, constraints),
        }
    }
}

/// Weights are no matter of this strategy.
fn score_of(load: &BrokerLoad) -> Option<Score> {
    score::score(load, Weights::default(), Mode::Reference)
}

/// What the reference makes of percents: it divides before it leaves single precision.
#[expect(
    clippy::cast_possible_truncation,
    reason = "they come from single precision, so nothing is lost"
)]
fn ratio(score: &Score) -> f64 {
    f64::from(score.points as f32 / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::Resource;

    #[test]
    fn usage_stays_in_single_precision_to_the_end() {
        for (percent, expected) in [
            (90.0, 0.899_999_976_158_142_1),
            (85.0, 0.850_000_023_841_857_9),
        ] {
            let load = BrokerLoad {
                cpu: Some(Resource::new(percent, 100.0)),
                ..BrokerLoad::default()
            };
            assert_eq!(score_of(&load).as_ref().map(ratio), Some(expected));
        }
    }
}
