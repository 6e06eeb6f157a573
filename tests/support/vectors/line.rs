//! One scenario: a line of a file.

use super::Wrong;
use serde::Deserialize;
use serde_json::{Map, Value};

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
    pub(crate) alternatives: Vec<Value>,
    /// How many were seen.
    #[serde(default)]
    pub(crate) alternatives_seen: usize,
    /// From this round on the order inside lists is open.
    list_order_dependent_from: Option<usize>,
    /// The first round that double precision decides in another way.
    pub(crate) float_sensitive_from: Option<usize>,
    /// What it decides.
    pub(crate) float_alternative: Option<Value>,
}

/// What the recording says about a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// There is one outcome, lists in one order.
    Exact,
    /// There is one outcome, lists in any order that ties allow.
    AnyListOrder,
    /// There are alternatives.
    Alternatives,
    /// The state of the original has diverged.
    Diverged,
}

impl Line {
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
    pub(crate) fn certainty(&self, round: usize) -> Certainty {
        match (self.order_dependent_from, self.list_order_dependent_from) {
            (Some(from), _) if round > from => Certainty::Diverged,
            (Some(from), _) if round == from => Certainty::Alternatives,
            (_, Some(from)) if round >= from => Certainty::AnyListOrder,
            _ => Certainty::Exact,
        }
    }
}
