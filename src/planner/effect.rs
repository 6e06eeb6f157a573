//! What a plan comes to, by the same measure whichever strategy made it.

use super::outlook::{Machine, Potential};
use super::{ClusterLoad, Measure, Plan, Weights, score};
use std::collections::BTreeMap;

/// What a plan comes to, as far as reports tell.
///
/// Scores are those of the fullest resource, each counted the same. What a bundle takes along is
/// not known for cpu and memory: they follow messages in one forecast and bytes in another, and the
/// worse one is told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effect {
    /// The highest score before anything moves, in points.
    pub hottest_before: f64,
    /// The highest score to be expected after all moves, in points; none if the plan leaves
    /// destinations open.
    pub hottest_after: Option<f64>,
    /// The sum of the squares of all scores before anything moves.
    pub imbalance_before: f64,
    /// The same after all moves; none if the plan leaves destinations open.
    pub imbalance_after: Option<f64>,
    /// The share of the cluster's messages that moves, 1.0 being all.
    pub messages_share: f64,
    /// The share of the cluster's bytes that moves, 1.0 being all.
    pub bytes_share: f64,
}

impl Plan {
    /// What this plan comes to if the load is as reported. Brokers that report nothing usable, or
    /// traffic that makes no sense, do not count.
    #[must_use]
    pub fn effect(&self, load: &ClusterLoad) -> Effect {
        let known = load.brokers.iter().filter(|(_, of)| {
            let score = score::score(of, Weights::default(), super::Mode::Safe);
            score.is_some() && of.traffic.is_sound()
        });
        let reported: BTreeMap<_, _> = known
            .map(|(broker, of)| (broker, Machine::new(of, Weights::default())))
            .collect();
        let mut machines = reported.clone();
        for planned in &self.moves {
            let Some(source) = reported.get(&planned.from) else {
                continue;
            };
            let burden = source.burden_of(&planned.load);
            if let Some(machine) = machines.get_mut(&planned.from) {
                *machine = machine.without(&burden);
            }
            if let Some(machine) = machines.get_mut(&planned.to) {
                *machine = machine.with(&burden);
            }
        }
        let moved = self.moves.iter().map(|planned| planned.load);
        let moved = moved.chain(self.unloads.iter().map(|unload| unload.load));
        let share = |measure: Measure| {
            let all = reported
                .keys()
                .filter_map(|broker| load.brokers.get(*broker));
            let all: f64 = all.map(|of| measure.of(&of.traffic)).sum();
            let moved = moved.clone().fold(0.0, |sum, load| sum + measure.of(&load));
            if all > 0.0 { moved / all } else { 0.0 }
        };
        let (hottest_before, imbalance_before) = figures(reported.values());
        let after = self.unloads.is_empty().then(|| figures(machines.values()));
        Effect {
            hottest_before,
            hottest_after: after.map(|(hottest, _)| hottest),
            imbalance_before,
            imbalance_after: after.map(|(_, imbalance)| imbalance),
            messages_share: share(Measure::Messages),
            bytes_share: share(Measure::Bytes),
        }
    }
}

/// The highest score, and the sum of the squares of all.
fn figures<'m>(machines: impl Iterator<Item = &'m Machine>) -> (f64, f64) {
    let (mut hottest, mut potential) = (0.0_f64, Potential::default());
    for machine in machines {
        let scores = machine.scores();
        hottest = hottest.max(scores.worst());
        potential = potential.plus(scores.squared());
    }
    (hottest, potential.worst())
}
