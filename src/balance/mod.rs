//! From plans to commands: which planned moves are made now, and what became of them.
//!
//! Below it are the planner, which knows loads and no log, and the protocol, which makes moves and
//! knows no loads. Pure: it is told the time, the load and the table, and says what to ask of the
//! protocol. A planned move is a transfer with the version that the plan saw, so that a bundle that
//! has changed since is left alone.

use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Position};
use crate::planner::{ClusterLoad, Constraints, Plan, Shedder};
use crate::protocol::{Action, Answer, Request};
use crate::state::Record;
use crate::table::Table;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Limits of balancing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Most moves that one round begins; the rest of its plan is dropped. Default: no limit.
    pub moves_per_round_max: usize,
    /// Most moves under way at once. Default: 10.
    pub moves_at_once_max: usize,
    /// How long a bundle that moved is not chosen again: until its new load shows. Default: 30 min,
    /// the grace period of Apache Pulsar.
    pub cool_down: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            moves_per_round_max: usize::MAX,
            moves_at_once_max: 10,
            cool_down: Duration::from_secs(30 * 60),
        }
    }
}

/// Turns the plans of one shedder into transfers, a few at a time.
#[derive(Debug)]
pub struct Balancer {
    shedder: Box<dyn Shedder>,
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
    /// Who is to own it.
    pub to: BrokerId,
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
            action: Action::Transfer {
                destination: self.to.clone(),
            },
        }
    }
}

impl Balancer {
    /// A balancer that has moved nothing yet.
    #[must_use]
    pub fn new(shedder: Box<dyn Shedder>, constraints: Constraints, config: Config) -> Self {
        Self {
            shedder,
            constraints,
            config,
            queue: VecDeque::new(),
            under_way: BTreeMap::new(),
            moved: BTreeMap::new(),
        }
    }

    /// Plans one round by the load as reported, corrected by who owns what now. What is left of the
    /// round before is dropped: this plan saw more.
    pub fn round(&mut self, now: Tick, table: &Table, load: &ClusterLoad) -> Plan {
        let cool_down = self.config.cool_down;
        self.moved.retain(|_, moved| now.since(*moved) < cool_down);
        let mut load = load.clone();
        self.correct(&mut load, table);
        let plan = self.shedder.plan(&load, &self.constraints);
        let moves = plan.moves.iter().take(self.config.moves_per_round_max);
        self.queue = moves
            .filter_map(|planned| {
                let row = table.get(&planned.bundle)?;
                Some(Transfer {
                    bundle: planned.bundle.clone(),
                    expected: row.version,
                    from: planned.from.clone(),
                    to: planned.to.clone(),
                })
            })
            .collect();
        plan
    }

    /// The moves to ask for now: no more than may be under way at once.
    pub fn due(&mut self) -> Vec<Transfer> {
        let room = self
            .config
            .moves_at_once_max
            .saturating_sub(self.under_way.len());
        let due: Vec<Transfer> = self.queue.drain(..room.min(self.queue.len())).collect();
        for transfer in &due {
            self.under_way
                .insert(transfer.bundle.clone(), transfer.clone());
        }
        due
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

    /// A report may be older than the table: what a broker does not own any more, or is giving up,
    /// is not its to shed.
    fn correct(&self, load: &mut ClusterLoad, table: &Table) {
        for (broker, reported) in &mut load.brokers {
            reported.bundles.retain(|bundle, _| {
                let owned = table.get(bundle).is_some_and(
                    |row| matches!(&row.record, Record::Owned { owner } if owner.broker == *broker),
                );
                owned && !self.under_way.contains_key(bundle)
            });
        }
        load.recently_moved.extend(self.moved.keys().cloned());
    }
}
