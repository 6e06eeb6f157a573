//! Appending to a log: one at a time, from many threads, many in flight, in batches, unsynced.

mod limit;
mod ours;
#[cfg_attr(not(feature = "peers"), path = "no_peers.rs")]
mod peers;

use crate::compare::corpus;
use crate::compare::{Bound, Case, Figure, Goal, Latencies, Section, Setting, Stopwatch, Subject};
use deedbook::state::Entry;
use std::sync::Arc;
use std::thread;

pub(super) const SECTION: Section = Section {
    name: "log",
    what: "appending to the log in files",
    cases,
};

/// Threads, or appends in flight, where it is about many.
const MANY: usize = 64;

/// Appends that are made durable together.
const BATCH: usize = 1000;

const OURS: &str = "deedbook";
const LIMIT: &str = "write + fdatasync";
const RAFT_ENGINE: &str = "raft-engine";
const OKAYWAL: &str = "okaywal";
const MRECORDLOG: &str = "mrecordlog";

fn cases(setting: &Setting) -> Vec<Case> {
    vec![
        one_at_a_time(setting),
        many_threads(setting),
        many_in_flight(setting),
        batches(setting),
        unsynced(setting),
    ]
}

fn one_at_a_time(setting: &Setting) -> Case {
    let count = setting.count(4000, 10);
    let work = Work::new(count, 1);
    Case {
        name: format!("durable, one at a time ({count} appends)"),
        subjects: [
            vec![
                limit::groups(LIMIT, setting, &work, 1),
                ours::one_at_a_time(OURS, setting, &work),
            ],
            peers::one_at_a_time(setting, &work),
        ]
        .into_iter()
        .flatten()
        .collect(),
        goals: vec![goal("G3", "p50", OURS, LIMIT, Bound::AtMost(1.06))],
    }
}

fn many_threads(setting: &Setting) -> Case {
    let count = setting.count(1500, 2);
    let work = Work::new(count, MANY);
    Case {
        name: format!("durable, {MANY} threads ({count} appends each)"),
        subjects: [
            vec![
                limit::groups(LIMIT, setting, &work, MANY),
                ours::many_threads(OURS, setting, &work),
            ],
            peers::many_threads(setting, &work),
        ]
        .into_iter()
        .flatten()
        .collect(),
        goals: vec![
            goal("G1", "rate", OURS, LIMIT, Bound::AtLeast(0.30)),
            goal("G1", "rate", OURS, RAFT_ENGINE, Bound::AtLeast(1.5)),
            goal("G1", "p99", OURS, RAFT_ENGINE, Bound::AtMost(0.65)),
        ],
    }
}

fn many_in_flight(setting: &Setting) -> Case {
    let count = setting.count(200_000, 200);
    let work = Work::new(count, 1);
    Case {
        name: format!("durable, {MANY} in flight from one thread ({count} appends)"),
        subjects: [
            vec![
                limit::groups(LIMIT, setting, &work, MANY),
                ours::in_flight(OURS, setting, &work, MANY),
            ],
            peers::in_flight(setting),
        ]
        .into_iter()
        .flatten()
        .collect(),
        goals: vec![
            goal("G2", "rate", OURS, LIMIT, Bound::AtLeast(0.85)),
            goal("G2", "rate", OURS, RAFT_ENGINE, Bound::AtLeast(4.0)),
        ],
    }
}

fn batches(setting: &Setting) -> Case {
    let count = setting.count(500, 1) * BATCH;
    let work = Work::new(count, 1);
    Case {
        name: format!("durable, in batches of {BATCH} ({count} appends)"),
        subjects: [
            vec![
                limit::groups(LIMIT, setting, &work, BATCH),
                ours::batches(OURS, setting, &work, BATCH),
            ],
            peers::batches(setting, &work, BATCH),
        ]
        .into_iter()
        .flatten()
        .collect(),
        goals: vec![
            goal("G4", "rate", OURS, LIMIT, Bound::AtLeast(0.9)),
            goal("G4", "rate", OURS, OKAYWAL, Bound::AtLeast(1.35)),
        ],
    }
}

fn unsynced(setting: &Setting) -> Case {
    let count = setting.count(500_000, 1000);
    let work = Work::new(count, 1);
    Case {
        name: format!("not synced, one by one ({count} appends)"),
        subjects: [
            vec![
                limit::memory("memcpy + crc32", &work),
                ours::unsynced(OURS, setting, &work),
            ],
            peers::unsynced(setting, &work),
        ]
        .into_iter()
        .flatten()
        .collect(),
        goals: vec![
            goal("G5", "rate", OURS, MRECORDLOG, Bound::AtLeast(3.0)),
            goal("G5", "rate", OURS, RAFT_ENGINE, Bound::AtLeast(12.0)),
        ],
    }
}

fn goal(
    name: &'static str,
    figure: &'static str,
    of: &'static str,
    to: &'static str,
    bound: Bound,
) -> Goal {
    Goal {
        name,
        figure,
        of,
        to,
        bound,
    }
}

/// What each subject of a case appends.
#[derive(Clone)]
struct Work {
    /// The entries of each thread.
    entries: Arc<Vec<Vec<Arc<Entry>>>>,
    /// The same, encoded so that each stands alone.
    encoded: Arc<Vec<Vec<Vec<u8>>>>,
}

impl Work {
    /// So many entries for each of so many threads.
    fn new(count: usize, threads: usize) -> Self {
        let bundles = corpus::bundles(corpus::BUNDLE_COUNT);
        let sessions = (2..).take(threads);
        let entries: Vec<_> = sessions
            .map(|session| corpus::entries(&bundles, session, count))
            .collect();
        let encoded = entries.iter().map(|entries| corpus::encoded(entries));
        Self {
            encoded: Arc::new(encoded.collect()),
            entries: Arc::new(entries),
        }
    }

    /// A part of it: the first entries of each thread.
    #[cfg(feature = "peers")]
    fn part(&self, of: usize) -> Self {
        let shorter = |len: usize| (len / of).max(1);
        let entries = self.entries.iter();
        let encoded = self.encoded.iter();
        Self {
            entries: Arc::new(
                entries
                    .map(|list| list[..shorter(list.len())].to_vec())
                    .collect(),
            ),
            encoded: Arc::new(
                encoded
                    .map(|list| list[..shorter(list.len())].to_vec())
                    .collect(),
            ),
        }
    }

    /// The work of one thread.
    fn first(&self) -> &[Arc<Entry>] {
        &self.entries[0]
    }

    fn count(&self) -> usize {
        self.entries.iter().map(Vec::len).sum()
    }
}

/// Does everything on one thread; the rate, and how long each took.
fn one_by_one<T>(items: &[T], mut append: impl FnMut(&T)) -> Vec<Figure> {
    let mut latencies = Latencies::default();
    let watch = Stopwatch::start();
    for item in items {
        latencies.time(|| append(item));
    }
    let rate = watch.rate("rate", items.len());
    [vec![rate], latencies.figures().to_vec()].concat()
}

/// Gives each thread its own list; the rate of all, and how long each append took.
fn threads<T: Sync>(lists: &[Vec<T>], append: impl Fn(usize, &T) + Sync) -> Vec<Figure> {
    let append = &append;
    let mut all = Latencies::default();
    let watch = Stopwatch::start();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(lists)
            .map(|(index, list)| {
                scope.spawn(move || {
                    let mut latencies = Latencies::default();
                    for item in list {
                        latencies.time(|| append(index, item));
                    }
                    latencies
                })
            })
            .collect();
        for thread in threads {
            all.extend(thread.join().unwrap());
        }
    });
    let rate = watch.rate("rate", lists.iter().map(Vec::len).sum());
    [vec![rate], all.figures().to_vec()].concat()
}

fn subject(
    name: &'static str,
    setting: &Setting,
    work: &Work,
    run: impl Fn(&Setting, &Work) -> Vec<Figure> + 'static,
) -> Subject {
    let (setting, work) = (setting.clone(), work.clone());
    Subject::new(name, move || run(&setting, &work))
}
