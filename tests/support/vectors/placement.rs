//! The placements that go by load, and the one in turn.

use super::Wrong;
use super::cluster::{Broker, Cluster, Shown};
use super::decision::{Figures, first, near};
use super::line::{Compare, Differences, Line, Player};
use super::names::{Names, brokers};
use super::summary::Agreement;
use super::unload::OverloadKnobs;
use super::weights::WeightKnobs;
use deedbook::ids::BrokerId;
use deedbook::planner::{
    BrokerLoad, ClusterLoad, LeastLongTermMessageRate, LeastReportedUsage, LeastResourceUsage,
    Placement, RoundRobin, Smoothed, UsageConfig,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Any seed must do: what is compared is the set that the original draws lots from.
const SEED: u64 = 1;
/// Which bundle is placed makes no difference.
const BUNDLE: &str = "u0";

/// What can be set about placement by usage, as Apache Pulsar calls it.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct UsageKnobs {
    #[serde(rename = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage")]
    pub(crate) difference: f64,
    /// A ratio, whatever its name says.
    #[serde(rename = "loadBalancerHistoryResourcePercentage")]
    pub(crate) history: f64,
    #[serde(flatten)]
    pub(crate) weights: WeightKnobs,
}

impl Default for UsageKnobs {
    fn default() -> Self {
        Self {
            difference: 10.0,
            history: 0.9,
            weights: WeightKnobs::default(),
        }
    }
}

impl UsageKnobs {
    pub(crate) fn config(&self) -> UsageConfig {
        UsageConfig {
            difference_points: self.difference,
            history_ratio: self.history,
            weights: self.weights.into(),
        }
    }
}

/// A question for the best brokers.
#[derive(Clone, Debug, Deserialize)]
struct Question {
    candidates: Vec<String>,
    #[serde(default)]
    brokers: BTreeMap<String, Broker>,
    /// Before it: these brokers alone are active.
    active: Option<Vec<String>>,
    /// What brokers smoothed themselves; none: they have not reported.
    #[serde(default)]
    loads: BTreeMap<String, Option<f64>>,
}

/// The brokers of which one is to be taken, and what is remembered of all.
#[derive(Debug)]
struct Best {
    best: Vec<String>,
    usage: Figures,
}

#[derive(Debug, Deserialize)]
struct RecordedBest {
    best: Vec<String>,
    usage: Option<Figures>,
}

impl Compare for Best {
    fn compare(&self, recorded: &Value) -> Result<Differences, Wrong> {
        let recorded = RecordedBest::deserialize(recorded)?;
        let agrees = self.best == recorded.best;
        let difference = || format!("best is {:?}, recorded {:?}", self.best, recorded.best);
        Ok(Differences {
            figures: first("usage", &self.usage, recorded.usage.as_ref(), near),
            decision: (!agrees).then(difference),
            ..Differences::default()
        })
    }
}

fn best(brokers: &[BrokerId], usage: &BTreeMap<BrokerId, f64>) -> Best {
    let usage = usage
        .iter()
        .map(|(broker, usage)| (broker.to_string(), *usage));
    Best {
        best: brokers.iter().map(ToString::to_string).collect(),
        usage: usage.collect(),
    }
}

pub(super) fn fits_long_term(line: &Line) -> bool {
    line.has_setting("loadBalancerBrokerOverloadedThresholdPercentage") && line.decides("best")
}

pub(super) fn fits_usage(line: &Line) -> bool {
    line.has_setting("loadBalancerAverageResourceUsageDifferenceThresholdPercentage")
        && line.shows("brokers")
}

pub(super) fn fits_reported(line: &Line) -> bool {
    line.has_setting("loadBalancerAverageResourceUsageDifferenceThresholdPercentage")
        && line.shows("loads")
}

pub(super) fn fits_turns(line: &Line) -> bool {
    line.decides("pick") && line.shows("candidates") && !line.shows("select")
}

pub(super) fn judge_long_term(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    let limit = OverloadKnobs::deserialize(&line.config)?.limit;
    let weights = WeightKnobs::deserialize(&line.config)?.into();
    line.judge(LongTerm {
        placement: LeastLongTermMessageRate::with_limit(SEED, limit, weights),
        cluster: Cluster::default(),
        names: Names::default(),
    })
}

pub(super) fn judge_usage(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    line.judge(Usage::new(&UsageKnobs::deserialize(&line.config)?)?)
}

pub(super) fn judge_reported(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    line.judge(Reported::new(&UsageKnobs::deserialize(&line.config)?)?)
}

pub(super) fn judge_turns(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    line.judge(Turns::after(line.initial_count)?)
}

struct LongTerm {
    placement: LeastLongTermMessageRate,
    cluster: Cluster,
    names: Names,
}

impl Player for LongTerm {
    fn play(&mut self, round: &Value) -> Result<impl Compare, Wrong> {
        let candidates = brokers(&Question::deserialize(round)?.candidates)?;
        self.cluster.show(Shown::deserialize(round)?);
        self.placement.observe(&self.names.load(&self.cluster)?);
        Ok(best(&self.placement.best(&candidates), &BTreeMap::new()))
    }
}

/// Placement by usage; who left stays listed until it is told who is active.
pub(crate) struct Usage {
    pub(crate) placement: LeastResourceUsage,
    cluster: Cluster,
    listed: BTreeMap<String, Broker>,
    names: Names,
}

impl Usage {
    pub(crate) fn new(knobs: &UsageKnobs) -> Result<Self, Wrong> {
        Ok(Self {
            placement: LeastResourceUsage::new(SEED, knobs.config())?,
            cluster: Cluster::default(),
            listed: BTreeMap::new(),
            names: Names::default(),
        })
    }

    fn observe(&mut self) -> Result<(), Wrong> {
        let cluster = Cluster {
            brokers: self.listed.clone(),
            ..self.cluster.clone()
        };
        self.placement.observe(&self.names.load(&cluster)?);
        Ok(())
    }
}

impl Player for Usage {
    fn play(&mut self, round: &Value) -> Result<impl Compare, Wrong> {
        let question = Question::deserialize(round)?;
        if let Some(active) = &question.active {
            self.listed.retain(|broker, _| active.contains(broker));
            self.observe()?;
        }
        self.cluster.show(Shown::deserialize(round)?);
        self.listed.extend(self.cluster.brokers.clone());
        self.observe()?;
        let chosen = self.placement.best(&brokers(&question.candidates)?);
        Ok(best(&chosen, self.placement.usage()))
    }
}

/// Placement by what brokers smooth themselves.
pub(crate) struct Reported {
    placement: LeastReportedUsage,
}

impl Reported {
    pub(crate) fn new(knobs: &UsageKnobs) -> Result<Self, Wrong> {
        let placement = LeastReportedUsage::new(SEED, knobs.config())?;
        Ok(Self { placement })
    }

    /// The good ones of some candidates.
    pub(crate) fn best(
        &mut self,
        loads: &BTreeMap<String, Option<f64>>,
        candidates: &[String],
    ) -> Result<Vec<BrokerId>, Wrong> {
        let mut load = ClusterLoad::default();
        for (broker, usage) in loads {
            let smoothed = usage.map(|usage| Smoothed {
                usage,
                ..Smoothed::default()
            });
            let of = BrokerLoad {
                smoothed,
                ..BrokerLoad::default()
            };
            load.brokers.insert(BrokerId::new(broker)?, of);
        }
        self.placement.observe(&load);
        Ok(self.placement.best(&brokers(candidates)?))
    }
}

impl Player for Reported {
    fn play(&mut self, round: &Value) -> Result<impl Compare, Wrong> {
        let question = Question::deserialize(round)?;
        let chosen = self.best(&question.loads, &question.candidates)?;
        Ok(best(&chosen, &BTreeMap::new()))
    }
}

/// Placement in turn.
pub(crate) struct Turns {
    pub(crate) placement: RoundRobin,
    names: Names,
}

impl Turns {
    pub(crate) fn after(turns: u32) -> Result<Self, Wrong> {
        Ok(Self {
            placement: RoundRobin::after(turns),
            names: Names::default(),
        })
    }

    /// Whose turn it is, of candidates in their order.
    pub(crate) fn next(&mut self, candidates: &[String]) -> Result<Option<String>, Wrong> {
        let candidates: Result<Vec<_>, _> = candidates.iter().map(BrokerId::new).collect();
        let chosen = self
            .placement
            .place(&self.names.bundle(BUNDLE)?, &candidates?);
        Ok(chosen.map(|broker| broker.to_string()))
    }
}

struct Pick(Option<String>);

#[derive(Debug, Deserialize)]
struct RecordedPick {
    pick: Option<String>,
}

impl Player for Turns {
    fn play(&mut self, round: &Value) -> Result<impl Compare, Wrong> {
        self.next(&Question::deserialize(round)?.candidates)
            .map(Pick)
    }
}

impl Compare for Pick {
    fn compare(&self, recorded: &Value) -> Result<Differences, Wrong> {
        let RecordedPick { pick } = RecordedPick::deserialize(recorded)?;
        let difference = || format!("it goes to {:?}, recorded {pick:?}", self.0);
        Ok(Differences {
            decision: (self.0 != pick).then(difference),
            ..Differences::default()
        })
    }
}
