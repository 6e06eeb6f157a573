//! Invariant I1 on a log: whoever reads it from whatever point, however slowly, and through however
//! many compactions, arrives at the same table, and was told of each net change once.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod support;

use deedbook::clock::BootClock;
use deedbook::compactor::{Attempt, Config, End, Progress};
use deedbook::ids::{BrokerId, BundleId, Epoch, LogId, Position};
use deedbook::log::{Append, EventLog, Guard, Member, MemberLog, MemoryLog, SnapshotError};
use deedbook::state::Row;
use deedbook::table::{Reader, ReaderEvent, RowChange, Table};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use support::at;
use support::history::{World, Written, steps};

/// A reader, and the rows as its events tell them.
struct Follower {
    reader: Reader,
    told: BTreeMap<BundleId, Row>,
    jumps: usize,
}

impl Follower {
    fn new(log: &Arc<MemoryLog>) -> Self {
        let reader = Reader::new(Arc::clone(log) as Arc<dyn EventLog>);
        Self {
            reader,
            told: BTreeMap::new(),
            jumps: 0,
        }
    }

    /// Reads on, at most so many items; says whether it has read everything.
    fn read(&mut self, most: usize) -> bool {
        for _ in 0..most {
            match self.reader.poll().unwrap() {
                None | Some(ReaderEvent::CaughtUp { .. }) => return true,
                Some(ReaderEvent::Applied { applied, .. }) => {
                    self.take_in(&applied.outcome.unwrap_or_default());
                }
                Some(ReaderEvent::Jumped { from, to, changes }) => {
                    assert!(from < to, "the horizon only moves forward");
                    self.jumps += 1;
                    self.take_in(&changes);
                }
                Some(_) => {}
            }
        }
        false
    }

    fn take_in(&mut self, changes: &[RowChange]) {
        for RowChange {
            bundle,
            before,
            after,
        } in changes
        {
            assert_ne!(before, after, "{bundle} did not change");
            assert_eq!(
                self.told.get(bundle),
                before.as_ref(),
                "of {bundle} something else was told"
            );
            match after {
                Some(row) => _ = self.told.insert(bundle.clone(), row.clone()),
                None => _ = self.told.remove(bundle),
            }
        }
    }
}

/// A log with a leader: positions 1 and 2 are taken.
fn log() -> (Arc<MemoryLog>, Epoch) {
    let log = Arc::new(MemoryLog::new(LogId::new(1), Arc::new(BootClock)));
    let joined = log.append_member(Member::Joined {
        broker: support::broker("leader"),
    });
    let session = deedbook::ids::SessionToken::at(joined.wait().unwrap().unwrap().position);
    let elected = log.append_member(Member::Elected { session });
    (log, Epoch::at(elected.wait().unwrap().unwrap().position))
}

/// Appends an entry where the history wants it: members come and go in the gaps.
fn append(log: &MemoryLog, written: &Written) {
    while log.end() < at(written.position) {
        let broker = BrokerId::new("passer-by").unwrap();
        log.append_member(Member::Joined { broker })
            .wait()
            .unwrap()
            .unwrap();
    }
    let append = Append {
        entry: Arc::new(written.entry.clone()),
        guard: Guard::None,
    };
    let appended = log.append(append).wait().unwrap().unwrap();
    assert_eq!(appended.position, at(written.position));
}

/// An attempt to compact, in small pieces, up to an end.
fn attempt(log: &Arc<MemoryLog>, epoch: Epoch, end: End) -> Attempt {
    let mut config = Config::default();
    (config.step_items, config.block_bytes) = (3, 200);
    Attempt::new(Arc::clone(log) as Arc<dyn EventLog>, epoch, end, config)
}

/// The compactor: several attempts may run at once, as if leaders changed in between.
struct Compactor {
    log: Arc<MemoryLog>,
    epoch: Epoch,
    running: Vec<Attempt>,
    horizon: Position,
}

impl Compactor {
    /// Begins an attempt, abandons one, or does a piece of each.
    fn go_on(&mut self, event: u8) {
        match event {
            0 => self
                .running
                .push(attempt(&self.log, self.epoch, End::CaughtUp)),
            1 => {
                let middle = Position::new(self.log.end().get().midpoint(self.horizon.get()));
                self.running
                    .push(attempt(&self.log, self.epoch, End::At(middle)));
            }
            2 => _ = self.running.pop(),
            // One that nothing comes between.
            3 => {
                let done = attempt(&self.log, self.epoch, End::CaughtUp).run();
                assert!(done.is_ok(), "{done:?}");
            }
            _ => {}
        }
        self.running
            .retain_mut(|attempt| match attempt.step(Duration::ZERO) {
                Ok(Progress::Done(_)) => false,
                Ok(_) => true,
                Err(error) => {
                    assert!(is_late(&error), "{error}");
                    false
                }
            });
        let horizon = self
            .log
            .snapshot()
            .unwrap()
            .map(|snapshot| snapshot.horizon());
        let horizon = horizon.unwrap_or_default();
        assert!(self.horizon <= horizon, "I10: the horizon never moves back");
        self.horizon = horizon;
    }
}

/// Another attempt was faster, which is no fault.
fn is_late(error: &deedbook::compactor::Error) -> bool {
    matches!(
        error,
        deedbook::compactor::Error::Publish(SnapshotError::Stale { .. })
    )
}

fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases: 300,
        failure_persistence: Some(Box::new(persistence)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    /// CT-02: whoever reads plainly and whoever reads compacted output end alike.
    #[test]
    fn i1_readers_of_any_pace_arrive_at_one_table(
        steps in steps(1..120),
        // For each step: what happens beside it, and how far each reader reads.
        beside in prop::collection::vec((0..12_u8, 0..6_usize), 120),
    ) {
        let (log, epoch) = log();
        let mut world = World::behind(2);
        let mut whole = Table::default();
        whole.skip(at(2));
        let mut followers = vec![Follower::new(&log)];
        let mut compactor = Compactor {
            log: Arc::clone(&log),
            epoch,
            running: Vec::new(),
            horizon: Position::ZERO,
        };
        for (step, (event, pace)) in steps.iter().zip(&beside) {
            let written = world.write(step);
            append(&log, &written);
            whole.apply(at(written.position), &written.entry).unwrap();
            compactor.go_on(*event);
            if *event == 4 && followers.len() < 5 {
                followers.push(Follower::new(&log));
            }
            for (n, follower) in followers.iter_mut().enumerate() {
                // The first one never reads before the end.
                follower.read(n * pace / 2);
            }
        }
        followers.push(Follower::new(&log));
        for follower in &mut followers {
            while !follower.read(usize::MAX) {}
            let table = follower.reader.table();
            prop_assert_eq!(table.digest(), whole.digest());
            prop_assert_eq!(table.next(), whole.next());
            let rows: BTreeMap<_, _> =
                table.rows().map(|(bundle, row)| (bundle.clone(), row.clone())).collect();
            prop_assert_eq!(&follower.told, &rows, "after {} jumps", follower.jumps);
        }
    }
}
