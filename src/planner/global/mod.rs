//! The global planner: the fewest and lightest moves that even a whole cluster out.

mod config;
mod explain;
mod ground;
mod search;
mod stock;

pub use config::Config;

use super::avg::AvgShedder;
use super::{
    ClusterLoad, Constraints, Error, Mode, PairVerdict, Plan, SearchVerdict, Shedder, Stopped,
};
use ground::Ground;
use std::collections::BTreeSet;

/// Looks for moves over the whole cluster instead of within pairs.
///
/// It acts in the rounds in which the [avg strategy](AvgShedder) in its safe mode finds a pair due,
/// so that noise moves nothing. Then it aims at the level that everybody would have if all were
/// equally loaded: moves go from the hottest broker that can give to the coldest that can take,
/// until all scores are within the tolerance of the level.
///
/// - Each move is legal, lowers the sum of the squares of all scores, whether cpu and memory follow
///   messages or bytes, and makes its destination no hotter than its source was.
/// - The plan is no worse than that of the avg strategy, cut to the budget of moves: that sum is no
///   higher, and no more is outside of the tolerance. Between plans that are equal in what is left
///   outside, the one that moves less traffic is chosen.
/// - The longer it may think, the better the plan; how long is counted in steps, so that the same
///   input gives the same plan on every machine.
///
/// # Examples
///
/// ```
/// use deedbook::planner::global::{Config, GlobalPlanner};
/// use deedbook::planner::{BrokerLoad, BundleLoad, ClusterLoad, Constraints, Resource, Shedder};
/// use deedbook::planner::Traffic;
///
/// let mut load = ClusterLoad::default();
/// for (name, bundles) in [("a", 8), ("b", 2), ("c", 2)] {
///     let rate = |bundles| Traffic {
///         message_rate_in: f64::from(bundles) * 1000.0,
///         ..Traffic::default()
///     };
///     let broker = load.brokers.entry(name.parse()?).or_default();
///     broker.cpu = Some(Resource::new(f64::from(bundles) * 10.0, 100.0));
///     broker.traffic = rate(bundles);
///     for index in 0..bundles {
///         let bundle = format!("acme/{name}/{index:#010x}_{:#010x}", index + 1).parse()?;
///         let short_term = rate(1);
///         broker.bundles.insert(bundle, Some(BundleLoad { short_term, ..BundleLoad::default() }));
///     }
/// }
/// let mut planner = GlobalPlanner::new(Config::default())?;
/// planner.plan(&load, &Constraints::default());
/// let plan = planner.plan(&load, &Constraints::default());
/// // A difference of 60 points is due in the second round. The level is 40 points.
/// let to: Vec<_> = plan.moves.iter().map(|planned| planned.to.as_str()).collect();
/// assert_eq!(to, ["b", "c", "b", "c"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GlobalPlanner {
    config: Config,
    avg: AvgShedder,
}

impl GlobalPlanner {
    /// A planner that remembers nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn new(mut config: Config) -> Result<Self, Error> {
        config.check()?;
        config.avg.mode = Mode::Safe;
        let avg = AvgShedder::new(config.avg.clone())?;
        Ok(Self { config, avg })
    }

    /// How it decides.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }
}

impl Shedder for GlobalPlanner {
    fn plan(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let mut plan = self.avg.decide(load, constraints);
        if plan.pairs.iter().any(PairVerdict::is_due) {
            self.search(load, constraints, &mut plan);
            self.avg.spend_hits(&plan);
        }
        self.avg.await_reports(&plan);
        plan
    }
}

impl GlobalPlanner {
    /// Puts better moves in the place of those of the avg strategy.
    fn search(&self, load: &ClusterLoad, constraints: &Constraints, plan: &mut Plan) {
        let given = std::mem::take(&mut plan.moves);
        for pair in &mut plan.pairs {
            // What pairs would have moved is not what moves.
            pair.amount = None;
        }
        let mut taking_part = Vec::with_capacity(plan.brokers.len());
        for (broker, verdict) in &mut plan.brokers {
            let sound = load
                .brokers
                .get(broker)
                .is_some_and(|load| load.traffic.is_sound());
            if matches!(
                verdict.stopped,
                Some(Stopped::NoData | Stopped::Drained | Stopped::Unsettled)
            ) {
                continue;
            }
            verdict.kept.clear();
            if sound {
                taking_part.push(broker.clone());
            } else {
                let broker = broker.clone();
                verdict.stopped = Some(Stopped::UnsoundTraffic { broker });
            }
        }
        let mut ground = Ground::new(&self.config, constraints, load, taking_part.iter());
        let before = ground.outcome;
        let avg = ground.run(&given);
        let after = ground.outcome;
        plan.moves.extend(ground.moves());
        plan.search = Some(SearchVerdict {
            level: ground.level,
            potential_before: before.potential.worst(),
            potential_after: after.potential.worst(),
            potential_after_avg: avg.potential.worst(),
            moved_share: after.moved,
            moved_share_avg: avg.moved,
            excess_before: before.excess,
            excess_after: after.excess,
            above_before: before.above,
            above_after: after.above,
            steps: self.config.steps_max - ground.steps_left,
        });
        let sources: BTreeSet<_> = plan.moves.iter().map(|planned| &planned.from).collect();
        for index in 0..ground.seats.len() {
            let standing = ground.standing(index);
            let Some(broker) = ground.seats.get(index).map(|seat| seat.party.id) else {
                continue;
            };
            if let Some(verdict) = plan.brokers.get_mut(broker) {
                verdict.kept = ground.kept(index, &standing);
                verdict.stopped = (!sources.contains(broker)).then_some(standing);
            }
        }
    }
}
