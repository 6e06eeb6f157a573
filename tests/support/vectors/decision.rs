//! What is decided in a round, and what differs between two decisions.

use super::Wrong;
use super::cluster::Cluster;
use super::line::{Compare, Differences};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// The original adds up in the order of its hash maps, so the last digits are open.
const TOLERANCE: f64 = 1e-9;

/// What moves: bundles by broker, in the order of selection.
pub(crate) type Unload = BTreeMap<String, Vec<String>>;

/// A number of each broker.
pub(crate) type Figures = BTreeMap<String, f64>;

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
    pub(crate) scores: Figures,
    /// Loads with history after the round, as ratios.
    pub(crate) usage: Figures,
    /// A broker's list that does not begin with the biggest, if there is one.
    pub(crate) out_of_order: Option<String>,
}

/// A round of shedding as it was recorded. What is not recorded is not compared.
#[derive(Debug, Deserialize)]
struct RecordedShed {
    unload: Unload,
    placement: Option<BTreeMap<String, String>>,
    hits_high: Option<BTreeMap<String, u64>>,
    hits_low: Option<BTreeMap<String, u64>>,
    /// Absent in alternatives: they do not depend on any order.
    scores: Option<Figures>,
    /// Absent in alternatives.
    usage: Option<Figures>,
}

impl Shed {
    /// Sees whether every list comes biggest first.
    pub(crate) fn look_at_order(&mut self, cluster: &Cluster) {
        let mut lists = self.unload.iter();
        let out = lists.find(|(_, list)| !cluster.falls(list));
        self.out_of_order =
            out.map(|(broker, _)| format!("unload of {broker} is not biggest first"));
    }
}

impl Compare for Shed {
    fn compare(&self, recorded: &Value) -> Result<Differences, Wrong> {
        let recorded = RecordedShed::deserialize(recorded)?;
        let scores = first("score", &self.scores, recorded.scores.as_ref(), near);
        let usage = first("usage", &self.usage, recorded.usage.as_ref(), near);
        Ok(Differences {
            figures: scores.or(usage),
            decision: recorded.difference(self),
            order: first(
                "order of unload",
                &self.unload,
                Some(&recorded.unload),
                PartialEq::eq,
            ),
            out_of_order: self.out_of_order.clone(),
        })
    }
}

impl RecordedShed {
    /// The first thing that we decide otherwise, figures and the order inside lists apart.
    fn difference(&self, ours: &Shed) -> Option<String> {
        let sets = |unload: &Unload| -> BTreeMap<String, BTreeSet<String>> {
            let set = |bundles: &Vec<String>| bundles.iter().cloned().collect();
            unload
                .iter()
                .map(|(b, list)| (b.clone(), set(list)))
                .collect()
        };
        let (placement, high, low) = (&self.placement, &self.hits_high, &self.hits_low);
        let eq = PartialEq::eq;
        first("unload", &sets(&ours.unload), Some(&sets(&self.unload)), eq)
            .or_else(|| {
                first(
                    "placement",
                    &ours.placement,
                    placement.as_ref(),
                    PartialEq::eq,
                )
            })
            .or_else(|| first("hits_high", &ours.hits_high, high.as_ref(), PartialEq::eq))
            .or_else(|| first("hits_low", &ours.hits_low, low.as_ref(), PartialEq::eq))
    }
}

/// Whether two numbers are the same but for the last digits.
pub(crate) fn near(a: &f64, b: &f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

/// The first entry of two maps that is not the same in both, in words.
pub(crate) fn first<V: Debug>(
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
