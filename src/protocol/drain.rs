//! Emptying brokers on request: each gives its own away, and whoever asked hears when it is empty.
//!
//! That a session is being emptied is written in the list of members, so that every broker knows
//! it, whoever leads, and nobody but the emptied one itself has to do anything.

use super::answer::{Answer, Refused};
use super::brain::Protocol;
use super::io::Effect;
use super::operations::{OperationId, Subject};
use crate::ids::{BrokerId, BundleId, SessionToken};

impl Protocol {
    /// Has a broker emptied, unless that is under way.
    pub(super) fn drain(
        &mut self,
        broker: BrokerId,
        expected: Option<SessionToken>,
    ) -> Result<OperationId, Refused> {
        let members = self.members.list();
        let Some(session) = members.and_then(|list| list.session_of(&broker)) else {
            return Err(Refused::NotAMember { broker });
        };
        if let Some(expected) = expected.filter(|expected| *expected != session) {
            return Err(Refused::OtherSession {
                broker,
                expected,
                found: session,
            });
        }
        let subject = Subject::Drained(broker, session);
        if let Some(id) = self.operations.find(&subject) {
            return Ok(id);
        }
        let id = self.operations.add(subject, true);
        self.ask_for_drains();
        Ok(id)
    }

    /// Asks the registry for whatever it does not say yet. It answers in the list of members alone,
    /// so that this is asked again with each list that does not say it.
    pub(super) fn ask_for_drains(&mut self) {
        let Some(list) = self.members.list() else {
            return;
        };
        let open = self.operations.drains().map(|(_, _, session)| session);
        let own = self.session.token().filter(|_| self.is_emptied);
        let wanted = open.chain(own).filter(|session| {
            let info = list.sessions().get(session);
            info.is_some_and(|info| !info.draining)
        });
        let wanted: Vec<SessionToken> = wanted.collect();
        for session in wanted {
            self.effects.push(Effect::Drain(session));
        }
    }

    /// Learns from the list of members that somebody wants this broker to be empty. That stays so
    /// in later sessions of this process.
    pub(super) fn follow_drain(&mut self) {
        let (Some(list), Some(own)) = (self.members.list(), self.session.token()) else {
            return;
        };
        let draining = list.sessions().get(&own).is_some_and(|info| info.draining);
        if draining && self.closing.is_none() && !self.is_emptied {
            self.is_emptied = true;
            self.touch_all();
        }
    }

    /// Looks at all brokers again that are being emptied, as far as this one was asked for it.
    pub(super) fn check_drains(&mut self) {
        let open: Vec<_> = self.operations.drains().collect();
        for (id, broker, session) in open {
            self.check_drain(id, &broker, session);
        }
    }

    fn check_drain(&mut self, id: OperationId, broker: &BrokerId, session: SessionToken) {
        let Some(list) = self.members.list() else {
            return;
        };
        let is_marked = match list.sessions().get(&session) {
            Some(info) => info.draining,
            // Another process has the name, and gets bundles.
            None if list.session_of(broker).is_some() => {
                return self.finish(id, &Answer::Superseded { row: None });
            }
            None => true,
        };
        // The list may run ahead of the log as it was read: what the broker got before it was
        // marked is to be seen first.
        let has_read = self.table.next() > list.newest();
        if is_marked && has_read && self.has_nothing(broker) {
            let position = self.table.next().previous();
            self.finish_done(id, position);
        }
    }

    fn has_nothing(&self, broker: &BrokerId) -> bool {
        let mut held = self.table.holders().filter(|held| held.broker == *broker);
        held.all(|holder| self.table.held_by(holder).next().is_none())
            && self.table.destined_to(broker).next().is_none()
    }

    /// What a broker holds or was promised, in order.
    pub(super) fn left_at(&self, broker: &BrokerId) -> Vec<BundleId> {
        let held = self.table.holders().filter(|held| held.broker == *broker);
        let held = held.flat_map(|holder| self.table.held_by(holder));
        let left = held.chain(self.table.destined_to(broker));
        let mut left: Vec<BundleId> = left.map(|(bundle, _)| bundle.clone()).collect();
        left.sort_unstable();
        left.dedup();
        left
    }
}
