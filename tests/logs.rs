//! What a log promises to whoever appends and follows, held against the log in memory and the log
//! in files alike.
#![cfg(test)]

mod files;

use deedbook::clock::ManualClock;
use deedbook::ids::{
    self, BrokerId, BundleId, Cuts, Epoch, Holder, NAME_BYTES_MAX, Namespace, Position,
    SessionToken,
};
use deedbook::log::{
    Append, AppendError, Appended, ENTRY_BYTES_MAX, Guard, Member, MemberLog, MemoryLog, Payload,
    Refusal, SnapshotError, TailItem, TrimError, codec,
};
use deedbook::state::{Body, CHANGES_MAX, Change, Entry, PARTS_MAX, Record};
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
    /// How many operations there were on its storage.
    operations: Box<dyn Fn() -> u64>,
}

fn cases() -> [Case; 2] {
    let memory = MemoryLog::new(LOG, Arc::new(ManualClock::default()));
    let storage = MemoryStorage::new();
    let file = open(&storage).unwrap();
    let driven = file.clone();
    [
        Case {
            log: Arc::new(memory),
            drive: Box::new(|| {}),
            first: 1,
            operations: Box::new(|| 0),
        },
        Case {
            log: Arc::new(file),
            drive: Box::new(move || while driven.drive() {}),
            first: 2,
            operations: Box::new(move || storage.operation_count()),
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

fn entry_of(author: &BrokerId, changes: Vec<Change>) -> Arc<Entry> {
    Arc::new(Entry {
        author: Holder::new(author.clone(), SessionToken::new(9)),
        body: Body::Changes(changes),
        ..Entry::clone(&entry(9, 1))
    })
}

/// Splits a bundle into so many parts; most of them take three bytes.
fn split_into(parts: usize) -> Change {
    let cuts: Vec<_> = (1..u32::try_from(parts).unwrap()).collect();
    Change {
        next: Some(Record::Splitting {
            source: None,
            cuts: Cuts::new(cuts).unwrap(),
        }),
        ..entry(9, 1).changes()[0].clone()
    }
}

/// An entry that takes exactly so many bytes, standing alone.
fn entry_of_bytes(bytes: usize) -> Arc<Entry> {
    let name = |bytes: usize| BrokerId::new("x".repeat(bytes)).unwrap();
    let entry = |parts: usize, name_bytes: usize| {
        let mut changes = vec![split_into(60_000); 5];
        changes.push(split_into(parts));
        entry_of(&name(name_bytes), changes)
    };
    let bytes_of = |entry: &Arc<Entry>| {
        let payload = Payload::Entry(Arc::clone(entry));
        codec::encode(&payload).map_or(usize::MAX, |encoded| encoded.len())
    };
    // A cut more is three bytes more, and a letter one.
    let parts = 1_000 + (bytes - bytes_of(&entry(1_000, 1))) / 3;
    let name_bytes = 1 + bytes - bytes_of(&entry(parts, 1));
    entry(parts, name_bytes)
}

/// Each with the first entry that it refuses and the last that it takes.
fn limits() -> [(Refusal, Arc<Entry>, Arc<Entry>); 3] {
    let too_many = |what, count, max| Refusal::Codec(codec::Error::TooMany { what, count, max });
    let of = |changes| entry_of(&broker(0), changes);
    let changes = |count| of(vec![entry(9, 1).changes()[0].clone(); count]);
    let too_large = Refusal::TooLarge {
        bytes: ENTRY_BYTES_MAX + 1,
        max: ENTRY_BYTES_MAX,
    };
    let largest = entry_of_bytes(ENTRY_BYTES_MAX);
    let letter_more = format!("{}x", largest.author.broker);
    let larger = entry_of(&letter_more.parse().unwrap(), largest.changes().to_vec());
    [
        (
            too_many("changes", CHANGES_MAX + 1, CHANGES_MAX),
            changes(CHANGES_MAX + 1),
            changes(CHANGES_MAX),
        ),
        (
            too_many("cuts", PARTS_MAX, PARTS_MAX - 1),
            of(vec![split_into(PARTS_MAX + 1)]),
            of(vec![split_into(PARTS_MAX)]),
        ),
        (too_large, larger, largest),
    ]
}

#[test]
fn what_is_too_large_is_refused_before_anything_is_written() {
    for (refusal, larger, largest) in limits() {
        for case in cases() {
            let before = (case.operations)();
            let refused = case.append(&larger, Guard::None);
            assert_eq!(refused, Err(AppendError::Refused(refusal.clone())));
            assert_eq!((case.operations)(), before, "{refusal}");
            assert_eq!(entries(&*case.log, at(1)).unwrap(), []);
            let appended = case.append(&largest, Guard::None).unwrap();
            assert_eq!(appended.position, at(case.first), "no position was used up");
            assert_eq!(entries(&*case.log, at(1)).unwrap(), [Arc::clone(&largest)]);
        }
    }
}

/// There is no entry with a name that is too long: the name itself is refused.
#[test]
fn a_name_that_is_too_long_gets_into_no_entry() {
    let too_long = |what, bytes| ids::Error::TooLong {
        what,
        bytes,
        max: NAME_BYTES_MAX,
    };
    let long = "x".repeat(NAME_BYTES_MAX);
    let longer = format!("{long}x");
    let error = too_long("broker", NAME_BYTES_MAX + 1);
    assert_eq!(BrokerId::new(&longer), Err(error));
    let namespace = |bytes: usize| format!("t/{}", "n".repeat(bytes - 2));
    let error = too_long("namespace", NAME_BYTES_MAX + 1);
    let longer = namespace(NAME_BYTES_MAX + 1);
    assert_eq!(Namespace::new(&longer), Err(error.clone()));
    let bundle = |namespace: String| format!("{namespace}/0x00000000_0xffffffff").parse();
    assert_eq!(bundle(longer).map(|_: BundleId| ()), Err(error));

    let change = Change {
        bundle: bundle(namespace(NAME_BYTES_MAX)).unwrap(),
        ..entry(9, 1).changes()[0].clone()
    };
    let longest = entry_of(&BrokerId::new(&long).unwrap(), vec![change]);
    for case in cases() {
        case.append(&longest, Guard::None).unwrap();
        assert_eq!(entries(&*case.log, at(1)).unwrap(), [Arc::clone(&longest)]);
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
