//! Logs that fail: what is not understood, out of reach or incomplete is not compacted away.

use crate::cluster::{Cluster, smallest_steps};
use crate::support::at;
use deedbook::compactor::{Attempt, End, Error};
use deedbook::ids::{Epoch, LogId, Position};
use deedbook::log::{
    Append, AppendResult, EventLog, Limits, MemoryLog, ReadError, SnapshotError, SnapshotSink,
    SnapshotSource, Tail, TailItem, TrimError, codec,
};
use deedbook::pending::Pending;
use deedbook::state::Body;
use deedbook::table::{self, Reader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A log with something wrong with it.
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: MemoryLog,
    fault: Fault,
    /// Whether it is wrong now.
    broken: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Undecodable(Position),
    NoSnapshot,
    NoTrim,
    /// No block of a snapshot is taken.
    NoWrite,
    /// No tail is given.
    Unreadable,
    Panic,
}

impl Faulty {
    pub(crate) fn new(inner: &MemoryLog, fault: Fault) -> Arc<Self> {
        Arc::new(Self {
            inner: inner.clone(),
            fault,
            broken: AtomicBool::new(true),
        })
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault && self.broken.load(Ordering::SeqCst)
    }

    pub(crate) fn repair(&self) {
        self.broken.store(false, Ordering::SeqCst);
    }
}

impl EventLog for Faulty {
    fn id(&self) -> LogId {
        self.inner.id()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn append(&self, append: Append) -> Pending<AppendResult> {
        self.inner.append(append)
    }

    fn tail(&self, from: Position) -> Result<Box<dyn Tail>, ReadError> {
        assert!(!self.has(Fault::Panic), "a bug of an engine");
        if self.has(Fault::Unreadable) {
            return Err(ReadError::Closed);
        }
        let inner = self.inner.tail(from)?;
        Ok(match self.fault {
            Fault::Undecodable(position) => Box::new(FaultyTail { inner, position }),
            _ => inner,
        })
    }

    fn snapshot(&self) -> Result<Option<Box<dyn SnapshotSource>>, SnapshotError> {
        if self.has(Fault::NoSnapshot) {
            return Ok(None);
        }
        self.inner.snapshot()
    }

    fn put_snapshot(
        &self,
        horizon: Position,
        epoch: Epoch,
    ) -> Result<Box<dyn SnapshotSink>, SnapshotError> {
        let inner = self.inner.put_snapshot(horizon, epoch)?;
        if self.has(Fault::NoWrite) {
            return Ok(Box::new(FullSink));
        }
        Ok(inner)
    }

    fn trim(&self, horizon: Position) -> Result<(), TrimError> {
        if self.has(Fault::NoTrim) {
            return Err(TrimError::Closed);
        }
        self.inner.trim(horizon)
    }
}

/// Takes no block.
#[derive(Debug)]
struct FullSink;

impl SnapshotSink for FullSink {
    fn write_block(&mut self, _: &[u8]) -> Result<(), SnapshotError> {
        Err(SnapshotError::Closed)
    }

    fn commit(self: Box<Self>) -> Result<(), SnapshotError> {
        panic!("there is nothing to commit")
    }
}

#[derive(Debug)]
struct FaultyTail {
    inner: Box<dyn Tail>,
    position: Position,
}

impl FaultyTail {
    fn check(&self, item: Option<TailItem>) -> Result<Option<TailItem>, ReadError> {
        match item {
            Some(TailItem::Payload { position, .. }) if position >= self.position => {
                Err(ReadError::Codec {
                    position: self.position,
                    source: codec::Error::Malformed,
                })
            }
            item => Ok(item),
        }
    }
}

impl Tail for FaultyTail {
    fn poll(&mut self) -> Result<Option<TailItem>, ReadError> {
        let item = self.inner.poll()?;
        self.check(item)
    }

    fn next(&mut self, limit: Duration) -> Result<Option<TailItem>, ReadError> {
        let item = self.inner.next(limit)?;
        self.check(item)
    }

    fn live_at(&self) -> deedbook::clock::Tick {
        self.inner.live_at()
    }
}

fn attempt(log: Arc<Faulty>, cluster: &Cluster) -> Attempt {
    Attempt::new(log, cluster.epoch, End::CaughtUp, smallest_steps())
}

/// E4: what was not understood is not compacted away.
#[test]
fn a_log_with_an_entry_that_cannot_be_decoded_is_not_compacted() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let snapshot = cluster.compact().horizon_after;
    cluster.create("t/lost", 1);
    cluster.create("t/later", 1);
    let fault = Fault::Undecodable(snapshot);
    let mut attempt = attempt(Faulty::new(&cluster.log, fault), &cluster);
    let expected = Error::Replay(table::Error::Log(ReadError::Codec {
        position: snapshot,
        source: codec::Error::Malformed,
    }));
    let mut step = || loop {
        if let Err(error) = attempt.step(Duration::ZERO) {
            return error;
        }
    };
    assert_eq!(step(), expected);
    assert_eq!(step(), expected, "an attempt that failed does not go on");
    assert_eq!(cluster.horizon(), snapshot);
    assert_eq!(cluster.first_retained(), snapshot);
    cluster.check_snapshot();
}

#[test]
fn a_log_with_newer_rules_is_not_compacted() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    // Beside the cluster's own table, which would not take it either.
    let raise = deedbook::state::Entry {
        author: crate::support::holder("a1"),
        counter: 1_000,
        epoch: Some(cluster.epoch),
        body: Body::RaiseRules { version: 2 },
    };
    let append = Append {
        entry: Arc::new(raise),
        guard: deedbook::log::Guard::None,
    };
    cluster.log.append(append).wait().unwrap().unwrap();
    let newer = table::Error::NewerRules {
        version: 2,
        known: 1,
    };
    assert_eq!(cluster.attempt().run(), Err(Error::Replay(newer)));
    assert_eq!(cluster.horizon(), at(0));
    assert_eq!(cluster.first_retained(), at(1));
}

/// E5: what follows the newest snapshot is gone: nobody may go on as if it had never been.
#[test]
fn a_hole_between_snapshot_and_log_is_an_error() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let trimmed = cluster.compact().horizon_after;
    cluster.create("t/later", 1);
    let log = Faulty::new(&cluster.log, Fault::NoSnapshot);
    let behind = table::Error::SnapshotBehind {
        horizon: at(1),
        trimmed,
    };
    let mut reader = Reader::new(log.clone());
    assert_eq!(reader.poll(), Err(behind.clone()));
    let message = behind.to_string();
    assert!(
        message.contains("everything below 6 was trimmed"),
        "{message}"
    );
    assert!(message.contains("no snapshot leads beyond 1"), "{message}");
    assert_eq!(
        attempt(log.clone(), &cluster).run(),
        Err(Error::Replay(behind))
    );
    // Once it is restored, the same reader goes on.
    log.repair();
    while reader.poll().unwrap().is_some() {}
    crate::cluster::assert_same(reader.table(), &cluster.table);
}

#[test]
fn a_snapshot_is_published_even_if_trimming_fails_and_is_made_up_for() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let log = Faulty::new(&cluster.log, Fault::NoTrim);
    let failed = attempt(log.clone(), &cluster).run();
    let horizon = cluster.table.next();
    let source = TrimError::Closed;
    assert_eq!(failed, Err(Error::Trim { horizon, source }));
    assert_eq!(cluster.horizon(), horizon);
    assert_eq!(cluster.first_retained(), at(1));
    log.repair();
    let report = attempt(log, &cluster).run().unwrap();
    assert_eq!(report.horizon_after, horizon);
    assert_eq!(cluster.first_retained(), horizon);
}
