//! Plays a scenario: a real cluster in virtual time, with a balancer, round by round.

mod found;

pub use found::{Compacted, Ending, Round};

use super::cluster::{Cluster, Outcome};
use super::failure::Failure;
use super::load::LoadModel;
use super::scenario::{self, Happening, Scenario};
use crate::balance::{Balancer, MoveReport, SplitReport, Splitter, Transfer};
use crate::clock::{Clock, Tick};
use crate::compactor::{self, Attempt, End};
use crate::ids::{BrokerId, Holder, Position};
use crate::log::MemberLog;
use crate::planner::split::{SplitPlan, Topics};
use crate::planner::{self, ClusterLoad, Shedder};
use crate::protocol::{Action, Answer, Protocol, Request, Ticket};
use crate::state::{Record, Row};
use crate::table::{self, Reader, ReaderEvent};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long the cluster gets to settle at the beginning and at the end, and its moves in each
/// round.
const SETTLE_LIMIT: Duration = Duration::from_secs(600);

/// Why a scenario could not be played to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It contradicts itself.
    #[error(transparent)]
    Scenario(#[from] scenario::Error),
    /// An invariant did not hold.
    #[error(transparent)]
    Failure(#[from] Box<Failure>),
    /// The cluster did not come to rest when it should have.
    #[error(
        "the cluster did not come to rest within {SETTLE_LIMIT:?}: {waiting} requests wait, {in_flight} bundles are in flight"
    )]
    Restless {
        /// Requests without an answer.
        waiting: usize,
        /// Bundles in flight.
        in_flight: usize,
    },
    /// The log could not be compacted.
    #[error("the log could not be compacted: {0}")]
    Compact(#[from] compactor::Error),
    /// A reader could not read the log.
    #[error("the log could not be read: {0}")]
    Read(#[from] table::Error),
    /// The settings hold a number that nobody can work with.
    #[error(transparent)]
    Planner(#[from] planner::Error),
}

/// A scenario being played.
#[derive(Debug)]
pub struct Play {
    scenario: Scenario,
    cluster: Cluster,
    model: LoadModel,
    balancer: Balancer,
    splitter: Option<Splitter>,
    /// Reads the log from its first entry on and never needs a snapshot.
    whole: Reader,
    round: u32,
    quiet: u32,
    compacted: Option<Compacted>,
    asked: BTreeMap<Ticket, Transfer>,
    /// Entries that did not count, by reason.
    rejected: BTreeMap<&'static str, u64>,
}

impl Play {
    /// Builds the cluster and brings it to where the scenario begins: every bundle with its owner.
    ///
    /// # Errors
    ///
    /// [`Error`] if the scenario contradicts itself or the cluster does not come to rest.
    pub fn start(
        scenario: Scenario,
        shedder: Box<dyn Shedder>,
        make_log: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn MemberLog> + 'static,
    ) -> Result<Self, Error> {
        scenario.check()?;
        let mut builder = Cluster::builder(scenario.seed).log(make_log);
        for broker in scenario.load.brokers.keys() {
            builder = builder.broker(broker.clone());
        }
        let cluster = builder.build()?;
        let whole = Reader::new(Arc::clone(cluster.log()) as _);
        let mut balancer = Balancer::new(
            shedder,
            scenario.constraints.clone(),
            scenario.balance.clone(),
        );
        if let Some((kind, mode)) = scenario.placement {
            balancer = balancer.placing(kind.build(mode, scenario.seed)?);
        }
        let splitter = scenario.splits.clone().map(Splitter::new).transpose()?;
        let mut play = Self {
            splitter,
            model: LoadModel::from_reports(&scenario.load),
            scenario,
            cluster,
            balancer,
            whole,
            round: 0,
            quiet: 0,
            compacted: None,
            asked: BTreeMap::new(),
            rejected: BTreeMap::new(),
        };
        play.take_places()?;
        Ok(play)
    }

    /// Plays one round; none after the last one.
    ///
    /// # Errors
    ///
    /// [`Error`] if the cluster breaks an invariant or does not come to rest.
    pub fn next_round(&mut self) -> Result<Option<Round>, Error> {
        let rounds = &self.scenario.rounds;
        let waits = self
            .scenario
            .events
            .iter()
            .any(|event| event.round > self.round);
        if self.round >= rounds.max || (self.quiet >= rounds.quiet && !waits) {
            return Ok(None);
        }
        self.round += 1;
        let began = self.cluster.now();
        let events = self.happen()?;
        let load = self.load();
        let plan = self.balancer.round(began, self.cluster.table(), &load);
        let compacted_before = self.compacted.is_some();
        let moves = self.carry_out()?;
        let (split_plan, splits) = self.split()?;
        self.quiet = if moves.is_empty() && splits.is_empty() && events.is_empty() {
            self.quiet + 1
        } else {
            0
        };
        self.catch_up()?;
        let at = began.since(Tick::ZERO);
        let rest = self
            .scenario
            .rounds
            .interval
            .saturating_sub(self.cluster.now().since(began));
        self.cluster.advance(rest)?;
        let compacted = self.compacted.clone().filter(|_| !compacted_before);
        Ok(Some(Round {
            number: self.round,
            at,
            events,
            load,
            plan,
            moves,
            split_plan,
            splits,
            compacted,
        }))
    }

    /// The most rounds that there can be.
    #[must_use]
    pub fn rounds_max(&self) -> u32 {
        self.scenario.rounds.max
    }

    /// Lets the cluster come to rest, compacts the log once more, and rebuilds ownership twice.
    ///
    /// # Errors
    ///
    /// [`Error`] if the cluster breaks an invariant, does not come to rest, or its log cannot be
    /// read.
    pub fn finish(mut self) -> Result<Ending, Error> {
        self.settle()?;
        let horizon = self.compact()?;
        self.catch_up()?;
        let mut newcomer = Reader::new(Arc::clone(self.cluster.log()) as _);
        read_to_end(&mut newcomer)?;
        Ok(Ending {
            load: self.load(),
            whole: self.whole.table().digest(),
            compacted: newcomer.table().digest(),
            horizon,
            end: self.cluster.end(),
            rejected: std::mem::take(&mut self.rejected),
            events: self.cluster.event_count(),
        })
    }
}

/// The steps that rounds are made of.
impl Play {
    /// Has the namespaces made and every bundle assigned to the broker that is said to own it.
    fn take_places(&mut self) -> Result<(), Error> {
        let everybody = self.scenario.load.brokers.len();
        let knows_all = |protocol: &Protocol| {
            protocol
                .members()
                .is_some_and(|members| members.sessions().len() == everybody)
        };
        self.wait(|cluster| {
            let mut protocols = cluster
                .running_brokers()
                .map(|broker| cluster.protocol(broker));
            protocols.all(|protocol| protocol.is_some_and(knows_all))
                && cluster.members().leader().is_some()
        })?;
        let Some(operator) = self.operator() else {
            return Ok(());
        };
        for (namespace, cuts) in self.scenario.namespaces()? {
            self.cluster.ask(
                &operator,
                Request::CreateNamespace {
                    namespace,
                    cuts,
                    expected: None,
                },
            );
        }
        self.settle()?;
        let owned = self.scenario.load.brokers.iter();
        let owned = owned.flat_map(|(broker, load)| load.bundles.keys().map(move |b| (b, broker)));
        for (bundle, broker) in owned {
            let action = Action::Assign {
                destination: Some(broker.clone()),
            };
            let request = Request::Bundle {
                bundle: bundle.clone(),
                expected: None,
                action,
            };
            self.cluster.ask(&operator, request);
        }
        self.settle()?;
        self.catch_up()
    }

    /// Whom the operator asks: the leader, or whoever runs.
    fn operator(&self) -> Option<BrokerId> {
        let leader = self
            .cluster
            .members()
            .leader_holder()
            .map(|(_, holder)| holder.broker);
        let runs = |broker: &BrokerId| self.cluster.protocol(broker).is_some();
        leader
            .filter(runs)
            .or_else(|| self.cluster.running_brokers().next().cloned())
    }

    fn load(&self) -> ClusterLoad {
        let alive = |broker: &BrokerId| self.cluster.members().session_of(broker).is_some();
        self.model.at(self.cluster.table(), alive)
    }

    /// Lets happen what is to happen before this round, and the cluster get over it.
    fn happen(&mut self) -> Result<Vec<Happening>, Error> {
        let due = self
            .scenario
            .events
            .iter()
            .filter(|event| event.round == self.round);
        let due: Vec<Happening> = due.map(|event| event.what.clone()).collect();
        for event in &due {
            match event {
                Happening::Lose(broker) => self.cluster.crash(broker),
                Happening::Return(broker) => self.cluster.add_broker(broker),
                Happening::Drain(broker) => self.cluster.close(broker, SETTLE_LIMIT),
            }
        }
        if !due.is_empty() {
            self.settle()?;
        }
        Ok(due)
    }

    /// Asks for the planned moves, so many at a time, and follows them to their end.
    fn carry_out(&mut self) -> Result<Vec<MoveReport>, Error> {
        let mut reports = Vec::new();
        while !self.balancer.is_idle() {
            let Some(operator) = self.operator() else {
                break;
            };
            for transfer in self.balancer.due() {
                let ticket = self.cluster.ask(&operator, transfer.request());
                self.asked.insert(ticket, transfer);
            }
            self.compact_in_the_middle()?;
            let asked: Vec<Ticket> = self.asked.keys().copied().collect();
            self.wait(|cluster| {
                asked
                    .iter()
                    .any(|ticket| cluster.outcome(*ticket).is_some())
            })?;
            for ticket in asked {
                if let Some(outcome) = self.cluster.outcome(ticket).cloned() {
                    reports.extend(self.take_in(ticket, outcome));
                }
            }
        }
        self.settle()?;
        Ok(reports)
    }

    fn take_in(&mut self, ticket: Ticket, outcome: Outcome) -> Option<MoveReport> {
        let transfer = self.asked.remove(&ticket)?;
        self.balancer
            .on_answer(self.cluster.now(), &transfer.bundle, answer(outcome))
    }

    /// Has bundles split that stay too big, and follows the splits to their end. What has moved in
    /// this round reports from its new owner.
    fn split(&mut self) -> Result<(SplitPlan, Vec<SplitReport>), Error> {
        let load = self.load();
        let (Some(operator), Some(splitter)) = (self.operator(), &mut self.splitter) else {
            return Ok((SplitPlan::default(), Vec::new()));
        };
        let plan = splitter.round(self.cluster.table(), load, Topics::new());
        let due = splitter.due().into_iter();
        let asked: Vec<_> = due
            .map(|order| {
                let ticket = self.cluster.ask(&operator, order.request());
                (ticket, order.split.bundle)
            })
            .collect();
        self.settle()?;
        let ended = asked.into_iter().filter_map(|(ticket, bundle)| {
            let outcome = self.cluster.outcome(ticket).cloned()?;
            self.splitter.as_mut()?.on_answer(&bundle, answer(outcome))
        });
        Ok((plan, ended.collect()))
    }

    /// Compacts the log once in each play, when the first transfer is half way: the hardest moment
    /// for whoever reads the outcome.
    fn compact_in_the_middle(&mut self) -> Result<(), Error> {
        if self.compacted.is_some() {
            return Ok(());
        }
        let Some(transfer) = self.asked.values().next() else {
            return Ok(());
        };
        let bundle = transfer.bundle.clone();
        let half_way = |row: &&Row| matches!(row.record, Record::Releasing { .. });
        let under_way = bundle.clone();
        self.cluster.advance_until(SETTLE_LIMIT, |cluster| {
            let row = cluster.table().get(&under_way);
            row.filter(half_way).is_some() || cluster.waiting_count() == 0
        })?;
        let row = self.cluster.table().get(&bundle).filter(half_way).cloned();
        if let Some(row) = row
            && let Some(horizon) = self.compact()?
        {
            self.compacted = Some(Compacted {
                bundle,
                row,
                horizon,
            });
        }
        Ok(())
    }

    /// Compacts the log up to its end, in the leader's name; gives the horizon, if anybody leads.
    fn compact(&mut self) -> Result<Option<Position>, Error> {
        self.catch_up()?;
        let Some(leader) = self.cluster.members().leader() else {
            return Ok(None);
        };
        let log = Arc::clone(self.cluster.log()) as _;
        let attempt = Attempt::new(
            log,
            leader.epoch,
            End::CaughtUp,
            compactor::Config::default(),
        );
        Ok(Some(attempt.run()?.horizon_after))
    }

    /// Lets the reader of the whole history catch up; counts what it saw rejected, by reason.
    fn catch_up(&mut self) -> Result<(), Error> {
        for reason in read_to_end(&mut self.whole)? {
            *self.rejected.entry(reason).or_default() += 1;
        }
        Ok(())
    }

    /// Waits until nobody waits for an answer, nothing is in flight, who runs is a member and who
    /// does not is none, and the dead were replaced.
    fn settle(&mut self) -> Result<(), Error> {
        self.wait(|cluster| {
            let (table, members) = (cluster.table(), cluster.members());
            let dead = |holder: &Holder| !members.is_alive(holder.session);
            cluster.waiting_count() == 0
                && table.in_flight().next().is_none()
                && !table.holders().any(dead)
                && cluster
                    .running_brokers()
                    .all(|broker| members.session_of(broker).is_some())
                && members.sessions().len() == cluster.running_brokers().count()
        })
    }

    fn wait(&mut self, done: impl FnMut(&Cluster) -> bool) -> Result<(), Error> {
        if self.cluster.advance_until(SETTLE_LIMIT, done)? {
            return Ok(());
        }
        Err(Error::Restless {
            waiting: self.cluster.waiting_count(),
            in_flight: self.cluster.table().in_flight().count(),
        })
    }
}

/// What a request came to; one whose broker died may have been carried out.
fn answer(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Answered(answer) => answer,
        Outcome::Lost => Answer::Unknown { last_seen: None },
    }
}

/// Reads everything that is there; gives the reasons for which entries did not count.
fn read_to_end(reader: &mut Reader) -> Result<Vec<&'static str>, table::Error> {
    let mut rejected = Vec::new();
    while let Some(event) = reader.poll()? {
        match event {
            ReaderEvent::Applied { applied, .. } => {
                rejected.extend(applied.outcome.err().map(|rejection| rejection.name()));
            }
            ReaderEvent::CaughtUp { .. } => break,
            ReaderEvent::Member { .. } | ReaderEvent::Jumped { .. } => {}
        }
    }
    Ok(rejected)
}
