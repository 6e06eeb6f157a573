//! What stands around the brokers: the log, the registry, storage. Messages to them take time and
//! get lost.

use super::builder::Guards;
use super::cluster::Cluster;
use super::describe::Wrote;
use super::drive::no_answer;
use super::event::{Event, RegistryRequest};
use super::network::Fate;
use super::node::{Life, NodeId};
use crate::clock::Tick;
use crate::ids::BrokerId;
use crate::log::{Append, AppendError, AppendResult, Doubt, Guard, Payload, Refusal};
use crate::protocol::{Input, RegistryAnswer};
use crate::registry;
use std::io::ErrorKind;
use std::path::PathBuf;

/// What a log says that takes nothing now.
fn unavailable() -> AppendError {
    let path = PathBuf::from("the log");
    let kind = ErrorKind::Other;
    Refusal::Unavailable { path, kind }.into()
}

impl Cluster {
    /// One event happens.
    pub(super) fn happen(&mut self, event: Event) {
        match event {
            Event::Read(id) => self.read(id),
            Event::Wake(id, at) => self.wake(id, at),
            Event::Arrive(id, input) => self.arrive(id, input),
            Event::Append(id, append, fate) => self.append_arrives(id, append, fate),
            Event::Registry(id, request, sent_at, fate) => {
                self.request_arrives(id, request, sent_at, fate);
            }
            Event::Write(write) => {
                let result = self.store.write(write, &self.history.fences);
                self.note(result);
            }
            Event::Resume(id) => self.resume(id),
            Event::Kill(id) => self.end_node(id, "is killed"),
            Event::Start(broker) => self.start_again(broker),
            Event::Operate => self.operate(),
            Event::Fault => self.strike(),
            Event::Compact => self.compact(),
            Event::CompactStep(id, attempt) => self.compact_step(id, attempt),
            Event::Sweep => self.sweep(),
        }
    }

    /// A broker comes back as it was to, but not before the process before it is gone.
    fn start_again(&mut self, broker: BrokerId) {
        let before = self.brokers.get(&broker).map(|id| self.node(*id));
        let is_leaving = before.is_some_and(|node| match node.life {
            Life::Running => node.is_closing,
            Life::Paused => true,
            Life::Ended => false,
        });
        if is_leaving {
            let later = super::cluster::SWEEP_INTERVAL;
            return self.world.schedule(later, Event::Start(broker));
        }
        self.add_broker(&broker);
    }

    pub(super) fn send_append(&mut self, id: NodeId, append: Append) {
        let now = self.world.now();
        let link = self.node(id).link.clone();
        let fate = link.append(now, &mut self.dice);
        if fate == Fate::Lost {
            let answer = Input::Appended {
                id: append.entry.id(),
                result: Err(AppendError::Unknown(Doubt::NoAnswer)),
            };
            return self
                .world
                .schedule(self.delays.time_out, Event::Arrive(id, answer));
        }
        let delay = self.dice.between(self.delays.log);
        self.world.schedule(delay, Event::Append(id, append, fate));
    }

    fn append_arrives(&mut self, id: NodeId, mut append: Append, fate: Fate) {
        if self.guards == Guards::Ignored {
            append.guard = Guard::None;
        }
        let entry = append.entry.id();
        let result = if fate == Fate::Refused {
            Err(unavailable())
        } else {
            self.append_now(append)
        };
        self.log_grew();
        let (delay, result) = if fate != Fate::AnswerLost {
            (self.dice.between(self.delays.log), result)
        } else {
            (
                self.delays.time_out,
                Err(AppendError::Unknown(Doubt::NoAnswer)),
            )
        };
        let answer = Input::Appended { id: entry, result };
        self.world.schedule(delay, Event::Arrive(id, answer));
    }

    /// Appends to the log, which may be a real one with a thread of its own: its answer takes no
    /// virtual time.
    pub(super) fn append_now(&mut self, append: Append) -> AppendResult {
        let answer = self.log.append(append).wait();
        answer.unwrap_or(Err(AppendError::Unknown(Doubt::NoAnswer)))
    }

    /// Somebody wrote: the history is read on, and all others hear of it in their own time.
    pub(super) fn log_grew(&mut self) {
        let news = match self.history.read() {
            Ok(news) => news,
            Err(violation) => return self.note(Err(violation)),
        };
        if news.is_empty() {
            return;
        }
        let now = self.world.now();
        for item in news {
            let who = format_args!("log");
            let position = item.position;
            match (&item.payload, item.applied.map(|applied| applied.outcome)) {
                (Payload::Member(member), _) => {
                    self.trace
                        .line(now, who, format_args!("{position} {member:?}"));
                    self.orphans.disturb(now);
                    self.restraint.member();
                }
                (Payload::Entry(entry), Some(Err(rejection))) => {
                    let what = format_args!("{position} {} REJECTED: {rejection}", Wrote(entry));
                    self.trace.line(now, who, what);
                }
                (Payload::Entry(entry), _) => {
                    self.trace
                        .line(now, who, format_args!("{position} {}", Wrote(entry)));
                }
            }
        }
        for index in 0..self.nodes.len() {
            self.read_soon(NodeId(index));
        }
    }

    pub(super) fn send_request(&mut self, id: NodeId, request: RegistryRequest) {
        let now = self.world.now();
        self.restraint.asked(id);
        let node = self.node(id);
        let sent_at = node.clock.local(now);
        let link = node.link.clone();
        let fate = link.registry(now, &mut self.dice);
        if fate == Fate::Lost {
            return self.time_out(id, request, sent_at);
        }
        let delay = self.dice.between(self.delays.registry);
        self.world
            .schedule(delay, Event::Registry(id, request, sent_at, fate));
    }

    /// Nobody answers: sometimes the broker is told so, sometimes it hears nothing at all.
    fn time_out(&mut self, id: NodeId, request: RegistryRequest, sent_at: Tick) {
        if let Some(answer) = no_answer(request, sent_at).filter(|_| self.dice.per_mille(700)) {
            let arrive = Event::Arrive(id, Input::Registry(answer));
            self.world.schedule(self.delays.time_out, arrive);
        }
    }

    fn request_arrives(&mut self, id: NodeId, request: RegistryRequest, sent_at: Tick, fate: Fate) {
        let answer = self.answer_request(id, request, sent_at);
        self.log_grew();
        if fate == Fate::AnswerLost {
            return self.time_out(id, request, sent_at);
        }
        if let Some(answer) = answer {
            let delay = self.dice.between(self.delays.registry);
            let arrive = Event::Arrive(id, Input::Registry(answer));
            self.world.schedule(delay, arrive);
        }
    }

    fn answer_request(
        &mut self,
        id: NodeId,
        request: RegistryRequest,
        sent_at: Tick,
    ) -> Option<RegistryAnswer> {
        let registry = &*self.registry;
        // Of these the broker wants no answer.
        let unanswered = |_: Result<(), registry::Error>| None;
        match request {
            RegistryRequest::Register => Some(RegistryAnswer::Registered {
                sent_at,
                result: registry.register(&self.node(id).broker),
            }),
            RegistryRequest::Renew(session) => Some(RegistryAnswer::Renewed {
                sent_at,
                session,
                result: registry.renew(session),
            }),
            RegistryRequest::Members(request) => Some(RegistryAnswer::Members {
                request,
                result: registry.members(),
            }),
            RegistryRequest::Campaign(session) => Some(RegistryAnswer::Campaigned {
                session,
                result: registry.campaign(session),
            }),
            RegistryRequest::Drain(session) => unanswered(registry.drain(session)),
            RegistryRequest::Resign(epoch) => unanswered(registry.resign(epoch)),
            RegistryRequest::Leave(session) => unanswered(registry.leave(session)),
        }
    }

    /// Looks whether anybody has waited for too long.
    fn sweep(&mut self) {
        let now = self.world.now();
        let nodes = &self.nodes;
        let running = |id: NodeId| {
            let node = nodes.get(id.0)?;
            (node.life == Life::Running).then_some(&node.broker)
        };
        let overdue = self.answers.check(now, running);
        let checked = overdue.and(self.restraint.check(now, running));
        self.note(checked);
        let sound = |node: &super::node::Node| match node.life {
            Life::Running => node.link.is_sound(now),
            Life::Paused => false,
            Life::Ended => true,
        };
        if !self.nodes.iter().all(sound)
            || self.hook_plans.values().any(|p| p.is_troubled())
            || self.handlers.are_open()
        {
            self.orphans.disturb(now);
        }
        if self.nodes.iter().any(|node| node.life == Life::Running) {
            let (table, members) = (&self.history.table, &self.history.members);
            let left = self.orphans.check(now, table, members, &self.config);
            self.note(left);
        }
        self.world
            .schedule(super::cluster::SWEEP_INTERVAL, Event::Sweep);
    }
}
