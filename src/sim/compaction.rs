//! The leader's compaction: the real machine, one step at a time, with everything else going on in
//! between.

use super::checkers::Violation;
use super::cluster::Cluster;
use super::dice::Span;
use super::event::Event;
use super::node::{Life, NodeId};
use crate::compactor::{Attempt, Config, End, Error, Progress, Report};
use crate::ids::Position;
use crate::log::{EventLog, ReadError, SnapshotError};
use crate::snapshot;
use crate::table::{Feed, FeedItem};
use std::sync::Arc;
use std::time::Duration;

/// How long one step of an attempt takes.
const STEP: Span = Span::millis(1, 200);

/// So few items in a step that an attempt is long under way.
const STEP_ITEMS: usize = 16;

impl Cluster {
    /// Compacts the log in the leader's name, now and in no time; none if nobody leads.
    ///
    /// # Errors
    ///
    /// [`Error`] if the log is not compacted.
    pub fn compact_now(&mut self) -> Option<Result<Report, Error>> {
        let attempt = self.begin_attempt(self.leader()?)?;
        let result = attempt.run();
        self.check_horizon();
        Some(result)
    }

    /// The process that leads, as far as it knows.
    fn leader(&self) -> Option<NodeId> {
        let mut nodes = self.nodes.iter();
        let leads = |node: &super::node::Node| {
            node.life == Life::Running && node.protocol.epoch().is_some()
        };
        nodes.position(leads).map(NodeId)
    }

    fn begin_attempt(&self, id: NodeId) -> Option<Attempt> {
        let epoch = self.node(id).protocol.epoch()?;
        let config = Config {
            step_items: STEP_ITEMS,
            ..Config::default()
        };
        let log: Arc<dyn EventLog> = self.log.clone();
        Some(Attempt::new(log, epoch, End::CaughtUp, config))
    }

    /// Whoever leads begins to compact, and later again.
    pub(super) fn compact(&mut self) {
        let Some(every) = self.compactions else {
            return;
        };
        let again = self.dice.between(every);
        self.world.schedule(again, Event::Compact);
        if let Some(id) = self.leader()
            && let Some(attempt) = self.begin_attempt(id)
        {
            self.say(id, format_args!("begins to compact"));
            self.world
                .schedule(Duration::ZERO, Event::CompactStep(id, Box::new(attempt)));
        }
    }

    /// A step of an attempt. One of a process that stands still goes on with it, however late; one
    /// of a process that is gone is gone.
    pub(super) fn compact_step(&mut self, id: NodeId, mut attempt: Box<Attempt>) {
        let delay = self.dice.between(STEP);
        match self.node(id).life {
            Life::Ended => return,
            Life::Paused => return self.world.schedule(delay, Event::CompactStep(id, attempt)),
            Life::Running => {}
        }
        let result = attempt.step(Duration::ZERO);
        self.check_horizon();
        match result {
            Ok(Progress::Done(report)) => {
                let (from, to) = (report.horizon_before, report.horizon_after);
                self.say(id, format_args!("has compacted from {from} to {to}"));
            }
            Ok(_) => self.world.schedule(delay, Event::CompactStep(id, attempt)),
            // Somebody else was faster, or leads now: that is what fences are for.
            Err(
                Error::Publish(SnapshotError::Stale { .. } | SnapshotError::Fenced)
                | Error::Write(snapshot::Error::Log(
                    SnapshotError::Stale { .. } | SnapshotError::Fenced,
                )),
            ) => self.say(id, format_args!("compacts too late")),
            Err(error) => self.note(Err(error.into())),
        }
    }

    /// The horizon never moves back, nothing above it is gone (I10), and the snapshot is the fold
    /// of what it stands for (I1).
    fn check_horizon(&mut self) {
        let result = self.look_at_horizon();
        self.note(result);
    }

    fn look_at_horizon(&mut self) -> Result<(), Violation> {
        let source = self.log.snapshot()?;
        let horizon = source.map_or(Position::ZERO, |source| source.horizon());
        let first = match self.log.tail(Position::ZERO.next()) {
            Err(ReadError::Trimmed { horizon }) => horizon,
            Err(error) => return Err(error.into()),
            Ok(_) => Position::ZERO,
        };
        self.horizon.check(horizon, first)?;
        if !self.horizon.is_new(horizon) {
            return Ok(());
        }
        let log: Arc<dyn EventLog> = self.log.clone();
        match Feed::new(log, Position::ZERO.next()).poll()? {
            Some(FeedItem::Jump(table)) => self.history.fold.check_snapshot(&table),
            _ => Ok(()),
        }
    }
}
