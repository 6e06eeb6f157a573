//! What should move, and for everything else the rule that keeps it.

use super::{Hits, Kept, Measure, ResourceKind, Stopped, Traffic, Trigger};
use crate::ids::{BrokerId, BundleId};
use std::collections::BTreeMap;
use std::fmt;

/// The outcome of one round of a strategy: moves, and an explanation of everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What should move: for each pair of brokers in turn the biggest bundle first. The order in
    /// which to carry them out.
    pub moves: Vec<Move>,
    /// What should leave its broker, for a placement to say where to: the decisions of strategies
    /// that choose no destination. The order in which they were chosen.
    pub unloads: Vec<Unload>,
    /// What was found about each broker.
    pub brokers: BTreeMap<BrokerId, BrokerVerdict>,
    /// What was found about each pair, the one with the largest difference first.
    pub pairs: Vec<PairVerdict>,
    /// What the global planner found about the cluster as a whole, if it looked.
    pub search: Option<SearchVerdict>,
}

/// One bundle that should move, bound to its destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// Which bundle.
    pub bundle: BundleId,
    /// Who owns it.
    pub from: BrokerId,
    /// Who should own it.
    pub to: BrokerId,
    /// The traffic that goes with it.
    pub load: Traffic,
    /// What the score of the source should be after this move and those before it, in points.
    pub from_score_after: f64,
    /// What the score of the destination should be after this move and those before it, in points.
    pub to_score_after: f64,
}

/// One bundle that should leave its broker, whoever gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unload {
    /// Which bundle.
    pub bundle: BundleId,
    /// Who owns it.
    pub from: BrokerId,
    /// The traffic that goes with it.
    pub load: Traffic,
}

/// How loaded a broker is: 100 points is a resource used up to its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The weighted percentage of the fullest resource; more than 100 is possible.
    pub points: f64,
    /// The resource that made it; none if all of them stand at zero.
    pub resource: Option<ResourceKind>,
    /// Resources that were not reported, or not in a way that makes sense.
    pub unknown: Vec<ResourceKind>,
}

/// What was found about one broker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerVerdict {
    /// How loaded it is; none if nothing usable was reported.
    pub score: Option<Score>,
    /// The score with its history, in points, where the strategy decides by that.
    pub smoothed: Option<f64>,
    /// How many bundles it owns.
    pub bundles: usize,
    /// The rule that stopped it from shedding; none if something moves away from it.
    pub stopped: Option<Stopped>,
    /// Why something is to leave it, for strategies that look at one broker at a time.
    pub triggered: Option<Trigger>,
    /// What was to leave it, for strategies that look at one broker at a time; none if it did not
    /// come to that.
    pub amount: Option<Amount>,
    /// For a broker that was to shed: the bundles that stay all the same, in the order in which
    /// they were looked at.
    pub kept: Vec<(BundleId, Kept)>,
}

/// What was found about two brokers that were compared.
#[derive(Clone, Debug, PartialEq)]
pub struct PairVerdict {
    /// The hotter half.
    pub hot: BrokerId,
    /// The colder half; the hotter one again for a broker that is paired with itself.
    pub cold: BrokerId,
    /// Points of the one minus points of the other, never negative.
    pub difference: f64,
    /// Rounds in a row over the low threshold, as far as they count for this pair.
    pub low: Hits,
    /// Rounds in a row over the high threshold, as far as they count for this pair.
    pub high: Hits,
    /// What was to move; none if it did not come to that.
    pub amount: Option<Amount>,
}

/// What a search over the whole cluster found.
///
/// A potential is the sum of the squares of all scores, by the forecast in which it is higher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchVerdict {
    /// What every score would be if all were equally loaded, in points.
    pub level: f64,
    /// The potential before anything moves.
    pub potential_before: f64,
    /// The potential to be expected after all moves.
    pub potential_after: f64,
    /// What it would be after those of the avg strategy.
    pub potential_after_avg: f64,
    /// The share of the cluster's traffic that moves, 1.0 being all: of messages and of bytes, on
    /// average.
    pub moved_share: f64,
    /// What that share would be with the avg strategy.
    pub moved_share_avg: f64,
    /// The sum of the squares of what scores are above the tolerance, before anything moves.
    pub excess_before: f64,
    /// The same after all moves.
    pub excess_after: f64,
    /// Brokers above the tolerance before anything moves.
    pub above_before: usize,
    /// Brokers above the tolerance after all moves.
    pub above_after: usize,
    /// For how many steps it thought.
    pub steps: u64,
}

/// What was to move away from a broker, and what was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The unit of the two numbers.
    pub measure: Measure,
    /// How much was to move, a second.
    pub wanted: f64,
    /// How much the moves carry, a second.
    pub reached: f64,
}

impl PairVerdict {
    /// Whether the pair differed by enough for long enough.
    #[must_use]
    pub const fn is_due(&self) -> bool {
        self.low.suffice() || self.high.suffice()
    }
}

impl Score {
    /// The same as a ratio, 1.0 being a resource used up to its limit.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.points / 100.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} points", self.points)?;
        if let Some(resource) = self.resource {
            write!(f, " ({resource})")?;
        }
        Ok(())
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bundle, from, to, ..
        } = self;
        write!(
            f,
            "{bundle} from {from} to {to}: {:.1} msg/s, {:.1} B/s; then {:.1} and {:.1} points",
            self.load.messages(),
            self.load.bytes(),
            self.from_score_after,
            self.to_score_after
        )
    }
}
