//! What can be set about the avg strategy.

use crate::planner::{Error, ResourceKind};
use serde::{Deserialize, Serialize};

/// Whose decisions the strategy makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Sheds only what makes the pair more even, and is quiet once it is: see
    /// [`AvgShedder`](super::AvgShedder).
    #[default]
    Safe,
    /// Decision for decision what Apache Pulsar does, single-precision percentages included.
    Reference,
}

/// How the avg strategy decides. The defaults are those of Apache Pulsar 5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whose decisions. Default: safe ones.
    pub mode: Mode,
    /// A difference of this many points between the two brokers of a pair counts as a low hit.
    /// Default: 15.
    pub low_threshold_points: f64,
    /// A difference of this many points counts as a high hit too. Default: 40.
    pub high_threshold_points: f64,
    /// After this many low hits in a row something moves. Default: 8.
    pub low_hits: u32,
    /// After this many high hits in a row something moves. Default: 2.
    pub high_hits: u32,
    /// The share of a pair's difference in traffic that moves at most. Default: 0.5, which makes
    /// both even.
    pub unload_ratio_max: f64,
    /// Traffic moves by messages if more than so many a second should move. Default: 1000.
    pub message_rate_min: f64,
    /// Else it moves by bytes, if more than so many a second should. Default: 1 MiB.
    pub throughput_min: f64,
    /// How much each resource counts.
    pub weights: Weights,
}

/// By what the percentage of each resource is multiplied. Default: 1.0 each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Of processor time.
    pub cpu: f64,
    /// Of memory outside of the heap.
    pub direct_memory: f64,
    /// Of bandwidth from producers.
    pub bandwidth_in: f64,
    /// Of bandwidth to consumers.
    pub bandwidth_out: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Safe,
            low_threshold_points: 15.0,
            high_threshold_points: 40.0,
            low_hits: 8,
            high_hits: 2,
            unload_ratio_max: 0.5,
            message_rate_min: 1000.0,
            throughput_min: 1_048_576.0,
            weights: Weights::default(),
        }
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            cpu: 1.0,
            direct_memory: 1.0,
            bandwidth_in: 1.0,
            bandwidth_out: 1.0,
        }
    }
}

impl Weights {
    /// The resources that make a score, with their weights. Heap memory is none of them.
    pub(super) const fn scored(self) -> [(ResourceKind, f64); 4] {
        [
            (ResourceKind::Cpu, self.cpu),
            (ResourceKind::DirectMemory, self.direct_memory),
            (ResourceKind::BandwidthIn, self.bandwidth_in),
            (ResourceKind::BandwidthOut, self.bandwidth_out),
        ]
    }
}

impl Config {
    /// Looks for numbers that no strategy can work with.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for the first number that is negative or not finite.
    pub fn check(&self) -> Result<(), Error> {
        let numbers = [
            ("low_threshold_points", self.low_threshold_points),
            ("high_threshold_points", self.high_threshold_points),
            ("unload_ratio_max", self.unload_ratio_max),
            ("message_rate_min", self.message_rate_min),
            ("throughput_min", self.throughput_min),
            ("weights.cpu", self.weights.cpu),
            ("weights.direct_memory", self.weights.direct_memory),
            ("weights.bandwidth_in", self.weights.bandwidth_in),
            ("weights.bandwidth_out", self.weights.bandwidth_out),
        ];
        let usable = |number: f64| number.is_finite() && number >= 0.0;
        match numbers.into_iter().find(|&(_, number)| !usable(number)) {
            Some((what, value)) => Err(Error::OutOfRange {
                what,
                value,
                expected: "a finite number that is not negative",
            }),
            None => Ok(()),
        }
    }
}
