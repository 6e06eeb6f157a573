//! The strategies that only unload: threshold, overload and uniform.

use super::Wrong;
use super::cluster::{Cluster, Shown};
use super::decision::Shed;
use super::line::{Compare, Line, Player};
use super::names::Names;
use super::summary::Agreement;
use super::weights::WeightKnobs;
use deedbook::planner::{Constraints, Mode, Settings, Shedder, overload, threshold, uniform};
use serde::Deserialize;
use serde_json::Value;

const MIB: f64 = 1_048_576.0;

/// What can be set about the threshold strategy, as Apache Pulsar calls it.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct ThresholdKnobs {
    #[serde(rename = "loadBalancerBrokerThresholdShedderPercentage")]
    pub(crate) threshold: f64,
    /// A ratio, whatever its name says.
    #[serde(rename = "loadBalancerHistoryResourcePercentage")]
    pub(crate) history: f64,
    /// MiB a second.
    #[serde(rename = "loadBalancerBundleUnloadMinThroughputThreshold")]
    pub(crate) min_throughput: f64,
    #[serde(rename = "lowerBoundarySheddingEnabled")]
    pub(crate) lower_boundary: bool,
    #[serde(flatten)]
    pub(crate) weights: WeightKnobs,
}

impl Default for ThresholdKnobs {
    fn default() -> Self {
        Self {
            threshold: 10.0,
            history: 0.9,
            min_throughput: 10.0,
            lower_boundary: false,
            weights: WeightKnobs::default(),
        }
    }
}

impl From<ThresholdKnobs> for Settings {
    fn from(knobs: ThresholdKnobs) -> Self {
        Self::Threshold(threshold::Config {
            mode: Mode::Reference,
            threshold_points: knobs.threshold,
            history_ratio: knobs.history,
            throughput_min: knobs.min_throughput * MIB,
            lower_boundary: knobs.lower_boundary,
            weights: knobs.weights.into(),
        })
    }
}

/// What can be set about the overload strategy, as Apache Pulsar calls it.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct OverloadKnobs {
    #[serde(rename = "loadBalancerBrokerOverloadedThresholdPercentage")]
    pub(crate) limit: f64,
}

impl Default for OverloadKnobs {
    fn default() -> Self {
        Self { limit: 85.0 }
    }
}

impl From<OverloadKnobs> for Settings {
    fn from(knobs: OverloadKnobs) -> Self {
        Self::Overload(overload::Config {
            mode: Mode::Reference,
            limit_points: knobs.limit,
        })
    }
}

/// What can be set about the uniform strategy, as Apache Pulsar calls it.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct UniformKnobs {
    /// Percent.
    #[serde(rename = "loadBalancerMsgRateDifferenceShedderThreshold")]
    pub(crate) rate_difference: f64,
    #[serde(rename = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold")]
    pub(crate) throughput_factor: f64,
    /// A ratio, whatever its name says.
    #[serde(rename = "maxUnloadPercentage")]
    pub(crate) max_unload_ratio: f64,
    #[serde(rename = "minUnloadMessage")]
    pub(crate) min_messages: f64,
    #[serde(rename = "minUnloadMessageThroughput")]
    pub(crate) min_throughput: f64,
    /// -1: no limit.
    #[serde(rename = "maxUnloadBundleNumPerShedding")]
    pub(crate) max_bundles: i64,
}

impl Default for UniformKnobs {
    fn default() -> Self {
        Self {
            rate_difference: 50.0,
            throughput_factor: 4.0,
            max_unload_ratio: 0.2,
            min_messages: 1000.0,
            min_throughput: MIB,
            max_bundles: -1,
        }
    }
}

impl From<UniformKnobs> for Settings {
    fn from(knobs: UniformKnobs) -> Self {
        let no_limit = knobs.max_bundles == -1;
        let bundles_max = usize::try_from(knobs.max_bundles).unwrap_or(0);
        // Anything that is not above zero switches a rule off.
        Self::Uniform(uniform::Config {
            mode: Mode::Reference,
            messages_percent: knobs.rate_difference.max(0.0),
            bytes_factor: knobs.throughput_factor.max(0.0),
            unload_ratio_max: knobs.max_unload_ratio,
            message_rate_min: knobs.min_messages,
            throughput_min: knobs.min_throughput,
            bundles_max: (!no_limit).then_some(bundles_max),
        })
    }
}

/// Whether a scenario is one of the threshold strategy.
pub(super) fn fits_threshold(line: &Line) -> bool {
    line.has_setting("loadBalancerBrokerThresholdShedderPercentage")
}

/// Whether a scenario is one of the overload strategy.
pub(super) fn fits_overload(line: &Line) -> bool {
    line.has_setting("loadBalancerBrokerOverloadedThresholdPercentage") && line.decides("unload")
}

/// Whether a scenario is one of the uniform strategy.
pub(super) fn fits_uniform(line: &Line) -> bool {
    line.has_setting("loadBalancerMsgRateDifferenceShedderThreshold")
}

pub(super) fn judge_threshold(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    line.judge(Scene::new(ThresholdKnobs::deserialize(&line.config)?)?)
}

pub(super) fn judge_overload(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    line.judge(Scene::new(OverloadKnobs::deserialize(&line.config)?)?)
}

pub(super) fn judge_uniform(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    line.judge(Scene::new(UniformKnobs::deserialize(&line.config)?)?)
}

/// A strategy that decides like the original, and the cluster it was shown.
#[derive(Debug)]
pub(crate) struct Scene {
    shedder: Box<dyn Shedder>,
    cluster: Cluster,
    names: Names,
}

impl Scene {
    pub(crate) fn new(knobs: impl Into<Settings>) -> Result<Self, Wrong> {
        Ok(Self {
            shedder: knobs.into().build()?,
            cluster: Cluster::default(),
            names: Names::default(),
        })
    }

    /// One round of shedding.
    pub(crate) fn shed(&mut self, shown: Shown) -> Result<Shed, Wrong> {
        self.cluster.show(shown);
        let load = self.names.load(&self.cluster)?;
        let plan = self.shedder.plan(&load, &Constraints::default());
        let mut shed = Shed::default();
        for unload in &plan.unloads {
            let bundle = self.names.name(&unload.bundle)?.clone();
            let list = shed.unload.entry(unload.from.to_string());
            list.or_default().push(bundle);
        }
        for (broker, verdict) in &plan.brokers {
            if let Some(points) = verdict.smoothed {
                shed.usage.insert(broker.to_string(), points / 100.0);
            }
        }
        shed.look_at_order(&self.cluster);
        Ok(shed)
    }
}

impl Player for Scene {
    fn play(&mut self, round: &Value) -> Result<impl Compare, Wrong> {
        self.shed(Shown::deserialize(round)?)
    }
}
