//! One scenario: a line of a file.

use super::Wrong;
use super::summary::Agreement;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Each scenario was run with 100 random names. Where so many outcomes were seen, others may have
/// been missed.
const MANY_ALTERNATIVES: usize = 8;

/// Another order of what ties, inside a list.
const OTHER_ORDER: &str = "a list in another order of what ties";

/// Another of the outcomes that were seen.
const OTHER_OUTCOME: &str = "another outcome of those recorded for other orders of hash maps";

/// No round after it can be compared.
const DIVERGED: &str = "after a round whose outcome hangs on the order of hash maps";

/// More outcomes are possible than are known.
const STRANGER: &str = "an outcome of many that ties allow, of which only some are recorded";

/// A scenario as recorded, rounds counted from 0. Knobs, rounds and decisions differ from form to
/// form.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) config: Map<String, Value>,
    pub(crate) rounds: Vec<Value>,
    pub(crate) expected: Vec<Value>,
    /// The first round that the original decides in more than one way, depending on the order of
    /// its hash maps.
    order_dependent_from: Option<usize>,
    /// Decisions seen in that round; not all, if there were many.
    #[serde(default)]
    alternatives: Vec<Value>,
    /// How many were seen.
    #[serde(default)]
    alternatives_seen: usize,
    /// From this round on the order inside lists is open.
    list_order_dependent_from: Option<usize>,
    /// In turn: how many turns there were before.
    #[serde(default)]
    pub(crate) initial_count: u32,
    /// The first round that double precision decides in another way.
    float_sensitive_from: Option<usize>,
    /// What it decides.
    float_alternative: Option<Value>,
}

/// What the recording says about a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certainty {
    /// There is one outcome, lists in one order.
    Exact,
    /// There is one outcome, lists in any order that ties allow.
    AnyListOrder,
    /// There are alternatives.
    Alternatives,
    /// The state of the original has diverged.
    Diverged,
}

/// What a decision of ours has otherwise than a recorded one.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    /// Numbers that do not depend on earlier decisions, so they stay comparable to the end.
    pub(crate) figures: Option<String>,
    /// What was decided.
    pub(crate) decision: Option<String>,
    /// The order inside lists, if all else is the same.
    pub(crate) order: Option<String>,
    /// Where the order is open, only what ties may change places.
    pub(crate) out_of_order: Option<String>,
}

/// A strategy of ours that goes through the rounds of a scenario.
pub(crate) trait Player {
    /// Decides one round; how that differs from a recorded decision, whichever it is.
    fn play(&mut self, round: &Value) -> Result<impl Compare, Wrong>;
}

/// A decision of ours.
pub(crate) trait Compare {
    /// How it differs from a recorded one.
    fn compare(&self, recorded: &Value) -> Result<Differences, Wrong>;
}

impl Line {
    /// Whether something is set, to whatever.
    pub(crate) fn has_setting(&self, name: &str) -> bool {
        self.config.contains_key(name)
    }

    /// Whether decisions of this name were recorded.
    pub(crate) fn decides(&self, what: &str) -> bool {
        self.expected
            .iter()
            .any(|recorded| recorded.get(what).is_some())
    }

    /// Whether rounds have something of this name.
    pub(crate) fn shows(&self, what: &str) -> bool {
        self.rounds.iter().any(|round| round.get(what).is_some())
    }

    /// Judges all rounds: one strategy lives through them.
    pub(crate) fn judge(&self, mut player: impl Player) -> Result<Vec<Agreement>, Wrong> {
        let mut agreements = Vec::with_capacity(self.rounds.len());
        for (index, (round, recorded)) in self.rounds.iter().zip(&self.expected).enumerate() {
            let agreement = player
                .play(round)
                .and_then(|ours| self.agreement(index, &ours, recorded))
                .map_err(|wrong| format!("round {index}: {wrong}"))?;
            agreements.push(agreement);
        }
        Ok(agreements)
    }

    fn agreement(
        &self,
        round: usize,
        ours: &impl Compare,
        recorded: &Value,
    ) -> Result<Agreement, Wrong> {
        let found = ours.compare(recorded)?;
        if let Some(difference) = found.figures {
            return Ok(Agreement::Different(difference));
        }
        let certainty = self.certainty(round);
        if certainty == Certainty::Diverged {
            return Ok(Agreement::NotComparable(DIVERGED));
        }
        let Some(difference) = found.decision else {
            return Ok(match (found.order, found.out_of_order) {
                (None, _) => Agreement::Exact,
                (Some(_), None) if certainty != Certainty::Exact => {
                    Agreement::Alternative(OTHER_ORDER)
                }
                (Some(difference), _) => Agreement::Different(difference),
            });
        };
        if certainty == Certainty::Alternatives {
            return Ok(match (self.is_listed(ours)?, found.out_of_order) {
                (true, None) => Agreement::Alternative(OTHER_OUTCOME),
                (true, Some(difference)) => Agreement::Different(difference),
                (false, _) => self.judge_stranger(difference),
            });
        }
        let note = self.note_on_floats(round, ours)?;
        Ok(Agreement::Different(difference + note))
    }

    /// Whether one of the alternatives is ours.
    fn is_listed(&self, ours: &impl Compare) -> Result<bool, Wrong> {
        for alternative in &self.alternatives {
            if ours.compare(alternative)?.decision.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Judges a decision that is none of the alternatives.
    fn judge_stranger(&self, difference: String) -> Agreement {
        let seen = self.alternatives_seen;
        if seen > self.alternatives.len() || seen >= MANY_ALTERNATIVES {
            return Agreement::NotComparable(STRANGER);
        }
        Agreement::Different(format!("{difference}, nor any of {seen} alternatives"))
    }

    /// What to add if double precision explains a difference.
    fn note_on_floats(&self, round: usize, ours: &impl Compare) -> Result<&'static str, Wrong> {
        if let (Some(from), Some(other)) = (self.float_sensitive_from, &self.float_alternative)
            && from == round
            && ours.compare(other)?.decision.is_none()
        {
            return Ok(", as double precision decides");
        }
        Ok("")
    }

    /// Reads a line; there must be a decision for each round.
    pub(crate) fn parse(text: &str) -> Result<Self, Wrong> {
        let line: Self = serde_json::from_str(text)?;
        let (rounds, decisions) = (line.rounds.len(), line.expected.len());
        if rounds != decisions {
            return Err(format!("{rounds} rounds, {decisions} decisions").into());
        }
        Ok(line)
    }

    /// What can be said of a round.
    fn certainty(&self, round: usize) -> Certainty {
        match (self.order_dependent_from, self.list_order_dependent_from) {
            (Some(from), _) if round > from => Certainty::Diverged,
            (Some(from), _) if round == from => Certainty::Alternatives,
            (_, Some(from)) if round >= from => Certainty::AnyListOrder,
            _ => Certainty::Exact,
        }
    }
}
