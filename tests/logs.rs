//! What a log promises to whoever appends and follows, held against the log in memory and the log
//! in files alike.
#![cfg(test)]

mod files;

use deedbook::clock::ManualClock;
use deedbook::ids::{Epoch, Position, SessionToken};
use deedbook::log::{
    Append, AppendError, Appended, ENTRY_BYTES_MAX, Guard, Member, MemberLog, MemoryLog, Payload,
    Refusal, SnapshotError, TailItem, TrimError, codec,
};
use deedbook::state::{Body, CHANGES_MAX, Entry};
use deedbook::storage::MemoryStorage;
use files::{LOG, broker, entries, entry, open};
use std::sync::Arc;
use std::time::Duration;

/// A log and a way to let it work.
struct Case {
    log: Arc<dyn MemberLog>,
    drive: Box<dyn Fn()>,
    /// The position of the first payload that is appended.
    first: u64,
}

fn cases() -> [Case; 2] {
    let memory = MemoryLog::new(LOG, Arc::new(ManualClock::default()));
    let file = open(&MemoryStorage::new()).unwrap();
    let driven = file.clone();
    [
        Case {
            log: Arc::new(memory),
            drive: Box::new(|| {}),
            first: 1,
        },
        Case {
            log: Arc::new(file),
            drive: Box::new(move || while driven.drive() {}),
            first: 2,
        },
    ]
}

impl Case {
    fn append(&self, entry: &Arc<Entry>, guard: Guard) -> Result<Appended, AppendError> {
        let entry = Arc::clone(entry);
        let pending = self.log.append(Append { entry, guard });
        (self.drive)();
        pending.wait().unwrap()
    }

    fn member(&self, member: Member) -> u64 {
        let pending = self.log.append_member(member);
        (self.drive)();
        pending.wait().unwrap().unwrap().position.get()
    }

    fn lead(&self) -> Epoch {
        let broker = broker(0);
        let session = SessionToken::new(self.member(Member::Joined { broker }));
        Epoch::new(self.member(Member::Elected { session }))
    }
}

fn at(position: u64) -> Position {
    Position::new(position)
}

#[test]
fn positions_follow_one_another_and_a_repeated_append_is_the_same_append() {
    for case in cases() {
        for counter in 1..=30 {
            let appended = case.append(&entry(9, counter), Guard::None).unwrap();
            let position = at(case.first + counter - 1);
            assert_eq!(
                appended,
                Appended {
                    position,
                    already: false
                }
            );
        }
        for counter in [30, 1, 17] {
            let appended = case.append(&entry(9, counter), Guard::None).unwrap();
            let position = at(case.first + counter - 1);
            assert_eq!(
                appended,
                Appended {
                    position,
                    already: true
                }
            );
        }
        assert_eq!(entries(&*case.log, at(0)).unwrap().len(), 30);
    }
}

#[test]
fn guards_are_judged_in_the_order_of_the_log() {
    let fenced = Err(AppendError::Refused(Refusal::Fenced));
    for case in cases() {
        let session = |broker_index| {
            let broker = broker(broker_index);
            SessionToken::new(case.member(Member::Joined { broker }))
        };
        let (first, other) = (session(1), session(2));
        let epoch = Epoch::new(case.member(Member::Elected { session: first }));
        case.append(&entry(1, 1), Guard::Session(first)).unwrap();
        case.append(&entry(1, 2), Guard::Epoch(epoch)).unwrap();
        // What is submitted together is judged one after the other.
        let left = case.log.append_member(Member::Left { session: first });
        let guards = [
            Guard::Session(first),
            Guard::Epoch(epoch),
            Guard::Session(other),
        ];
        let pending: Vec<_> = (3..)
            .zip(guards)
            .map(|(counter, guard)| {
                let entry = entry(1, counter);
                case.log.append(Append { entry, guard })
            })
            .collect();
        (case.drive)();
        left.wait().unwrap().unwrap();
        let results: Vec<_> = pending.iter().map(|p| p.wait().unwrap()).collect();
        assert_eq!(results[0], fenced);
        assert_eq!(results[1], fenced);
        assert!(results[2].is_ok());
        // What is in the log is in the log, whoever asks.
        assert!(
            case.append(&entry(1, 1), Guard::Session(first))
                .unwrap()
                .already
        );
    }
}

#[test]
fn a_tail_says_once_that_it_has_caught_up_and_again_after_each_burst() {
    for case in cases() {
        case.append(&entry(9, 1), Guard::None).unwrap();
        let mut tail = case.log.tail(at(case.first)).unwrap();
        let item = |position, counter| {
            Some(TailItem::Payload {
                position: at(position),
                payload: Payload::Entry(entry(9, counter)),
            })
        };
        let caught_up = |next| Some(TailItem::CaughtUp { next: at(next) });
        assert_eq!(tail.poll().unwrap(), item(case.first, 1));
        assert_eq!(tail.poll().unwrap(), caught_up(case.first + 1));
        assert_eq!(tail.poll().unwrap(), None);
        assert_eq!(tail.next(Duration::ZERO).unwrap(), None);
        case.append(&entry(9, 2), Guard::None).unwrap();
        assert_eq!(tail.next(Duration::ZERO).unwrap(), item(case.first + 1, 2));
        assert_eq!(
            tail.next(Duration::ZERO).unwrap(),
            caught_up(case.first + 2)
        );
    }
}

#[test]
fn a_horizon_only_moves_forward_and_only_in_the_name_of_the_leader() {
    for case in cases() {
        let epoch = case.lead();
        (1..=20).for_each(|counter| _ = case.append(&entry(9, counter), Guard::None).unwrap());
        let log = &*case.log;
        let put = |horizon, epoch| files::put_snapshot(log, at(horizon), epoch);
        assert!(log.snapshot().unwrap().is_none());
        assert_eq!(put(8, Epoch::new(1_000)), Err(SnapshotError::Fenced));
        let end = case.first + 22;
        let beyond = SnapshotError::BeyondEnd {
            wanted: at(end + 1),
            end: at(end),
        };
        assert_eq!(put(end + 1, epoch), Err(beyond));

        // Two attempts at once: the one that comes late changes nothing.
        let late = log.put_snapshot(at(8), epoch).unwrap();
        put(10, epoch).unwrap();
        let stale = |wanted| SnapshotError::Stale {
            wanted,
            committed: at(10),
        };
        assert_eq!(late.commit(), Err(stale(at(8))));
        assert_eq!(put(10, epoch), Err(stale(at(10))));
        let mut newest = log.snapshot().unwrap().unwrap();
        assert_eq!(newest.horizon(), at(10));
        assert_eq!(
            newest.next_block().unwrap().unwrap(),
            b"everything below 10"
        );
        assert_eq!(newest.next_block().unwrap(), None);
        let beyond = TrimError::BeyondSnapshot {
            wanted: at(11),
            committed: at(10),
        };
        assert_eq!(log.trim(at(11)), Err(beyond));

        // A leader that was followed by another one publishes nothing.
        let doubtful = log.put_snapshot(at(12), epoch).unwrap();
        case.lead();
        assert_eq!(doubtful.commit(), Err(SnapshotError::Fenced));
    }
}

#[test]
fn what_is_too_large_is_refused_before_anything_is_written() {
    for case in cases() {
        let changes = entry(9, 1).changes().to_vec();
        let many = Arc::new(Entry {
            body: Body::Changes(
                changes
                    .iter()
                    .cycle()
                    .take(CHANGES_MAX + 1)
                    .cloned()
                    .collect(),
            ),
            ..Entry::clone(&entry(9, 1))
        });
        let error = case.append(&many, Guard::None).unwrap_err();
        let too_many = codec::Error::TooMany {
            what: "changes",
            count: CHANGES_MAX + 1,
            max: CHANGES_MAX,
        };
        assert_eq!(error, AppendError::Refused(Refusal::Codec(too_many)));
        let appended = case.append(&entry(9, 1), Guard::None).unwrap();
        assert_eq!(appended.position, at(case.first), "no position was used up");
    }
}

#[test]
fn limits_are_told() {
    for case in cases() {
        let limits = case.log.limits();
        assert_eq!(limits.entry_bytes_max, ENTRY_BYTES_MAX);
        assert!(limits.contiguous && limits.guards && limits.members_in_order);
    }
}
