//! Destinations for what a plan leaves to placement, before anything is unloaded.

use super::{Constrained, Placement};
use crate::ids::BrokerId;
use crate::planner::guard::{After, Party};
use crate::planner::outlook::Machine;
use crate::planner::{Barred, ClusterLoad, Kept, Move, Plan, Stopped, Unload, Weights};
use std::collections::BTreeMap;

impl Plan {
    /// Turns what should leave its broker for wherever placement will have it into moves, by the
    /// load that it was planned for. The broker that a bundle leaves does not get it back. A bundle
    /// that nobody may have stays, and the plan says so.
    pub fn place(&mut self, load: &ClusterLoad, placement: &mut Constrained) {
        let mut machines: BTreeMap<&BrokerId, Machine> = load
            .brokers
            .iter()
            .map(|(id, of)| (id, Party::new(id, of, Weights::default()).machine))
            .collect();
        for unload in std::mem::take(&mut self.unloads) {
            let others = load.brokers.keys().filter(|id| **id != unload.from);
            let candidates: Vec<_> = others.cloned().collect();
            match placement.place(&unload.bundle, &candidates) {
                Some(to) => {
                    let moving = moving(unload, to, load, &mut machines);
                    self.moves.push(moving);
                }
                None => {
                    let barred = placement.barred(&unload.bundle, &candidates);
                    let first = barred.into_values().next();
                    self.keep(unload, first.unwrap_or(Barred::Owner));
                }
            }
        }
    }

    /// Writes down that a bundle stays which was to leave.
    fn keep(&mut self, unload: Unload, barred: Barred) {
        let leaves = |from: &BrokerId| self.moves.iter().any(|moving| moving.from == *from);
        let others = !leaves(&unload.from);
        let Some(verdict) = self.brokers.get_mut(&unload.from) else {
            return;
        };
        if let Some(amount) = &mut verdict.amount {
            amount.reached -= amount.measure.of(&unload.load);
        }
        verdict.stopped = others.then_some(Stopped::NoBundleMayMove);
        let kept = Kept::NoLegalDestination { barred };
        verdict.kept.push((unload.bundle, kept));
    }
}

/// The move to a destination, with the scores that are to be expected then.
fn moving<'a>(
    unload: Unload,
    to: BrokerId,
    load: &'a ClusterLoad,
    machines: &mut BTreeMap<&'a BrokerId, Machine>,
) -> Move {
    let (source, destination) = (machines.get(&unload.from), machines.get(&to));
    let mut scores = (0.0, 0.0);
    if let (Some(source), Some(destination)) = (source, destination) {
        let burden = source.burden_of(&unload.load);
        let after = After::new(source, destination, &burden);
        scores = (
            after.source.scores().worst(),
            after.destination.scores().worst(),
        );
        for (id, machine) in [(&unload.from, after.source), (&to, after.destination)] {
            if let Some((id, _)) = load.brokers.get_key_value(id) {
                machines.insert(id, machine);
            }
        }
    }
    Move {
        bundle: unload.bundle,
        from: unload.from,
        to,
        load: unload.load,
        from_score_after: scores.0,
        to_score_after: scores.1,
    }
}
