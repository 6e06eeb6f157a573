//! What can be seen of a cluster from outside.

use super::cluster::Cluster;
use super::node::Life;
use super::trace::Trace;
use crate::ids::{BrokerId, BundleId, Fence, Position};
use crate::log::{MemberLog, Members};
use crate::protocol::{CloseReport, Protocol};
use crate::table::Table;
use std::sync::Arc;

impl Cluster {
    /// Ownership as the whole log says it is.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.history.table
    }

    /// The members as the log says they are.
    #[must_use]
    pub fn members(&self) -> &Members {
        &self.history.members
    }

    /// The log that all brokers share.
    #[must_use]
    pub fn log(&self) -> &Arc<dyn MemberLog> {
        &self.log
    }

    /// The next position that will be written.
    #[must_use]
    pub fn end(&self) -> Position {
        self.history.table.next()
    }

    /// A broker's brain, if it runs.
    #[must_use]
    pub fn protocol(&self, broker: &BrokerId) -> Option<&Protocol> {
        self.running(broker).map(|id| &self.node(id).protocol)
    }

    /// The brokers that run, in order.
    pub fn running_brokers(&self) -> impl Iterator<Item = &BrokerId> {
        self.brokers
            .iter()
            .filter(|(_, id)| self.node(**id).life == Life::Running)
            .map(|(broker, _)| broker)
    }

    /// Whether a broker says "mine" now, and with which fence.
    #[must_use]
    pub fn is_mine(&self, broker: &BrokerId, bundle: &BundleId) -> Option<Fence> {
        let id = self.running(broker)?;
        self.node(id).is_mine(self.now(), bundle)
    }

    /// How the broker's last process that closed in order ended.
    #[must_use]
    pub fn close_report(&self, broker: &BrokerId) -> Option<&CloseReport> {
        let id = self.brokers.get(broker)?;
        self.node(*id).closed.as_ref()
    }

    /// What happened.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// How many events there were.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.event_count
    }

    /// How many writes of owners storage took, and how many of former owners it refused.
    #[must_use]
    pub fn writes(&self) -> (u64, u64) {
        (self.store.written, self.store.refused)
    }
}
