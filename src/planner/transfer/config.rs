//! What can be set about the transfer strategy.

use crate::planner::{Error, Mode};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How the transfer strategy decides. The defaults are those of Apache Pulsar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whose decisions it makes. Default: safe ones.
    pub mode: Mode,
    /// How far the loads may deviate from their average (the standard deviation), 1.0 being a
    /// resource used up to its limit. Default: 0.25.
    pub deviation_target: f64,
    /// Something moves once the cluster was uneven in more than so many rounds in a row.
    /// Default: 3.
    pub rounds_exceeded: u32,
    /// Whether destinations are chosen, and bundles swapped. Default: yes.
    pub transfer: bool,
    /// Most brokers that give bundles away in one round. Default: 3.
    pub brokers_max: usize,
    /// Nothing moves before the report of a broker is so much newer than the last move away from
    /// it. Default: 3 min.
    #[serde(with = "seconds")]
    pub delay: Duration,
    /// A report older than this does not count. Default: 30 min.
    #[serde(with = "seconds")]
    pub report_age_max: Duration,
    /// A broker above so many points, and far enough above the average, is overloaded.
    /// Default: 85.
    pub limit_points: f64,
    /// Whether what comes back in a swap is counted. Apache Pulsar counts it in its debug mode
    /// only, which changes what it decides. Default: no.
    pub count_swaps: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Safe,
            deviation_target: 0.25,
            rounds_exceeded: 3,
            transfer: true,
            brokers_max: 3,
            delay: Duration::from_secs(180),
            report_age_max: Duration::from_secs(30 * 60),
            limit_points: 85.0,
            count_swaps: false,
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
            ("deviation_target", self.deviation_target),
            ("limit_points", self.limit_points),
        ])
    }

    /// Below this share of the average, or of the busiest broker's bytes, a broker is underloaded.
    pub(super) fn underloaded_share(&self) -> f64 {
        (self.deviation_target / 2.0).clamp(0.0, 0.5)
    }
}

/// Durations as whole seconds.
mod seconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(of: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(of.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_secs)
    }
}
