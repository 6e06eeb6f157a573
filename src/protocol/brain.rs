//! The broker's state as a whole, and the way each input takes through it.

use super::answer::Answer;
use super::appends::{Appends, Resolution};
use super::closing::Closing;
use super::config::Config;
use super::counters::Ledger;
use super::io::{Effect, Input, Mine, NotMine, RegistryAnswer, Ticket, Wait};
use super::leader::{Leadership, MemberList};
use super::lookups::{LookUps, is_destination};
use super::operations::Operations;
use super::ownership::Ownership;
use super::session::Session;
use super::timers::{Timer, Timers};
use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Epoch, Holder, Position, SessionToken};
use crate::log::{Member, Members, Payload, TailItem};
use crate::planner::Placement;
use crate::state::{Entry, Row};
use crate::table::{Error, Table};

/// One broker's brain.
///
/// # Examples
///
/// A broker begins by registering, and acts once its session lives and the log has been read to its
/// end.
///
/// ```
/// use deedbook::clock::Tick;
/// use deedbook::protocol::{AtRandom, Config, Effect, Protocol};
///
/// let broker = "broker-1:8080".parse().unwrap();
/// let (protocol, effects) =
///     Protocol::start(broker, Config::default(), Box::new(AtRandom::default()), Tick::ZERO);
/// assert!(matches!(effects[..], [Effect::Register]));
/// assert!(protocol.session().is_none());
/// ```
#[derive(Debug)]
pub struct Protocol {
    pub(super) me: BrokerId,
    pub(super) config: Config,
    pub(super) placement: Box<dyn Placement>,
    pub(super) table: Table,
    /// Whether the tail has once said that it has read everything; nothing is appended before.
    pub(super) caught_up: bool,
    /// Why what was read can be applied no further, if so.
    pub(super) stopped: Option<Error>,
    /// Whether the log can be read no further.
    pub(super) deaf: bool,
    /// Sessions below this one are of processes that are gone for certain: the log was opened for
    /// writing since, which the system allows to one process at a time.
    pub(super) gone_below: SessionToken,
    pub(super) session: Session,
    pub(super) members: MemberList,
    pub(super) leadership: Option<Leadership>,
    pub(super) appends: Appends,
    pub(super) ownership: Ownership,
    pub(super) operations: Operations,
    pub(super) look_ups: LookUps,
    pub(super) ledger: Ledger,
    pub(super) closing: Option<Closing>,
    /// Whether somebody wanted this broker to be empty: it takes nothing and gives away what it
    /// has, until the process ends.
    pub(super) is_emptied: bool,
    pub(super) timers: Timers,
    pub(super) now: Tick,
    pub(super) effects: Vec<Effect>,
}

impl Protocol {
    /// A broker that has read nothing yet, and what it wants done first.
    #[must_use]
    pub fn start(
        me: BrokerId,
        config: Config,
        placement: Box<dyn Placement>,
        now: Tick,
    ) -> (Self, Vec<Effect>) {
        let mut protocol = Self {
            me,
            config,
            placement,
            table: Table::default(),
            caught_up: false,
            stopped: None,
            deaf: false,
            gone_below: SessionToken::default(),
            session: Session::default(),
            members: MemberList::default(),
            leadership: None,
            appends: Appends::default(),
            ownership: Ownership::default(),
            operations: Operations::default(),
            look_ups: LookUps::default(),
            ledger: Ledger::default(),
            closing: None,
            is_emptied: false,
            timers: Timers::default(),
            now,
            effects: Vec::new(),
        };
        protocol.register();
        let effects = std::mem::take(&mut protocol.effects);
        (protocol, effects)
    }

    /// Takes one input at `now` and says what is to be done about it, in order.
    pub fn step(&mut self, now: Tick, input: Input) -> Vec<Effect> {
        self.now = self.now.max(now);
        if self.is_closed() {
            self.refuse_when_closed(input);
        } else {
            self.take(input);
            while !self.is_closed()
                && let Some(timer) = self.timers.pop_due(self.now)
            {
                self.on_timer(timer);
            }
            if !self.is_closed() {
                self.settle();
                self.close_if_drained();
            }
        }
        std::mem::take(&mut self.effects)
    }

    /// When it wants to be woken if nothing else happens.
    #[must_use]
    pub fn next_wake(&self) -> Option<Tick> {
        if self.is_closed() {
            None
        } else {
            self.timers.next()
        }
    }

    /// Ownership as far as it has been read.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The broker's name.
    #[must_use]
    pub fn broker(&self) -> &BrokerId {
        &self.me
    }

    /// The living session, as far as the broker knows.
    #[must_use]
    pub fn session(&self) -> Option<Holder> {
        self.session.holder(&self.me)
    }

    /// The epoch, if this broker leads.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.leadership.as_ref().map(|leadership| leadership.epoch)
    }

    /// The epoch, if this broker leads and acts: its first word stands in the log, and it holds a
    /// member list that was asked for afterwards.
    #[must_use]
    pub fn acting_epoch(&self) -> Option<Epoch> {
        let leadership = self.leadership.as_ref();
        let acting = leadership.filter(|leadership| leadership.acts && self.closing.is_none());
        acting.map(|leadership| leadership.epoch)
    }

    /// Whom this broker, as leader, waits for before it takes what they hold: members that it saw
    /// dead.
    #[must_use]
    pub fn waits(&self) -> Vec<Wait> {
        let dead = self.leadership.iter().flat_map(|leads| &leads.dead_since);
        let delay = self.config.takeover_delay() + self.config.reclaim_grace;
        let wait = |(holder, since): (&Holder, &Tick)| Wait {
            holder: holder.clone(),
            bundles: self.table.held_by(holder).count(),
            since: *since,
            until: since.after(delay),
        };
        dead.map(wait).collect()
    }

    /// When the living session began, as this process knows it.
    #[must_use]
    pub fn session_since(&self) -> Option<Tick> {
        self.session.token().map(|_| self.session.since())
    }

    /// Whether a broker may get bundles: it is a member, and not about to leave.
    #[must_use]
    pub fn is_destination(&self, broker: &BrokerId) -> bool {
        let out = self.is_leaving() && *broker == self.me;
        let members = self.members.list().filter(|_| !out);
        members.is_some_and(|members| is_destination(members, broker))
    }

    /// The members as last listed.
    #[must_use]
    pub fn members(&self) -> Option<&Members> {
        self.members.list()
    }

    /// Whether commands are taken: the session is certain at `now`, the log has been read to its
    /// end, and the broker has not closed.
    #[must_use]
    pub fn is_ready(&self, now: Tick) -> bool {
        self.caught_up
            && self.reads()
            && self.session.is_certain(now)
            && self.members.list().is_some()
            && !self.is_closed()
    }

    /// Why what was read can be applied no further, if so.
    #[must_use]
    pub fn stopped(&self) -> Option<&Error> {
        self.stopped.as_ref()
    }

    /// Whether the bundle is this broker's at `now`: never "yes" on doubt (invariant I3).
    #[must_use]
    pub fn is_mine(&self, now: Tick, bundle: &BundleId) -> Mine {
        if !self.is_ready(now) {
            return Mine::Unknown;
        }
        let Some(row) = self.table.get(bundle) else {
            return Mine::No(NotMine::Absent);
        };
        let serves = row.is_served_by(self.session().as_ref());
        match (serves, self.ownership.serves(bundle, row.fence)) {
            (false, _) => Mine::No(NotMine::NotHeld(row.record.state())),
            (true, false) => Mine::No(NotMine::Acquiring),
            (true, true) => Mine::Yes { fence: row.fence },
        }
    }

    /// The bundles that this session holds, in order.
    pub fn held(&self) -> impl Iterator<Item = (&BundleId, &Row)> {
        let holder = self.session();
        let mut held: Vec<_> = holder
            .iter()
            .flat_map(|holder| self.table.held_by(holder))
            .collect();
        held.sort_unstable_by_key(|(bundle, _)| *bundle);
        held.into_iter()
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Tail(TailItem::Payload { position, payload }) => match payload {
                Payload::Entry(entry) => self.on_entry(position, &entry),
                Payload::Member(member) => self.on_member(position, &member),
            },
            Input::Tail(TailItem::CaughtUp { .. }) => self.on_caught_up(),
            Input::Jumped(table) => self.on_jump(*table),
            Input::ReadFailed => {
                self.deaf = true;
                self.stop_reading();
            }
            Input::Appended { id, result } => self.on_appended(id, result),
            Input::Registry(answer) => match answer {
                RegistryAnswer::Registered { sent_at, result } => {
                    self.on_registered(sent_at, result);
                }
                RegistryAnswer::Renewed {
                    sent_at,
                    session,
                    result,
                } => {
                    self.on_renewed(sent_at, session, result);
                }
                RegistryAnswer::Members { request, result } => self.on_members(request, result),
                RegistryAnswer::Campaigned { session, result } => {
                    self.on_campaigned(session, result);
                }
            },
            Input::Ask {
                ticket,
                request,
                deadline,
            } => self.on_request(ticket, request, deadline),
            Input::HookDone { id, result } => self.on_hook_done(id, &result),
            Input::Close { deadline } => self.on_close(deadline),
            Input::Wake => {}
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        match timer {
            Timer::Register => self.register_if_due(),
            Timer::Renew => self.renew_if_due(),
            Timer::Members => self.list_members_if_due(),
            Timer::Monitor => self.monitor_if_due(),
            Timer::Deadline(ticket) => self.time_out(ticket),
            Timer::Hook(id) => self.on_hook_limit(id),
            Timer::Resend(id) => self.resend(id),
            Timer::React(bundle) => self.ownership.touch(&bundle),
            Timer::CloseReserve => self.close_now(),
        }
    }

    fn on_entry(&mut self, position: Position, entry: &Entry) {
        if self.stopped.is_some() {
            return;
        }
        let applied = match self.table.apply(position, entry) {
            Ok(Some(applied)) => applied,
            Ok(None) => return,
            Err(error) => return self.stop(error),
        };
        let resolution = match &applied.outcome {
            Ok(changes) => {
                for change in changes {
                    self.touch(&change.bundle);
                }
                Resolution::Accepted { position }
            }
            Err(rejection) => {
                self.ledger.count_rejection(rejection);
                Resolution::Rejected(rejection.clone())
            }
        };
        self.on_fact(applied.fact.as_ref());
        self.effects.push(Effect::Applied(applied));
        self.on_resolved(entry.id(), resolution);
    }

    /// A member came or went: the list is asked for at once, not in turn.
    fn on_member(&mut self, position: Position, member: &Member) {
        self.table.skip(position);
        if *member == Member::Opened {
            self.gone_below = SessionToken::at(position);
            self.touch_all();
        }
        if self.caught_up {
            self.list_members_in_a_hurry();
        }
    }

    fn on_caught_up(&mut self) {
        if !self.caught_up {
            self.caught_up = true;
            self.touch_all();
            self.follow_leadership();
        }
    }

    fn on_jump(&mut self, table: Table) {
        let changes = self.table.difference(&table);
        self.table = table;
        for change in &changes {
            self.touch(&change.bundle);
        }
        self.effects.push(Effect::Jumped {
            horizon: self.table.next(),
            changes,
        });
        self.resolve_below_horizon();
        self.finish_deletions();
        self.touch_namespaces();
    }

    /// Something newer than this library is in the log: nothing read from here on could be trusted.
    fn stop(&mut self, error: Error) {
        self.stopped = Some(error);
        self.stop_reading();
    }

    /// A broker that hears nothing more serves nobody: its bundles are better off elsewhere.
    fn stop_reading(&mut self) {
        self.end_session();
        self.look_ups.touch_all();
    }

    /// Whether the log is still read and applied.
    pub(super) fn reads(&self) -> bool {
        self.stopped.is_none() && !self.deaf
    }

    /// Has everything that depends on a bundle looked at again before this step ends.
    pub(super) fn touch(&mut self, bundle: &BundleId) {
        self.ownership.touch(bundle);
        self.operations.touch(bundle);
        self.look_ups.touch(bundle);
        self.watch_age(bundle);
        self.watch_ending(bundle);
    }

    /// As [`Self::touch`], for all bundles that this broker has or may have to do with.
    pub(super) fn touch_all(&mut self) {
        let held: Vec<BundleId> = self
            .table
            .holders()
            .filter(|holder| holder.broker == self.me)
            .flat_map(|holder| self.table.held_by(holder))
            .chain(self.table.destined_to(&self.me))
            .map(|(bundle, _)| bundle.clone())
            .collect();
        for bundle in &held {
            self.ownership.touch(bundle);
        }
        self.ownership.touch_known();
        self.look_ups.touch_all();
    }

    /// Works off what was touched until nothing is left to look at.
    fn settle(&mut self) {
        loop {
            if let Some(bundle) = self.ownership.next_touched() {
                self.react(&bundle);
            } else if let Some(bundle) = self.operations.next_touched() {
                self.check_operations(&bundle);
            } else if let Some(bundle) = self.look_ups.next_touched() {
                self.check_look_ups(&bundle);
            } else {
                return self.check_drains();
            }
        }
    }

    pub(super) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        self.ledger.count_answer(ticket, &answer);
        self.effects.push(Effect::Answer { ticket, answer });
    }
}
