//! Commands: checked before anything is written, then handed to the operations under way.

use super::answer::{Answer, Refused};
use super::appends::Purpose;
use super::brain::Protocol;
use super::io::{Action, Request, Ticket};
use super::lookups::Question;
use super::operations::{Goal, OperationId, Subject};
use super::ownership::releasing;
use super::timers::Timer;
use crate::clock::Tick;
use crate::ids::{BundleId, Cuts, Namespace, Position};
use crate::state::{Body, Change, Phase, Record, Row, View};

/// What a checked command comes to.
enum Plan {
    /// Write this, then follow the goal.
    Write(Record, Goal),
    /// It is under way already: follow the goal.
    Follow(Goal),
}

impl Protocol {
    pub(super) fn on_request(&mut self, ticket: Ticket, request: Request, deadline: Option<Tick>) {
        let refused =
            if self.operations.waiting() + self.look_ups.waiting() >= self.config.waiting_max {
                Some(Refused::TooMany)
            } else {
                None
            };
        let limit = match &request {
            Request::Owner { .. } | Request::Locate { .. } => self.config.lookup_limit,
            _ => self.config.command_limit,
        };
        let deadline = deadline.unwrap_or_else(|| self.now.after(limit));
        let outcome = match (refused, request) {
            (Some(refused), _) => Err(refused),
            (None, Request::Owner { bundle }) => {
                self.begin_look_up(ticket, Question::Owner(bundle));
                Ok(())
            }
            (None, Request::Locate { namespace, key }) => {
                self.begin_look_up(ticket, Question::Locate(namespace, key));
                Ok(())
            }
            (None, request) => self.command(ticket, request),
        };
        match outcome {
            Ok(()) => self.timers.set(deadline, Timer::Deadline(ticket)),
            Err(refused) => self.answer(ticket, Answer::Refused(refused)),
        }
    }

    fn command(&mut self, ticket: Ticket, request: Request) -> Result<(), Refused> {
        if self.closing.is_some() {
            return Err(Refused::Leaving);
        }
        if !self.is_ready(self.now) {
            return Err(Refused::NotReady);
        }
        let id = match request {
            Request::CreateNamespace {
                namespace,
                cuts,
                expected,
            } => {
                self.check_namespace(&namespace, expected)?;
                self.create(namespace, cuts)
            }
            Request::DeleteNamespace {
                namespace,
                expected,
            } => {
                self.check_namespace(&namespace, expected)?;
                self.delete(namespace)?
            }
            Request::Drain { broker, expected } => self.drain(broker, expected)?,
            Request::Bundle {
                bundle,
                expected,
                action,
            } => self.change_bundle(&bundle, expected, action)?,
            // Look-ups do not come here.
            Request::Owner { .. } | Request::Locate { .. } => return Ok(()),
        };
        self.operations.join(id, ticket);
        self.check_operation(id);
        self.check_drains();
        Ok(())
    }

    fn check_namespace(
        &self,
        namespace: &Namespace,
        expected: Option<Position>,
    ) -> Result<(), Refused> {
        let found = self.version_of(namespace);
        match expected {
            Some(expected) if expected != found => Err(Refused::StaleNamespace {
                namespace: namespace.clone(),
                expected,
                found,
            }),
            _ => Ok(()),
        }
    }

    /// The version of a namespace: that of its bundle that changed last, [`Position::ZERO`] if it
    /// is absent.
    #[must_use]
    pub fn version_of(&self, namespace: &Namespace) -> Position {
        let versions = self.table.rows_of(namespace).map(|(_, row)| row.version);
        versions.max().unwrap_or_default()
    }

    fn create(&mut self, namespace: Namespace, cuts: Option<Cuts>) -> OperationId {
        let id = self
            .operations
            .add(Subject::Created(namespace.clone()), false);
        let applied = self.table.next().previous();
        let body = Body::CreateNamespace {
            namespace,
            cuts,
            applied,
        };
        self.append(body, None, Purpose::Operation(id));
        id
    }

    fn delete(&mut self, namespace: Namespace) -> Result<OperationId, Refused> {
        let subject = Subject::Deleted(namespace.clone());
        if let Some(id) = self.operations.find(&subject) {
            return Ok(id);
        }
        match self.table.facts().namespaces.get(&namespace) {
            None => Err(Refused::UnknownNamespace { namespace }),
            Some(Phase::BeingDeleted) => Ok(self.operations.add(subject, true)),
            Some(Phase::Live) => {
                let id = self.operations.add(subject, false);
                let applied = self.table.next().previous();
                let body = Body::DeleteNamespace { namespace, applied };
                self.append(body, None, Purpose::Operation(id));
                Ok(id)
            }
        }
    }

    fn change_bundle(
        &mut self,
        bundle: &BundleId,
        expected: Option<Position>,
        action: Action,
    ) -> Result<OperationId, Refused> {
        let Some(row) = self.table.get(bundle).cloned() else {
            let covering = self.table.covering(bundle);
            return Err(Refused::Absent {
                bundle: bundle.clone(),
                covering,
            });
        };
        if let Some(expected) = expected.filter(|expected| *expected != row.version) {
            let found = row.version;
            return Err(Refused::StaleVersion {
                bundle: bundle.clone(),
                expected,
                found,
            });
        }
        let (goal, next) = match self.plan(bundle, &row, action)? {
            Plan::Write(next, goal) => (goal, Some(next)),
            Plan::Follow(goal) => (goal, None),
        };
        if let Some(id) = self.operations.find_of_bundle(bundle, &goal) {
            return Ok(id);
        }
        let id = self
            .operations
            .add(Subject::Bundle(bundle.clone(), goal), next.is_none());
        if let Some(next) = next {
            let change = Change {
                bundle: bundle.clone(),
                expected: row.version,
                next: Some(next),
            };
            self.append(Body::Changes(vec![change]), None, Purpose::Operation(id));
        }
        Ok(id)
    }

    /// Checks a command against the row: what is to be written, or that it is under way already.
    fn plan(&mut self, bundle: &BundleId, row: &Row, action: Action) -> Result<Plan, Refused> {
        let wrong_state = || Refused::WrongState {
            bundle: bundle.clone(),
            state: row.record.state(),
        };
        match (action, &row.record) {
            (Action::Assign { destination }, Record::Free) => {
                let destination = match destination {
                    Some(destination) => self.check_destination(destination)?,
                    None => self.place(bundle, None).ok_or(Refused::NoDestination)?,
                };
                let next = Record::Assigning {
                    destination: destination.clone(),
                };
                Ok(Plan::Write(next, Goal::OwnedBy(destination)))
            }
            (
                Action::Assign {
                    destination: wanted,
                },
                Record::Assigning { destination },
            ) if wanted.as_ref().is_none_or(|wanted| wanted == destination) => {
                Ok(Plan::Follow(Goal::OwnedBy(destination.clone())))
            }
            (Action::Transfer { destination }, Record::Owned { owner }) => {
                if owner.broker == destination {
                    return Err(Refused::OwnerAlready {
                        broker: destination,
                    });
                }
                let destination = self.check_destination(destination)?;
                let next = releasing(row, Some(destination.clone()));
                Ok(Plan::Write(next, Goal::OwnedBy(destination)))
            }
            (
                Action::Transfer {
                    destination: wanted,
                },
                record,
            ) if record.destination() == Some(&wanted) => Ok(Plan::Follow(Goal::OwnedBy(wanted))),
            (Action::Unload, Record::Owned { .. }) => {
                Ok(Plan::Write(releasing(row, None), Goal::Unloaded))
            }
            (
                Action::Unload,
                Record::Releasing {
                    destination: None, ..
                },
            ) => Ok(Plan::Follow(Goal::Unloaded)),
            (Action::Split { cuts }, Record::Owned { owner }) => {
                if !cuts.divide(bundle.range()) {
                    return Err(Refused::NotAPartition {
                        bundle: bundle.clone(),
                    });
                }
                let next = Record::Splitting {
                    source: Some(owner.clone()),
                    cuts: cuts.clone(),
                };
                Ok(Plan::Write(next, Goal::Divided(cuts)))
            }
            (Action::Split { cuts }, Record::Splitting { cuts: chosen, .. }) if cuts == *chosen => {
                Ok(Plan::Follow(Goal::Divided(cuts)))
            }
            _ => Err(wrong_state()),
        }
    }

    /// Has a free bundle assigned by placement, unless that is under way.
    pub(super) fn begin_assignment(&mut self, bundle: &BundleId) -> Result<(), Refused> {
        if self.operations.is_assigning(bundle) {
            return Ok(());
        }
        let action = Action::Assign { destination: None };
        self.change_bundle(bundle, None, action).map(|_| ())
    }
}
