//! The avg strategy: rounds of shedding, and questions where a bundle should go.

use super::Wrong;
use super::cluster::{Cluster, Shown};
use super::decision::Shed;
use super::line::{Compare, Differences, Line, Player};
use super::names::{Names, brokers};
use super::summary::Agreement;
use super::weights::WeightKnobs;
use deedbook::planner::avg::{AvgShedder, Config};
use deedbook::planner::{Constraints, Mode, Placement, Plan, Shedder, Sticky};
use serde::Deserialize;
use serde_json::Value;

/// Any seed must do: where the original draws lots, every candidate agrees.
const SEED: u64 = 1;

/// Whether a scenario is one of this strategy.
pub(super) fn fits(line: &Line) -> bool {
    line.has_setting("loadBalancerAvgShedderLowThreshold")
}

/// Judges all rounds of a scenario.
pub(super) fn judge(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    let knobs = Knobs::deserialize(&line.config)?;
    line.judge(Scene {
        avg: Avg::new(&knobs)?,
        cluster: Cluster::default(),
        choices: Vec::new(),
    })
}

/// A scenario while its rounds go by.
struct Scene {
    avg: Avg,
    cluster: Cluster,
    /// What we chose, by round; none where nothing was asked.
    choices: Vec<Option<String>>,
}

/// A question where a bundle should go.
#[derive(Clone, Debug, Deserialize)]
struct Question {
    select: String,
    candidates: Vec<String>,
}

/// What we decide in a round.
enum Decided<'a> {
    Shed(Box<Shed>),
    Choice(Choice<'a>),
}

/// A choice of ours.
struct Choice<'a> {
    question: Question,
    ours: Option<String>,
    /// All choices so far, by round.
    choices: &'a [Option<String>],
}

/// A choice of a broker as it was recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedChoice {
    /// This one.
    Pick(String),
    /// Any candidate, to be remembered.
    Random(bool),
    /// What was chosen in that round, if it is a candidate; else any, to be remembered.
    StickyOrRandom(usize),
}

impl Player for Scene {
    fn play(&mut self, round: &Value) -> Result<impl Compare, Wrong> {
        if round.get("select").is_none() {
            self.choices.push(None);
            self.cluster.show(Shown::deserialize(round)?);
            let shed = self.avg.shed(&self.cluster)?;
            return Ok(Decided::Shed(Box::new(shed)));
        }
        let question = Question::deserialize(round)?;
        let ours = self.avg.place(&question.select, &question.candidates)?;
        self.choices.push(ours.clone());
        Ok(Decided::Choice(Choice {
            question,
            ours,
            choices: &self.choices,
        }))
    }
}

impl Compare for Decided<'_> {
    fn compare(&self, recorded: &Value) -> Result<Differences, Wrong> {
        match self {
            Self::Shed(shed) => shed.compare(recorded),
            Self::Choice(choice) => choice.compare(recorded),
        }
    }
}

impl Compare for Choice<'_> {
    fn compare(&self, recorded: &Value) -> Result<Differences, Wrong> {
        let recorded = RecordedChoice::deserialize(recorded)?;
        let Question { select, candidates } = &self.question;
        // Whatever was decided before, it is one of the candidates.
        let Some(ours) = self.ours.as_ref().filter(|ours| candidates.contains(ours)) else {
            return Ok(Differences {
                figures: Some(format!("{select} goes to none of the candidates")),
                ..Differences::default()
            });
        };
        let only = match &recorded {
            RecordedChoice::Pick(broker) => Some(broker),
            RecordedChoice::Random(_) => None,
            RecordedChoice::StickyOrRandom(earlier) => self
                .choices
                .get(*earlier)
                .and_then(Option::as_ref)
                .filter(|earlier| candidates.contains(earlier)),
        };
        let agrees = only.is_none_or(|only| only == ours);
        let difference = || format!("{select} goes to {ours}, recorded {recorded:?}");
        Ok(Differences {
            decision: (!agrees).then(difference),
            ..Differences::default()
        })
    }
}

/// What can be set about the avg strategy, as Apache Pulsar calls it; the defaults are those of its
/// releases 3 and 4.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Knobs {
    #[serde(rename = "loadBalancerAvgShedderLowThreshold")]
    pub(crate) low_threshold: f64,
    #[serde(rename = "loadBalancerAvgShedderHighThreshold")]
    pub(crate) high_threshold: f64,
    #[serde(rename = "loadBalancerAvgShedderHitCountLowThreshold")]
    pub(crate) hit_count_low: i32,
    #[serde(rename = "loadBalancerAvgShedderHitCountHighThreshold")]
    pub(crate) hit_count_high: i32,
    /// A ratio, whatever its name says.
    #[serde(rename = "maxUnloadPercentage")]
    pub(crate) max_unload_ratio: f64,
    #[serde(rename = "minUnloadMessage")]
    pub(crate) min_unload_messages: f64,
    #[serde(rename = "minUnloadMessageThroughput")]
    pub(crate) min_unload_throughput: f64,
    #[serde(flatten)]
    pub(crate) weights: WeightKnobs,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            low_threshold: 15.0,
            high_threshold: 40.0,
            hit_count_low: 8,
            hit_count_high: 2,
            max_unload_ratio: 0.2,
            min_unload_messages: 1000.0,
            min_unload_throughput: 1_048_576.0,
            weights: WeightKnobs::default(),
        }
    }
}

impl Knobs {
    fn config(&self) -> Config {
        // Differences and counts are never negative, so a bound below zero is as good as zero.
        let count = |bound: i32| u32::try_from(bound).unwrap_or(0);
        Config {
            mode: Mode::Reference,
            low_threshold_points: self.low_threshold.max(0.0),
            high_threshold_points: self.high_threshold.max(0.0),
            low_hits: count(self.hit_count_low),
            high_hits: count(self.hit_count_high),
            unload_ratio_max: self.max_unload_ratio,
            message_rate_min: self.min_unload_messages,
            throughput_min: self.min_unload_throughput,
            weights: self.weights.into(),
        }
    }
}

/// The avg strategy that decides like the original, both halves of it.
#[derive(Debug)]
pub(crate) struct Avg {
    shedder: AvgShedder,
    placement: Sticky,
    names: Names,
}

impl Avg {
    pub(crate) fn new(knobs: &Knobs) -> Result<Self, Wrong> {
        Ok(Self {
            shedder: AvgShedder::new(knobs.config())?,
            placement: Sticky::new(SEED),
            names: Names::default(),
        })
    }

    /// One round of shedding, which placement follows.
    pub(crate) fn shed(&mut self, cluster: &Cluster) -> Result<Shed, Wrong> {
        let load = self.names.load(cluster)?;
        let plan = self.shedder.plan(&load, &Constraints::default());
        self.placement.adopt(&plan);
        let mut shed = self.decision(&plan)?;
        shed.look_at_order(cluster);
        Ok(shed)
    }

    fn decision(&self, plan: &Plan) -> Result<Shed, Wrong> {
        let mut shed = Shed::default();
        for planned in &plan.moves {
            let bundle = self.names.name(&planned.bundle)?;
            let destination = planned.to.to_string();
            shed.placement.insert(bundle.clone(), destination);
            let unloaded = shed.unload.entry(planned.from.to_string());
            unloaded.or_default().push(bundle.clone());
        }
        for (broker, counts) in self.shedder.hits() {
            let maps = [
                (&mut shed.hits_low, counts.low),
                (&mut shed.hits_high, counts.high),
            ];
            for (map, count) in maps.into_iter().filter(|(_, count)| *count > 0) {
                map.insert(broker.to_string(), count.into());
            }
        }
        for (broker, verdict) in &plan.brokers {
            if let Some(score) = &verdict.score {
                shed.scores.insert(broker.to_string(), score.points);
            }
        }
        Ok(shed)
    }

    /// Where a bundle should go.
    pub(crate) fn place(
        &mut self,
        bundle: &str,
        candidates: &[String],
    ) -> Result<Option<String>, Wrong> {
        let bundle = self.names.bundle(bundle)?;
        let brokers = brokers(candidates)?;
        let chosen = self.placement.place(&bundle, &brokers);
        Ok(chosen.map(|broker| broker.to_string()))
    }
}
