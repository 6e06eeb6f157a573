//! From a log or a snapshot to a table, and from a log to a snapshot.

use crate::compare::{Bound, Case, Goal, Latencies, Section, Setting, Stopwatch, Subject, corpus};
use deedbook::clock::BootClock;
use deedbook::compactor::{Attempt, Config, End};
use deedbook::ids::{BrokerId, Epoch, Position};
use deedbook::log::file::{Durability, FileLog};
use deedbook::log::{Append, EventLog, Guard, Payload, TailItem};
use deedbook::registry::{LogRegistry, Registry};
use deedbook::snapshot::Snapshot;
use deedbook::table::{Feed, FeedItem, Reader, ReaderEvent, Table};
use deedbook_cli::history::{Shape, write_log};
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

pub(super) const REPLAY: Section = Section {
    name: "replay",
    what: "from the log in files to a table",
    cases: replay,
};

pub(super) const SNAPSHOT: Section = Section {
    name: "snapshot",
    what: "from a snapshot to a table",
    cases: snapshot,
};

pub(super) const COMPACTION: Section = Section {
    name: "compaction",
    what: "from the log in files to a snapshot",
    cases: compaction,
};

const BYTES: &str = "read + crc32";
const TAIL: &str = "decoded";
const FOLD: &str = "table";
const READER: &str = "table, with changes told";

/// How much of the changes is wrong.
const INVALID_PERCENT: u8 = 30;

/// A log in a directory of its own.
struct Log {
    dir: TempDir,
    entries: usize,
}

impl Log {
    fn make(setting: &Setting, bundles: usize, changes: usize) -> Rc<Self> {
        let dir = setting.scratch();
        let log = FileLog::builder(dir.path()).durability(Durability::Never);
        let log = log.open().unwrap();
        let shape = Shape {
            bundles: bundles as u64,
            changes: changes as u64,
            invalid_percent: INVALID_PERCENT,
            brokers: setting.count(1_000, 7) as u32,
            seed: 1,
        };
        let history = write_log(&log, shape, |_| true).unwrap();
        let entries = usize::try_from(history.accepted() + history.rejected()).unwrap();
        log.close();
        Rc::new(Self { dir, entries })
    }

    fn copy(&self, setting: &Setting) -> Self {
        let dir = setting.scratch();
        for file in self.files("log") {
            std::fs::copy(&file, dir.path().join(file.file_name().unwrap())).unwrap();
        }
        Self {
            dir,
            entries: self.entries,
        }
    }

    fn read(&self) -> Arc<dyn EventLog> {
        Arc::new(FileLog::open_read_only(self.dir.path()).unwrap())
    }

    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let found = std::fs::read_dir(self.dir.path()).unwrap();
        let paths = found.map(|file| file.unwrap().path());
        let is_wanted = |path: &PathBuf| path.extension().is_some_and(|ext| ext == extension);
        paths.filter(is_wanted).collect()
    }
}

fn subject(
    name: &'static str,
    log: &Rc<Log>,
    mut work: impl FnMut(&Log) -> usize + 'static,
) -> Subject {
    let log = Rc::clone(log);
    Subject::new(name, move || {
        let watch = Stopwatch::start();
        let count = work(&log);
        vec![watch.time("time"), watch.rate("rate", count)]
    })
}

fn replay(setting: &Setting) -> Vec<Case> {
    let (bundles, changes) = (setting.count(100_000, 50), setting.count(1_000_000, 500));
    let log = Log::make(setting, bundles, changes);
    vec![Case {
        name: format!("{changes} changes of {bundles} bundles, {INVALID_PERCENT} % of them wrong"),
        subjects: vec![
            subject(BYTES, &log, |log| {
                let files = log.files("log");
                files
                    .iter()
                    .map(|file| checksum(file))
                    .for_each(|sum| _ = black_box(sum));
                log.entries
            }),
            subject(TAIL, &log, |log| read_tail(&*log.read())),
            subject(FOLD, &log, |log| fold(log.read()).1),
            subject(READER, &log, |log| follow(log.read())),
        ],
        goals: Vec::new(),
    }]
}

/// The checksum of a whole file.
fn checksum(path: &Path) -> u32 {
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; 256 << 10];
    let mut hasher = crc32fast::Hasher::new();
    loop {
        let count = file.read(&mut buffer).unwrap();
        if count == 0 {
            return hasher.finalize();
        }
        hasher.update(&buffer[..count]);
    }
}

fn read_tail(log: &dyn EventLog) -> usize {
    let mut tail = log.tail(Position::ZERO.next()).unwrap();
    let mut count = 0;
    while let Some(TailItem::Payload { payload, .. }) = tail.poll().unwrap() {
        count += usize::from(matches!(payload, Payload::Entry(_)));
    }
    count
}

/// With all that is kept beside rows, at the end.
fn fold(log: Arc<dyn EventLog>) -> (Table, usize) {
    let mut table = Table::default();
    let mut feed = Feed::new(log, table.next());
    let mut count = 0;
    loop {
        match feed.poll().unwrap() {
            Some(FeedItem::Jump(snapshot)) => table = *snapshot,
            Some(FeedItem::Tail(TailItem::Payload { position, payload })) => match payload {
                Payload::Entry(entry) => {
                    table.absorb(position, &entry).unwrap();
                    count += 1;
                }
                Payload::Member(_) => table.skip(position),
            },
            Some(FeedItem::Tail(TailItem::CaughtUp { .. })) | None => {
                black_box(table.in_flight().count());
                return (table, count);
            }
        }
    }
}

fn follow(log: Arc<dyn EventLog>) -> usize {
    let mut reader = Reader::new(log);
    let mut count = 0;
    while let Some(event) = reader.poll().unwrap() {
        count += usize::from(matches!(event, ReaderEvent::Applied { .. }));
    }
    black_box(reader.table().in_flight().count());
    count
}

fn snapshot(setting: &Setting) -> Vec<Case> {
    let bundles = setting.count(1_000_000, 50);
    let log = Log::make(setting, bundles, bundles);
    compact(&log);
    vec![Case {
        name: format!("{bundles} bundles"),
        subjects: vec![
            subject(BYTES, &log, |log| {
                let files = log.files("snapshot");
                files
                    .iter()
                    .map(|file| checksum(file))
                    .for_each(|sum| _ = black_box(sum));
                log.entries
            }),
            subject("rows", &log, |log| {
                let source = log.read().snapshot().unwrap().unwrap();
                let rows = Snapshot::open(source).unwrap().rows;
                rows.map(Result::unwrap).count()
            }),
            subject(FOLD, &log, |log| {
                let source = log.read().snapshot().unwrap().unwrap();
                let table = Table::load(Snapshot::open(source).unwrap()).unwrap();
                black_box(table.in_flight().count());
                table.row_count()
            }),
        ],
        goals: Vec::new(),
    }]
}

/// Takes a snapshot of all that is there.
fn compact(log: &Log) -> usize {
    let writer = Arc::new(FileLog::open(log.dir.path()).unwrap());
    compact_open(&writer)
}

/// Takes a snapshot of an open log in the name of a leader of its own.
fn compact_open(writer: &Arc<FileLog>) -> usize {
    let clock = Arc::new(BootClock);
    let registry = LogRegistry::new(writer.clone(), clock, Duration::from_secs(60));
    let broker = BrokerId::new("compactor").unwrap();
    let session = registry.register(&broker).unwrap();
    let epoch: Epoch = registry.campaign(session).unwrap().unwrap();
    let log = Arc::clone(writer) as Arc<dyn EventLog>;
    let report = Attempt::new(log, epoch, End::CaughtUp, Config::default()).run();
    usize::try_from(report.unwrap().entries_read).unwrap()
}

fn compaction(setting: &Setting) -> Vec<Case> {
    let (bundles, changes) = (setting.count(100_000, 50), setting.count(10_000_000, 500));
    let log = Log::make(setting, bundles, changes);
    let compacting = Case {
        name: format!("{changes} changes of {bundles} bundles"),
        subjects: vec![
            subject(BYTES, &log, |log| {
                let files = log.files("log");
                files
                    .iter()
                    .map(|file| checksum(file))
                    .for_each(|sum| _ = black_box(sum));
                log.entries
            }),
            compacted(&log, setting),
        ],
        goals: Vec::new(),
    };
    vec![compacting, appending(setting, &log)]
}

/// Each time a copy, since what was compacted is not there to be compacted again.
fn compacted(log: &Rc<Log>, setting: &Setting) -> Subject {
    let (log, setting) = (Rc::clone(log), setting.clone());
    Subject::new("snapshot, published and trimmed", move || {
        let copy = log.copy(&setting);
        let watch = Stopwatch::start();
        let count = compact(&copy);
        vec![watch.time("time"), watch.rate("rate", count)]
    })
}

const ALONE: &str = "alone";
const MEANWHILE: &str = "while the log is compacted";

/// How long appends take that are made durable one at a time.
fn appending(setting: &Setting, log: &Rc<Log>) -> Case {
    let appends = setting.count(5_000, 20);
    let subject = |name, compacts: bool| {
        let (log, setting) = (Rc::clone(log), setting.clone());
        Subject::new(name, move || {
            let copy = log.copy(&setting);
            let writer = Arc::new(FileLog::open(copy.dir.path()).unwrap());
            let latencies = thread::scope(|scope| {
                let compaction = compacts.then(|| scope.spawn(|| compact_open(&writer)));
                let goes_on = |count| match &compaction {
                    Some(compaction) => !compaction.is_finished(),
                    None => count < appends,
                };
                append_while(&writer, goes_on)
            });
            latencies.figures().to_vec()
        })
    };
    Case {
        name: format!(
            "durable appends, one at a time ({} changes in the log)",
            log.entries
        ),
        subjects: vec![subject(ALONE, false), subject(MEANWHILE, true)],
        goals: vec![Goal {
            name: "G8",
            figure: "p99",
            of: MEANWHILE,
            to: ALONE,
            bound: Bound::AtMost(3.0),
        }],
    }
}

fn append_while(log: &FileLog, goes_on: impl Fn(usize) -> bool) -> Latencies {
    let bundles = corpus::bundles(1_000);
    let entries = corpus::entries(&bundles, 1 << 40, 100_000);
    let mut latencies = Latencies::default();
    for (count, entry) in entries.iter().enumerate() {
        if !goes_on(count) {
            break;
        }
        let append = Append {
            entry: Arc::clone(entry),
            guard: Guard::None,
        };
        latencies.time(|| log.append(append).wait().unwrap().unwrap());
    }
    latencies
}
