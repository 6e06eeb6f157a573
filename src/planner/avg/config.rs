//! What can be set about the avg strategy.

use crate::planner::{Error, Mode, Weights};
use serde::{Deserialize, Serialize};

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
        ];
        Error::unless_usable(numbers.into_iter().chain(self.weights.settings()))
    }
}
