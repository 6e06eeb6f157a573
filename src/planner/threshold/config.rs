//! What can be set about the threshold strategy.

use crate::planner::{Error, Mode, Weights};
use serde::{Deserialize, Serialize};

/// How the threshold strategy decides. The defaults are those of Apache Pulsar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whose decisions it makes. Default: safe ones.
    pub mode: Mode,
    /// A broker that stands so many points above the average sheds. Default: 10.
    pub threshold_points: f64,
    /// The share of its history in a broker's load; the rest is what it reports now. Default: 0.9.
    pub history_ratio: f64,
    /// What is to move must be as many bytes a second. Default: 10 MiB.
    pub throughput_min: f64,
    /// Whether the most loaded broker sheds if none is far above the average, but one is far below.
    /// Default: no.
    pub lower_boundary: bool,
    /// How much each resource counts.
    pub weights: Weights,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Safe,
            threshold_points: 10.0,
            history_ratio: 0.9,
            throughput_min: 10.0 * 1_048_576.0,
            lower_boundary: false,
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
            ("threshold_points", self.threshold_points),
            ("history_ratio", self.history_ratio),
            ("throughput_min", self.throughput_min),
        ];
        Error::unless_usable(numbers.into_iter().chain(self.weights.settings()))
    }
}
