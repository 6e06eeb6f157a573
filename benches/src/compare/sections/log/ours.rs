//! The log in files.

use super::{Work, one_by_one, subject, threads};
use crate::compare::{Setting, Stopwatch, Subject, Unit};
use deedbook::log::file::{Durability, FileLog, inspect};
use deedbook::log::{Append, AppendResult, EventLog, Guard};
use deedbook::pending::Pending;
use deedbook::state::Entry;
use deedbook::storage::FsStorage;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// Small where each append is looked at, so that many changes of segment are among them.
const SEGMENT_BYTES_SMALL: u64 = 64 << 10;

pub(super) fn one_at_a_time(name: &'static str, setting: &Setting, work: &Work) -> Subject {
    subject(name, setting, work, |setting, work| {
        let dir = setting.scratch();
        let builder = FileLog::builder(dir.path()).segment_bytes(SEGMENT_BYTES_SMALL);
        let log = builder.open().unwrap();
        one_by_one(work.first(), |entry| wait(append(&log, entry)))
    })
}

pub(super) fn many_threads(name: &'static str, setting: &Setting, work: &Work) -> Subject {
    subject(name, setting, work, |setting, work| {
        let dir = setting.scratch();
        let log = open(dir.path(), setting, Durability::Always);
        threads(&work.entries, |_, entry| wait(append(&log, entry)))
    })
}

pub(super) fn in_flight(
    name: &'static str,
    setting: &Setting,
    work: &Work,
    window: usize,
) -> Subject {
    subject(name, setting, work, move |setting, work| {
        let dir = setting.scratch();
        let log = open(dir.path(), setting, Durability::Always);
        let mut waiting = VecDeque::with_capacity(window);
        let watch = Stopwatch::start();
        for entry in work.first() {
            if waiting.len() == window {
                wait(waiting.pop_front().unwrap());
                // What was answered with it makes room, too.
                while waiting
                    .front()
                    .is_some_and(|pending: &Pending<_>| pending.get().is_some())
                {
                    waiting.pop_front();
                }
            }
            waiting.push_back(append(&log, entry));
        }
        waiting.into_iter().for_each(wait);
        vec![watch.rate("rate", work.count())]
    })
}

pub(super) fn batches(name: &'static str, setting: &Setting, work: &Work, size: usize) -> Subject {
    subject(name, setting, work, move |setting, work| {
        let dir = setting.scratch();
        let log = open(dir.path(), setting, Durability::Always);
        let mut waiting = Vec::with_capacity(size);
        let watch = Stopwatch::start();
        for batch in work.first().chunks(size) {
            waiting.extend(batch.iter().map(|entry| append(&log, entry)));
            waiting.drain(..).for_each(wait);
        }
        vec![watch.rate("rate", work.count())]
    })
}

pub(super) fn unsynced(name: &'static str, setting: &Setting, work: &Work) -> Subject {
    subject(name, setting, work, |setting, work| {
        let dir = setting.scratch();
        let log = open(dir.path(), setting, Durability::Never);
        let watch = Stopwatch::start();
        let mut waiting = VecDeque::new();
        for entry in work.first() {
            if waiting.len() == IN_FLIGHT_MAX {
                wait(waiting.pop_front().unwrap());
            }
            waiting.push_back(append(&log, entry));
        }
        waiting.into_iter().for_each(wait);
        log.close();
        let rate = watch.rate("rate", work.count());
        drop(log);
        let bytes = used_bytes(dir.path()) as f64 / work.count() as f64;
        vec![rate, ("bytes a record", Unit::Bytes, bytes)]
    })
}

/// How many appends wait for an answer at most where nobody waits for each.
const IN_FLIGHT_MAX: usize = 4096;

fn open(dir: &Path, setting: &Setting, durability: Durability) -> FileLog {
    let builder = FileLog::builder(dir).durability(durability);
    let segment_bytes = setting.count(64 << 20, 1 << 20);
    builder.segment_bytes(segment_bytes as u64).open().unwrap()
}

fn append(log: &FileLog, entry: &Arc<Entry>) -> Pending<AppendResult> {
    log.append(Append {
        entry: Arc::clone(entry),
        guard: Guard::None,
    })
}

fn wait(pending: Pending<AppendResult>) {
    pending.wait().unwrap().unwrap();
}

fn used_bytes(dir: &Path) -> u64 {
    let storage = FsStorage::existing(dir).unwrap();
    let report = inspect::verify(&storage).unwrap();
    report
        .segments
        .iter()
        .map(|segment| segment.used_bytes)
        .sum()
}
