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
use deedbook::log::file::{Durability, FileLog, FileLogBuilder};
use deedbook::log::{AppendError, AppendResult, Refusal};
use deedbook::pending;
use deedbook::storage::MemoryStorage;
use shuttle::thread;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How many schedules of each kind are tried.
const SCHEDULES: usize = 2_000;
/// How many changes of priority a PCT schedule has.
const DEPTH: usize = 3;
/// What each thread appends.
const COUNT: u64 = 2;
/// Large enough that nobody has to make another one, whose syncs would be others.
const SEGMENT_BYTES: u64 = 16 << 10;

/// Runs a test under many schedules; each must end, and no thread may wait for ever.
fn explore(test: fn()) {
    let wanted = std::env::var("SCHEDULES").ok();
    let count = wanted.and_then(|count| count.parse().ok());
    let count = count.unwrap_or(SCHEDULES);
    shuttle::check_random(test, count);
    shuttle::check_pct(test, count, DEPTH);
}

/// A log with threads of its own.
fn builder(storage: &MemoryStorage) -> FileLogBuilder {
    FileLogBuilder::on(Arc::new(storage.clone()))
        .segment_bytes(SEGMENT_BYTES)
        .clock(Arc::new(ManualClock::default()))
        .new_log(files::LOG)
}

fn open(storage: &MemoryStorage) -> FileLog {
    builder(storage).open().unwrap()
}

/// Appends some entries, one after the other, and waits for each.
fn append_all(log: &FileLog, session: u64) -> Vec<AppendResult> {
    let append = |counter| files::append(log, &files::entry(session, counter)).wait();
    (1..=COUNT)
        .map(|counter| append(counter).unwrap())
        .collect()
}

/// Threads that append, each in a session of its own.
fn appenders(log: &FileLog, count: u64) -> Vec<thread::JoinHandle<Vec<AppendResult>>> {
    let appender = |session| {
        let log = log.clone();
        thread::spawn(move || append_all(&log, session))
    };
    (1..=count).map(appender).collect()
}

/// Where the entries stand that were taken.
fn positions(results: &[AppendResult]) -> Vec<Position> {
    let taken = results.iter().flatten();
    taken.map(|appended| appended.position).collect()
}

/// Where entries stand in a log that is opened after the machine went down.
fn stands(storage: &MemoryStorage) -> BTreeSet<Position> {
    let log = files::open(&storage.crash(|_| false)).unwrap();
    let payloads = files::read_all(&log, Position::ZERO).unwrap();
    payloads.into_iter().map(|(position, _)| position).collect()
}

/// Whether an append was refused since a write or a sync had failed before.
fn is_poisoned(result: &AppendResult) -> bool {
    matches!(result, Err(AppendError::Refused(Refusal::Poisoned { .. })))
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
        let small = builder(&storage).segment_bytes(files::SEGMENT_BYTES);
        let log = small.open().unwrap();
        let mut all = Vec::new();
        for appender in appenders(&log, 3) {
            let own = positions(&appender.join().unwrap());
            assert!(own.is_sorted(), "one thread's appends stand in its order");
            all.extend(own);
        }
        all.sort();
        let expected: Vec<_> = (2..).map(Position::new).take(3 * COUNT as usize).collect();
        assert_eq!(all, expected, "each has a place of its own, without a gap");
        assert!(
            all.iter()
                .all(|position| stands(&storage).contains(position))
        );
    });
}

/// Nobody but those who wait can write: the lead must reach each of them.
#[test]
fn the_lead_goes_round_among_those_who_wait() {
    explore(|| {
        let log = builder(&MemoryStorage::new())
            .without_threads()
            .open()
            .unwrap();
        for appender in appenders(&log, 3) {
            let own = appender.join().unwrap();
            assert_eq!(positions(&own).len() as u64, COUNT);
        }
    });
}

/// One thread waits for a single append on behalf of others that wait for the same one.
#[test]
fn any_of_those_who_wait_for_one_append_may_lead() {
    explore(|| {
        let log = builder(&MemoryStorage::new())
            .without_threads()
            .open()
            .unwrap();
        let pending = files::append(&log, &files::entry(2, 1));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let pending = pending.clone();
                thread::spawn(move || pending.wait())
            })
            .collect();
        let other = append_all(&log, 3);
        assert_eq!(positions(&other).len() as u64, COUNT);
        for waiter in waiters {
            assert!(waiter.join().unwrap().unwrap().is_ok());
        }
    });
}

#[test]
fn what_nobody_waits_for_is_written_all_the_same() {
    explore(|| {
        let log = open(&MemoryStorage::new());
        let end = log.end();
        let unasked = files::append(&log, &files::entry(2, 1));
        let waiters = appenders(&log, 1);
        while log.end() < Position::new(end.get() + 1 + COUNT) {
            thread::yield_now();
        }
        assert!(unasked.wait().unwrap().is_ok());
        // A wait with a limit does not write: it asks the log's own thread to.
        let asked = files::append(&log, &files::entry(2, 2));
        while asked.wait_for(Duration::from_secs(1)).is_none() {}
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_failed_sync_reaches_everybody_and_nothing_succeeds_after_it() {
    explore(|| {
        let storage = MemoryStorage::new();
        let log = open(&storage);
        let appenders = appenders(&log, 3);
        storage.fail_next_sync();
        let mut taken = Vec::new();
        let mut lost_count = 0;
        for appender in appenders {
            let results = appender.join().unwrap();
            let failed = results.iter().position(Result::is_err);
            let (before, after) = results.split_at(failed.unwrap_or(results.len()));
            taken.extend(positions(before));
            for result in after {
                let doubt = matches!(result, Err(AppendError::Unknown(_)));
                assert!(doubt || is_poisoned(result), "{result:?}");
                lost_count += 1;
            }
        }
        let further = |counter| {
            let appended = files::append(&log, &files::entry(9, counter));
            appended.wait().unwrap()
        };
        // The sync that failed may have been one of the segment to be used next, or is that of the
        // first of these.
        let (first, second) = (further(1), further(2));
        assert!(is_poisoned(&first) || lost_count == 0, "{first:?}");
        assert!(
            is_poisoned(&second) || first.is_ok(),
            "{first:?} {second:?}"
        );
        drop(log);
        assert!(
            taken
                .iter()
                .all(|position| stands(&storage).contains(position))
        );
    });
}

#[test]
fn closing_answers_everybody() {
    explore(|| {
        let storage = MemoryStorage::new();
        let log = open(&storage);
        let appenders = appenders(&log, 2);
        let closer = {
            let log = log.clone();
            thread::spawn(move || log.close())
        };
        log.close();
        let mut taken = Vec::new();
        for appender in appenders {
            let results = appender.join().unwrap();
            let closed = Err(Refusal::Closed.into());
            assert!(
                results
                    .iter()
                    .all(|result| result.is_ok() || *result == closed)
            );
            taken.extend(positions(&results));
        }
        closer.join().unwrap();
        assert!(
            taken
                .iter()
                .all(|position| stands(&storage).contains(position))
        );
    });
}

#[test]
fn what_was_acknowledged_early_is_synced_when_it_is_due() {
    explore(|| {
        let storage = MemoryStorage::new();
        let clock = ManualClock::default();
        let wait = Duration::from_millis(5);
        let builder = builder(&storage).durability(Durability::Interval(wait));
        let log = builder.clock(Arc::new(clock.clone())).open().unwrap();
        let appenders = appenders(&log, 2);
        // While they append, time passes.
        clock.advance(wait);
        for appender in appenders {
            assert_eq!(positions(&appender.join().unwrap()).len() as u64, COUNT);
        }
        // Appends do not sync: only who keeps the interval finds out that syncs fail.
        let further = |counter| {
            files::append(&log, &files::entry(9, counter))
                .wait()
                .unwrap()
        };
        let mut counter = 1;
        while !is_poisoned(&further(counter)) {
            storage.fail_next_sync();
            clock.advance(wait);
            thread::yield_now();
            counter += 1;
        }
    });
}
