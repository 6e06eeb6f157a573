//! A log in memory, its whole history kept beside it, and readers that check what they are told.

use crate::support::{at, broker, namespace};
use deedbook::clock::ManualClock;
use deedbook::compactor::{Attempt, Config, End, Progress, Report};
use deedbook::ids::{BundleId, Cuts, Epoch, Holder, LogId, Position, SessionToken};
use deedbook::log::{Append, EventLog, Guard, Member, MemberLog, MemoryLog, Payload};
use deedbook::snapshot::Snapshot;
use deedbook::state::{Body, Change, Entry, Record, Row};
use deedbook::table::{Applied, Reader, ReaderEvent, RowChange, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const BROKERS: [&str; 3] = ["a", "b", "c"];

/// As much divided as it gets: one entry, one row, one block at a time.
pub(crate) fn smallest_steps() -> Config {
    let mut config = Config::default();
    config.step_items = 1;
    config.block_bytes = 1;
    config
}

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) log: MemoryLog,
    /// Everything ever appended, trimmed or not.
    history: Vec<(Position, Payload)>,
    /// The fold of all of it.
    pub(crate) table: Table,
    pub(crate) epoch: Epoch,
    counter: u64,
}

impl Cluster {
    /// Three brokers, the first of which leads.
    pub(crate) fn new() -> Self {
        let mut cluster = Self {
            log: MemoryLog::new(LogId::new(1), Arc::new(ManualClock::default())),
            history: Vec::new(),
            table: Table::default(),
            epoch: Epoch::new(0),
            counter: 0,
        };
        for name in BROKERS {
            let broker = broker(name);
            cluster.member(Member::Joined { broker });
        }
        cluster.elect(0);
        cluster
    }

    pub(crate) fn member(&mut self, member: Member) -> Position {
        let appended = self.log.append_member(member.clone()).wait().unwrap();
        let position = appended.unwrap().position;
        self.history.push((position, Payload::Member(member)));
        self.table.skip(position);
        position
    }

    pub(crate) fn elect(&mut self, who: usize) {
        let session = session(who);
        self.epoch = Epoch::at(self.member(Member::Elected { session }));
    }

    pub(crate) fn append(&mut self, who: usize, epoch: Option<Epoch>, body: Body) -> Applied {
        self.counter += 1;
        let entry = Arc::new(Entry {
            author: Holder::new(broker(BROKERS[who]), session(who)),
            counter: self.counter,
            epoch,
            body,
        });
        let append = Append {
            entry: Arc::clone(&entry),
            guard: Guard::None,
        };
        let appended = self.log.append(append).wait().unwrap().unwrap();
        let applied = self.table.apply(appended.position, &entry);
        self.history
            .push((appended.position, Payload::Entry(entry)));
        applied.unwrap().unwrap()
    }

    /// Appends an entry that must be accepted.
    pub(crate) fn accept(&mut self, who: usize, epoch: Option<Epoch>, body: Body) {
        let applied = self.append(who, epoch, body.clone());
        assert!(applied.outcome.is_ok(), "{:?}: {body:?}", applied.outcome);
    }

    /// Creates a namespace of so many bundles.
    pub(crate) fn create(&mut self, name: &str, parts: u32) {
        let applied = self.table.next();
        let cuts = Cuts::even(deedbook::ids::KeyRange::FULL, parts);
        let body = Body::CreateNamespace {
            namespace: namespace(name),
            cuts: (parts > 1).then(|| cuts.unwrap()),
            applied,
        };
        self.accept(0, None, body);
    }

    /// Removes a namespace whose bundles are free.
    pub(crate) fn remove(&mut self, name: &str) {
        let namespace = namespace(name);
        let mark = Body::DeleteNamespace {
            namespace: namespace.clone(),
            applied: self.log.end(),
        };
        self.accept(0, None, mark);
        self.accept(0, Some(self.epoch), Body::EndNamespace { namespace });
    }

    /// Changes a bundle, knowing its version.
    pub(crate) fn change(&mut self, who: usize, bundle: &BundleId, next: Record) {
        let expected = Row::version_of(self.table.get(bundle));
        let change = Change {
            bundle: bundle.clone(),
            expected,
            next: Some(next),
        };
        self.accept(who, None, Body::Changes(vec![change]));
    }

    /// The fold of everything below a position.
    pub(crate) fn whole(&self, below: Position) -> Table {
        let mut table = Table::default();
        for (position, payload) in &self.history {
            if *position >= below {
                break;
            }
            match payload {
                Payload::Entry(entry) => _ = table.apply(*position, entry).unwrap(),
                Payload::Member(_) => table.skip(*position),
            }
        }
        table
    }

    pub(crate) fn shared(&self) -> Arc<dyn EventLog> {
        Arc::new(self.log.clone())
    }

    pub(crate) fn attempt(&self) -> Attempt {
        Attempt::new(self.shared(), self.epoch, End::CaughtUp, smallest_steps())
    }

    pub(crate) fn compact(&self) -> Report {
        self.attempt().run().unwrap()
    }

    /// The newest snapshot's horizon; zero if there is none.
    pub(crate) fn horizon(&self) -> Position {
        let snapshot = self.log.snapshot().unwrap();
        snapshot.map_or(Position::ZERO, |source| source.horizon())
    }

    /// The newest snapshot's table.
    pub(crate) fn snapshot(&self) -> Option<Table> {
        let source = self.log.snapshot().unwrap()?;
        Some(Table::load(Snapshot::open(source).unwrap()).unwrap())
    }

    /// The first position that can still be read from the log itself.
    pub(crate) fn first_retained(&self) -> Position {
        match self.log.tail(at(1)) {
            Err(deedbook::log::ReadError::Trimmed { horizon }) => horizon,
            tail => tail.map(|_| at(1)).unwrap(),
        }
    }

    /// The newest snapshot is the fold of all below its horizon, and nothing else was trimmed.
    pub(crate) fn check_snapshot(&self) {
        let horizon = self.horizon();
        assert!(self.first_retained() <= horizon.max(at(1)));
        if let Some(snapshot) = self.snapshot() {
            assert_same(&snapshot, &self.whole(horizon));
        }
    }
}

pub(crate) fn session(who: usize) -> SessionToken {
    SessionToken::new(u64::try_from(who).unwrap() + 1)
}

/// Both say the same, by digest and row by row, and each is whole.
#[track_caller]
pub(crate) fn assert_same(found: &Table, expected: &Table) {
    let found_rows: Vec<_> = found.rows().collect();
    let expected_rows: Vec<_> = expected.rows().collect();
    assert_eq!(found_rows, expected_rows);
    assert_eq!(found.facts(), expected.facts());
    assert_eq!(found.digest(), expected.digest());
    found.check_whole().unwrap();
}

/// Steps until it is about to do what was named, or is done; says what it then is about to do.
pub(crate) fn step_until(attempt: &mut Attempt, wanted: Progress) -> Progress {
    loop {
        let progress = attempt.step(Duration::ZERO).unwrap();
        if progress == wanted || matches!(progress, Progress::Done(_)) {
            return progress;
        }
    }
}

/// A reader, and the rows that a listener knows who only hears of changes.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) reader: Reader,
    heard: BTreeMap<BundleId, Row>,
    pub(crate) jumps: usize,
    /// Every change that it was told.
    pub(crate) changes: Vec<RowChange>,
}

impl Listener {
    pub(crate) fn new(log: Arc<dyn EventLog>) -> Self {
        Self {
            reader: Reader::new(log),
            heard: BTreeMap::new(),
            jumps: 0,
            changes: Vec::new(),
        }
    }

    /// Reads so many events, or as many as there are.
    pub(crate) fn poll(&mut self, count: usize) {
        for _ in 0..count {
            let from = self.reader.table().next();
            let changes = match self.reader.poll().unwrap() {
                None => return,
                Some(ReaderEvent::Applied { applied, .. }) => applied.outcome.unwrap_or_default(),
                Some(ReaderEvent::Jumped {
                    from: told,
                    to,
                    changes,
                }) => {
                    assert_eq!(told, from);
                    assert!(to > from && to == self.reader.table().next());
                    self.jumps += 1;
                    changes
                }
                Some(ReaderEvent::Member { .. } | ReaderEvent::CaughtUp { .. }) => Vec::new(),
            };
            for change in &changes {
                let before = match &change.after {
                    Some(row) => self.heard.insert(change.bundle.clone(), row.clone()),
                    None => self.heard.remove(&change.bundle),
                };
                assert_eq!(before, change.before, "{}", change.bundle);
                assert_ne!(before, change.after, "{}: no change", change.bundle);
            }
            self.changes.extend(changes);
        }
    }

    /// Reads to the end; then it knows, and has been told, what the whole log says.
    pub(crate) fn check(&mut self, cluster: &Cluster) {
        self.poll(usize::MAX);
        assert_same(self.reader.table(), &cluster.table);
        assert!(self.heard.iter().eq(cluster.table.rows()));
    }
}
