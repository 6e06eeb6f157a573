//! Placement as Apache Pulsar's avg strategy does it.

use super::{AtRandom, Placement};
use crate::ids::{BrokerId, BundleId};
use crate::planner::Plan;
use std::collections::BTreeMap;

/// The planned destination if it is a candidate; else any candidate, which is remembered as if it
/// had been planned.
///
/// Nothing is ever forgotten but by a later plan, so this is for comparing with Apache Pulsar;
/// [`ByPlan`](super::ByPlan) is for work.
#[derive(Clone, Debug, Default)]
pub struct Sticky {
    planned: BTreeMap<BundleId, BrokerId>,
    chance: AtRandom,
}

impl Sticky {
    /// One that knows no plan yet. The seed decides where there is no plan.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            planned: BTreeMap::new(),
            chance: AtRandom::new(seed),
        }
    }
}

impl Placement for Sticky {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        if let Some(planned) = self.planned.get(bundle)
            && candidates.contains(planned)
        {
            return Some(planned.clone());
        }
        let chosen = self.chance.place(bundle, candidates)?;
        self.planned.insert(bundle.clone(), chosen.clone());
        Some(chosen)
    }

    /// Takes over the destinations of a plan.
    fn adopt(&mut self, plan: &Plan) {
        let bound = |planned: &crate::planner::Move| (planned.bundle.clone(), planned.to.clone());
        self.planned.extend(plan.moves.iter().map(bound));
    }
}
