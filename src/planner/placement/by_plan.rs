//! Placement that keeps to the plan, and without one to the load.

use super::Placement;
use super::standings::Standings;
use crate::ids::{BrokerId, BundleId};
use crate::planner::Plan;
use std::collections::BTreeMap;

/// For so many plans a destination is remembered.
const PLANS_KEPT: u32 = 2;

/// The planned destination, if it is a candidate and not [overloaded](Self::OVERLOADED_POINTS);
/// else the least loaded candidate, by its last score and by what was placed on it since, ties by
/// name.
///
/// - A destination is bound to the bundle by its name, so load data may be replaced meanwhile. It
///   holds however often it is asked for, until two more plans were adopted.
/// - While a bundle is bound, its source gets it back only if there is no other candidate.
/// - A bundle placed since the last plan counts as an average one. A candidate that no plan has
///   scored comes after all that were scored.
#[derive(Clone, Debug, Default)]
pub struct ByPlan {
    planned: BTreeMap<BundleId, Binding>,
    /// In points.
    standings: Standings,
}

#[derive(Clone, Debug)]
struct Binding {
    from: BrokerId,
    to: BrokerId,
    plans_left: u32,
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

    /// Whether a broker still is a good destination.
    fn is_fit(&self, broker: &BrokerId) -> bool {
        let points = self.standings.reported(broker);
        points.is_none_or(|points| points <= Self::OVERLOADED_POINTS)
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
        let chosen = self
            .standings
            .least(others)
            .or_else(|| candidates.first())?
            .clone();
        self.standings.place(&chosen);
        Some(chosen)
    }

    /// Takes over the scores and destinations of a plan, whether or not anything moves in it.
    fn adopt(&mut self, plan: &Plan) {
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
        let brokers = plan.brokers.iter();
        self.standings.renew(brokers.map(|(broker, verdict)| {
            let points = verdict.score.as_ref().map(|score| score.points);
            (broker.clone(), points, verdict.bundles)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{KeyRange, Namespace};
    use crate::planner::{BrokerVerdict, Move, Score, Traffic};

    fn broker(name: &str) -> BrokerId {
        BrokerId::new(name).unwrap()
    }

    fn brokers(names: &[&str]) -> Vec<BrokerId> {
        names.iter().map(|name| broker(name)).collect()
    }

    fn bundle(index: u32) -> BundleId {
        let namespace = Namespace::new("t/n").unwrap();
        BundleId::new(namespace, KeyRange::new(index, index + 1).unwrap())
    }

    /// A plan with scores, ten bundles a broker, and perhaps a move from `b` to `a`.
    fn plan(scores: &[(&str, f64)], moved: Option<u32>) -> Plan {
        let mut plan = Plan::default();
        for &(name, points) in scores {
            let score = Score {
                points,
                resource: None,
                unknown: Vec::new(),
            };
            let verdict = BrokerVerdict {
                score: Some(score),
                bundles: 10,
                ..BrokerVerdict::default()
            };
            plan.brokers.insert(broker(name), verdict);
        }
        plan.moves.extend(moved.map(|index| Move {
            bundle: bundle(index),
            from: broker("b"),
            to: broker("a"),
            load: Traffic::default(),
            from_score_after: 0.0,
            to_score_after: 0.0,
        }));
        plan
    }

    /// A1, A20: the destination is bound to the name: nothing else of the bundle is looked at, and
    /// asking again changes nothing. Passed over, it goes to the least loaded one, never to the
    /// source.
    #[test]
    fn a_planned_destination_holds_and_the_source_never_gets_it_back() {
        let all = brokers(&["a", "b", "c"]);
        let mut placement = ByPlan::new();
        placement.adopt(&plan(&[("a", 20.0), ("b", 25.0), ("c", 30.0)], Some(1)));
        for _ in 0..3 {
            assert_eq!(placement.place(&bundle(1), &all), Some(broker("a")));
        }
        // `a` has become overloaded; `b` scores less than `c` and is not asked all the same.
        placement.adopt(&plan(&[("a", 90.0), ("b", 25.0), ("c", 30.0)], None));
        for _ in 0..3 {
            assert_eq!(placement.place(&bundle(1), &all), Some(broker("c")));
        }
        assert_eq!(
            placement.place(&bundle(1), &brokers(&["b", "c"])),
            Some(broker("c"))
        );
        // Nobody else is left: served by the source is better than by nobody.
        assert_eq!(
            placement.place(&bundle(1), &brokers(&["b"])),
            Some(broker("b"))
        );
        assert_eq!(placement.place(&bundle(1), &[]), None);
    }

    #[test]
    fn a_plan_is_forgotten_after_two_more() {
        let scores = [("a", 50.0), ("b", 20.0), ("c", 30.0)];
        let all = brokers(&["a", "b", "c"]);
        let mut placement = ByPlan::new();
        placement.adopt(&plan(&scores, Some(1)));
        placement.adopt(&plan(&scores, None));
        assert_eq!(placement.place(&bundle(1), &all), Some(broker("a")));
        placement.adopt(&plan(&scores, None));
        assert_eq!(placement.place(&bundle(1), &all), Some(broker("b")));
    }

    /// A3: scores 80, 10, 10 and bundles of 10 points each, a report after each or none at all: the
    /// loaded broker gets one only when the others have come as far, and counts differ by one.
    #[test]
    fn without_a_plan_load_decides_and_not_a_lottery() {
        let all = brokers(&["a", "b", "c"]);
        for reported in [true, false] {
            let mut points = [80.0, 10.0, 10.0];
            let mut counts = [0u32; 3];
            let scores = |points: [f64; 3]| {
                plan(
                    &[("a", points[0]), ("b", points[1]), ("c", points[2])],
                    None,
                )
            };
            let mut placement = ByPlan::new();
            placement.adopt(&scores(points));
            for index in 0..300 {
                let placed = placement.place(&bundle(index), &all).unwrap();
                let at = all.iter().position(|broker| *broker == placed).unwrap();
                counts[at] += 1;
                points[at] += 100.0 / 30.0;
                if reported {
                    placement.adopt(&scores(points));
                }
                assert!(counts[1].abs_diff(counts[2]) <= 1, "{counts:?}");
                assert!(counts[0] <= counts[1].min(counts[2]), "{counts:?}");
            }
            // 70 points are 21 bundles: (300 - 2 * 21) / 3 = 86, give or take one.
            assert!(counts[0].abs_diff(86) <= 1, "{counts:?}");
        }
    }

    #[test]
    fn without_any_report_bundles_spread_by_count() {
        let all = brokers(&["a", "b", "c"]);
        let mut placement = ByPlan::new();
        let mut counts = BTreeMap::new();
        for index in 0..30 {
            let placed = placement.place(&bundle(index), &all);
            *counts.entry(placed).or_insert(0) += 1;
        }
        assert!(counts.values().all(|count| *count == 10), "{counts:?}");
    }
}
