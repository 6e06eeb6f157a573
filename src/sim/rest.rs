//! The end of a run: once nothing goes wrong any more, everything must come to rest.

use super::checkers::Violation;
use super::cluster::Cluster;
use super::failure::Failure;
use super::node::{Life, NodeId};
use crate::ids::Holder;
use crate::state::{Phase, State};

impl Cluster {
    /// Ends the faults and the work, waits as long as everything may take, and checks that all of
    /// it has come to rest: each bundle of a namespace is owned by a living broker or free,
    /// nothing is in flight, nobody waits, somebody leads, and hooks agree with the table.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the first thing that has not.
    pub fn come_to_rest(&mut self) -> Result<(), Box<Failure>> {
        self.end_workload();
        self.end_faults();
        self.advance(self.rest_bound())?;
        self.check_rest()
            .map_err(|violation| Box::new(self.failure(violation)))
    }

    fn check_rest(&self) -> Result<(), Violation> {
        let table = self.table();
        let nobody_runs = self.running_brokers().next().is_none();
        for (bundle, row) in table.rows() {
            let alive = |holder: &Holder| {
                self.members().is_alive(holder.session) && self.running(&holder.broker).is_some()
            };
            let at_rest = match row.record.state() {
                _ if nobody_runs => true,
                State::Owned => row.record.holder().is_some_and(alive),
                State::Free | State::Deleted => true,
                _ => false,
            };
            if !at_rest {
                return Err(Violation::NotAtRest {
                    bundle: bundle.clone(),
                    row: row.clone(),
                });
            }
        }
        let running = || {
            let nodes = self.nodes.iter().enumerate();
            nodes.filter(|(_, node)| node.life == Life::Running)
        };
        if running().next().is_none() {
            return Ok(());
        }
        self.check_emptied()?;
        let mut namespaces = table.facts().namespaces.iter();
        if let Some((name, _)) = namespaces.find(|(_, phase)| **phase == Phase::BeingDeleted) {
            return Err(Violation::NotDeleted(name.clone()));
        }
        if self.members().leader().is_none() {
            return Err(Violation::NobodyLeads);
        }
        for (index, node) in running() {
            self.history
                .fold
                .check(&node.broker, node.protocol.table())?;
            self.hooks.check_at_rest(NodeId(index), &node.protocol)?;
        }
        match self.answers.first_open() {
            Some((ticket, id, due)) => Err(Violation::StillWaiting {
                ticket,
                broker: self.node(id).broker.clone(),
                due,
            }),
            None => Ok(()),
        }
    }

    /// Whoever was to be empty is.
    fn check_emptied(&self) -> Result<(), Violation> {
        let table = self.table();
        let sessions = self.members().sessions().iter();
        for (session, info) in sessions.filter(|(_, info)| info.draining) {
            let holder = Holder::new(info.broker.clone(), *session);
            let mut left = table
                .held_by(&holder)
                .chain(table.destined_to(&info.broker));
            if let Some((bundle, row)) = left.next() {
                return Err(Violation::NotAtRest {
                    bundle: bundle.clone(),
                    row: row.clone(),
                });
            }
        }
        Ok(())
    }
}
