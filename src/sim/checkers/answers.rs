//! I6: each question is answered once, and no later than agreed.

use super::Violation;
use crate::clock::Tick;
use crate::ids::BrokerId;
use crate::protocol::Ticket;
use crate::sim::node::NodeId;
use std::collections::BTreeMap;

/// The questions that wait for an answer.
#[derive(Debug, Default)]
pub(in crate::sim) struct Answers {
    open: BTreeMap<Ticket, Open>,
}

#[derive(Debug)]
struct Open {
    node: NodeId,
    /// The true moment by which it is answered.
    due: Tick,
}

impl Answers {
    pub(in crate::sim) fn asked(&mut self, ticket: Ticket, node: NodeId, due: Tick) {
        self.open.insert(ticket, Open { node, due });
    }

    pub(in crate::sim) fn answered(
        &mut self,
        broker: &BrokerId,
        ticket: Ticket,
    ) -> Result<(), Violation> {
        match self.open.remove(&ticket) {
            Some(_) => Ok(()),
            None => Err(Violation::AnsweredAgain {
                ticket,
                broker: broker.clone(),
            }),
        }
    }

    /// The process goes on after a pause: what was due meanwhile is due now.
    pub(in crate::sim) fn resumed(&mut self, node: NodeId, now: Tick) {
        for open in self.open.values_mut().filter(|open| open.node == node) {
            open.due = open.due.max(now);
        }
    }

    /// The process is gone, and whoever asked it knows.
    pub(in crate::sim) fn ended(&mut self, node: NodeId) -> Vec<Ticket> {
        let lost = self.open.iter().filter(|(_, open)| open.node == node);
        let lost: Vec<Ticket> = lost.map(|(ticket, _)| *ticket).collect();
        for ticket in &lost {
            self.open.remove(ticket);
        }
        lost
    }

    /// The oldest question without an answer.
    pub(in crate::sim) fn first_open(&self) -> Option<(Ticket, NodeId, Tick)> {
        let (ticket, open) = self.open.first_key_value()?;
        Some((*ticket, open.node, open.due))
    }

    pub(in crate::sim) fn open_count(&self) -> usize {
        self.open.len()
    }

    /// The first question that is overdue at a process that runs.
    pub(in crate::sim) fn check<'a>(
        &self,
        now: Tick,
        running: impl Fn(NodeId) -> Option<&'a BrokerId>,
    ) -> Result<(), Violation> {
        let mut overdue = self.open.iter().filter(|(_, open)| open.due < now);
        match overdue.find_map(|(ticket, open)| Some((*ticket, running(open.node)?, open.due))) {
            Some((ticket, broker, due)) => Err(Violation::StillWaiting {
                ticket,
                broker: broker.clone(),
                due,
            }),
            None => Ok(()),
        }
    }
}
