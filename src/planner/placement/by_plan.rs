//! Placement that keeps to the plan, and without one to the load.

use super::Placement;
use crate::ids::{BrokerId, BundleId};
use crate::planner::Plan;
use std::collections::BTreeMap;

/// For so many plans a destination is remembered.
const PLANS_KEPT: u32 = 2;

/// The planned destination, if it is a candidate and not [overloaded](Self::OVERLOADED_POINTS); else the least loaded
/// candidate, by its last score and by what was placed on it since, ties by name.
///
/// - A destination is bound to the bundle by its name, so load data may be replaced meanwhile. It
///   holds however often it is asked for, until two more plans were adopted.
/// - While a bundle is bound, its source gets it back only if there is no other candidate.
/// - A bundle placed since the last plan counts as an average one. A candidate that no plan has
///   scored comes after all that were scored.
#[derive(Clone, Debug, Default)]
pub struct ByPlan {
    planned: BTreeMap<BundleId, Binding>,
    brokers: BTreeMap<BrokerId, Standing>,
    /// What an average bundle adds to a score, in points.
    bundle_points: f64,
}

#[derive(Clone, Debug)]
struct Binding {
    from: BrokerId,
    to: BrokerId,
    plans_left: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    /// None: no plan has scored it.
    points: Option<f64>,
    /// Bundles placed on it since the last plan.
    placed: u32,
}

impl ByPlan {
    /// A planned destination that has come to score more than so many points is passed over: events
    /// have overtaken the plan. Apache Pulsar calls such a broker overloaded.
    pub const OVERLOADED_POINTS: f64 = 85.0;

    /// One that knows no plan yet: it places evenly by count.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over the scores and destinations of a plan, whether or not anything moves in it.
    pub fn adopt(&mut self, plan: &Plan) {
        self.planned.retain(|_, binding| {
            binding.plans_left = binding.plans_left.saturating_sub(1);
            binding.plans_left > 0
        });
        for planned in &plan.moves {
            let binding = Binding {
                from: planned.from.clone(),
                to: planned.to.clone(),
                plans_left: PLANS_KEPT,
            };
            self.planned.insert(planned.bundle.clone(), binding);
        }
        self.brokers.clear();
        let (mut points_all, mut bundles_all) = (0.0, 0.0);
        for (broker, verdict) in &plan.brokers {
            let points = verdict.score.as_ref().map(|score| score.points);
            if let (Some(points), Ok(bundles)) = (points, u32::try_from(verdict.bundles)) {
                points_all += points;
                bundles_all += f64::from(bundles);
            }
            self.brokers
                .insert(broker.clone(), Standing { points, placed: 0 });
        }
        self.bundle_points = if bundles_all > 0.0 {
            points_all / bundles_all
        } else {
            0.0
        };
    }

    /// Whether a broker still is a good destination.
    fn is_fit(&self, broker: &BrokerId) -> bool {
        let points = self.brokers.get(broker).and_then(|known| known.points);
        points.is_none_or(|points| points <= Self::OVERLOADED_POINTS)
    }

    /// The least loaded of some candidates, which come in the order of their names.
    fn least<'a>(&self, candidates: impl Iterator<Item = &'a BrokerId>) -> Option<&'a BrokerId> {
        candidates.min_by(|a, b| {
            let (a_points, a_placed) = self.load(a);
            let (b_points, b_placed) = self.load(b);
            // The count decides where scores do not: on an idle cluster, or on an unknown one.
            let by_points = a_points.total_cmp(&b_points);
            by_points.then(a_placed.cmp(&b_placed)).then(a.cmp(b))
        })
    }

    /// The score to be expected, and how many bundles of it were placed since it was reported.
    fn load(&self, broker: &BrokerId) -> (f64, u32) {
        let Standing { points, placed } = self.brokers.get(broker).copied().unwrap_or_default();
        let added = f64::from(placed) * self.bundle_points;
        (
            points.map_or(f64::INFINITY, |points| points + added),
            placed,
        )
    }
}

impl Placement for ByPlan {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        let source = match self.planned.get(bundle) {
            Some(binding) if candidates.contains(&binding.to) && self.is_fit(&binding.to) => {
                return Some(binding.to.clone());
            }
            Some(binding) => Some(&binding.from),
            None => None,
        };
        let others = candidates.iter().filter(|broker| Some(*broker) != source);
        let chosen = self.least(others).or_else(|| candidates.first())?.clone();
        let standing = self.brokers.entry(chosen.clone()).or_default();
        standing.placed = standing.placed.saturating_add(1);
        Some(chosen)
    }
}
