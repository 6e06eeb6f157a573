//! The avg strategy: rounds of shedding, and the same as a placement.

use super::Agreement;
use super::line::{Cluster, Line, ShedRound, Unload, as_sets, broker_id};
use deedbook::ids::BrokerId;
use deedbook::planner::avg::{AvgShedder, Config, HitCounts, Mode, Weights};
use deedbook::planner::{Constraints, Placement, Plan, Shedder, Sticky};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Sums run in the order of hash maps in the original, so the last digits are open.
const TOLERANCE: f64 = 1e-9;
/// Any seed must do: where the original draws lots, every candidate agrees.
const SEED: u64 = 1;

pub(super) fn is_shedder(line: &Line) -> bool {
    has_knobs(line)
        && line
            .expected
            .iter()
            .all(|result| result.get("hits_high").is_some())
}

pub(super) fn is_select(line: &Line) -> bool {
    has_knobs(line)
        && line
            .rounds
            .iter()
            .any(|round| round.get("select").is_some())
}

fn has_knobs(line: &Line) -> bool {
    line.config
        .contains_key("loadBalancerAvgShedderLowThreshold")
}

fn shedder(line: &Line) -> Result<AvgShedder, String> {
    let hits = |name, default: u32| -> Result<u32, String> {
        let value = line.knob(name, f64::from(default))?;
        // Hit counts of the original are 32-bit integers.
        if value.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&value) {
            Ok(format!("{value}").parse().unwrap_or(default))
        } else {
            Err(format!("{name} is {value}"))
        }
    };
    let bandwidth = |way: &str| -> Result<f64, String> {
        let old = line.knob(&format!("loadBalancerBandwith{way}ResourceWeight"), 1.0)?;
        line.knob(&format!("loadBalancerBandwidth{way}ResourceWeight"), old)
    };
    let config = Config {
        mode: Mode::Reference,
        low_threshold_points: line.knob("loadBalancerAvgShedderLowThreshold", 15.0)?,
        high_threshold_points: line.knob("loadBalancerAvgShedderHighThreshold", 40.0)?,
        low_hits: hits("loadBalancerAvgShedderHitCountLowThreshold", 8)?,
        high_hits: hits("loadBalancerAvgShedderHitCountHighThreshold", 2)?,
        unload_ratio_max: line.knob("maxUnloadPercentage", 0.2)?,
        message_rate_min: line.knob("minUnloadMessage", 1000.0)?,
        throughput_min: line.knob("minUnloadMessageThroughput", 1_048_576.0)?,
        weights: Weights {
            cpu: line.knob("loadBalancerCPUResourceWeight", 1.0)?,
            direct_memory: line.knob("loadBalancerDirectMemoryResourceWeight", 1.0)?,
            bandwidth_in: bandwidth("In")?,
            bandwidth_out: bandwidth("Out")?,
        },
    };
    AvgShedder::new(config).map_err(|error| error.to_string())
}

/// What is decided in a round, ours or recorded.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Decision {
    unload: Unload,
    placement: BTreeMap<String, String>,
    hits_low: BTreeMap<String, u32>,
    hits_high: BTreeMap<String, u32>,
    /// Compared on their own: they stay comparable when decisions are not.
    scores: Option<BTreeMap<String, f64>>,
}

impl Decision {
    fn ours(plan: &Plan, hits: &BTreeMap<BrokerId, HitCounts>, cluster: &Cluster) -> Self {
        let mut ours = Self::default();
        for planned in &plan.moves {
            let bundle = cluster.name(&planned.bundle);
            ours.placement
                .insert(bundle.clone(), planned.to.to_string());
            ours.unload
                .entry(planned.from.to_string())
                .or_default()
                .push(bundle);
        }
        for (broker, counts) in hits {
            let maps = [
                (&mut ours.hits_low, counts.low),
                (&mut ours.hits_high, counts.high),
            ];
            for (map, count) in maps.into_iter().filter(|(_, count)| *count > 0) {
                map.insert(broker.to_string(), count);
            }
        }
        let points = plan.brokers.iter().filter_map(|(broker, verdict)| {
            let score = verdict.score.as_ref()?;
            Some((broker.to_string(), score.points))
        });
        ours.scores = Some(points.collect());
        ours
    }

    /// Whether both are the same, the order inside lists apart.
    fn agrees_as_sets(&self, other: &Self) -> bool {
        as_sets(&self.unload) == as_sets(&other.unload)
            && self.placement == other.placement
            && self.hits_low == other.hits_low
            && self.hits_high == other.hits_high
    }

    /// The first thing in which they differ, in words.
    fn difference(&self, recorded: &Self) -> String {
        let words = |what: &str, ours: String, recorded: String| {
            (ours != recorded).then(|| format!("{what} {ours}, recorded {recorded}"))
        };
        macro_rules! words_of {
            ($field:ident) => {
                words(
                    stringify!($field),
                    format!("{:?}", self.$field),
                    format!("{:?}", recorded.$field),
                )
            };
        }
        words_of!(unload)
            .or_else(|| words_of!(placement))
            .or_else(|| words_of!(hits_low))
            .or_else(|| words_of!(hits_high))
            .unwrap_or_default()
    }

    /// The first score that is not the recorded one.
    fn score_difference(&self, recorded: &Self) -> Option<String> {
        let (ours, recorded) = (self.scores.as_ref()?, recorded.scores.as_ref()?);
        if !ours.keys().eq(recorded.keys()) {
            return Some(format!("scores {ours:?}, recorded {recorded:?}"));
        }
        let far = |(broker, score): (&String, &f64)| {
            let recorded = recorded[broker];
            let near = (score - recorded).abs() <= TOLERANCE * recorded.abs().max(score.abs());
            (!near).then(|| format!("score of {broker} {score}, recorded {recorded}"))
        };
        ours.iter().find_map(far)
    }
}

/// Whether the decisions of a round, or only its scores, can be compared.
fn compare(line: &Line, round: usize, ours: &Decision) -> Result<Agreement, String> {
    let parse = |value: &Value| -> Result<Decision, String> {
        Decision::deserialize(value).map_err(|error| format!("round {round}: {error}"))
    };
    let recorded = parse(&line.expected[round])?;
    if let Some(difference) = ours.score_difference(&recorded) {
        return Ok(Agreement::Different(difference));
    }
    let diverges = line.order_dependent_from.unwrap_or(usize::MAX);
    if round > diverges {
        return Ok(Agreement::NotComparable);
    }
    let list_order_is_open = line
        .list_order_dependent_from
        .is_some_and(|from| round >= from);
    if ours.agrees_as_sets(&recorded) {
        let same_order = ours.unload == recorded.unload;
        return Ok(if same_order {
            Agreement::Exact
        } else if list_order_is_open || round == diverges {
            Agreement::Alternative
        } else {
            Agreement::Different(ours.difference(&recorded))
        });
    }
    if round == diverges {
        for alternative in &line.alternatives {
            if ours.agrees_as_sets(&parse(alternative)?) {
                return Ok(Agreement::Alternative);
            }
        }
        if line.alternatives_seen > line.alternatives.len() {
            return Ok(Agreement::NotComparable);
        }
    }
    Ok(Agreement::Different(ours.difference(&recorded)))
}

pub(super) fn judge_shedder(line: &Line) -> Result<Vec<Agreement>, String> {
    let mut shedder = shedder(line)?;
    let mut cluster = Cluster::default();
    let mut agreements = Vec::new();
    for (index, round) in line.rounds.iter().enumerate() {
        let shown = ShedRound::deserialize(round).map_err(|e| format!("round {index}: {e}"))?;
        let load = cluster.show(shown)?;
        let plan = shedder.plan(&load, &Constraints::default());
        let ours = Decision::ours(&plan, shedder.hits(), &cluster);
        agreements.push(compare(line, index, &ours)?);
    }
    Ok(agreements)
}

/// A question for a destination.
#[derive(Debug, Deserialize)]
struct Question {
    select: String,
    candidates: Vec<String>,
}

/// What is recorded as the answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Pick(String),
    Random(bool),
    StickyOrRandom(usize),
}

pub(super) fn judge_select(line: &Line) -> Result<Vec<Agreement>, String> {
    let mut shedder = shedder(line)?;
    let mut placement = Sticky::new(SEED);
    let mut cluster = Cluster::default();
    let mut agreements = Vec::new();
    let mut answers: Vec<Option<String>> = Vec::new();
    for (index, round) in line.rounds.iter().enumerate() {
        let wrong = |error: serde_json::Error| format!("round {index}: {error}");
        if round.get("select").is_some() {
            let question = Question::deserialize(round).map_err(wrong)?;
            let bundle = cluster.bundle_id(&question.select)?;
            let ids: Result<Vec<_>, _> = question
                .candidates
                .iter()
                .map(|name| broker_id(name))
                .collect();
            let mut ids = ids?;
            ids.sort();
            let ours = placement
                .place(&bundle, &ids)
                .map(|broker| broker.to_string());
            agreements.push(compare_answer(
                line,
                index,
                &question,
                ours.as_deref(),
                &answers,
            )?);
            answers.push(ours);
        } else {
            let load = cluster.show(ShedRound::deserialize(round).map_err(wrong)?)?;
            let plan = shedder.plan(&load, &Constraints::default());
            placement.adopt(&plan);
            let mut ours = Decision::ours(&plan, &BTreeMap::new(), &cluster);
            // Only what moves is recorded in these files.
            ours.placement.clear();
            agreements.push(compare(line, index, &ours)?);
            answers.push(None);
        }
    }
    Ok(agreements)
}

fn compare_answer(
    line: &Line,
    round: usize,
    question: &Question,
    ours: Option<&str>,
    answers: &[Option<String>],
) -> Result<Agreement, String> {
    let diverges = line.order_dependent_from.unwrap_or(usize::MAX);
    let Some(ours) = ours.filter(|ours| question.candidates.iter().any(|name| name == ours)) else {
        let different = format!("{ours:?} is none of {:?}", question.candidates);
        return Ok(Agreement::Different(different));
    };
    if round > diverges {
        return Ok(Agreement::NotComparable);
    }
    let parse = |value: &Value| -> Result<Answer, String> {
        Answer::deserialize(value).map_err(|error| format!("round {round}: {error}"))
    };
    let must_be = |answer: Answer| match answer {
        Answer::Pick(broker) => Some(broker),
        Answer::Random(_) => None,
        Answer::StickyOrRandom(earlier) => {
            let earlier = answers.get(earlier).cloned().flatten();
            earlier.filter(|broker| question.candidates.contains(broker))
        }
    };
    let agrees = |answer| must_be(answer).is_none_or(|broker| broker == ours);
    let recorded = &line.expected[round];
    if agrees(parse(recorded)?) {
        return Ok(Agreement::Exact);
    }
    if round == diverges {
        for alternative in &line.alternatives {
            if agrees(parse(alternative)?) {
                return Ok(Agreement::Alternative);
            }
        }
        if line.alternatives_seen > line.alternatives.len() {
            return Ok(Agreement::NotComparable);
        }
    }
    Ok(Agreement::Different(format!(
        "{ours} for {}, recorded {recorded}",
        question.select
    )))
}
