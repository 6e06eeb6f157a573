//! Processes that only read follow a log while another one writes, rotates, compacts, trims and
//! uses files again (I9). Between any two operations of the reader the writer does all of that, on
//! disks in memory and on real ones: no reader sees half an entry, one of another place, or damage
//! where there is none; one that was overtaken hears of it, and goes on from the snapshot.
#![cfg(test)]

#[path = "../files/mod.rs"]
mod files;
#[cfg(unix)]
mod processes;

use deedbook::ids::{Epoch, LogId, Position};
use deedbook::log::file::{Copying, Durability, FileLog, FileLogBuilder, Identity, inspect};
use deedbook::log::{EventLog, Payload, ReadError, Tail, TailItem};
use deedbook::state::{Body, Change, Entry};
use deedbook::storage::{FsStorage, MemoryStorage, Storage};
use files::watched::Watched;
use files::{append, entry, lead, put_snapshot};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The process that writes, and everything that it ever wrote.
struct Writer {
    scale: Scale,
    log: FileLog,
    epoch: Epoch,
    counter: u64,
    written: Vec<(Position, Payload)>,
    tail: Box<dyn Tail>,
}

/// How large everything is.
#[derive(Clone, Copy)]
struct Scale {
    segment_bytes: u64,
    /// Changes an entry.
    changes: u64,
}

/// A reader has all of a segment at hand.
const SMALL: Scale = Scale {
    segment_bytes: files::SEGMENT_BYTES,
    changes: 1,
};

/// A reader has a part of a segment at hand, and comes back for the rest.
const LARGE: Scale = Scale {
    segment_bytes: 300 << 10,
    changes: 900,
};

fn builder(storage: &Arc<dyn Storage>) -> FileLogBuilder {
    FileLogBuilder::on(Arc::clone(storage))
        .segment_bytes(SMALL.segment_bytes)
        .new_log(LogId::new(7))
        .durability(Durability::Never)
        .without_threads()
}

impl Writer {
    /// A log of several segments, compacted twice; nothing was used again yet.
    fn new(storage: &Arc<dyn Storage>, scale: Scale) -> Self {
        let builder = builder(storage).segment_bytes(scale.segment_bytes);
        let log = builder.open().unwrap();
        let epoch = lead(&log).unwrap();
        let tail = log.tail(Position::ZERO).unwrap();
        let written = Vec::new();
        let mut writer = Self {
            scale,
            log,
            epoch,
            counter: 0,
            written,
            tail,
        };
        let group = if scale.changes == 1 { 3 } else { 10 };
        (0..8).for_each(|_| writer.append_group(group));
        writer
    }

    /// Entries one by one: they fill a segment to its end.
    fn append(&mut self, count: u64) {
        (0..count).for_each(|_| self.append_group(1));
    }

    /// Entries that share a frame. One that does not fit leaves room at the end of a segment.
    fn append_group(&mut self, count: u64) {
        let mut waiting = Vec::new();
        for _ in 0..count {
            self.counter += 1;
            let mut entry = Entry::clone(&entry(1 << 40, self.counter));
            if let Body::Changes(changes) = &mut entry.body {
                let first = changes[0].clone();
                let further = (1..self.scale.changes).map(|index| Change {
                    bundle: files::bundle(10 + index),
                    ..first.clone()
                });
                changes.extend(further);
            }
            waiting.push(append(&self.log, &Arc::new(entry)));
        }
        while self.log.drive() {}
        assert!(waiting.iter().all(|answer| answer.wait().unwrap().is_ok()));
        while let Some(TailItem::Payload { position, payload }) = self.tail.poll().unwrap() {
            self.written.push((position, payload));
        }
    }

    fn compact(&mut self) {
        // There is something new to put into it.
        self.append(1);
        let horizon = self.log.end();
        put_snapshot(&self.log, horizon, self.epoch).unwrap();
        self.log.trim(horizon).unwrap();
    }

    /// Writes, rotates, compacts and trims, until every file of before serves another purpose.
    fn live_on(&mut self) {
        let segment = if self.scale.changes == 1 { 9 } else { 25 };
        for _ in 0..3 {
            self.append(segment);
            self.compact();
        }
        self.append(2 * segment);
    }
}

/// What a reader saw, up to where it caught up.
#[derive(Default)]
struct Seen {
    payloads: Vec<(Position, Payload)>,
    /// How often it was overtaken, and went on at a snapshot.
    jumps: u32,
}

/// Follows from the beginning on: over the snapshot if need be, as a reader of the table does.
fn follow(storage: &Watched) -> Seen {
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let log = builder(&shared).open_read_only().unwrap();
    let mut seen = Seen::default();
    let mut next = Position::new(1);
    'connect: loop {
        let mut tail = match log.tail(next) {
            Ok(tail) => tail,
            Err(ReadError::Trimmed { horizon }) => {
                assert!(next < horizon);
                next = jump(&log, next, &mut seen);
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        loop {
            match tail.poll() {
                Ok(Some(TailItem::Payload { position, payload })) => {
                    assert_eq!(position, next, "in order, without a gap");
                    seen.payloads.push((position, payload));
                    next = position.next();
                }
                Ok(_) => return seen,
                Err(ReadError::Trimmed { horizon }) => {
                    assert!(next < horizon);
                    next = jump(&log, next, &mut seen);
                    continue 'connect;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn jump(log: &dyn EventLog, next: Position, seen: &mut Seen) -> Position {
    seen.jumps += 1;
    let mut snapshot = log.snapshot().unwrap().expect("a snapshot covers it");
    assert!(snapshot.horizon() > next, "and leads further");
    let block = snapshot.next_block().unwrap().unwrap();
    let horizon = snapshot.horizon();
    assert_eq!(block, format!("everything below {horizon}").as_bytes());
    assert_eq!(snapshot.next_block().unwrap(), None);
    horizon
}

/// A new directory, at each call.
type Disks = fn() -> (Arc<dyn Storage>, Option<tempfile::TempDir>);

const DISKS: [Disks; 2] = [
    || (Arc::new(MemoryStorage::new()), None),
    || {
        let dir = tempfile::tempdir().unwrap();
        (Arc::new(FsStorage::create(dir.path()).unwrap()), Some(dir))
    },
];

const WORLDS: [(Disks, Scale); 3] = [(DISKS[0], SMALL), (DISKS[1], SMALL), (DISKS[0], LARGE)];

/// Runs `read` once for each of its operations, before which the writer lives on. Says how often
/// that was.
fn interleave(worlds: &[(Disks, Scale)], read: impl Fn(&Watched, &Mutex<Writer>)) -> u64 {
    let mut runs = 0;
    for (disks, scale) in worlds {
        let mut operation = 1;
        loop {
            let (storage, _dir) = disks();
            let writer = Arc::new(Mutex::new(Writer::new(&storage, *scale)));
            let watched = Watched::new(storage);
            let other = Arc::clone(&writer);
            let happened = Arc::new(OnceLock::new());
            let told = Arc::clone(&happened);
            let event = move || {
                other.lock().live_on();
                told.set(()).expect("once");
                None
            };
            watched.before(operation, Box::new(event));
            read(&watched, &writer);
            runs += 1;
            if happened.get().is_none() {
                break;
            }
            operation += 1;
        }
    }
    runs
}

#[test]
fn a_follower_sees_what_was_written_or_hears_that_it_was_overtaken() {
    let jumps = AtomicU64::new(0);
    let runs = interleave(&WORLDS, |storage, writer| {
        let seen = follow(storage);
        jumps.fetch_add(seen.jumps.into(), Ordering::Relaxed);
        let writer = writer.lock();
        let written = &writer.written;
        for found in &seen.payloads {
            // The first three records are older than the list.
            let index = usize::try_from(found.0.get()).unwrap() - 1;
            assert_eq!(written.get(index), Some(found));
        }
    });
    assert!(runs > 30, "{runs} runs");
    assert!(jumps.into_inner() > 10, "it was overtaken in many of them");
}

#[test]
fn inspection_beside_a_writer_finds_nothing_wrong() {
    let runs = interleave(&WORLDS[..2], |storage, _| {
        let report = inspect::verify(storage).unwrap();
        assert!(report.is_sound(), "{report:?}");
        assert_eq!(report.cut, None);
    });
    assert!(runs > 30, "{runs} runs");
    interleave(&WORLDS[..1], |storage, _| {
        let stat = inspect::stat(storage).unwrap();
        assert!(stat.end > stat.first());
    });
    interleave(&WORLDS[..1], |storage, writer| {
        for record in inspect::records(Arc::new(storage.clone())).unwrap() {
            match record {
                Ok(record) => {
                    let writer = writer.lock();
                    let written = &writer.written;
                    let index = usize::try_from(record.position.get()).unwrap() - 1;
                    assert_eq!(written[index], (record.position, record.payload));
                }
                Err(error) => assert!(matches!(error, ReadError::Trimmed { .. }), "{error}"),
            }
        }
    });
}

/// The copy holds what was acknowledged before it began, and nothing that was not written.
#[test]
fn a_copy_beside_a_writer_is_whole() {
    let runs = interleave(&WORLDS[..1], |storage, writer| {
        let end = writer.lock().log.end();
        let target = MemoryStorage::new();
        let (source, copy) = (Arc::new(storage.clone()), Arc::new(target.clone()));
        let mut copying = Copying::begin(source, copy, Identity::New).unwrap();
        let copied = loop {
            if let Some(copied) = copying.step().unwrap() {
                break copied;
            }
        };
        drop(copying);
        assert!(copied.end >= end);
        assert_ne!(copied.log, LogId::new(7));
        let storage = target.crash(|_| false);
        assert!(inspect::verify(&storage).unwrap().is_sound(), "and durable");
        let log = files::open(&storage).unwrap();
        assert_eq!((log.id(), log.end()), (copied.log, copied.end.next()));
        let writer = writer.lock();
        let written = &writer.written;
        let found = files::read_all(&log, copied.first).unwrap();
        let (_, found) = found.split_last().unwrap();
        for record in found {
            let index = usize::try_from(record.0.get()).unwrap() - 1;
            assert_eq!(&written[index], record);
        }
    });
    assert!(runs > 30, "{runs} runs");
}

/// Readers that stand at every record, each in a segment that is trimmed and used again.
#[test]
fn whoever_stands_in_a_file_that_is_used_again_hears_that_it_was_trimmed() {
    for disks in DISKS {
        let (storage, _dir) = disks();
        let mut writer = Writer::new(&storage, SMALL);
        let log = builder(&storage).open_read_only().unwrap();
        let count = writer.written.len();
        let mut tails = Vec::new();
        for stand in 0..count {
            let mut tail = log.tail(Position::new(1)).unwrap();
            for _ in 0..stand {
                assert!(matches!(tail.poll(), Ok(Some(TailItem::Payload { .. }))));
            }
            tails.push(tail);
        }
        let before = names(&*storage);
        writer.live_on();
        assert!(names(&*storage).iter().all(|name| !before.contains(name)));
        for (stand, mut tail) in tails.into_iter().enumerate() {
            // What it had at hand it may still hand out; what it reads from there on is named.
            let mut next = stand as u64 + 1;
            let horizon = loop {
                match tail.poll() {
                    Ok(Some(TailItem::Payload { position, payload })) => {
                        let written = &writer.written;
                        let index = usize::try_from(next).unwrap() - 1;
                        assert_eq!(written[index], (position, payload));
                        next += 1;
                    }
                    Err(ReadError::Trimmed { horizon }) => break horizon,
                    other => panic!("{stand}: {other:?}"),
                }
            };
            assert_eq!(horizon, inspect::stat(&*storage).unwrap().first());
            assert!(tail.poll().is_err(), "and again");
        }
    }
}

/// The names of all segments.
fn names(storage: &dyn Storage) -> Vec<String> {
    let names = storage.list().unwrap().into_iter();
    names.filter(|name| name.ends_with(".log")).collect()
}

/// Several readers and a writer take turns, in an order that a seed gives: rotation, compaction and
/// trimming included. Each reader ends with the same table of records as the writer.
#[test]
fn several_followers_take_turns_with_the_writer() {
    use rand_chacha::rand_core::{Rng, SeedableRng};
    for seed in 0..40 {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let (storage, _dir) = DISKS[usize::from(seed % 8 == 0)]();
        let mut writer = Writer::new(&storage, SMALL);
        let log = builder(&storage).open_read_only().unwrap();
        let mut readers: Vec<_> = (0..4).map(|_| (Position::new(1), None)).collect();
        for turn in 0..200 {
            match random.next_u32() % 12 {
                0..=3 => writer.append(1),
                4 => writer.append(7),
                5 if turn % 3 == 0 => writer.compact(),
                number => {
                    let reader = &mut readers[number as usize % 4];
                    take_turn(&log, &writer, reader, seed);
                }
            }
        }
        for reader in &mut readers {
            while take_turn(&log, &writer, reader, seed) {}
            assert_eq!(reader.0, writer.log.end(), "seed {seed}");
        }
    }
}

/// A reader reads one thing; false if there was nothing.
fn take_turn(
    log: &dyn EventLog,
    writer: &Writer,
    (next, tail): &mut (Position, Option<Box<dyn Tail>>),
    seed: u64,
) -> bool {
    let polled = match tail {
        Some(tail) => tail.poll(),
        None => log
            .tail(*next)
            .and_then(|opened| tail.insert(opened).poll()),
    };
    match polled {
        Ok(Some(TailItem::Payload { position, payload })) => {
            let written = &writer.written;
            let index = usize::try_from(position.get()).unwrap() - 1;
            assert_eq!(written[index], (position, payload), "seed {seed}");
            assert_eq!(position, *next, "seed {seed}");
            *next = position.next();
            true
        }
        Ok(Some(TailItem::CaughtUp { .. })) => true,
        Ok(None) => false,
        Err(ReadError::Trimmed { horizon }) => {
            assert!(*next < horizon, "seed {seed}");
            *next = jump(log, *next, &mut Seen::default());
            *tail = None;
            true
        }
        Err(error) => panic!("seed {seed}: {error}"),
    }
}
