//! Driving the brokers: what happens goes into their protocols, and what they want done is put on
//! its way.

use super::checkers::{check_closed, check_one_owner};
use super::cluster::{Cluster, Outcome};
use super::describe::{Got, Wants};
use super::event::{Event, RegistryRequest};
use super::network::Link;
use super::node::{Life, LocalClock, Node, NodeId};
use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Fence, Position, SessionToken};
use crate::log::{Append, EventLog};
use crate::protocol::{
    AtRandom, Effect, Hook, HookId, HookResult, Input, Protocol, RegistryAnswer, Request, Ticket,
};
use crate::table::{Feed, FeedItem};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Most items that a broker reads in one go.
const BURST_MAX: u64 = 64;

/// What a step may have changed about what a broker serves.
struct Before {
    session: Option<SessionToken>,
    ready: bool,
}

impl Cluster {
    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0).expect("nodes are never removed")
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes.get_mut(id.0).expect("nodes are never removed")
    }

    /// The broker's process, if it runs.
    pub(super) fn running(&self, broker: &BrokerId) -> Option<NodeId> {
        let id = *self.brokers.get(broker)?;
        (self.node(id).life == Life::Running).then_some(id)
    }

    pub(super) fn say(&mut self, id: NodeId, what: std::fmt::Arguments<'_>) {
        if let Some(node) = self.nodes.get(id.0) {
            let who = &node.broker;
            let number = id.0;
            let now = self.world.now();
            self.trace.line(now, format_args!("{who}.{number}"), what);
        }
    }

    /// Starts a process, whose clock is its own.
    pub(super) fn start_node(&mut self, broker: &BrokerId) {
        let id = NodeId(self.nodes.len());
        // Each of two clocks may be off by half of what two may drift apart; exactly half would
        // depend on rounding.
        let off = (self.config.drift * 1_000_000.0 / 2.0) as u64;
        let clock = LocalClock {
            offset: self.dice.below(1_000_000_000_000_000),
            rate_ppm: 1_000_000 - off + self.dice.below(2 * off + 1),
        };
        let now = clock.local(self.world.now());
        let config = self.config.clone();
        let placement = Box::new(AtRandom::new(self.seed));
        let (protocol, effects) = Protocol::start(broker.clone(), config, placement, now);
        let log: Arc<dyn EventLog> = self.log.clone();
        self.nodes.push(Node {
            broker: broker.clone(),
            life: Life::Running,
            clock,
            protocol,
            feed: Feed::new(log, Position::ZERO.next()),
            link: Link::default(),
            reads: false,
            wakes_at: None,
            is_closing: false,
            closed: None,
            mailbox: Vec::new(),
            serves: BTreeMap::new(),
        });
        self.brokers.insert(broker.clone(), id);
        self.handlers.start(id, broker);
        self.orphans.disturb(self.world.now());
        self.say(id, format_args!("starts"));
        self.perform(id, effects);
        self.read_soon(id);
        self.wake_when_due(id);
    }

    /// The process is gone. Whoever waits for its answer knows.
    pub(super) fn end_node(&mut self, id: NodeId, how: &str) {
        if self.node(id).life == Life::Ended {
            return;
        }
        let node = self.node_mut(id);
        node.life = Life::Ended;
        node.serves.clear();
        node.mailbox.clear();
        self.say(id, format_args!("{how}"));
        self.hooks.gone(id);
        self.handlers.gone(id);
        for ticket in self.answers.ended(id) {
            self.end_ask(ticket, Outcome::Lost);
        }
        self.orphans.disturb(self.world.now());
    }

    pub(super) fn pause_node(&mut self, id: NodeId, time: Duration) {
        self.node_mut(id).life = Life::Paused;
        self.say(id, format_args!("stands still for {time:?}"));
        self.world.schedule(time, Event::Resume(id));
    }

    pub(super) fn resume(&mut self, id: NodeId) {
        if self.node(id).life != Life::Paused {
            return;
        }
        self.node_mut(id).life = Life::Running;
        self.say(id, format_args!("goes on"));
        self.orphans.disturb(self.world.now());
        self.answers.resumed(id, self.world.now());
        // Before it has learned anything, it may be asked.
        let serves = self.node(id).serves.clone().into_iter().collect();
        self.check_owners(id, serves);
        for input in std::mem::take(&mut self.node_mut(id).mailbox) {
            self.arrive(id, input);
        }
        self.arrive(id, Input::Wake);
        self.read_soon(id);
    }

    /// Puts a question to a broker.
    pub(super) fn put(
        &mut self,
        broker: &BrokerId,
        ticket: Ticket,
        request: Request,
        limit: Option<Duration>,
    ) {
        let Some(id) = self.running(broker) else {
            return self.end_ask(ticket, Outcome::Lost);
        };
        let configured = match &request {
            Request::Owner { .. } | Request::Locate { .. } => self.config.lookup_limit,
            _ => self.config.command_limit,
        };
        let clock = self.node(id).clock;
        let deadline = clock
            .local(self.world.now())
            .after(limit.unwrap_or(configured));
        // Conversion back and forth may cost a nanosecond.
        let due = clock.truth(deadline).after(Duration::from_nanos(2));
        self.answers.asked(ticket, id, due);
        let deadline = limit.map(|_| deadline);
        let ask = Input::Ask {
            ticket,
            request,
            deadline,
        };
        self.arrive(id, ask);
    }

    /// Something arrives at a process: it waits if the process stands still.
    pub(super) fn arrive(&mut self, id: NodeId, input: Input) {
        match self.node(id).life {
            Life::Running => self.step(id, input),
            Life::Paused => self.node_mut(id).mailbox.push(input),
            Life::Ended => {}
        }
    }

    fn step(&mut self, id: NodeId, input: Input) {
        self.say(id, format_args!("{}", Got(&input)));
        let truth = self.world.now();
        let mut touched = Vec::new();
        let is_item = matches!(input, Input::Tail(_) | Input::Jumped(_));
        let jumped = matches!(input, Input::Jumped(_));
        if let Input::HookDone { id: hook, result } = &input {
            touched.extend(self.hooks.ended(id, *hook, result));
        }
        let node = self.node_mut(id);
        let now = node.clock.local(truth);
        let before = Before {
            session: node.protocol.session().map(|holder| holder.session),
            ready: node.protocol.is_ready(now),
        };
        let effects = node.protocol.step(now, input);
        for effect in &effects {
            if let Effect::Applied(applied) = effect {
                let changes = applied.outcome.iter().flatten();
                touched.extend(changes.map(|change| change.bundle.clone()));
                let result = self
                    .history
                    .first_valid
                    .check(&self.node(id).broker, applied);
                self.note(result);
            }
        }
        if is_item {
            let node = self.node(id);
            let result = self.history.fold.check(&node.broker, node.protocol.table());
            self.note(result);
        }
        self.perform(id, effects);
        self.look_at_owners(id, &before, jumped, touched);
        self.wake_when_due(id);
    }

    /// Checks what this step added to what the process serves.
    fn look_at_owners(
        &mut self,
        id: NodeId,
        before: &Before,
        jumped: bool,
        touched: Vec<BundleId>,
    ) {
        let truth = self.world.now();
        let node = self.node_mut(id);
        let now = node.clock.local(truth);
        let session = node.protocol.session().map(|holder| holder.session);
        let ready = node.protocol.is_ready(now);
        let added = if jumped || session != before.session || ready != before.ready {
            node.refresh(truth);
            node.serves.clone().into_iter().collect()
        } else {
            let mut added = Vec::new();
            for bundle in touched {
                match node.is_mine(truth, &bundle) {
                    Some(fence) => {
                        node.serves.insert(bundle.clone(), fence);
                        added.push((bundle, fence));
                    }
                    None => _ = node.serves.remove(&bundle),
                }
            }
            added
        };
        self.check_owners(id, added);
    }

    fn check_owners(&mut self, id: NodeId, added: Vec<(BundleId, Fence)>) {
        let node = self.node(id);
        if node.life != Life::Running || added.is_empty() {
            return;
        }
        let now = self.world.now();
        let said = added
            .into_iter()
            .filter(|(bundle, _)| node.is_mine(now, bundle).is_some());
        let said: Vec<_> = said.collect();
        let result = check_one_owner(&self.nodes, node, now, &said);
        self.note(result);
    }

    pub(super) fn wake_when_due(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        if node.life == Life::Ended {
            return;
        }
        let Some(local) = node.protocol.next_wake() else {
            return;
        };
        let at = node.clock.truth(local);
        if node.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
            node.wakes_at = Some(at);
            self.world.schedule_at(at, Event::Wake(id, at));
        }
    }

    pub(super) fn wake(&mut self, id: NodeId, at: Tick) {
        let node = self.node_mut(id);
        if node.wakes_at != Some(at) {
            return;
        }
        node.wakes_at = None;
        // It may want to be woken later by now.
        let now = node.clock.local(at);
        if node.life == Life::Running && node.protocol.next_wake().is_none_or(|due| due > now) {
            return self.wake_when_due(id);
        }
        self.arrive(id, Input::Wake);
    }

    /// Has the process look at its tail after a while.
    pub(super) fn read_soon(&mut self, id: NodeId) {
        let now = self.world.now();
        let node = self.node(id);
        if node.reads || node.life != Life::Running {
            return;
        }
        let slow = node.link.tail_slow > now;
        let cut_for = node.link.log_cut.since(now);
        let mut delay = self.dice.between(self.delays.tail);
        if slow {
            delay *= 200;
        }
        delay += cut_for;
        self.node_mut(id).reads = true;
        self.world.schedule(delay, Event::Read(id));
    }

    pub(super) fn read(&mut self, id: NodeId) {
        self.node_mut(id).reads = false;
        if self.node(id).link.log_cut > self.world.now() {
            return self.read_soon(id);
        }
        let burst = 1 + self.dice.below(BURST_MAX);
        for _ in 0..burst {
            if self.node(id).life != Life::Running {
                return;
            }
            match self.node_mut(id).feed.poll() {
                Ok(Some(FeedItem::Tail(item))) => self.step(id, Input::Tail(item)),
                Ok(Some(FeedItem::Jump(table))) => self.step(id, Input::Jumped(table)),
                Ok(None) => return,
                Err(error) => return self.note(Err(error.into())),
            }
        }
        self.read_soon(id);
    }

    /// Puts on its way what a process wants done.
    fn perform(&mut self, id: NodeId, effects: Vec<Effect>) {
        for effect in effects {
            if !matches!(effect, Effect::Applied(_)) {
                self.say(id, format_args!("{}", Wants(&effect)));
            }
            match effect {
                Effect::Append { entry, guard } => self.send_append(id, Append { entry, guard }),
                Effect::Register => self.send_request(id, RegistryRequest::Register),
                Effect::Renew(session) => self.send_request(id, RegistryRequest::Renew(session)),
                Effect::ListMembers { request } => {
                    self.send_request(id, RegistryRequest::Members(request));
                }
                Effect::Campaign(session) => {
                    self.send_request(id, RegistryRequest::Campaign(session));
                }
                Effect::Drain(session) => self.send_request(id, RegistryRequest::Drain(session)),
                Effect::Resign(epoch) => self.send_request(id, RegistryRequest::Resign(epoch)),
                Effect::Leave(session) => self.send_request(id, RegistryRequest::Leave(session)),
                Effect::RunHook {
                    id: hook,
                    hook: what,
                } => self.run_hook(id, hook, &what),
                Effect::Answer { ticket, answer } => {
                    let broker = self.node(id).broker.clone();
                    let result = self.answers.answered(&broker, ticket);
                    self.note(result);
                    self.end_ask(ticket, Outcome::Answered(answer));
                }
                Effect::Closed(report) => {
                    let result = check_closed(self.node(id), self.world.now());
                    self.note(result);
                    self.node_mut(id).closed = Some(report);
                    self.end_node(id, "has closed");
                }
                Effect::Applied(_) | Effect::Jumped { .. } => {}
            }
        }
    }

    fn run_hook(&mut self, id: NodeId, hook: HookId, what: &Hook) {
        let broker = self.node(id).broker.clone();
        let result = self.hooks.began(id, &broker, hook, what);
        self.note(result);
        if self.handlers.call(id, hook, what) {
            return;
        }
        let failing = self.hook_plans.get(&broker);
        let failing = failing.map_or(0, |plan| plan.failing_per_mille);
        let result = if self.dice.per_mille(failing) {
            HookResult::Failed
        } else {
            HookResult::Done
        };
        self.end_hook(id, hook, result);
    }

    /// A hook ends, after the time that hooks of this broker take.
    pub(super) fn end_hook(&mut self, id: NodeId, hook: HookId, result: HookResult) {
        let plan = self.hook_plans.get(&self.node(id).broker);
        let takes = plan.map_or(self.delays.hook, |plan| plan.takes);
        let done = Input::HookDone { id: hook, result };
        self.world
            .schedule(self.dice.between(takes), Event::Arrive(id, done));
    }
}

/// The answer that says that none came.
pub(super) fn no_answer(request: RegistryRequest, sent_at: Tick) -> Option<RegistryAnswer> {
    use crate::log::{AppendError, Doubt};
    use crate::registry::Error;
    let error = Error::Unavailable(AppendError::Unknown(Doubt::NoAnswer));
    match request {
        RegistryRequest::Register => Some(RegistryAnswer::Registered {
            sent_at,
            result: Err(error),
        }),
        RegistryRequest::Renew(session) => Some(RegistryAnswer::Renewed {
            sent_at,
            session,
            result: Err(error),
        }),
        RegistryRequest::Members(request) => Some(RegistryAnswer::Members {
            request,
            result: Err(error),
        }),
        RegistryRequest::Campaign(session) => Some(RegistryAnswer::Campaigned {
            session,
            result: Err(error),
        }),
        RegistryRequest::Drain(_) | RegistryRequest::Resign(_) | RegistryRequest::Leave(_) => None,
    }
}
