//! The transfer strategy.

use super::Wrong;
use super::decision::near;
use super::line::{Compare, Differences, Line, Player};
use super::names::{Names, traffic};
use super::summary::Agreement;
use deedbook::ids::BrokerId;
use deedbook::planner::transfer::{Config, Skip, Statistics, TransferShedder, Uneven};
use deedbook::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, Constraints, Mode, Plan, Shedder, Smoothed, Trigger,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What can be set about the transfer strategy, as Apache Pulsar calls it.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Knobs {
    #[serde(rename = "loadBalancerBrokerLoadTargetStd")]
    pub(crate) target_std: f64,
    #[serde(rename = "loadBalancerSheddingConditionHitCountThreshold")]
    pub(crate) hit_count: u32,
    #[serde(rename = "loadBalancerTransferEnabled")]
    pub(crate) transfer: bool,
    #[serde(rename = "loadBalancerMaxNumberOfBrokerSheddingPerCycle")]
    pub(crate) max_brokers: usize,
    #[serde(rename = "loadBalanceSheddingDelayInSeconds")]
    pub(crate) delay_s: u64,
    #[serde(rename = "loadBalancerBrokerLoadDataTTLInSeconds")]
    pub(crate) ttl_s: u64,
    /// Percent.
    #[serde(rename = "loadBalancerBrokerOverloadedThresholdPercentage")]
    pub(crate) overloaded: f64,
    #[serde(rename = "loadBalancerDebugModeEnabled")]
    pub(crate) debug: bool,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            target_std: 0.25,
            hit_count: 3,
            transfer: true,
            max_brokers: 3,
            delay_s: 180,
            ttl_s: 1800,
            overloaded: 85.0,
            debug: false,
        }
    }
}

impl Knobs {
    pub(crate) fn config(&self) -> Config {
        Config {
            mode: Mode::Reference,
            deviation_target: self.target_std,
            rounds_exceeded: self.hit_count,
            transfer: self.transfer,
            brokers_max: self.max_brokers,
            delay: Duration::from_secs(self.delay_s),
            report_age_max: Duration::from_secs(self.ttl_s),
            limit_points: self.overloaded,
            count_swaps: self.debug,
        }
    }
}

/// A broker, as it is reported in a round.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Broker {
    /// None: it has not reported.
    pub(crate) load: Option<f64>,
    /// Bytes in and out, a second.
    pub(crate) thr: [f64; 2],
    /// Smoothed bytes a second, in and out together.
    pub(crate) thr_ema: f64,
    pub(crate) age_s: f64,
    pub(crate) since_unload_s: Option<f64>,
    /// Bundles with bytes in and out, in the order of the report; none: no such report.
    pub(crate) top: Option<Vec<(String, f64, f64)>>,
}

/// What a round shows: all there is.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Shown {
    pub(crate) brokers: BTreeMap<String, Broker>,
    #[serde(default)]
    pub(crate) recent: Vec<String>,
}

/// Source, bundle, destination if there is one, reason.
pub(crate) type Decision = (String, String, Option<String>, String);

/// A round as we decide it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided {
    pub(crate) decisions: BTreeSet<Decision>,
    /// Why the round was skipped, in the words of the original.
    pub(crate) skipped: Option<&'static str>,
    pub(crate) statistics: Option<Statistics>,
    hits: u32,
    /// Brokers that gave something away too short a while ago.
    cooling: BTreeSet<String>,
    /// Brokers that gave something away lately.
    marked: BTreeSet<String>,
}

/// A round as it was recorded. What is not recorded is not compared.
#[derive(Debug, Deserialize)]
struct Recorded {
    decisions: BTreeSet<Decision>,
    reason: Option<String>,
    avg: Option<f64>,
    std: Option<f64>,
    hit_count: Option<u32>,
    recent_brokers_left: Option<BTreeSet<String>>,
}

/// Whether a scenario is one of this strategy.
pub(super) fn fits(line: &Line) -> bool {
    line.has_setting("loadBalancerBrokerLoadTargetStd")
}

/// Judges all rounds of a scenario.
pub(super) fn judge(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    line.judge(Scene::new(&Knobs::deserialize(&line.config)?)?)
}

/// The strategy that decides like the original.
#[derive(Debug)]
pub(crate) struct Scene {
    shedder: TransferShedder,
    names: Names,
}

impl Scene {
    pub(crate) fn new(knobs: &Knobs) -> Result<Self, Wrong> {
        Ok(Self {
            shedder: TransferShedder::new(knobs.config())?,
            names: Names::default(),
        })
    }

    /// One round.
    pub(crate) fn decide(&mut self, shown: &Shown) -> Result<Decided, Wrong> {
        let load = self.load(shown)?;
        let plan = self.shedder.plan(&load, &Constraints::default());
        let verdicts = plan.brokers.iter();
        let cooling = verdicts.filter(|(_, verdict)| {
            let stopped = verdict.stopped.as_ref();
            stopped.is_some_and(|stopped| stopped.rule() == "cool_down")
        });
        let brokers = shown.brokers.iter();
        let marked = brokers.filter(|(_, broker)| broker.since_unload_s.is_some());
        Ok(Decided {
            decisions: self.decisions(&plan)?,
            skipped: self.shedder.skipped().map(word),
            statistics: self.shedder.statistics(),
            hits: self.shedder.hits(),
            cooling: cooling.map(|(broker, _)| broker.to_string()).collect(),
            marked: marked.map(|(broker, _)| broker.clone()).collect(),
        })
    }

    fn decisions(&self, plan: &Plan) -> Result<BTreeSet<Decision>, Wrong> {
        let mut decisions = BTreeSet::new();
        let moves = plan.moves.iter();
        let moves = moves.map(|moved| (&moved.bundle, &moved.from, Some(&moved.to)));
        let unloads = plan.unloads.iter().map(|un| (&un.bundle, &un.from, None));
        for (bundle, from, to) in moves.chain(unloads) {
            let reason = why(plan, from, to);
            let bundle = self.names.name(bundle)?.clone();
            let to = to.map(ToString::to_string);
            decisions.insert((from.to_string(), bundle, to, reason.to_owned()));
        }
        Ok(decisions)
    }

    fn load(&mut self, shown: &Shown) -> Result<ClusterLoad, Wrong> {
        let mut load = ClusterLoad::default();
        for (name, broker) in &shown.brokers {
            let mut reported = BrokerLoad {
                traffic: traffic([0.0, 0.0, broker.thr[0], broker.thr[1]]),
                ..BrokerLoad::default()
            };
            let mut top = Vec::new();
            for (bundle, bytes_in, bytes_out) in broker.top.iter().flatten() {
                let bundle = self.names.bundle(bundle)?;
                let short_term = traffic([0.0, 0.0, *bytes_in, *bytes_out]);
                let of_bundle = BundleLoad {
                    short_term,
                    ..BundleLoad::default()
                };
                reported.bundles.insert(bundle.clone(), Some(of_bundle));
                top.push(bundle);
            }
            reported.smoothed = broker.load.map(|usage| Smoothed {
                usage,
                throughput: broker.thr_ema,
                age: Duration::from_secs_f64(broker.age_s),
                since_unload: broker.since_unload_s.map(Duration::from_secs_f64),
                top_bundles: broker.top.is_some().then_some(top),
            });
            load.brokers.insert(BrokerId::new(name)?, reported);
        }
        for bundle in &shown.recent {
            load.recently_moved.insert(self.names.bundle(bundle)?);
        }
        Ok(load)
    }
}

impl Player for Scene {
    fn play(&mut self, round: &Value) -> Result<impl Compare, Wrong> {
        self.decide(&Shown::deserialize(round)?)
    }
}

impl Compare for Decided {
    fn compare(&self, recorded: &Value) -> Result<Differences, Wrong> {
        let recorded = Recorded::deserialize(recorded)?;
        let statistics = [
            ("avg", self.statistics.map(|of| of.average), recorded.avg),
            ("std", self.statistics.map(|of| of.deviation), recorded.std),
        ];
        let figures = statistics.into_iter().find_map(|(what, ours, theirs)| {
            let (Some(ours), Some(theirs)) = (ours, theirs) else {
                return (theirs.is_some())
                    .then(|| format!("{what} is {ours:?}, recorded {theirs:?}"));
            };
            (!near(&ours, &theirs)).then(|| format!("{what} is {ours}, recorded {theirs}"))
        });
        Ok(Differences {
            figures,
            decision: self.difference(&recorded),
            ..Differences::default()
        })
    }
}

impl Decided {
    fn difference(&self, recorded: &Recorded) -> Option<String> {
        if self.decisions != recorded.decisions {
            let ours = self.decisions.difference(&recorded.decisions);
            let ours: Vec<_> = ours.collect();
            let theirs = recorded.decisions.difference(&self.decisions);
            let theirs: Vec<_> = theirs.collect();
            return Some(format!(
                "decisions: ours alone {ours:?}, recorded alone {theirs:?}"
            ));
        }
        if self.skipped != recorded.reason.as_deref() {
            let (ours, theirs) = (self.skipped, &recorded.reason);
            return Some(format!("reason is {ours:?}, recorded {theirs:?}"));
        }
        if recorded.hit_count.is_some_and(|count| count != self.hits) {
            let (ours, theirs) = (self.hits, recorded.hit_count);
            return Some(format!("hit_count is {ours}, recorded {theirs:?}"));
        }
        // Which marks were cleared before the scan stopped is a matter of order; those of brokers
        // that cool down were not.
        let left = recorded.recent_brokers_left.as_ref()?;
        let agrees = self.cooling.is_subset(left) && left.is_subset(&self.marked);
        let ours = &self.cooling;
        (!agrees).then(|| format!("recent_brokers_left has {ours:?}, recorded {left:?}"))
    }
}

/// Why a bundle moves, in the words of the original.
pub(crate) fn why(plan: &Plan, from: &BrokerId, to: Option<&BrokerId>) -> &'static str {
    let uneven = |broker: &BrokerId| match plan.brokers.get(broker)?.triggered {
        Some(Trigger::Uneven(why)) => Some(why),
        _ => None,
    };
    // What is given in return has the reason of what it is in return for.
    match uneven(from).or_else(|| uneven(to?)) {
        Some(Uneven::Underloaded) => "Underloaded",
        Some(_) => "Overloaded",
        None => "none",
    }
}

/// Why a round decides nothing, in the words of the original.
pub(crate) const fn word(skip: Skip) -> &'static str {
    match skip {
        Skip::NoReports => "NoBrokers",
        Skip::OldReports => "OutDatedData",
        Skip::ReportMissing | Skip::BundlesUnknown => "NoLoadData",
        Skip::CoolDown => "CoolDown",
        Skip::NotForLong => "HitCount",
        Skip::NoBundles => "NoBundles",
        _ => "Unknown",
    }
}
