//! Invariant I1 on a log in files, as a state machine: brokers append, three in ten entries of
//! which are wrong; readers come and read, each at its own pace; compaction begins, goes on and is
//! given up at any time, and the machine crashes at any operation of the disk, in the middle of a
//! compaction, too. After every step the key spaces are whole (I5), fences have grown (I4), the
//! horizon has not moved back (I10), and whoever has read everything has the one table.
#![cfg(test)]

mod files;
mod support;

use deedbook::compactor::{Attempt, Config, End, Progress};
use deedbook::ids::{Epoch, Position};
use deedbook::log::EventLog;
use deedbook::log::file::FileLog;
use deedbook::storage::MemoryStorage;
use deedbook::table::{Reader, ReaderEvent, Table};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use std::sync::Arc;
use std::time::Duration;
use support::at;
use support::fences::Fences;
use support::history::{Step, World, step};

/// What may happen.
#[derive(Clone, Debug)]
enum Event {
    /// An entry is appended.
    Append(Step),
    /// A reader of another process comes.
    Newcomer,
    /// A reader reads some items.
    Read { reader: usize, items: usize },
    /// A compaction begins: of everything, or of half of what is new.
    Begin { of_half: bool },
    /// All compactions that are under way do so many pieces of their work.
    Compact { pieces: usize },
    /// One is given up.
    GiveUp,
    /// Compactions go on until the machine crashes before the operation of the disk with this
    /// number from now on; then every second or so unsynced write is lost, as the bits say.
    Crash { operations: u64, kept: u64 },
}

/// Everything may happen at any time: what it means is up to the log.
struct Events;

impl ReferenceStateMachine for Events {
    type State = ();
    type Transition = Event;

    fn init_state() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn transitions((): &()) -> BoxedStrategy<Event> {
        prop_oneof![
            8 => step().prop_map(Event::Append),
            1 => Just(Event::Newcomer),
            4 => (0..5_usize, 1..9_usize).prop_map(|(reader, items)| Event::Read { reader, items }),
            1 => any::<bool>().prop_map(|of_half| Event::Begin { of_half }),
            3 => (1..6_usize).prop_map(|pieces| Event::Compact { pieces }),
            1 => Just(Event::GiveUp),
            1 => (1..12_u64, any::<u64>())
                .prop_map(|(operations, kept)| Event::Crash { operations, kept }),
        ]
        .boxed()
    }

    fn apply((): (), _: &Event) {}
}

const READERS_MAX: usize = 5;

struct Cluster {
    storage: MemoryStorage,
    log: Arc<FileLog>,
    epoch: Epoch,
    running: Vec<Attempt>,
    readers: Vec<Reader>,
    horizon: Position,
    world: World,
    /// Took in every entry when it was acknowledged.
    whole: Table,
    fences: Fences,
}

impl Cluster {
    fn new() -> Self {
        let storage = MemoryStorage::new();
        let log = Arc::new(files::open(&storage).unwrap());
        let epoch = files::lead(&log).unwrap();
        let mut cluster = Self {
            readers: vec![reader(&storage)],
            storage,
            log,
            epoch,
            running: Vec::new(),
            horizon: Position::ZERO,
            world: World::default(),
            whole: Table::default(),
            fences: Fences::default(),
        };
        cluster.whole.skip(cluster.log.end().previous());
        cluster
    }

    fn append(&mut self, step: &Step) {
        self.world.pass(self.log.end().get());
        let written = self.world.write(step);
        while self.log.end() < at(written.position) {
            let broker = support::broker("passer-by");
            files::member_now(&self.log, deedbook::log::Member::Joined { broker }).unwrap();
        }
        let entry = Arc::new(written.entry);
        let appended = files::append_now(&self.log, &entry).unwrap();
        assert_eq!(appended.position, at(written.position));
        let applied = self
            .whole
            .apply(appended.position, &entry)
            .unwrap()
            .unwrap();
        let changes = applied.outcome.unwrap_or_default();
        self.fences.check(&changes);
    }

    fn begin(&mut self, end: End) {
        let mut config = Config::default();
        (config.step_items, config.block_bytes) = (3, 200);
        let log = Arc::clone(&self.log) as Arc<dyn EventLog>;
        self.running
            .push(Attempt::new(log, self.epoch, end, config));
    }

    /// Does a piece of the work of each compaction. It may fail if another one was faster, or with
    /// the disk.
    fn compact(&mut self) {
        self.running.retain_mut(|attempt| {
            let step = attempt.step(Duration::ZERO);
            matches!(step, Ok(progress) if !matches!(progress, Progress::Done(_)))
        });
    }

    fn crash(&mut self, operations: u64, mut kept: u64) {
        self.storage
            .halt_at(self.storage.operation_count() + operations);
        self.begin(End::CaughtUp);
        while !self.running.is_empty() {
            self.compact();
        }
        self.readers.clear();
        self.storage = self.storage.crash(|_| {
            kept = kept.rotate_left(1);
            kept & 1 == 1
        });
        self.log = Arc::new(files::open(&self.storage).unwrap());
        self.epoch = files::lead(&self.log).unwrap();
        self.whole.skip(self.log.end().previous());
        self.readers.push(reader(&self.storage));
    }

    fn read(&mut self, reader: usize, items: usize) {
        let count = self.readers.len();
        let reader = &mut self.readers[reader % count];
        for _ in 0..items {
            if let None | Some(ReaderEvent::CaughtUp { .. }) = reader.poll().unwrap() {
                break;
            }
        }
    }

    fn check(&mut self) {
        let newest = self.log.snapshot().unwrap();
        let horizon = newest.map_or(Position::ZERO, |snapshot| snapshot.horizon());
        assert!(self.horizon <= horizon, "I10");
        self.horizon = horizon;
        assert_eq!(self.whole.check_whole(), Ok(()), "I5");
        for reader in &self.readers {
            let table = reader.table();
            assert_eq!(table.check_whole(), Ok(()), "I5 at {}", table.next());
            if table.next() == self.whole.next() {
                assert_eq!(table.digest(), self.whole.digest(), "I1");
            }
        }
    }
}

fn reader(storage: &MemoryStorage) -> Reader {
    Reader::new(Arc::new(files::builder(storage).open_read_only().unwrap()))
}

fn read_to_end(mut reader: Reader) -> Reader {
    while !matches!(
        reader.poll().unwrap(),
        None | Some(ReaderEvent::CaughtUp { .. })
    ) {}
    reader
}

impl StateMachineTest for Cluster {
    type SystemUnderTest = Self;
    type Reference = Events;

    fn init_test((): &()) -> Self {
        Self::new()
    }

    fn apply(mut cluster: Self, (): &(), event: Event) -> Self {
        match event {
            Event::Append(step) => cluster.append(&step),
            Event::Newcomer if cluster.readers.len() < READERS_MAX => {
                cluster.readers.push(reader(&cluster.storage));
            }
            Event::Newcomer => {}
            Event::Read { reader, items } => cluster.read(reader, items),
            Event::Begin { of_half: false } => cluster.begin(End::CaughtUp),
            Event::Begin { of_half: true } => {
                let middle = cluster.log.end().get().midpoint(cluster.horizon.get());
                cluster.begin(End::At(at(middle)));
            }
            Event::Compact { pieces } => (0..pieces).for_each(|_| cluster.compact()),
            Event::GiveUp => _ = cluster.running.pop(),
            Event::Crash { operations, kept } => cluster.crash(operations, kept),
        }
        cluster.check();
        cluster
    }

    fn teardown(mut cluster: Self, (): ()) {
        cluster.readers.push(reader(&cluster.storage));
        for reader in std::mem::take(&mut cluster.readers) {
            let reader = read_to_end(reader);
            assert_eq!(reader.table().next(), cluster.whole.next());
            assert_eq!(reader.table().digest(), cluster.whole.digest(), "I1");
        }
    }
}

fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases: 200,
        failure_persistence: Some(Box::new(persistence)),
        ..ProptestConfig::default()
    }
}

prop_state_machine! {
    #![proptest_config(config())]

    #[test]
    fn i1_whatever_happens_to_compaction_and_disk_there_is_one_table(
        sequential 1..120 => Cluster
    );
}
