//! How much each resource counts, as Apache Pulsar calls it.

use deedbook::planner::Weights;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct WeightKnobs {
    #[serde(rename = "loadBalancerCPUResourceWeight")]
    cpu: f64,
    #[serde(rename = "loadBalancerDirectMemoryResourceWeight")]
    direct_memory: f64,
    // Older releases spell the names of both in another way.
    #[serde(rename = "loadBalancerBandwidthInResourceWeight")]
    #[serde(alias = "loadBalancerBandwithInResourceWeight")]
    bandwidth_in: f64,
    #[serde(rename = "loadBalancerBandwidthOutResourceWeight")]
    #[serde(alias = "loadBalancerBandwithOutResourceWeight")]
    bandwidth_out: f64,
}

impl Default for WeightKnobs {
    fn default() -> Self {
        let Weights {
            cpu,
            direct_memory,
            bandwidth_in,
            bandwidth_out,
        } = Weights::default();
        Self {
            cpu,
            direct_memory,
            bandwidth_in,
            bandwidth_out,
        }
    }
}

impl From<WeightKnobs> for Weights {
    fn from(knobs: WeightKnobs) -> Self {
        Self {
            cpu: knobs.cpu,
            direct_memory: knobs.direct_memory,
            bandwidth_in: knobs.bandwidth_in,
            bandwidth_out: knobs.bandwidth_out,
        }
    }
}
