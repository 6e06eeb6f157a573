//! What the scores of brokers will be once bundles have moved between them.
//!
//! A bundle takes with it that share of a resource which it has of its broker's traffic: of bytes
//! in and out for the bandwidth in and out; for cpu and direct memory of messages in one forecast
//! and of bytes in another. What they really follow is not known, so a move must be a gain either
//! way. A bundle needs as much at its destination as at its source, in the unit of the limits.

use super::score::Weights;
use super::{BrokerLoad, Measure, Resource, Traffic};

/// A fall of the potential must be more than rounding could make of nothing.
const GAIN_MIN: f64 = 1e-9;

/// One number for each resource and each forecast: cpu and direct memory as they follow messages,
/// the same two as they follow bytes, bandwidth in and out.
type Lanes = [f64; 6];

/// Where each lane finds its resource.
const RESOURCE_OF_LANE: [usize; 6] = [0, 1, 0, 1, 2, 3];

/// One broker, as it will be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Weighted percents, with all that was moved so far.
    points: Lanes,
    /// What is in use as reported, in the unit of the limits; 0 for what is not known.
    usage: Lanes,
    /// What one unit is in weighted percents here; 0 for what is not known.
    points_per_unit: Lanes,
    traffic: Traffic,
}

/// What a bundle takes along, in the units of the limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burden(Lanes);

/// A score by each of the two forecasts, in points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scores {
    pub(super) by_messages: f64,
    pub(super) by_bytes: f64,
}

/// A sum of squared scores by each of the two forecasts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Potential {
    pub(super) by_messages: f64,
    pub(super) by_bytes: f64,
}

impl Scores {
    /// The higher of the two.
    pub(super) const fn worst(self) -> f64 {
        self.by_messages.max(self.by_bytes)
    }

    /// The one of a forecast.
    pub(super) const fn by(self, follows: Measure) -> f64 {
        match follows {
            Measure::Messages => self.by_messages,
            Measure::Bytes => self.by_bytes,
        }
    }

    /// What this broker is of the potential.
    pub(super) fn squared(self) -> Potential {
        Potential {
            by_messages: self.by_messages * self.by_messages,
            by_bytes: self.by_bytes * self.by_bytes,
        }
    }
}

impl Potential {
    /// The higher of the two.
    pub(super) const fn worst(self) -> f64 {
        self.by_messages.max(self.by_bytes)
    }

    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            by_messages: self.by_messages + other.by_messages,
            by_bytes: self.by_bytes + other.by_bytes,
        }
    }

    /// What is left without a part.
    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            by_messages: self.by_messages - other.by_messages,
            by_bytes: self.by_bytes - other.by_bytes,
        }
    }

    /// Whether it is clearly lower than `before` by both forecasts.
    pub(super) fn improves_on(self, before: Self) -> bool {
        let falls = |now: f64, before: f64| now < before * (1.0 - GAIN_MIN);
        falls(self.by_messages, before.by_messages) && falls(self.by_bytes, before.by_bytes)
    }

    /// Whether it is higher than `before` by neither forecast, but for rounding.
    pub(super) fn is_no_worse_than(self, before: Self) -> bool {
        let stays = |now: f64, before: f64| now <= before * (1.0 + GAIN_MIN);
        stays(self.by_messages, before.by_messages) && stays(self.by_bytes, before.by_bytes)
    }
}

impl Machine {
    /// A broker as it reports itself.
    pub(super) fn new(load: &BrokerLoad, weights: Weights) -> Self {
        let known = weights.scored().map(|(kind, weight)| {
            let resource = load.resource(kind);
            let usable = resource.filter(|resource| resource.percent().is_some());
            usable.map(|resource: Resource| {
                let points = resource.percent().unwrap_or(0.0) * weight;
                (points, resource.usage, weight * 100.0 / resource.limit)
            })
        });
        let mut machine = Self {
            points: [0.0; 6],
            usage: [0.0; 6],
            points_per_unit: [0.0; 6],
            traffic: load.traffic,
        };
        let lanes = machine.points.iter_mut().zip(&mut machine.usage);
        let lanes = lanes.zip(&mut machine.points_per_unit);
        for (((points, usage), per_unit), resource) in lanes.zip(RESOURCE_OF_LANE) {
            if let Some(Some(known)) = known.get(resource) {
                (*points, *usage, *per_unit) = *known;
            }
        }
        machine
    }

    /// What a bundle of this broker takes along, by its share of the traffic as reported.
    pub(super) fn burden_of(&self, traffic: &Traffic) -> Burden {
        let messages = share(traffic.messages(), self.traffic.messages());
        let bytes = share(traffic.bytes(), self.traffic.bytes());
        // What has no traffic of one measure at all cannot follow it.
        let (by_messages, by_bytes) = match (messages, bytes) {
            (Some(messages), Some(bytes)) => (messages, bytes),
            (Some(share), None) | (None, Some(share)) => (share, share),
            (None, None) => (0.0, 0.0),
        };
        let of =
            |moved: f64, all: f64| share(moved, all).unwrap_or(f64::from(u8::from(moved > 0.0)));
        let shares = [
            by_messages,
            by_messages,
            by_bytes,
            by_bytes,
            of(traffic.throughput_in, self.traffic.throughput_in),
            of(traffic.throughput_out, self.traffic.throughput_out),
        ];
        let mut burden = shares;
        for (burden, usage) in burden.iter_mut().zip(self.usage) {
            *burden *= usage;
        }
        Burden(burden)
    }

    /// The scores to be expected.
    pub(super) fn scores(&self) -> Scores {
        let [cpu_m, memory_m, cpu_b, memory_b, bytes_in, bytes_out] = self.points;
        let both = bytes_in.max(bytes_out).max(0.0);
        Scores {
            by_messages: cpu_m.max(memory_m).max(both),
            by_bytes: cpu_b.max(memory_b).max(both),
        }
    }

    /// The same broker without a bundle.
    pub(super) fn without(mut self, burden: &Burden) -> Self {
        self.change(burden, -1.0);
        self
    }

    /// The same broker with one bundle more.
    pub(super) fn with(mut self, burden: &Burden) -> Self {
        self.change(burden, 1.0);
        self
    }

    fn change(&mut self, burden: &Burden, sign: f64) {
        let lanes = self.points.iter_mut().zip(self.points_per_unit);
        for ((points, per_unit), units) in lanes.zip(burden.0) {
            // Nothing moved is nothing, even where a unit is beyond all numbers.
            if units > 0.0 {
                *points += sign * units * per_unit;
            }
        }
    }

    /// How many points a burden is of the resource that makes this broker's score, by the forecast
    /// in which it is more.
    pub(super) fn points_of(&self, burden: &Burden) -> f64 {
        let after = self.without(burden).scores();
        let now = self.scores();
        (now.by_messages - after.by_messages).max(now.by_bytes - after.by_bytes)
    }
}

/// Which part of all is moved; none if there is nothing of it. More than all moves if the bundles
/// do not add up to what their broker reports.
fn share(moved: f64, all: f64) -> Option<f64> {
    if all > 0.0 {
        Some((moved / all).min(1.0))
    } else {
        None
    }
}
