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
use deedbook::ids::{BrokerId, BundleId, Epoch, LogId, Position};
use deedbook::log::{Append, EventLog, Guard, Member, MemberLog, MemoryLog, SnapshotError};
use deedbook::snapshot::Writer;
use deedbook::state::Row;
use deedbook::table::{Reader, ReaderEvent, RowChange, Table};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeMap;
use std::sync::Arc;
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

/// Reads the log up to its end, publishes what is left of it, and trims.
fn compact(log: &Arc<MemoryLog>, epoch: Epoch) -> Position {
    let mut follower = Follower::new(log);
    while !follower.read(usize::MAX) {}
    let table = follower.reader.table();
    let horizon = table.next();
    match log.put_snapshot(horizon, epoch) {
        Ok(sink) => {
            let mut writer = Writer::begin(sink, horizon, table.facts(), 200).unwrap();
            table
                .rows()
                .for_each(|(bundle, row)| writer.write_row(bundle, row).unwrap());
            writer.seal().unwrap().commit().unwrap();
            log.trim(horizon).unwrap();
        }
        // Nothing was appended since the last time.
        Err(SnapshotError::Stale { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    horizon
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

    #[test]
    fn i1_readers_of_any_pace_arrive_at_one_table(
        steps in steps(1..120),
        // For each step: what happens beside it, and how far each reader reads.
        beside in prop::collection::vec((0..8_u8, 0..6_usize), 120),
    ) {
        let (log, epoch) = log();
        let mut world = World::behind(2);
        let mut whole = Table::default();
        whole.skip(at(2));
        let mut followers = vec![Follower::new(&log)];
        let mut horizon = Position::ZERO;
        for (step, (event, pace)) in steps.iter().zip(&beside) {
            let written = world.write(step);
            append(&log, &written);
            whole.apply(at(written.position), &written.entry).unwrap();
            match event {
                0 => {
                    let next = compact(&log, epoch);
                    prop_assert!(next >= horizon, "I10");
                    horizon = next;
                }
                1 if followers.len() < 5 => followers.push(Follower::new(&log)),
                _ => {}
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
