//! The leader's loop: when a round is due, what it looks at, and whether it may move anything.

use super::balancer::{Balancer, MoveReport, Transfer};
use super::load_store::Reported;
use super::recent::Recent;
use super::split::{SplitOrder, SplitReport, Splitter};
use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Epoch};
use crate::planner::split::{SplitPlan, Topics};
use crate::planner::{ClusterLoad, Plan};
use crate::protocol::{Answer, Request};
use crate::table::Table;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How often the leader balances, and by which reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pace {
    /// From the beginning of one round to that of the next. Default: 60 s, as in Apache Pulsar.
    pub interval: Duration,
    /// How long a report counts; a broker whose report is older takes no part in a round. Default:
    /// 180 s.
    pub report_ttl: Duration,
    /// How many reports of moves are kept, and how many of splits. Default: 1000 of each.
    pub reports_kept: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(60),
            report_ttl: Duration::from_secs(180),
            reports_kept: 1000,
        }
    }
}

/// Whether the leader balances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    /// It does.
    #[default]
    On,
    /// No round begins and no move is asked for; what is planned waits. A bundle that changes
    /// meanwhile is then left alone.
    Paused,
    /// No round begins, and what is planned is dropped. Moves that were asked for end by
    /// themselves.
    Off,
}

/// The load that a round looks at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// What counts, corrected by who owns what.
    pub load: ClusterLoad,
    /// Whose reports are too old to count.
    pub stale: Vec<BrokerId>,
    /// Whose reports do not count since they are no members or about to leave.
    pub leaving: Vec<BrokerId>,
}

/// A round that was planned.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// When it began.
    pub began: Tick,
    /// Who led.
    pub epoch: Epoch,
    /// Whose reports were too old to count.
    pub stale: Vec<BrokerId>,
    /// Whose reports did not count since they are no members or about to leave.
    pub leaving: Vec<BrokerId>,
    /// The plan, with the reason for everything.
    pub plan: Plan,
    /// What should be split, and why other bundles that are too big stay whole.
    pub splits: SplitPlan,
}

/// Something to ask of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// A move.
    Move(Transfer),
    /// A split.
    Split(SplitOrder),
}

impl Order {
    /// Which bundle it is about.
    #[must_use]
    pub const fn bundle(&self) -> &BundleId {
        match self {
            Self::Move(transfer) => &transfer.bundle,
            Self::Split(order) => &order.split.bundle,
        }
    }

    /// What to ask.
    #[must_use]
    pub fn request(&self) -> Request {
        match self {
            Self::Move(transfer) => transfer.request(),
            Self::Split(order) => order.request(),
        }
    }
}

/// The leader's loop, as a step machine: while this broker leads and the switch is on, a round
/// whenever one is due, and its moves a few at a time.
///
/// # Examples
///
/// ```
/// use deedbook::balance::{Balancer, Config, Pace, Rounds, Switch};
/// use deedbook::clock::Tick;
/// use deedbook::ids::Epoch;
/// use deedbook::planner::{Constraints, Mode, Strategy};
/// use deedbook::table::Table;
///
/// let shedder = Strategy::Avg.settings(Mode::Safe).build()?;
/// let balancer = Balancer::new(shedder, Constraints::default(), Config::default());
/// let mut rounds = Rounds::new(balancer, Pace::default());
/// rounds.lead(Tick::ZERO, Some(Epoch::new(1)));
/// assert!(rounds.is_due(Tick::ZERO));
/// let picture = rounds.look(Tick::ZERO, &Table::default(), Vec::new(), |_| true);
/// let plan = rounds.plan(&picture);
/// rounds.begin(Tick::ZERO, &Table::default(), picture, plan);
/// assert!(rounds.due().is_empty());
///
/// rounds.switch(Switch::Off);
/// assert_eq!(rounds.next_wake(), None);
/// # Ok::<(), deedbook::planner::Error>(())
/// ```
#[derive(Debug)]
pub struct Rounds {
    balancer: Balancer,
    splitter: Option<Splitter>,
    pace: Pace,
    switch: Switch,
    /// The epoch in which this broker leads.
    epoch: Option<Epoch>,
    next: Tick,
    last: Option<Round>,
    reports: VecDeque<MoveReport>,
    /// How many moves have ended, by outcome.
    moves: BTreeMap<&'static str, u64>,
    split_reports: VecDeque<SplitReport>,
}

impl Rounds {
    /// A loop that has balanced nothing yet, and is switched on.
    #[must_use]
    pub fn new(balancer: Balancer, pace: Pace) -> Self {
        Self {
            balancer,
            splitter: None,
            pace,
            switch: Switch::On,
            epoch: None,
            next: Tick::ZERO,
            last: None,
            reports: VecDeque::new(),
            moves: BTreeMap::new(),
            split_reports: VecDeque::new(),
        }
    }

    /// Has bundles split that stay too big, at the same pace. The leader knows no single topics, so
    /// it cuts in the middle or at given positions. Default: nothing is split.
    #[must_use]
    pub fn splitting(mut self, splitter: Splitter) -> Self {
        self.splitter = Some(splitter);
        self
    }

    /// Takes in who leads: the epoch if this broker does and acts. Whoever begins to lead plans at
    /// once, and remembers nothing of an earlier time as leader.
    pub fn lead(&mut self, now: Tick, epoch: Option<Epoch>) {
        if self.epoch != epoch {
            self.balancer.start_anew();
            if let Some(splitter) = &mut self.splitter {
                splitter.start_anew();
            }
            self.epoch = epoch;
            self.next = now;
        }
    }

    /// For how long a bundle that moved is not chosen again.
    #[must_use]
    pub const fn cool_down(&self) -> Duration {
        self.balancer.cool_down()
    }

    /// Takes in which bundles have moved, whoever wanted it: a leader before this one, or somebody
    /// by hand. They are not chosen again until they have cooled down.
    pub fn note_moved(&mut self, recent: &Recent) {
        for (bundle, at) in recent.moved() {
            self.balancer.note_moved(bundle, at);
        }
    }

    /// Turns balancing on or off, or has it wait.
    pub fn switch(&mut self, switch: Switch) {
        self.switch = switch;
        if switch == Switch::Off {
            self.balancer.drop_planned();
        }
        if let Some(splitter) = &mut self.splitter {
            splitter.switch(switch);
        }
    }

    /// Whether it balances.
    #[must_use]
    pub const fn switched(&self) -> Switch {
        self.switch
    }

    /// When the next round is due, if nothing changes.
    #[must_use]
    pub fn next_wake(&self) -> Option<Tick> {
        self.is_active().then_some(self.next)
    }

    /// Whether a round is due.
    #[must_use]
    pub fn is_due(&self, now: Tick) -> bool {
        self.is_active() && self.next <= now
    }

    fn is_active(&self) -> bool {
        self.switch == Switch::On && self.epoch.is_some()
    }

    /// What a round looks at: reports that are fresh, of brokers that may own bundles. Others take
    /// no part, so that nothing is moved to a broker that is not there.
    pub fn look(
        &mut self,
        now: Tick,
        table: &Table,
        reports: Vec<Reported>,
        is_candidate: impl Fn(&BrokerId) -> bool,
    ) -> Picture {
        let mut picture = Picture::default();
        for Reported { broker, load, at } in reports {
            if now.since(at) > self.pace.report_ttl {
                picture.stale.push(broker);
            } else if !is_candidate(&broker) {
                picture.leaving.push(broker);
            } else {
                picture.load.brokers.insert(broker, load);
            }
        }
        picture.load = self.balancer.correct(now, table, picture.load);
        let splits = self.splitter.iter().flat_map(Splitter::under_way);
        for bundle in splits.map(|order| &order.split.bundle) {
            for of in picture.load.brokers.values_mut() {
                of.bundles.remove(bundle);
            }
        }
        picture
    }

    /// Plans a round. Takes its time with large clusters; needs no table meanwhile.
    #[must_use]
    pub fn plan(&mut self, picture: &Picture) -> Plan {
        self.balancer.plan(&picture.load)
    }

    /// Plans as the next round would, and leaves everything as it is: a dry run.
    #[must_use]
    pub fn rehearse(&self, picture: &Picture) -> Plan {
        self.balancer.rehearse(&picture.load)
    }

    /// Begins to carry out the plan of a round that began at `now`.
    pub fn begin(&mut self, now: Tick, table: &Table, picture: Picture, plan: Plan) {
        let Some(epoch) = self.epoch else { return };
        let splitter = self.splitter.as_mut();
        let splits = splitter.map(|one| one.round(table, picture.load, Topics::new()));
        let splits = splits.unwrap_or_default();
        self.balancer.begin(table, &plan);
        self.balancer.leave_to(&splits);
        self.next = now.after(self.pace.interval);
        self.last = Some(Round {
            began: now,
            epoch,
            stale: picture.stale,
            leaving: picture.leaving,
            plan,
            splits,
        });
    }

    /// What to ask for now: splits, and moves of other bundles.
    pub fn due(&mut self) -> Vec<Order> {
        if !self.is_active() {
            return Vec::new();
        }
        let splitter = self.splitter.as_mut();
        let splits = splitter.map_or_else(Vec::new, Splitter::due);
        let mut due: Vec<_> = splits.into_iter().map(Order::Split).collect();
        due.extend(self.balancer.due().into_iter().map(Order::Move));
        due
    }

    /// Takes in how a move or a split ended.
    pub fn on_answer(&mut self, now: Tick, bundle: &BundleId, answer: Answer) {
        let splitter = self.splitter.as_mut();
        if let Some(report) = splitter.and_then(|one| one.on_answer(bundle, answer.clone())) {
            keep(&mut self.split_reports, report, self.pace.reports_kept);
        } else if let Some(report) = self.balancer.on_answer(now, bundle, answer) {
            *self.moves.entry(report.answer.outcome()).or_default() += 1;
            keep(&mut self.reports, report, self.pace.reports_kept);
        }
    }

    /// The round planned last.
    #[must_use]
    pub const fn last(&self) -> Option<&Round> {
        self.last.as_ref()
    }

    /// What became of the moves, the oldest first; only so many are kept.
    pub fn reports(&self) -> impl Iterator<Item = &MoveReport> {
        self.reports.iter()
    }

    /// How many moves have ended, by [outcome](Answer::outcome).
    #[must_use]
    pub const fn moves(&self) -> &BTreeMap<&'static str, u64> {
        &self.moves
    }

    /// What became of the splits, the oldest first; only so many are kept.
    pub fn split_reports(&self) -> impl Iterator<Item = &SplitReport> {
        self.split_reports.iter()
    }

    /// The moves that were asked for and have not ended.
    pub fn under_way(&self) -> impl Iterator<Item = &Transfer> {
        self.balancer.under_way()
    }

    /// How many moves are planned and not asked for yet.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.balancer.planned()
    }
}

/// Adds a report and drops the oldest, if there are more than are kept.
fn keep<T>(reports: &mut VecDeque<T>, report: T, most: usize) {
    reports.push_back(report);
    while reports.len() > most {
        reports.pop_front();
    }
}
