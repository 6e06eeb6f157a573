//! Look-ups: who serves a bundle or a key, now or as soon as that is known.
//!
//! A look-up that has to wait is looked at again at each change of its bundle's row and of the
//! members. It never waits for another look-up: what it needs to happen, it sets going itself.

use super::answer::{Answer, Refused};
use super::brain::Protocol;
use super::io::Ticket;
use crate::ids::{BrokerId, BundleId, Namespace};
use crate::log::Members;
use crate::state::{Phase, Record, Row, View};
use std::collections::{BTreeMap, BTreeSet};

/// What a look-up asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Owner(BundleId),
    Locate(Namespace, u32),
}

/// The look-ups that wait.
#[derive(Debug, Default)]
pub(super) struct LookUps {
    waiting: BTreeMap<Ticket, (Question, Option<BundleId>)>,
    by_bundle: BTreeMap<BundleId, BTreeSet<Ticket>>,
    touched: BTreeSet<BundleId>,
}

impl LookUps {
    pub(super) fn touch(&mut self, bundle: &BundleId) {
        if self.by_bundle.contains_key(bundle) {
            self.touched.insert(bundle.clone());
        }
    }

    pub(super) fn touch_all(&mut self) {
        self.touched.extend(self.by_bundle.keys().cloned());
    }

    pub(super) fn next_touched(&mut self) -> Option<BundleId> {
        self.touched.pop_first()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn wait(&mut self, ticket: Ticket, question: Question, bundle: Option<BundleId>) {
        if let Some(bundle) = &bundle {
            self.by_bundle
                .entry(bundle.clone())
                .or_default()
                .insert(ticket);
        }
        self.waiting.insert(ticket, (question, bundle));
    }

    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Question> {
        let (question, bundle) = self.waiting.remove(&ticket)?;
        if let Some(bundle) = bundle
            && let Some(tickets) = self.by_bundle.get_mut(&bundle)
        {
            tickets.remove(&ticket);
            if tickets.is_empty() {
                self.by_bundle.remove(&bundle);
            }
        }
        Some(question)
    }

    /// Takes out all that wait for a bundle.
    fn take_waiting(&mut self, bundle: &BundleId) -> Vec<(Ticket, Question)> {
        let tickets = self.by_bundle.get(bundle).cloned().unwrap_or_default();
        let taken = tickets.into_iter();
        taken
            .filter_map(|ticket| Some((ticket, self.leave(ticket)?)))
            .collect()
    }

    pub(super) fn drain(&mut self) -> Vec<(Ticket, Question)> {
        let all = std::mem::take(self).waiting;
        all.into_iter()
            .map(|(ticket, (question, _))| (ticket, question))
            .collect()
    }
}

impl Protocol {
    pub(super) fn begin_look_up(&mut self, ticket: Ticket, question: Question) {
        self.ledger.begin_look_up(ticket);
        self.look_up(ticket, question);
        self.ledger.count_if_deferred(ticket);
    }

    fn look_up(&mut self, ticket: Ticket, question: Question) {
        match self.try_answer(&question) {
            Some(answer) => self.answer(ticket, answer),
            None => {
                let bundle = self.bundle_of(&question);
                self.look_ups.wait(ticket, question, bundle);
            }
        }
    }

    /// Who serves a bundle, if a look-up would be answered with a broker at once. Reads alone: many
    /// may ask this beside each other.
    #[must_use]
    pub fn served_now(&self, bundle: &BundleId) -> Option<Answer> {
        if self.closing.is_some() || !self.reads() || !self.caught_up {
            return None;
        }
        let answer = self.server_of(bundle, self.table.get(bundle)?)?;
        matches!(answer, Answer::Served { .. }).then_some(answer)
    }

    pub(super) fn check_look_ups(&mut self, bundle: &BundleId) {
        for (ticket, question) in self.look_ups.take_waiting(bundle) {
            self.look_up(ticket, question);
        }
    }

    /// What the look-ups of a bundle wait for cannot be had now.
    pub(super) fn end_look_ups(&mut self, bundle: &BundleId, answer: &Answer) {
        for (ticket, _) in self.look_ups.take_waiting(bundle) {
            self.answer(ticket, answer.clone());
        }
    }

    /// The bundle that a question is about now.
    pub(super) fn bundle_of(&self, question: &Question) -> Option<BundleId> {
        match question {
            Question::Owner(bundle) => Some(bundle.clone()),
            Question::Locate(namespace, key) => self
                .table
                .at_key(namespace, *key)
                .map(|(bundle, _)| bundle.clone()),
        }
    }

    /// The answer, or none while it has to be waited for.
    fn try_answer(&mut self, question: &Question) -> Option<Answer> {
        if !self.reads() {
            return Some(Answer::Unknown { last_seen: None });
        }
        if !self.caught_up {
            return Some(Answer::Refused(Refused::NotReady));
        }
        match question {
            Question::Owner(bundle) => match self.table.get(bundle) {
                Some(row) if row.record != Record::Deleted => self.server_of(bundle, row),
                _ => {
                    let covering = self.table.covering(bundle);
                    Some(Answer::Refused(Refused::Absent {
                        bundle: bundle.clone(),
                        covering,
                    }))
                }
            },
            Question::Locate(namespace, key) => {
                let Some((bundle, row)) = self.table.at_key(namespace, *key) else {
                    let namespace = namespace.clone();
                    return Some(Answer::Refused(Refused::UnknownNamespace { namespace }));
                };
                let bundle = bundle.clone();
                match self.server_of(&bundle, row) {
                    Some(Answer::Nobody { .. }) => self.assign_for_look_up(bundle),
                    answer => answer,
                }
            }
        }
    }

    /// Who serves the bundle as its row says; none while that has to be waited for. A broker is
    /// named only if it lives: otherwise the leader's word is waited for.
    fn server_of(&self, bundle: &BundleId, row: &Row) -> Option<Answer> {
        let members = self.members.list()?;
        let served = |broker: &BrokerId| {
            Some(Answer::Served {
                bundle: bundle.clone(),
                broker: broker.clone(),
            })
        };
        let alive = |broker: &BrokerId| members.session_of(broker).is_some();
        match &row.record {
            Record::Owned { owner: server }
            | Record::Splitting {
                source: Some(server),
                ..
            } => {
                if members.is_alive(server.session) {
                    served(&server.broker)
                } else {
                    None
                }
            }
            // The broker itself answers once it owns it: until then it would send the client away.
            Record::Assigning { destination } => {
                if *destination != self.me && alive(destination) {
                    served(destination)
                } else {
                    None
                }
            }
            Record::Releasing {
                destination: Some(destination),
                ..
            } => {
                if alive(destination) {
                    served(destination)
                } else {
                    None
                }
            }
            Record::Splitting { source: None, .. } => None,
            Record::Free
            | Record::Releasing {
                destination: None, ..
            }
            | Record::Deleted => Some(Answer::Nobody {
                bundle: bundle.clone(),
            }),
        }
    }

    /// Nobody serves the bundle that a look-up needs: have it assigned, once however many ask, and
    /// wait.
    fn assign_for_look_up(&mut self, bundle: BundleId) -> Option<Answer> {
        let free = self
            .table
            .get(&bundle)
            .is_some_and(|row| row.record == Record::Free);
        if !free {
            return None;
        }
        if self.table.facts().namespaces.get(bundle.namespace()) != Some(&Phase::Live) {
            return Some(Answer::Nobody { bundle });
        }
        if self.closing.is_some() {
            return Some(Answer::Refused(Refused::Leaving));
        }
        if !self.is_ready(self.now) {
            return Some(Answer::Refused(Refused::NotReady));
        }
        match self.begin_assignment(&bundle) {
            Ok(()) => None,
            Err(refused) => Some(Answer::Refused(refused)),
        }
    }

    /// Looks at everything again that waits for a broker to be alive.
    pub(super) fn on_members_changed(&mut self) {
        self.look_ups.touch_all();
    }
}

/// Whether a broker may get bundles: it lives and is not about to leave.
pub(super) fn is_destination(members: &Members, broker: &BrokerId) -> bool {
    let mut sessions = members.sessions().values();
    sessions.any(|info| info.broker == *broker && !info.draining)
}
