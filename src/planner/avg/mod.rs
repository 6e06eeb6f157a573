//! The avg strategy: brokers are paired, the most loaded one with the least, and the pairs that
//! differ much, and for long enough, become more even.

mod config;
mod hits;
mod select;

pub use super::{Mode, Weights};
pub use config::Config;
pub use hits::HitCounts;

use super::draft::Draft;
use super::guard::Party;
use super::unsettled::UnreportedMoves;
use super::{
    Amount, BrokerLoad, ClusterLoad, Constraints, Error, PairVerdict, Plan, Score, Shedder,
    Stopped, score,
};
use crate::ids::BrokerId;
use hits::{HitBook, Pair};
use select::{Chosen, Selection};
use std::collections::{BTreeMap, BTreeSet};

/// Pairs the most loaded broker with the least loaded one, the second with the second, and so on.
///
/// A pair whose scores differ by the low threshold for some rounds, or by the high one for a few,
/// is triggered: of what the hotter broker has more in traffic a share moves to the colder one, by
/// messages if that is worth it, else by bytes, the biggest bundle first that still fits.
///
/// [`Mode::Reference`] decides like Apache Pulsar. [`Mode::Safe`], the default, differs:
///
/// - percentages are exact, brokers and bundles that tie go by name;
/// - a resource without a usable report is left out; who has none at all takes no part;
/// - rounds count for the hotter broker alone and in a row: who is not the hotter one of a pair
///   over the threshold starts anew, and who has left is forgotten;
/// - a count starts anew when something moved, not when it was tried in vain;
/// - a bundle moves only if the sum of the squares of both scores falls, whether cpu and memory
///   follow messages or bytes;
/// - a broker whose report does not show a move yet takes no part, for three rounds at most.
///
/// # Examples
///
/// ```
/// use deedbook::planner::avg::{AvgShedder, Config};
/// use deedbook::planner::{BrokerLoad, ClusterLoad, Constraints, Resource, Shedder};
///
/// let mut load = ClusterLoad::default();
/// for (name, percent) in [("a", 80.0), ("b", 20.0)] {
///     let broker = load.brokers.entry(name.parse()?).or_default();
///     broker.cpu = Some(Resource::new(percent, 100.0));
/// }
/// let mut shedder = AvgShedder::new(Config::default())?;
/// let plan = shedder.plan(&load, &Constraints::default());
/// assert!(plan.moves.is_empty());
/// let stopped = plan.brokers[&"a".parse()?].stopped.as_ref().map(ToString::to_string);
/// assert_eq!(
///     stopped.as_deref(),
///     Some("too few hits in a row: 1 of 8 over the low threshold, 1 of 2 over the high one")
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AvgShedder {
    config: Config,
    hits: HitBook,
    unreported: UnreportedMoves,
}

/// A broker that takes part.
#[derive(Clone, Copy, Debug)]
struct Standing<'a> {
    broker: &'a BrokerId,
    points: f64,
}

impl AvgShedder {
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

    /// The hits that count for the next round, by broker; who is not listed has none.
    #[must_use]
    pub const fn hits(&self) -> &BTreeMap<BrokerId, HitCounts> {
        self.hits.counts()
    }

    /// The score of a broker. The reference turns it into a ratio and back, which rounds twice.
    fn score(&self, load: &BrokerLoad) -> Option<Score> {
        let mut score = score::score(load, self.config.weights, self.config.mode)?;
        if self.config.mode == Mode::Reference {
            score.points = score.points / 100.0 * 100.0;
        }
        Some(score)
    }

    /// Looks at one pair: what was found, the bundles that move or the rule that stopped them.
    fn judge<'a>(
        &mut self,
        pair: &Pair<'a>,
        draft: &mut Draft<'a>,
    ) -> (PairVerdict, Result<Chosen, Stopped>) {
        let (low, high) = self.hits.of(pair, &self.config);
        let mut verdict = PairVerdict {
            hot: pair.hot.clone(),
            cold: pair.cold.clone(),
            difference: pair.difference,
            low,
            high,
            amount: None,
        };
        let outcome = if pair.difference < self.config.low_threshold_points {
            Err(Stopped::BelowThreshold {
                difference: pair.difference,
                threshold: self.config.low_threshold_points,
            })
        } else if !low.suffice() && !high.suffice() {
            Err(Stopped::TooFewHits { low, high })
        } else {
            let outcome = self.shed(pair, draft, &mut verdict);
            let moved = matches!(&outcome, Ok(chosen) if !chosen.moves.is_empty());
            if moved || self.config.mode == Mode::Reference {
                self.hits.reset(pair);
            }
            outcome
        };
        (verdict, outcome)
    }

    /// Chooses from a pair that was triggered.
    fn shed<'a>(
        &self,
        pair: &Pair<'a>,
        draft: &mut Draft<'a>,
        verdict: &mut PairVerdict,
    ) -> Result<Chosen, Stopped> {
        let brokers = &draft.load.brokers;
        let (Some(hot), Some(cold)) = (brokers.get(pair.hot), brokers.get(pair.cold)) else {
            return Err(Stopped::NoData);
        };
        if self.config.mode == Mode::Safe {
            let halves = [(pair.hot, hot), (pair.cold, cold)];
            if let Some((broker, _)) = halves.iter().find(|(_, load)| !load.traffic.is_sound()) {
                let broker = (*broker).clone();
                return Err(Stopped::UnsoundTraffic { broker });
            }
        }
        let (messages, bytes) = select::wanted(hot, cold, &self.config);
        let wanted = if messages.is_enough() {
            messages
        } else if bytes.is_enough() {
            bytes
        } else {
            return Err(Stopped::BelowMinimum { messages, bytes });
        };
        let selection = Selection {
            mode: self.config.mode,
            guard: &mut draft.guard,
            hot: Party::new(pair.hot, hot, self.config.weights),
            cold: Party::new(pair.cold, cold, self.config.weights),
            wanted,
        };
        let chosen = selection.choose();
        verdict.amount = Some(Amount {
            measure: wanted.measure,
            wanted: wanted.amount,
            reached: chosen.reached,
        });
        Ok(chosen)
    }

    /// Plans one round, but does not remember what moves: that may be changed yet.
    pub(super) fn decide(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let unsettled = self.unreported.unsettled(load);
        let mut draft = Draft::new(load, constraints, |of| self.score(of));
        let ranking = rank(&mut draft, &unsettled);
        let (pairs, middle) = pair_up(&ranking, self.config.mode);
        self.hits.count(&pairs, &self.config);
        for pair in &pairs {
            let (verdict, outcome) = self.judge(pair, &mut draft);
            record(&mut draft.plan, &verdict, outcome);
            draft.plan.pairs.push(verdict);
        }
        if let Some(middle) = middle {
            draft.stop(middle, Stopped::Middle);
        }
        draft.finish()
    }

    /// Starts counting anew for all brokers of a plan that was changed.
    pub(super) fn spend_hits(&mut self, plan: &Plan) {
        for planned in &plan.moves {
            self.hits.forget(&planned.from);
            self.hits.forget(&planned.to);
        }
    }

    /// Remembers the moves of a plan until reports show them. The reference does not.
    pub(super) fn await_reports(&mut self, plan: &Plan) {
        if self.config.mode == Mode::Safe {
            self.unreported.add(&plan.moves);
        }
    }
}

impl Shedder for AvgShedder {
    fn plan(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let plan = self.decide(load, constraints);
        self.await_reports(&plan);
        plan
    }
}

/// Those who take part: least loaded first, ties by name.
fn rank<'a>(draft: &mut Draft<'a>, unsettled: &BTreeSet<BrokerId>) -> Vec<Standing<'a>> {
    let standings = draft.standings(unsettled).into_iter();
    let standings = standings.map(|(broker, _, points)| Standing { broker, points });
    let mut ranking: Vec<_> = standings.collect();
    // The sort is stable, and the brokers come in the order of their names.
    ranking.sort_by(|a, b| a.points.total_cmp(&b.points));
    ranking
}

/// Pairs the last with the first, the last but one with the second ... The one in the middle of an
/// odd number has no partner; in the reference it is its own.
fn pair_up<'a>(ranking: &[Standing<'a>], mode: Mode) -> (Vec<Pair<'a>>, Option<&'a BrokerId>) {
    let half = ranking.len() / 2;
    let middle = (ranking.len() % 2 == 1)
        .then(|| ranking.get(half))
        .flatten();
    let cold = ranking.iter().take(half);
    let hot = ranking.iter().rev().take(half);
    let mut pairs: Vec<_> = hot
        .zip(cold)
        .map(|(hot, cold)| Pair::new(hot, cold))
        .collect();
    if mode == Mode::Reference {
        pairs.extend(middle.map(|middle| Pair::new(middle, middle)));
    }
    (pairs, middle.map(|middle| middle.broker))
}

impl<'a> Pair<'a> {
    fn new(hot: &Standing<'a>, cold: &Standing<'a>) -> Self {
        Self {
            hot: hot.broker,
            cold: cold.broker,
            difference: hot.points - cold.points,
        }
    }
}

/// Writes down what became of a pair.
fn record(plan: &mut Plan, pair: &PairVerdict, outcome: Result<Chosen, Stopped>) {
    if let Some(cold) = plan.brokers.get_mut(&pair.cold) {
        let hot = pair.hot.clone();
        cold.stopped = Some(Stopped::Colder { hot });
    }
    let Some(hot) = plan.brokers.get_mut(&pair.hot) else {
        return;
    };
    hot.stopped = None;
    match outcome {
        Err(stopped) => hot.stopped = Some(stopped),
        Ok(chosen) => {
            if let (true, Some(amount)) = (chosen.moves.is_empty(), pair.amount) {
                hot.stopped = Some(Stopped::by_bundles(&chosen.kept, amount));
            }
            hot.kept = chosen.kept;
            plan.moves.extend(chosen.moves);
        }
    }
}
