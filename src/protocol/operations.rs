//! Commands under way: shared by whoever asks the same, followed until they are complete.

use super::answer::{Answer, Refused};
use super::appends::Resolution;
use super::brain::Protocol;
use super::io::Ticket;
use crate::ids::{BrokerId, BundleId, Cuts, Namespace, Position, SessionToken};
use crate::state::{Fact, Phase, Record, Row, State};
use std::collections::{BTreeMap, BTreeSet};

/// Names a command under way, which several askers may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OperationId(u64);

/// The commands under way.
#[derive(Debug, Default)]
pub(super) struct Operations {
    count: u64,
    all: BTreeMap<OperationId, Operation>,
    by_bundle: BTreeMap<BundleId, BTreeSet<OperationId>>,
    by_ticket: BTreeMap<Ticket, OperationId>,
    touched: BTreeSet<BundleId>,
}

#[derive(Debug)]
struct Operation {
    subject: Subject,
    /// Whether its entry counts; until then the row says nothing about it.
    accepted: bool,
    tickets: BTreeSet<Ticket>,
}

/// What a command is about, and when it is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Bundle(BundleId, Goal),
    Created(Namespace),
    Deleted(Namespace),
    /// A broker that is being emptied in this session.
    Drained(BrokerId, SessionToken),
}

impl Subject {
    /// The bundle that it is about, if it is about one.
    fn bundle(&self) -> Option<&BundleId> {
        match self {
            Self::Bundle(bundle, _) => Some(bundle),
            Self::Created(_) | Self::Deleted(_) | Self::Drained(..) => None,
        }
    }
}

/// When a command about a bundle is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    OwnedBy(BrokerId),
    Unloaded,
    Divided(Cuts),
}

/// How far a goal is.
enum Progress {
    Complete(Position),
    OnTheWay,
    Superseded,
}

impl Goal {
    fn progress(&self, row: Option<&Row>) -> Progress {
        let Some(row) = row else {
            return match self {
                Self::Divided(_) | Self::Unloaded => Progress::Complete(Position::ZERO),
                Self::OwnedBy(_) => Progress::Superseded,
            };
        };
        let complete = Progress::Complete(row.version);
        match (self, &row.record) {
            (Self::OwnedBy(broker), record) => match record.state() {
                State::Owned if record.holder().is_some_and(|h| h.broker == *broker) => complete,
                State::Assigning | State::Releasing if record.destination() == Some(broker) => {
                    Progress::OnTheWay
                }
                _ => Progress::Superseded,
            },
            (Self::Unloaded, Record::Free) => complete,
            (
                Self::Unloaded,
                Record::Releasing {
                    destination: None, ..
                },
            ) => Progress::OnTheWay,
            (Self::Divided(_), Record::Deleted) => complete,
            (Self::Divided(cuts), Record::Splitting { cuts: other, .. }) if cuts == other => {
                Progress::OnTheWay
            }
            (Self::Unloaded | Self::Divided(_), _) => Progress::Superseded,
        }
    }
}

impl Operations {
    pub(super) fn touch(&mut self, bundle: &BundleId) {
        if self.by_bundle.contains_key(bundle) {
            self.touched.insert(bundle.clone());
        }
    }

    pub(super) fn next_touched(&mut self) -> Option<BundleId> {
        self.touched.pop_first()
    }

    pub(super) fn waiting(&self) -> usize {
        self.by_ticket.len()
    }

    pub(super) fn find(&self, subject: &Subject) -> Option<OperationId> {
        self.all
            .iter()
            .find(|(_, other)| other.subject == *subject)
            .map(|(id, _)| *id)
    }

    pub(super) fn find_of_bundle(&self, bundle: &BundleId, goal: &Goal) -> Option<OperationId> {
        let ids = self.by_bundle.get(bundle)?;
        let same = |id: &&OperationId| {
            let subject = self.all.get(id).map(|operation| &operation.subject);
            matches!(subject, Some(Subject::Bundle(_, other)) if other == goal)
        };
        ids.iter().find(same).copied()
    }

    /// Whether an assignment of the bundle is under way.
    pub(super) fn is_assigning(&self, bundle: &BundleId) -> bool {
        let ids = self.by_bundle.get(bundle).into_iter().flatten();
        ids.filter_map(|id| self.all.get(id))
            .any(|operation| matches!(&operation.subject, Subject::Bundle(_, Goal::OwnedBy(_))))
    }

    pub(super) fn add(&mut self, subject: Subject, accepted: bool) -> OperationId {
        self.count += 1;
        let id = OperationId(self.count);
        if let Some(bundle) = subject.bundle() {
            self.by_bundle.entry(bundle.clone()).or_default().insert(id);
        }
        self.all.insert(
            id,
            Operation {
                subject,
                accepted,
                tickets: BTreeSet::new(),
            },
        );
        id
    }

    pub(super) fn join(&mut self, id: OperationId, ticket: Ticket) {
        if let Some(operation) = self.all.get_mut(&id) {
            operation.tickets.insert(ticket);
            self.by_ticket.insert(ticket, id);
        }
    }

    fn remove(&mut self, id: OperationId) -> BTreeSet<Ticket> {
        let Some(operation) = self.all.remove(&id) else {
            return BTreeSet::new();
        };
        if let Some(bundle) = operation.subject.bundle()
            && let Some(ids) = self.by_bundle.get_mut(bundle)
        {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_bundle.remove(bundle);
            }
        }
        for ticket in &operation.tickets {
            self.by_ticket.remove(ticket);
        }
        operation.tickets
    }

    /// Lets one asker go; the command goes on.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Subject> {
        let id = self.by_ticket.remove(&ticket)?;
        let operation = self.all.get_mut(&id)?;
        operation.tickets.remove(&ticket);
        Some(operation.subject.clone())
    }

    /// The brokers that are being emptied.
    pub(super) fn drains(
        &self,
    ) -> impl Iterator<Item = (OperationId, BrokerId, SessionToken)> + use<'_> {
        let all = self.all.iter();
        all.filter_map(|(id, operation)| match &operation.subject {
            Subject::Drained(broker, session) => Some((*id, broker.clone(), *session)),
            Subject::Bundle(..) | Subject::Created(_) | Subject::Deleted(_) => None,
        })
    }

    /// Everyone who waits, and for which bundle.
    pub(super) fn drain(&mut self) -> Vec<(Ticket, Option<BundleId>)> {
        let tickets: Vec<Ticket> = self.by_ticket.keys().copied().collect();
        let waiters = tickets
            .into_iter()
            .filter_map(|ticket| Some((ticket, self.leave(ticket)?.bundle().cloned())));
        let waiters = waiters.collect();
        *self = Self {
            count: self.count,
            ..Self::default()
        };
        waiters
    }
}

impl Protocol {
    /// What became of a command's entry.
    pub(super) fn on_operation(&mut self, id: OperationId, resolution: Resolution) {
        let subject = match self.operations.all.get_mut(&id) {
            None => return,
            Some(operation) => {
                operation.accepted = matches!(resolution, Resolution::Accepted { .. });
                operation.subject.clone()
            }
        };
        let row = subject.bundle().and_then(|bundle| self.table.get(bundle));
        let row = row.cloned();
        match resolution {
            Resolution::Accepted { position } => match subject {
                Subject::Created(_) => self.finish_done(id, position),
                Subject::Bundle(..) | Subject::Deleted(_) | Subject::Drained(..) => {
                    self.check_operation(id);
                }
            },
            Resolution::Rejected(rejection) => {
                if let Some(bundle) = subject.bundle() {
                    self.look_ups.touch(bundle);
                }
                self.finish(id, &Answer::Conflict { rejection, row });
            }
            Resolution::Passed => {
                if let Some(bundle) = subject.bundle() {
                    self.look_ups.touch(bundle);
                }
                self.finish(id, &Answer::Superseded { row });
            }
            Resolution::Refused(refusal) => {
                let refused = Answer::Refused(Refused::Log(refusal));
                if let Some(bundle) = subject.bundle() {
                    self.end_look_ups(bundle, &refused);
                }
                self.finish(id, &refused);
            }
        }
    }

    pub(super) fn check_operations(&mut self, bundle: &BundleId) {
        let ids = self
            .operations
            .by_bundle
            .get(bundle)
            .cloned()
            .unwrap_or_default();
        for id in ids {
            self.check_operation(id);
        }
    }

    pub(super) fn check_operation(&mut self, id: OperationId) {
        let Some(Operation {
            subject: Subject::Bundle(bundle, goal),
            accepted: true,
            ..
        }) = self.operations.all.get(&id)
        else {
            return;
        };
        let row = self.table.get(bundle);
        match goal.progress(row) {
            Progress::OnTheWay => {}
            Progress::Complete(position) => {
                // Where the row is gone, the last entry read is what completed it.
                let read = self.table.next().previous();
                let position = if position == Position::ZERO {
                    read
                } else {
                    position
                };
                let owned = row.filter(|row| row.record.state() == State::Owned);
                let fence = owned.map(|row| row.fence);
                self.finish(id, &Answer::Done { position, fence });
            }
            Progress::Superseded => {
                let row = row.cloned();
                self.finish(id, &Answer::Superseded { row });
            }
        }
    }

    /// Ends the waits for a namespace's end.
    pub(super) fn on_fact(&mut self, fact: Option<&Fact>) {
        match fact {
            Some(Fact::NamespaceEnded(namespace)) => {
                let position = self.table.next().previous();
                if let Some(id) = self.operations.find(&Subject::Deleted(namespace.clone())) {
                    self.finish_done(id, position);
                }
                self.look_ups.touch_all();
            }
            Some(Fact::NamespaceMarked(_)) => self.touch_namespaces(),
            Some(Fact::NamespaceCreated(_)) => self.look_ups.touch_all(),
            Some(Fact::LeaderStarted(_) | Fact::RulesRaised(_)) | None => {}
        }
    }

    /// Ends the waits for the ends of namespaces that a jump has passed over.
    pub(super) fn finish_deletions(&mut self) {
        let namespaces = &self.table.facts().namespaces;
        let is_over = |operation: &Operation| {
            matches!(&operation.subject, Subject::Deleted(namespace)
                if operation.accepted && namespaces.get(namespace) != Some(&Phase::BeingDeleted))
        };
        let over = self.operations.all.iter();
        let over: Vec<OperationId> = over
            .filter(|(_, operation)| is_over(operation))
            .map(|(id, _)| *id)
            .collect();
        let position = self.table.next().previous();
        for id in over {
            self.finish_done(id, position);
        }
    }

    /// Ends the waits for what is about no ownership.
    pub(super) fn finish_done(&mut self, id: OperationId, position: Position) {
        let fence = None;
        self.finish(id, &Answer::Done { position, fence });
    }

    pub(super) fn finish(&mut self, id: OperationId, answer: &Answer) {
        for ticket in self.operations.remove(id) {
            self.answer(ticket, answer.clone());
        }
    }

    /// A wait that has lasted long enough ends with what is known.
    pub(super) fn time_out(&mut self, ticket: Ticket) {
        let bundle = match self.operations.leave(ticket) {
            Some(Subject::Drained(broker, _)) => {
                let left = self.left_at(&broker);
                return self.answer(ticket, Answer::NotEmpty { left });
            }
            Some(subject) => subject.bundle().cloned(),
            None => match self.look_ups.leave(ticket) {
                Some(question) => self.bundle_of(&question),
                // It was answered long ago.
                None => return,
            },
        };
        let last_seen = bundle.and_then(|bundle| self.table.get(&bundle).cloned());
        self.answer(ticket, Answer::TimedOut { last_seen });
    }

    /// The session is over: what was asked for may or may not have happened.
    pub(super) fn fail_waiters(&mut self) {
        let mut waiters = self.operations.drain();
        for (ticket, question) in self.look_ups.drain() {
            waiters.push((ticket, self.bundle_of(&question)));
        }
        for (ticket, bundle) in waiters {
            let last_seen = bundle.and_then(|bundle| self.table.get(&bundle).cloned());
            self.answer(ticket, Answer::Unknown { last_seen });
        }
    }
}
