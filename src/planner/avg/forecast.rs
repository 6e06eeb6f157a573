//! What the scores of two brokers will be once traffic has moved from one to the other.

use crate::planner::{BrokerLoad, Measure, Resource, ResourceKind, Traffic, Weights};

/// A fall of the potential must be more than rounding could make of nothing.
const GAIN_MIN: f64 = 1e-9;

/// The two brokers of a pair, with what was promised to move so far.
///
/// A bundle takes with it that share of a resource which it has of its broker's traffic: of bytes
/// in and out for the bandwidth in and out; for all else of what that is taken to follow, messages
/// or bytes. It needs as much at the destination as at the source, in the unit of the limits.
#[derive(Clone, Copy, Debug)]
struct Forecast {
    resources: [Strain; 4],
    follows: Measure,
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
    fn improve_on(self, before: Self) -> bool {
        self.potential() < before.potential() * (1.0 - GAIN_MIN)
    }
}

impl Forecast {
    /// Nothing has moved yet. None if the source has no traffic of the measure that cpu and memory
    /// are taken to follow.
    fn new(
        hot: &BrokerLoad,
        cold: &BrokerLoad,
        follows: Measure,
        weights: Weights,
    ) -> Option<Self> {
        let strain = |(kind, weight): (ResourceKind, f64)| {
            let (hot, cold) = (hot.resource(kind), cold.resource(kind));
            let points = |of: Option<Resource>| of.and_then(Resource::percent).map(|p| p * weight);
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
        (follows.of(&hot.traffic) > 0.0).then(|| Self {
            resources: weights.scored().map(strain),
            follows,
            hot_traffic: hot.traffic,
            moved: Traffic::default(),
        })
    }

    /// The same, with one bundle's traffic moved too.
    fn with(mut self, traffic: Traffic) -> Self {
        self.moved.message_rate_in += traffic.message_rate_in;
        self.moved.message_rate_out += traffic.message_rate_out;
        self.moved.throughput_in += traffic.throughput_in;
        self.moved.throughput_out += traffic.throughput_out;
        self
    }

    /// The scores to be expected.
    fn scores(&self) -> Scores {
        let mut scores = Scores {
            hot: 0.0,
            cold: 0.0,
        };
        for strain in &self.resources {
            let gone = strain.hot_points * self.share_moved(strain.kind);
            // Nothing gained is nothing, even where the exchange is beyond all numbers.
            let gained = if gone > 0.0 {
                gone * strain.exchange
            } else {
                0.0
            };
            scores.hot = scores.hot.max(strain.hot_points - gone);
            scores.cold = scores.cold.max(strain.cold_points + gained);
        }
        scores
    }

    /// Which part of what the source uses of a resource goes with the traffic moved.
    fn share_moved(&self, kind: ResourceKind) -> f64 {
        let of = |traffic: &Traffic| match kind {
            ResourceKind::BandwidthIn => traffic.throughput_in,
            ResourceKind::BandwidthOut => traffic.throughput_out,
            _ => self.follows.of(traffic),
        };
        let (moved, all) = (of(&self.moved), of(&self.hot_traffic));
        // More than all is moved if the bundles do not add up to what their broker reports.
        if moved < all {
            moved / all
        } else {
            f64::from(u8::from(moved > 0.0))
        }
    }
}

/// What to expect if cpu and memory follow messages, and if they follow bytes.
///
/// What they really follow is not known, so a move must be a gain either way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecasts([Option<Forecast>; 2]);

impl Forecasts {
    /// Nothing has moved yet. The forecast by the `first` measure is the one to show.
    pub(super) fn new(
        hot: &BrokerLoad,
        cold: &BrokerLoad,
        first: Measure,
        weights: Weights,
    ) -> Self {
        let measures = match first {
            Measure::Messages => [Measure::Messages, Measure::Bytes],
            Measure::Bytes => [Measure::Bytes, Measure::Messages],
        };
        Self(measures.map(|follows| Forecast::new(hot, cold, follows, weights)))
    }

    /// The same, with one bundle's traffic moved too.
    pub(super) fn with(self, traffic: Traffic) -> Self {
        Self(
            self.0
                .map(|forecast| forecast.map(|forecast| forecast.with(traffic))),
        )
    }

    /// Whether the pair is more even than `before`, by every forecast that can be made.
    pub(super) fn improve_on(&self, before: &Self) -> bool {
        let mut both = self.0.iter().zip(&before.0).filter_map(|(now, before)| {
            let (now, before) = (now.as_ref()?, before.as_ref()?);
            Some(now.scores().improve_on(before.scores()))
        });
        both.all(|improves| improves)
    }

    /// The scores to be expected by the measure that moves.
    pub(super) fn scores(&self) -> Scores {
        let [first, second] = self.0;
        let none = Scores {
            hot: 0.0,
            cold: 0.0,
        };
        first.or(second).map_or(none, |forecast| forecast.scores())
    }
}
