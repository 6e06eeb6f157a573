//! A few moves of each plan at a time, and what became of them.

use super::owned;
use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Position};
use crate::planner::split::SplitPlan;
use crate::planner::{ClusterLoad, Constrained, Constraints, Placement, Plan, Shedder};
use crate::protocol::{Action, Answer, Request};
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Limits of balancing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Most moves that one round begins; the rest of its plan is dropped. Default: no limit.
    pub moves_per_round_max: usize,
    /// Most moves under way at once. Default: 10.
    pub moves_at_once_max: usize,
    /// Most moves under way at once that leave or reach one broker. Default: no limit.
    pub moves_per_broker_max: usize,
    /// How long a bundle that moved is not chosen again: until its new load shows. Default: 30 min,
    /// the grace period of Apache Pulsar.
    pub cool_down: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            moves_per_round_max: usize::MAX,
            moves_at_once_max: 10,
            moves_per_broker_max: usize::MAX,
            cool_down: Duration::from_secs(30 * 60),
        }
    }
}

/// Turns the plans of one shedder into transfers, a few at a time.
#[derive(Debug)]
pub struct Balancer {
    shedder: Box<dyn Shedder>,
    /// The shedder as it was before the first round.
    fresh: Box<dyn Shedder>,
    placement: Option<Constrained>,
    constraints: Constraints,
    config: Config,
    queue: VecDeque<Transfer>,
    under_way: BTreeMap<BundleId, Transfer>,
    /// When each bundle last moved, for as long as that matters.
    moved: BTreeMap<BundleId, Tick>,
}

/// A planned move, ready to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Which bundle.
    pub bundle: BundleId,
    /// The version of its row when it was planned.
    pub expected: Position,
    /// Who owned it then.
    pub from: BrokerId,
    /// Who is to own it; none if it is only to leave its owner, and whoever looks it up next has it
    /// placed.
    pub to: Option<BrokerId>,
}

/// What became of a planned move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveReport {
    /// The move.
    pub transfer: Transfer,
    /// How it ended: [`Answer::Done`] if it was made.
    pub answer: Answer,
}

impl Transfer {
    /// What to ask of the protocol.
    #[must_use]
    pub fn request(&self) -> Request {
        Request::Bundle {
            bundle: self.bundle.clone(),
            expected: Some(self.expected),
            action: match self.to.clone() {
                Some(destination) => Action::Transfer { destination },
                None => Action::Unload,
            },
        }
    }

    fn concerns(&self, broker: &BrokerId) -> bool {
        self.from == *broker || self.to.as_ref() == Some(broker)
    }
}

impl Balancer {
    /// A balancer that has moved nothing yet.
    #[must_use]
    pub fn new(shedder: Box<dyn Shedder>, constraints: Constraints, config: Config) -> Self {
        Self {
            fresh: shedder.boxed_clone(),
            shedder,
            placement: None,
            constraints,
            config,
            queue: VecDeque::new(),
            under_way: BTreeMap::new(),
            moved: BTreeMap::new(),
        }
    }

    /// Chooses destinations where the strategy leaves them open, before anything is unloaded, under
    /// the constraints. It is shown every load and told every plan. Default: nobody does, and what
    /// such a strategy wants is not done.
    #[must_use]
    pub fn placing(mut self, placement: Box<dyn Placement>) -> Self {
        self.placement = Some(Constrained::new(placement, self.constraints.clone()));
        self
    }

    /// Plans one round by the load as reported, corrected by who owns what now. What is left of the
    /// round before is dropped: this plan saw more.
    pub fn round(&mut self, now: Tick, table: &Table, load: &ClusterLoad) -> Plan {
        let load = self.correct(now, table, load.clone());
        let plan = self.plan(&load);
        self.begin(table, &plan);
        plan
    }

    /// The first step of a round: the load as reported, without what a broker does not own any more
    /// or is giving up, which is not its to shed. A report may be older than the table.
    pub(super) fn correct(
        &mut self,
        now: Tick,
        table: &Table,
        mut load: ClusterLoad,
    ) -> ClusterLoad {
        let cool_down = self.config.cool_down;
        self.moved.retain(|_, moved| now.since(*moved) < cool_down);
        for (broker, reported) in &mut load.brokers {
            reported.bundles.retain(|bundle, _| {
                let is_owned = owned(table, broker, bundle).is_some();
                is_owned && !self.under_way.contains_key(bundle)
            });
        }
        load.recently_moved.extend(self.moved.keys().cloned());
        load
    }

    /// The second step, which takes its time and needs no table.
    pub(super) fn plan(&mut self, corrected: &ClusterLoad) -> Plan {
        let mut plan = self.shedder.plan(corrected, &self.constraints);
        if let Some(placement) = &mut self.placement {
            placement.observe(corrected);
            plan.place(corrected, placement);
            placement.adopt(&plan);
        }
        plan
    }

    /// The last step: queues the moves of the plan, of those bundles that are still where it saw
    /// them.
    pub(super) fn begin(&mut self, table: &Table, plan: &Plan) {
        let moves = plan.moves.iter();
        let moves = moves.map(|planned| (&planned.bundle, &planned.from, Some(&planned.to)));
        let unloads = plan.unloads.iter();
        let unloads = unloads.map(|planned| (&planned.bundle, &planned.from, None));
        let still_there = moves.chain(unloads).filter_map(|(bundle, from, to)| {
            Some(Transfer {
                bundle: bundle.clone(),
                expected: owned(table, from, bundle)?.version,
                from: from.clone(),
                to: to.cloned(),
            })
        });
        self.queue = still_there.take(self.config.moves_per_round_max).collect();
    }

    /// Drops the planned moves of bundles that are to be split.
    pub(super) fn leave_to(&mut self, splits: &SplitPlan) {
        let split: BTreeSet<_> = splits.splits.iter().map(|split| &split.bundle).collect();
        self.queue
            .retain(|transfer| !split.contains(&transfer.bundle));
    }

    /// Plans as the next round would, and leaves everything as it is, open destinations too.
    pub(super) fn rehearse(&self, corrected: &ClusterLoad) -> Plan {
        let mut shedder = self.shedder.boxed_clone();
        shedder.plan(corrected, &self.constraints)
    }

    /// Forgets what is planned, and what the strategy remembers of earlier rounds; what is under
    /// way goes on.
    pub(super) fn start_anew(&mut self) {
        self.queue.clear();
        self.shedder = self.fresh.boxed_clone();
    }

    /// Drops what is planned; what is under way goes on.
    pub(super) fn drop_planned(&mut self) {
        self.queue.clear();
    }

    /// The moves that were asked for and have not ended.
    pub fn under_way(&self) -> impl Iterator<Item = &Transfer> {
        self.under_way.values()
    }

    /// How many moves are planned and not asked for yet.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.queue.len()
    }

    /// The moves to ask for now, in the order of the plan: no more than may be under way at once,
    /// and of one broker no more than it may have.
    pub fn due(&mut self) -> Vec<Transfer> {
        let mut due = Vec::new();
        let mut waiting = VecDeque::new();
        while self.under_way.len() < self.config.moves_at_once_max
            && let Some(transfer) = self.queue.pop_front()
        {
            let to = transfer.to.as_ref();
            if self.has_room(&transfer.from) && to.is_none_or(|to| self.has_room(to)) {
                self.under_way
                    .insert(transfer.bundle.clone(), transfer.clone());
                due.push(transfer);
            } else {
                waiting.push_back(transfer);
            }
        }
        waiting.append(&mut self.queue);
        self.queue = waiting;
        due
    }

    fn has_room(&self, broker: &BrokerId) -> bool {
        let under_way = self.under_way.values();
        let concerned = under_way.filter(|other| other.concerns(broker));
        concerned.count() < self.config.moves_per_broker_max
    }

    /// For how long a bundle that moved is not chosen again.
    #[must_use]
    pub const fn cool_down(&self) -> Duration {
        self.config.cool_down
    }

    /// Takes in that a bundle has moved, whoever wanted it.
    pub(super) fn note_moved(&mut self, bundle: &BundleId, at: Tick) {
        let moved = self.moved.entry(bundle.clone()).or_insert(at);
        *moved = at.max(*moved);
    }

    /// Takes in how a move ended.
    pub fn on_answer(
        &mut self,
        now: Tick,
        bundle: &BundleId,
        answer: Answer,
    ) -> Option<MoveReport> {
        let transfer = self.under_way.remove(bundle)?;
        // One that may have happened counts as moved: its load is not settled either way.
        if !matches!(answer, Answer::Refused(_) | Answer::Conflict { .. }) {
            self.moved.insert(bundle.clone(), now);
        }
        Some(MoveReport { transfer, answer })
    }

    /// Whether nothing is planned and nothing under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.under_way.is_empty()
    }
}
