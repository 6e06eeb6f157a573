//! What the scores of two brokers will be once traffic has moved from one to the other.

use super::config::Weights;
use crate::planner::{BrokerLoad, Measure, ResourceKind, Traffic};

/// A fall of the potential must be more than rounding could make of nothing.
const GAIN_MIN: f64 = 1e-9;

/// The two brokers of a pair, with what was promised to move so far.
///
/// A bundle takes with it that share of a resource which it has of its broker's traffic: of bytes
/// in and out for the bandwidth in and out, of the measure that moves for all else. At the
/// destination it needs as much as it did at the source, in the unit of the limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    resources: [Strain; 4],
    measure: Measure,
    hot_traffic: Traffic,
    moved: Traffic,
}

/// One resource at both brokers, before anything moves.
#[derive(Clone, Copy, Debug)]
struct Strain {
    kind: ResourceKind,
    /// Weighted percents at the source.
    hot_points: f64,
    /// Weighted percents at the destination.
    cold_points: f64,
    /// What the source's points are at the destination: below 1 if that is the bigger machine.
    exchange: f64,
}

/// Scores of both brokers, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scores {
    pub(super) hot: f64,
    pub(super) cold: f64,
}

impl Scores {
    /// What must fall with each move: the sum of the squares.
    fn potential(self) -> f64 {
        self.hot * self.hot + self.cold * self.cold
    }

    /// Whether these are more even than `before`.
    pub(super) fn improve_on(self, before: Self) -> bool {
        self.potential() < before.potential() * (1.0 - GAIN_MIN)
    }
}

impl Forecast {
    pub(super) fn new(
        hot: &BrokerLoad,
        cold: &BrokerLoad,
        measure: Measure,
        weights: Weights,
    ) -> Self {
        let strain = |(kind, weight): (ResourceKind, f64)| {
            let (hot, cold) = (hot.resource(kind), cold.resource(kind));
            let points = |of: Option<crate::planner::Resource>| {
                of.and_then(|resource| resource.percent())
                    .map(|p| p * weight)
            };
            let exchange = match (hot, cold, points(hot), points(cold)) {
                (Some(hot), Some(cold), Some(_), Some(_)) => hot.limit / cold.limit,
                // What is unknown on one side does not count there.
                _ => 0.0,
            };
            Strain {
                kind,
                hot_points: points(hot).unwrap_or(0.0),
                cold_points: points(cold).unwrap_or(0.0),
                exchange,
            }
        };
        Self {
            resources: weights.scored().map(strain),
            measure,
            hot_traffic: hot.traffic,
            moved: Traffic::default(),
        }
    }

    /// The same, with one bundle's traffic moved too.
    pub(super) fn with(mut self, traffic: Traffic) -> Self {
        self.moved.message_rate_in += traffic.message_rate_in;
        self.moved.message_rate_out += traffic.message_rate_out;
        self.moved.throughput_in += traffic.throughput_in;
        self.moved.throughput_out += traffic.throughput_out;
        self
    }

    /// The scores to be expected.
    pub(super) fn scores(&self) -> Scores {
        let mut scores = Scores {
            hot: 0.0,
            cold: 0.0,
        };
        for strain in &self.resources {
            let gone = strain.hot_points * self.share_moved(strain.kind);
            scores.hot = scores.hot.max(strain.hot_points - gone);
            scores.cold = scores.cold.max(strain.cold_points + gone * strain.exchange);
        }
        scores
    }

    /// Which part of what the source uses of a resource goes with the traffic moved.
    fn share_moved(&self, kind: ResourceKind) -> f64 {
        let (moved, all) = match kind {
            ResourceKind::BandwidthIn => (self.moved.throughput_in, self.hot_traffic.throughput_in),
            ResourceKind::BandwidthOut => {
                (self.moved.throughput_out, self.hot_traffic.throughput_out)
            }
            _ => (
                self.measure.of(&self.moved),
                self.measure.of(&self.hot_traffic),
            ),
        };
        if all > 0.0 {
            (moved / all).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}
