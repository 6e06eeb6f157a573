//! What was acknowledged survives (I8): a crash before every single operation on the storage, and
//! after it any part of what was not synced. What is read back is a prefix of what was appended,
//! and holds everything that was acknowledged.
#![cfg(test)]

mod files;

use deedbook::clock::ManualClock;
use deedbook::ids::{Epoch, Position};
use deedbook::log::file::{Durability, FileLog, OpenError};
use deedbook::log::{AppendError, Doubt, EventLog, Member, Payload, Refusal};
use deedbook::state::{Body, Change, Entry};
use deedbook::storage::{MemoryStorage, Unsynced};
use files::{append_now, entries, entry, lead, member_now, put_snapshot, wide_entry};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The first segment.
const FIRST: &str = "00000000000000000001.log";

/// How a run appends.
#[derive(Clone, Copy, Debug)]
struct Plan {
    durability: Durability,
    segment_bytes: u64,
    entry: fn(u64, u64) -> Arc<Entry>,
    count: u64,
}

/// Several entries in a sector, several in a segment.
const NARROW: Plan = Plan {
    durability: Durability::Always,
    segment_bytes: files::SEGMENT_BYTES,
    entry,
    count: 30,
};

/// Several sectors in an entry, several entries in a segment.
const WIDE: Plan = Plan {
    durability: Durability::Always,
    segment_bytes: 4 << 10,
    entry: wide_entry,
    count: 10,
};

impl Plan {
    fn open(self, storage: &MemoryStorage) -> Result<FileLog, OpenError> {
        files::builder(storage)
            .durability(self.durability)
            .segment_bytes(self.segment_bytes)
            .open()
    }

    fn unsynced(self) -> Self {
        let durability = Durability::Never;
        Self { durability, ..self }
    }
}

/// What a run had done when it ended or was stopped.
#[derive(Debug, Default)]
struct Run {
    submitted: Vec<Arc<Entry>>,
    /// How many of them were acknowledged; they stand first.
    acknowledged: usize,
    /// The horizon of the last snapshot that was committed.
    committed: Position,
}

/// Appends over several segments, takes snapshots and trims, until something fails.
fn run(storage: &MemoryStorage, plan: Plan) -> Run {
    let mut run = Run::default();
    let Ok(log) = plan.open(storage) else {
        return run;
    };
    let Ok(epoch) = lead(&log) else {
        return run;
    };
    for counter in 1..=plan.count {
        let entry = (plan.entry)(2, counter);
        run.submitted.push(Arc::clone(&entry));
        if append_now(&log, &entry).is_err() {
            return run;
        }
        run.acknowledged += 1;
        if counter % 5 == 0 {
            let horizon = log.end();
            if put_snapshot(&log, horizon, epoch).is_err() {
                return run;
            }
            run.committed = horizon;
            if log.trim(horizon).is_err() {
                return run;
            }
        }
    }
    run
}

/// Opens the log after a crash and checks what is in it.
fn check(storage: &MemoryStorage, plan: Plan, run: &Run, acknowledged: usize, case: &str) {
    let log = plan
        .open(storage)
        .unwrap_or_else(|error| panic!("{case}: {error}"));
    let horizon = match log.snapshot().unwrap() {
        Some(mut snapshot) => {
            while snapshot.next_block().unwrap().is_some() {}
            snapshot.horizon()
        }
        None => Position::ZERO,
    };
    assert!(
        horizon >= run.committed,
        "{case}: a committed snapshot is gone"
    );
    // Entries follow three records of membership; those below the horizon may be gone.
    let gone = usize::try_from(horizon.get().saturating_sub(4)).unwrap();
    let expected = &run.submitted[gone.min(run.submitted.len())..];
    let found = entries(&log, horizon).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(
        expected.starts_with(&found),
        "{case}: {} entries, not a prefix of what was appended",
        found.len()
    );
    assert!(
        gone + found.len() >= acknowledged,
        "{case}: {gone} and {} of {acknowledged} acknowledged entries",
        found.len()
    );
    // The log goes on, and what was in doubt can be asked for.
    let further = entry(1_000, 1);
    for entry in expected.iter().chain([&further]) {
        append_now(&log, entry).unwrap();
    }
    drop(log);
    let found = entries(&plan.open(storage).unwrap(), horizon).unwrap();
    assert_eq!(
        found,
        [expected, &[further]].concat(),
        "{case}: each once, in order"
    );
}

/// What a crash keeps of what was not synced.
fn keeps(choice: u64) -> Box<dyn FnMut(Unsynced<'_>) -> bool> {
    match choice {
        0 => Box::new(|_| false),
        1 => Box::new(|_| true),
        2 => Box::new(|change| matches!(change, Unsynced::Name { .. })),
        3 => Box::new(|change| !matches!(change, Unsynced::Name { .. })),
        seed => {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            Box::new(move |_| random.next_u32() % 2 == 0)
        }
    }
}

/// Runs once to count operations; then once for each operation and each way to stop there.
fn stop_everywhere(plan: Plan, stop: impl Fn(&MemoryStorage, u64) -> MemoryStorage) {
    let storage = MemoryStorage::new();
    let complete = run(&storage, plan);
    assert_eq!(
        complete.acknowledged as u64, plan.count,
        "nothing fails without a fault"
    );
    let operations = storage.operation_count();
    assert!(operations > 40, "{operations} operations");
    for operation in 1..=operations {
        for choice in 0..8 {
            let storage = MemoryStorage::new();
            storage.halt_at(operation);
            let run = run(&storage, plan);
            let acknowledged = match plan.durability {
                Durability::Always => run.acknowledged,
                _ => 0,
            };
            let case = format!("operation {operation}, choice {choice} of {plan:?}");
            check(&stop(&storage, choice), plan, &run, acknowledged, &case);
        }
    }
}

#[test]
fn a_crash_before_any_operation_loses_nothing_acknowledged() {
    for plan in [NARROW, WIDE] {
        stop_everywhere(plan, |storage, choice| storage.crash(keeps(choice)));
    }
}

#[test]
fn without_syncs_a_crash_still_leaves_a_prefix() {
    for plan in [NARROW.unsynced(), WIDE.unsynced()] {
        stop_everywhere(plan, |storage, choice| storage.crash(keeps(choice)));
    }
}

/// What a killed process had not synced is seen by the next one. That one must make it durable
/// before it adds to it: the machine may crash later.
#[test]
fn a_killed_process_and_then_a_crash_lose_nothing_acknowledged() {
    for plan in [NARROW, WIDE] {
        stop_everywhere(plan, |storage, choice| {
            let storage = storage.restart();
            let log = plan.open(&storage).unwrap();
            let mark = Member::Resigned {
                epoch: Epoch::new(77),
            };
            let position = member_now(&log, mark.clone()).unwrap();
            drop(log);
            let storage = storage.crash(keeps(choice));
            let log = plan.open(&storage).unwrap();
            let found = files::read_all(&log, position).unwrap();
            assert_eq!(found[0], (position, Payload::Member(mark)), "{choice}");
            drop(log);
            storage
        });
    }
}

/// The last write is torn at every byte.
#[test]
fn a_torn_last_frame_is_cut_at_every_length() {
    let storage = MemoryStorage::new();
    let log = files::builder(&storage).segment_bytes(4096).open().unwrap();
    for counter in 1..=3 {
        append_now(&log, &entry(2, counter)).unwrap();
    }
    let whole = files::bytes(&storage, FIRST);
    let start = files::used(&whole);
    append_now(&log, &entry(2, 4)).unwrap();
    drop(log);
    let whole = files::bytes(&storage, FIRST);
    let end = files::used(&whole);
    assert!(end > start + 12);
    for length in start..=end {
        let mut torn = whole.clone();
        torn[length..].fill(0);
        let storage = files::storage_of(&[(FIRST, &torn)]);
        let log = files::builder(&storage).segment_bytes(4096).open().unwrap();
        let expected = if length == end { 4 } else { 3 };
        let found = entries(&log, Position::ZERO).unwrap();
        assert_eq!(found.len(), expected, "{length} of {end} bytes");
        let cut = log.cut().map(|cut| (cut.offset, cut.position.get()));
        let torn = length < end && files::used(&torn) > start;
        assert_eq!(cut, torn.then_some((start as u64, 5)), "{length}");
    }
}

/// A stale frame behind the end must not come back to life once the gap before it is filled.
#[test]
fn what_a_crash_left_behind_the_end_is_gone_for_good() {
    let plan = NARROW.unsynced();
    let storage = MemoryStorage::new();
    let log = plan.open(&storage).unwrap();
    let end = || files::used(&files::bytes(&storage, FIRST));
    append_now(&log, &entry(2, 1)).unwrap();
    let lost_from = end();
    let pair = [2, 3].map(|counter| files::append(&log, &entry(2, counter)));
    log.drive();
    assert!(pair.iter().all(|pending| pending.wait().unwrap().is_ok()));
    let lost_to = end();
    append_now(&log, &entry(2, 4)).unwrap();
    drop(log);
    // Of three frames the first and the third reach the disk.
    let mut bytes = files::bytes(&storage, FIRST);
    bytes[lost_from..lost_to].fill(0);

    // The next process fills the gap to the byte and to the position: its opening and one entry.
    let sizes = [1, 1_000, 100_000, 1 << 40];
    let mut fillings = (1..6).flat_map(|count| {
        sizes.into_iter().flat_map(move |counter| {
            sizes.map(|expected| {
                let mut entry = Entry::clone(&entry(2, counter));
                let change = |index| Change {
                    bundle: files::bundle(index),
                    expected: Position::new(expected),
                    ..entry.changes()[0].clone()
                };
                entry.body = Body::Changes((0..count).map(change).collect());
                Arc::new(entry)
            })
        })
    });
    let filled = fillings.find_map(|filling| {
        let storage = files::storage_of(&[(FIRST, &bytes)]);
        let log = plan.open(&storage).unwrap();
        assert_eq!(log.cut().unwrap().position, Position::new(3));
        append_now(&log, &filling).unwrap();
        let found = files::used(&files::bytes(&storage, FIRST));
        (found == lost_to).then_some(storage)
    });
    let log = plan
        .open(&filled.expect("some size of entry fills the gap"))
        .unwrap();
    assert_eq!(log.cut(), None);
    assert_eq!(entries(&log, Position::ZERO).unwrap().len(), 2);
}

/// What docs/guarantees.md promises for each durability, with a disk that keeps nothing but what
/// was synced.
#[test]
fn each_durability_keeps_what_it_promises() {
    let wait = Duration::from_millis(10);
    let count = |log: &FileLog| entries(log, Position::ZERO).unwrap().len();
    for (durability, kept) in [
        (Durability::Always, 8),
        (Durability::Interval(wait), 5),
        (Durability::Never, 0),
    ] {
        let clock = ManualClock::default();
        let builder = |storage: &MemoryStorage| {
            let builder = files::builder(storage).segment_bytes(1 << 20);
            builder
                .durability(durability)
                .clock(Arc::new(clock.clone()))
        };
        let written = || {
            let storage = MemoryStorage::new();
            let log = builder(&storage).open().unwrap();
            for counter in 1..=5 {
                append_now(&log, &entry(2, counter)).unwrap();
            }
            clock.advance(wait);
            log.drive();
            for counter in 6..=8 {
                append_now(&log, &entry(2, counter)).unwrap();
            }
            (storage, log)
        };
        let reopened = |storage: MemoryStorage| builder(&storage).open().unwrap();

        let (storage, _killed) = written();
        assert_eq!(
            count(&reopened(storage.restart())),
            8,
            "{durability:?}, killed"
        );
        let (storage, _killed) = written();
        let log = reopened(storage.crash(|_| false));
        assert_eq!(count(&log), kept, "{durability:?}, without power");
        let (storage, log) = written();
        log.close();
        let log = reopened(storage.crash(|_| false));
        assert_eq!(
            count(&log),
            8,
            "{durability:?}, closed and then without power"
        );
    }
}

#[test]
fn a_late_sync_that_fails_poisons_the_log_once_and_for_all() {
    let storage = MemoryStorage::new();
    let clock = ManualClock::default();
    let wait = Duration::from_millis(10);
    let builder = files::builder(&storage).durability(Durability::Interval(wait));
    let log = builder.clock(Arc::new(clock.clone())).open().unwrap();
    append_now(&log, &entry(2, 1)).unwrap();
    clock.advance(wait);
    storage.fail_next_sync();
    assert!(!log.drive(), "nothing waited");
    let operations = storage.operation_count();
    assert!(!log.drive(), "and what failed is not tried again");
    let poisoned = Err(AppendError::Refused(Refusal::Poisoned {
        path: Path::new("memory").join(FIRST),
        kind: std::io::ErrorKind::Other,
    }));
    assert_eq!(append_now(&log, &entry(2, 2)), poisoned);
    assert_eq!(storage.operation_count(), operations);
}

#[test]
fn after_a_failed_sync_nothing_is_promised_until_the_log_is_opened_again() {
    let open = |storage: &MemoryStorage| WIDE.open(storage);
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    append_now(&log, &entry(2, 1)).unwrap();
    storage.fail_next_sync();
    let poisoned = Err(AppendError::Refused(Refusal::Poisoned {
        path: Path::new("memory").join(FIRST),
        kind: std::io::ErrorKind::Other,
    }));
    let unknown = Err(AppendError::Unknown(Doubt::Unsynced {
        path: Path::new("memory").join(FIRST),
        kind: std::io::ErrorKind::Other,
    }));
    // It takes several sectors: what is written after it does not sync them by chance.
    let doubtful = wide_entry(2, 2);
    assert_eq!(append_now(&log, &doubtful), unknown);
    assert_eq!(append_now(&log, &entry(2, 3)), poisoned);
    // It may be in the log: only what is certain is said.
    assert_eq!(append_now(&log, &doubtful), unknown);
    assert!(append_now(&log, &entry(2, 1)).unwrap().already);
    assert_eq!(entries(&log, Position::ZERO).unwrap().len(), 1);
    drop(log);

    // What the next process reads of the doubtful entry, it makes durable.
    let log = open(&storage).unwrap();
    assert_eq!(entries(&log, Position::ZERO).unwrap().len(), 2);
    assert!(append_now(&log, &doubtful).unwrap().already);
    let log = open(&storage.crash(|_| false)).unwrap();
    assert_eq!(entries(&log, Position::ZERO).unwrap().len(), 2);
}

/// One operation fails, and whoever appends goes on: opens again if the log says so, asks again if
/// the outcome is unknown.
#[test]
fn every_operation_may_fail_once_and_the_log_goes_on() {
    for plan in [NARROW, WIDE] {
        let storage = MemoryStorage::new();
        run(&storage, plan);
        for operation in 1..=storage.operation_count() {
            let storage = MemoryStorage::new();
            storage.fail_at(operation);
            go_on(
                &storage,
                plan,
                &format!("operation {operation} of {plan:?}"),
            );
        }
    }
}

fn go_on(storage: &MemoryStorage, plan: Plan, case: &str) {
    let open = || plan.open(storage).or_else(|_| plan.open(storage)).unwrap();
    let mut log = open();
    let mut epoch = lead(&log).or_else(|_| lead(&log)).ok();
    let mut stands = Vec::new();
    for counter in 1..=plan.count {
        let entry = (plan.entry)(2, counter);
        match append_now(&log, &entry) {
            Ok(_) => stands.push(entry),
            Err(AppendError::Refused(Refusal::Unavailable { .. })) => {
                // What was refused is not in the log: the next append takes its place.
            }
            Err(AppendError::Refused(Refusal::Poisoned { .. }) | AppendError::Unknown(_)) => {
                drop(log);
                log = open();
                epoch = lead(&log).ok();
                append_now(&log, &entry).unwrap();
                stands.push(entry);
            }
            Err(error) => panic!("{case}: {error}"),
        }
        if counter % 5 == 0
            && let Some(epoch) = epoch
        {
            // One that fails is made up for by the next.
            let _ = put_snapshot(&log, log.end(), epoch).map(|()| log.trim(log.end()));
        }
    }
    drop(log);
    let log = plan.open(&storage.crash(|_| false)).unwrap();
    let first = log
        .snapshot()
        .unwrap()
        .map_or(Position::ZERO, |s| s.horizon());
    let found = entries(&log, first).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(stands.ends_with(&found), "{case}: {found:?}");
    let gone = stands.len() - found.len();
    assert!(
        first == Position::ZERO || first.get() > gone as u64,
        "{case}: {gone} are gone"
    );
}
