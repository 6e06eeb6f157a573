//! How bundles are found that should be split.

use super::{PartLimits, SplitAlgorithm};
use crate::planner::Error;
use serde::{Deserialize, Serialize};

/// When a bundle is too big, and how it is cut. The defaults are those of Apache Pulsar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Most topics of a bundle. Default: 1000.
    pub topics_max: u64,
    /// Most producers and consumers of a bundle together. Default: 1000.
    pub sessions_max: u64,
    /// Most messages a second of a bundle, both ways. Default: 30000.
    pub message_rate_max: f64,
    /// Most bytes a second of a bundle, both ways. Default: 100 MiB.
    pub bandwidth_max: f64,
    /// Most bundles of a namespace. Default: 128.
    pub namespace_bundles_max: usize,
    /// Most splits of a round. Default: 10.
    pub splits_per_round_max: usize,
    /// A bundle must be too big in more than so many rounds in a row. Default: 3.
    pub hits: u32,
    /// How many percent above its limit a bundle must be to be cut by traffic. Default: 10.
    pub flow_difference_percent: f64,
    /// How a bundle is cut. Default: in the middle of its keys.
    pub algorithm: SplitAlgorithm,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            topics_max: 1000,
            sessions_max: 1000,
            message_rate_max: 30_000.0,
            bandwidth_max: 100.0 * 1024.0 * 1024.0,
            namespace_bundles_max: 128,
            splits_per_round_max: 10,
            hits: 3,
            flow_difference_percent: 10.0,
            algorithm: SplitAlgorithm::default(),
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<(), Error> {
        Error::unless_usable([
            ("message_rate_max", self.message_rate_max),
            ("bandwidth_max", self.bandwidth_max),
            ("flow_difference_percent", self.flow_difference_percent),
        ])
    }

    pub(super) const fn part_limits(&self) -> PartLimits {
        PartLimits {
            messages: self.message_rate_max,
            bytes: self.bandwidth_max,
            difference_percent: self.flow_difference_percent,
        }
    }
}
