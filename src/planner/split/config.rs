//! How bundles are found that should be split.

use super::{
    PartLimits, SplitAlgorithm, TopicLoad, cut_at_positions, cut_by_topic_count, cut_by_traffic,
    cut_in_the_middle,
};
use crate::ids::{Cuts, KeyRange};
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
    /// The keys at which [`SplitAlgorithm::SpecifiedPositionsDivide`] cuts: a bundle at all of them
    /// that are strictly inside. Default: none.
    pub positions: Vec<u32>,
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
            positions: Vec::new(),
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

    /// Where a bundle is cut, whether or not it is too big; none if there is no place.
    pub(super) fn cuts(&self, range: KeyRange, known: &[TopicLoad]) -> Option<Cuts> {
        match self.algorithm {
            SplitAlgorithm::RangeEquallyDivide => cut_in_the_middle(range),
            SplitAlgorithm::TopicCountEquallyDivide => {
                let keys: Vec<_> = known.iter().map(|topic| topic.key).collect();
                cut_by_topic_count(range, &keys)
            }
            SplitAlgorithm::SpecifiedPositionsDivide => {
                // If single topics are not known, whoever asks says that there are enough.
                let topics = match known.len() {
                    0 => u64::MAX,
                    count => count as u64,
                };
                cut_at_positions(range, topics, &self.positions)
            }
            SplitAlgorithm::FlowOrQpsEquallyDivide => {
                cut_by_traffic(range, known, self.part_limits())
            }
        }
    }

    const fn part_limits(&self) -> PartLimits {
        PartLimits {
            messages: self.message_rate_max,
            bytes: self.bandwidth_max,
            difference_percent: self.flow_difference_percent,
        }
    }
}
