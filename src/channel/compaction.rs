//! The leader keeps the log short while it leads.

use super::events;
use crate::clock::Tick;
use crate::compactor::{self, Compactor, Counters, End, Policy, Report};
use crate::ids::{Epoch, Position};
use crate::log::EventLog;
use crate::pending::Pending;
use std::sync::Arc;

/// Asks for compaction by policy, one attempt at a time, while this broker leads.
#[derive(Debug)]
pub(super) struct Compaction {
    log: Arc<dyn EventLog>,
    policy: Policy,
    /// Started when this broker leads for the first time.
    compactor: Option<Compactor>,
    under_way: Option<Pending<Result<Report, compactor::Error>>>,
    /// The horizon of the newest snapshot, as far as this leader knows.
    horizon: Position,
    snapshot_rows: u64,
    last_attempt: Option<Tick>,
}

/// What is looked at to decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// The epoch, while this broker leads.
    pub(super) epoch: Option<Epoch>,
    /// The next position to read.
    pub(super) next: Position,
    /// Rows in the table.
    pub(super) rows: u64,
}

impl Compaction {
    pub(super) fn new(log: Arc<dyn EventLog>, policy: Policy) -> Self {
        Self {
            log,
            policy,
            compactor: None,
            under_way: None,
            horizon: Position::ZERO.next(),
            snapshot_rows: 0,
            last_attempt: None,
        }
    }

    /// Looks whether it is time, and takes in what became of the last attempt.
    ///
    /// A failed attempt leaves nothing behind and is made again when the policy says so; damage is
    /// found and told by whoever reads the log.
    pub(super) fn check(&mut self, now: Tick, standing: Standing) {
        if let Some(answer) = self.under_way.as_ref().and_then(Pending::get) {
            self.under_way = None;
            self.last_attempt = Some(now);
            let answer = answer.ok();
            if let Some(result) = &answer {
                events::compacted(result);
            }
            if let Some(Ok(report)) = answer {
                self.horizon = report.horizon_after;
                self.snapshot_rows = report.rows_after;
            }
        }
        let Some(epoch) = standing.epoch else {
            // The next leader counts for itself.
            self.last_attempt = None;
            return;
        };
        let counters = Counters {
            entries: standing.next.get().saturating_sub(self.horizon.get()),
            bytes: None,
            snapshot_rows: self.snapshot_rows,
            rows: standing.rows,
            last_attempt: *self.last_attempt.get_or_insert(now),
        };
        if self.under_way.is_none() && self.policy.due(&counters, now).is_some() {
            self.request(epoch);
        }
    }

    fn request(&mut self, epoch: Epoch) {
        if self.compactor.is_none() {
            let log = Arc::clone(&self.log);
            // Without a thread for it the log grows; the next turn tries again.
            self.compactor = Compactor::start(log, compactor::Config::default()).ok();
        }
        let compactor = self.compactor.as_ref();
        self.under_way = compactor.map(|compactor| compactor.request(epoch, End::CaughtUp));
    }
}
