//! What can be set about the uniform strategy.

use crate::planner::{Error, Mode};
use serde::{Deserialize, Serialize};

/// How the uniform strategy decides. The defaults are those of Apache Pulsar 3 and 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whose decisions it makes. Default: safe ones.
    pub mode: Mode,
    /// The busiest broker must have by more than so many percent more messages than the idlest. 0:
    /// messages do not count. Default: 50.
    pub messages_percent: f64,
    /// Else it must have more than so many times as many bytes. 0: bytes do not count. Default: 4.
    pub bytes_factor: f64,
    /// The share of the difference in traffic that moves at most. Default: 0.2.
    pub unload_ratio_max: f64,
    /// By messages, at least so many a second must be to move. Default: 1000.
    pub message_rate_min: f64,
    /// By bytes, at least so many a second must be to move. Default: 1 MiB.
    pub throughput_min: f64,
    /// Most bundles that leave in one round. Default: no limit.
    pub bundles_max: Option<usize>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Safe,
            messages_percent: 50.0,
            bytes_factor: 4.0,
            unload_ratio_max: 0.2,
            message_rate_min: 1000.0,
            throughput_min: 1_048_576.0,
            bundles_max: None,
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
        Error::unless_usable([
            ("messages_percent", self.messages_percent),
            ("bytes_factor", self.bytes_factor),
            ("unload_ratio_max", self.unload_ratio_max),
            ("message_rate_min", self.message_rate_min),
            ("throughput_min", self.throughput_min),
        ])
    }
}
