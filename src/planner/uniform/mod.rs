//! The uniform strategy: the busiest broker gives of what it has more than the idlest.

mod config;
mod extremes;
mod safe;

pub use config::Config;

use super::draft::Draft;
use super::unsettled::UnreportedMoves;
use super::{
    BrokerLoad, ClusterLoad, Constraints, Error, Kept, Measure, Mode, Plan, Score, Shedder,
    Stopped, Trigger, Wanted, Weights, score,
};
use crate::ids::BrokerId;
use extremes::Extremes;

/// Sheds from the one broker with the most messages, if it has by far more than the one with the
/// fewest: a share of the difference, the biggest bundle first that still fits. If messages do not
/// differ by enough, the same by bytes.
///
/// [`Mode::Reference`] decides like Apache Pulsar and leaves the destination to placement. Traffic
/// alone counts: what a broker can bear does not. Bundles without traffic leave with the others.
/// Amounts are kept in 32 bits: what brokers bear beyond 2 GiB a second is not seen.
/// [`Mode::Safe`], the default, differs:
///
/// - amounts are exact, and beside a broker without traffic any difference is large;
/// - if nothing can go by messages, it is tried by bytes;
/// - each bundle gets its destination, the broker with the least traffic of that measure that may
///   have it, before anything leaves; it moves only if the sum of the squares of both scores falls,
///   whether cpu and memory follow messages or bytes;
/// - bundles without traffic stay;
/// - a broker whose report does not show a move yet takes no part, for three rounds at most.
#[derive(Clone, Debug, Default)]
pub struct UniformShedder {
    config: Config,
    unreported: UnreportedMoves,
}

impl UniformShedder {
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

    /// How much the busiest broker should give.
    fn wanted(&self, measure: Measure, amount: f64) -> Wanted {
        Wanted {
            measure,
            amount,
            minimum: match measure {
                Measure::Messages => self.config.message_rate_min,
                Measure::Bytes => self.config.throughput_min,
            },
        }
    }

    /// The measure by which the busiest and the idlest differ too much, messages before bytes.
    fn uneven<'a>(&self, messages: Extremes<'a>, bytes: Extremes<'a>) -> Option<Extremes<'a>> {
        let Config {
            messages_percent,
            bytes_factor,
            ..
        } = self.config;
        if messages_percent > 0.0 && messages.percent() > messages_percent {
            Some(messages)
        } else if bytes_factor > 0.0 && bytes.factor() > bytes_factor {
            Some(bytes)
        } else {
            None
        }
    }

    /// Sheds from the busiest broker.
    fn shed<'a>(
        &self,
        draft: &mut Draft<'a>,
        busiest: (&'a BrokerId, &'a BrokerLoad),
        extremes: &Extremes<'a>,
    ) {
        let measure = extremes.measure;
        let mut remaining = extremes.share(self.config.unload_ratio_max);
        let wanted = self.wanted(measure, f64::from(remaining));
        let trigger = Trigger::Busiest {
            measure,
            most: extremes.most,
            least: extremes.least,
        };
        draft.trigger(busiest.0, trigger);
        if wanted.amount < wanted.minimum {
            return draft.stop(busiest.0, Stopped::TooLittle { wanted });
        }
        let mut count = 0;
        let bundles_max = self.config.bundles_max.unwrap_or(usize::MAX);
        draft.shed(busiest, (measure, wanted.amount), |traffic| {
            if count >= bundles_max {
                return Some(Kept::CountReached);
            }
            let fits = traffic <= f64::from(remaining);
            if !fits {
                return Some(Kept::TooBig {
                    traffic,
                    remaining: f64::from(remaining),
                    measure,
                });
            }
            remaining = remaining.saturating_sub(whole(traffic));
            count += 1;
            None
        });
    }

    fn plan_like_the_reference(&self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let mut draft = Draft::new(load, constraints, score_of);
        let messages = Extremes::of(draft.brokers(), Measure::Messages);
        let bytes = Extremes::of(draft.brokers(), Measure::Bytes);
        let uneven = self.uneven(messages, bytes);
        for (broker, _) in draft.brokers() {
            let stopped = match uneven.and_then(|uneven| Some((uneven.measure, uneven.busiest?))) {
                Some((measure, (busiest, _))) => Stopped::NotTheBusiest {
                    measure,
                    busiest: busiest.clone(),
                },
                None => Stopped::EvenEnough {
                    messages_percent: messages.percent(),
                    bytes_factor: bytes.factor(),
                },
            };
            draft.stop(broker, stopped);
        }
        if let Some((uneven, busiest)) = uneven.and_then(|uneven| Some((uneven, uneven.busiest?))) {
            self.shed(&mut draft, busiest, &uneven);
        }
        draft.finish()
    }
}

impl Shedder for UniformShedder {
    fn plan(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        match self.config.mode {
            Mode::Safe => self.plan_safely(load, constraints),
            Mode::Reference => self.plan_like_the_reference(load, constraints),
        }
    }
}

/// Shown with the verdicts; it decides nothing.
fn score_of(load: &BrokerLoad) -> Option<Score> {
    score::score(load, Weights::default(), Mode::Reference)
}

/// What the reference takes off for a bundle: fractions are not.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the reference cuts it to a whole number, saturating"
)]
const fn whole(traffic: f64) -> i32 {
    traffic as i32
}
