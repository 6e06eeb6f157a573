//! What is decided in a round, and what differs between two decisions.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// The original adds up in the order of its hash maps, so the last digits are open.
const TOLERANCE: f64 = 1e-9;

/// What moves: bundles by broker, in the order of selection.
pub(crate) type Unload = BTreeMap<String, Vec<String>>;

/// A round of shedding as we decide it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shed {
    pub(crate) unload: Unload,
    /// The destination of each bundle that moves.
    pub(crate) placement: BTreeMap<String, String>,
    /// Counts that are not zero, after the round.
    pub(crate) hits_high: BTreeMap<String, u64>,
    /// Counts that are not zero, after the round.
    pub(crate) hits_low: BTreeMap<String, u64>,
    /// Points.
    pub(crate) scores: BTreeMap<String, f64>,
}

/// A round of shedding as it was recorded. What is not recorded is not compared.
#[derive(Debug, Deserialize)]
pub(crate) struct RecordedShed {
    pub(crate) unload: Unload,
    placement: Option<BTreeMap<String, String>>,
    hits_high: Option<BTreeMap<String, u64>>,
    hits_low: Option<BTreeMap<String, u64>>,
    /// Absent in alternatives: scores do not depend on any order.
    scores: Option<BTreeMap<String, f64>>,
}

/// A choice of a broker as it was recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordedChoice {
    /// This one.
    Pick(String),
    /// Any candidate, to be remembered.
    Random(bool),
    /// What was chosen in that round, if it is a candidate; else any, to be remembered.
    StickyOrRandom(usize),
}

impl RecordedShed {
    /// The first thing but the scores that we decide otherwise, the order inside lists apart.
    pub(crate) fn difference(&self, ours: &Shed) -> Option<String> {
        let sets = |unload: &Unload| -> BTreeMap<String, BTreeSet<String>> {
            let set = |bundles: &Vec<String>| bundles.iter().cloned().collect();
            unload
                .iter()
                .map(|(b, list)| (b.clone(), set(list)))
                .collect()
        };
        let equal = |a: &u64, b: &u64| a == b;
        first(
            "unload",
            &sets(&ours.unload),
            Some(&sets(&self.unload)),
            |a, b| a == b,
        )
        .or_else(|| {
            first(
                "placement",
                &ours.placement,
                self.placement.as_ref(),
                |a, b| a == b,
            )
        })
        .or_else(|| first("hits_high", &ours.hits_high, self.hits_high.as_ref(), equal))
        .or_else(|| first("hits_low", &ours.hits_low, self.hits_low.as_ref(), equal))
    }

    /// The first list of bundles that is in another order.
    pub(crate) fn order_difference(&self, ours: &Shed) -> Option<String> {
        first(
            "order of unload",
            &ours.unload,
            Some(&self.unload),
            |a, b| a == b,
        )
    }

    /// The first score that is another.
    pub(crate) fn score_difference(&self, ours: &Shed) -> Option<String> {
        let near = |a: &f64, b: &f64| (a - b).abs() <= TOLERANCE * a.abs().max(b.abs());
        first("score", &ours.scores, self.scores.as_ref(), near)
    }
}

/// The first entry of two maps that is not the same in both, in words.
fn first<V: Debug>(
    what: &str,
    ours: &BTreeMap<String, V>,
    recorded: Option<&BTreeMap<String, V>>,
    same: impl Fn(&V, &V) -> bool,
) -> Option<String> {
    let recorded = recorded?;
    let names: BTreeSet<_> = ours.keys().chain(recorded.keys()).collect();
    let words = |value: Option<&V>| value.map_or("none".to_owned(), |value| format!("{value:?}"));
    names.into_iter().find_map(|name| {
        let (ours, recorded) = (ours.get(name), recorded.get(name));
        let agree = matches!((ours, recorded), (Some(a), Some(b)) if same(a, b));
        let (ours, recorded) = (words(ours), words(recorded));
        (!agree).then(|| format!("{what} of {name} is {ours}, recorded {recorded}"))
    })
}
