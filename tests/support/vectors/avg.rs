//! Judges the avg strategy: rounds of shedding, and questions where a bundle should go.

use super::Wrong;
use super::cluster::{Cluster, Shown};
use super::decision::{RecordedChoice, RecordedShed, Shed};
use super::line::{Certainty, Line};
use super::planner::{Avg, Knobs};
use super::summary::Agreement;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Each scenario was run with 100 random names. Where so many outcomes were seen, others may have
/// been missed.
const MANY_ALTERNATIVES: usize = 8;

/// A question where a bundle should go.
#[derive(Debug, Deserialize)]
struct Question {
    select: String,
    candidates: Vec<String>,
}

/// Whether a scenario is one of this strategy.
pub(super) fn fits(line: &Line) -> bool {
    line.config
        .contains_key("loadBalancerAvgShedderLowThreshold")
}

/// Judges all rounds of a scenario: one strategy lives through them.
pub(super) fn judge(line: &Line) -> Result<Vec<Agreement>, Wrong> {
    let knobs = Knobs::deserialize(&line.config)?;
    let mut rounds = Rounds {
        line,
        avg: Avg::new(&knobs)?,
        cluster: Cluster::default(),
        choices: Vec::new(),
    };
    let mut agreements = Vec::with_capacity(line.rounds.len());
    for (index, (round, recorded)) in line.rounds.iter().zip(&line.expected).enumerate() {
        let agreement = if round.get("select").is_some() {
            rounds.choose(index, round, recorded)
        } else {
            rounds.shed(index, round, recorded)
        };
        let agreement = agreement.map_err(|wrong| format!("round {index}: {wrong}"))?;
        agreements.push(agreement);
    }
    Ok(agreements)
}

/// A scenario while its rounds go by.
struct Rounds<'a> {
    line: &'a Line,
    avg: Avg,
    cluster: Cluster,
    /// What we chose, by round; none where nothing was asked.
    choices: Vec<Option<String>>,
}

impl Rounds<'_> {
    fn shed(&mut self, index: usize, round: &Value, recorded: &Value) -> Result<Agreement, Wrong> {
        self.choices.push(None);
        self.cluster.show(Shown::deserialize(round)?);
        let ours = self.avg.shed(&self.cluster)?;
        let recorded = RecordedShed::deserialize(recorded)?;
        // Scores do not depend on earlier decisions, so they stay comparable to the end.
        if let Some(difference) = recorded.score_difference(&ours) {
            return Ok(Agreement::Different(difference));
        }
        let certainty = self.line.certainty(index);
        if certainty == Certainty::Diverged {
            return Ok(Agreement::NotComparable);
        }
        // Where the order is open, only bundles that tie may change places.
        let biggest_first = ours.unload.values().all(|list| self.cluster.falls(list));
        let Some(difference) = recorded.difference(&ours) else {
            return Ok(match recorded.order_difference(&ours) {
                None => Agreement::Exact,
                Some(_) if certainty != Certainty::Exact && biggest_first => Agreement::Alternative,
                Some(difference) => Agreement::Different(difference),
            });
        };
        if certainty == Certainty::Alternatives {
            let listed = self.is_listed(|other: RecordedShed| other.difference(&ours).is_none())?;
            return Ok(match listed {
                true if biggest_first => Agreement::Alternative,
                true => Agreement::Different("unload is not biggest first".to_owned()),
                false => self.judge_stranger(difference),
            });
        }
        let note = self.note_on_floats(index, &ours)?;
        Ok(Agreement::Different(difference + note))
    }

    fn choose(
        &mut self,
        index: usize,
        round: &Value,
        recorded: &Value,
    ) -> Result<Agreement, Wrong> {
        let question = Question::deserialize(round)?;
        let ours = self.avg.place(&question.select, &question.candidates)?;
        self.choices.push(ours.clone());
        let recorded = RecordedChoice::deserialize(recorded)?;
        // Whatever was decided before, it is one of the candidates.
        let Some(ours) = ours.filter(|ours| question.candidates.contains(ours)) else {
            let difference = format!("{} goes to none of the candidates", question.select);
            return Ok(Agreement::Different(difference));
        };
        let certainty = self.line.certainty(index);
        if certainty == Certainty::Diverged {
            return Ok(Agreement::NotComparable);
        }
        let agrees = |recorded: &RecordedChoice| self.allows(recorded, &question, &ours);
        if agrees(&recorded) {
            return Ok(Agreement::Exact);
        }
        let difference = format!("{} goes to {ours}, recorded {recorded:?}", question.select);
        if certainty == Certainty::Alternatives {
            return Ok(
                match self.is_listed(|other: RecordedChoice| agrees(&other))? {
                    true => Agreement::Alternative,
                    false => self.judge_stranger(difference),
                },
            );
        }
        Ok(Agreement::Different(difference))
    }

    /// Whether a recorded choice leaves room for ours.
    fn allows(&self, recorded: &RecordedChoice, question: &Question, ours: &String) -> bool {
        let only = match recorded {
            RecordedChoice::Pick(broker) => Some(broker),
            RecordedChoice::Random(_) => None,
            RecordedChoice::StickyOrRandom(earlier) => self
                .choices
                .get(*earlier)
                .and_then(Option::as_ref)
                .filter(|earlier| question.candidates.contains(earlier)),
        };
        only.is_none_or(|only| only == ours)
    }

    /// Whether one of the alternatives is ours.
    fn is_listed<T: DeserializeOwned>(&self, is_ours: impl Fn(T) -> bool) -> Result<bool, Wrong> {
        for alternative in &self.line.alternatives {
            if is_ours(T::deserialize(alternative)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Judges a decision that is none of the alternatives.
    fn judge_stranger(&self, difference: String) -> Agreement {
        let seen = self.line.alternatives_seen;
        if seen > self.line.alternatives.len() || seen >= MANY_ALTERNATIVES {
            return Agreement::NotComparable;
        }
        Agreement::Different(format!("{difference}, nor any of {seen} alternatives"))
    }

    /// What to add if double precision explains a difference.
    fn note_on_floats(&self, index: usize, ours: &Shed) -> Result<&'static str, Wrong> {
        if let (Some(from), Some(other)) =
            (self.line.float_sensitive_from, &self.line.float_alternative)
            && from == index
            && RecordedShed::deserialize(other)?.difference(ours).is_none()
        {
            return Ok(", as double precision decides");
        }
        Ok("")
    }
}
