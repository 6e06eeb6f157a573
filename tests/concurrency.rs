//! The log in files, answers that come later and receiver queues, under thread schedules that a
//! checker chooses: at random, and by priorities that change a few times (PCT), which finds what
//! needs few but exact switches.
//!
//! Built with `--cfg shuttle` alone: `scripts/verify shuttle`. A failure prints its schedule; give
//! that to `shuttle::replay` to see it again. `SCHEDULES=n` tries so many of each kind.
#![cfg(shuttle)]
#![cfg(test)]

mod files;
#[path = "concurrency/receive.rs"]
mod receive;

use deedbook::clock::ManualClock;
use deedbook::ids::Position;
use deedbook::log::file::{FileLog, FileLogBuilder};
use deedbook::pending;
use deedbook::storage::MemoryStorage;
use shuttle::thread;
use std::sync::Arc;

/// How many schedules of each kind are tried.
const SCHEDULES: usize = 200;
/// How many changes of priority a PCT schedule has.
const DEPTH: usize = 3;

/// Runs a test under many schedules; each must end, and no thread may wait for ever.
fn explore(test: fn()) {
    let wanted = std::env::var("SCHEDULES").ok();
    let count = wanted.and_then(|count| count.parse().ok());
    let count = count.unwrap_or(SCHEDULES);
    shuttle::check_random(test, count);
    shuttle::check_pct(test, count, DEPTH);
}

#[test]
fn every_clone_of_a_pending_is_woken() {
    explore(|| {
        let (completer, pending) = pending::channel();
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let pending = pending.clone();
                thread::spawn(move || pending.wait())
            })
            .collect();
        completer.complete(7);
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Ok(7));
        }
    });
}

#[test]
fn appends_of_many_threads_are_all_answered_in_the_order_of_the_log() {
    explore(|| {
        let storage = MemoryStorage::new();
        let log = open(&storage);
        let appenders: Vec<_> = (1..4)
            .map(|session| {
                let log = log.clone();
                thread::spawn(move || append_all(&log, session))
            })
            .collect();
        let mut positions = Vec::new();
        for appender in appenders {
            let own = appender.join().unwrap();
            assert!(own.is_sorted(), "one thread's appends stand in its order");
            positions.extend(own);
        }
        positions.sort();
        let expected: Vec<_> = (2..).map(Position::new).take(positions.len()).collect();
        assert_eq!(
            positions, expected,
            "each has a place of its own, without a gap"
        );
        assert_eq!(
            files::entries(&log, Position::ZERO).unwrap().len(),
            positions.len()
        );
    });
}

/// A log with threads of its own.
fn open(storage: &MemoryStorage) -> FileLog {
    FileLogBuilder::on(Arc::new(storage.clone()))
        .segment_bytes(files::SEGMENT_BYTES)
        .clock(Arc::new(ManualClock::default()))
        .new_log(files::LOG)
        .open()
        .unwrap()
}

/// Appends some entries, one after the other; their positions.
fn append_all(log: &FileLog, session: u64) -> Vec<Position> {
    let append = |counter| {
        let answer = files::append(log, &files::entry(session, counter)).wait();
        answer.unwrap().unwrap().position
    };
    (1..3).map(append).collect()
}
