//! Handing items from threads to a thread: a receiver queue beside channels of a fixed size.

mod ours;
#[cfg(feature = "peers")]
mod peers;
mod run;

use crate::compare::{Bound, Case, Figure, Goal, Section, Setting, Stopwatch, Subject, Unit};
use deedbook::receive::MemoryLimit;
use run::Sides;
use std::sync::mpsc;

pub(super) const SECTION: Section = Section {
    name: "queue",
    what: "receiver queues beside channels of a fixed size",
    cases,
};

/// Items that fit into each queue.
const SIZE: usize = 1024;

/// Producers, where it is about many.
const MANY: usize = 4;

/// Queues that share a limit.
const QUEUES: usize = 8;

const FIXED: &str = "deedbook, fixed";
const GROWING: &str = "deedbook, finds its size";
const LIMITED: &str = "deedbook, with a limit";
const BATCHES: &str = "deedbook, in batches";
const STD: &str = "std sync_channel";

/// Bytes of memory that the queues may share: far more than they use.
const PLENTY: u64 = 1 << 30;

fn cases(setting: &Setting) -> Vec<Case> {
    vec![
        handing_over(setting, 1),
        handing_over(setting, MANY),
        sharing(setting),
    ]
}

fn handing_over(setting: &Setting, producers: usize) -> Case {
    let count = setting.count(2_000_000, 1_000) / producers;
    #[cfg_attr(
        not(feature = "peers"),
        expect(unused_mut, reason = "peers take part, or not")
    )]
    let mut subjects = vec![
        subject(FIXED, producers, count, || {
            ours::sides(ours::fixed().build())
        }),
        subject(GROWING, producers, count, || {
            ours::sides(ours::growing().build())
        }),
        subject(LIMITED, producers, count, || {
            let limit = MemoryLimit::new(PLENTY);
            ours::sides(ours::fixed().limit(&limit).build())
        }),
        Subject::new(BATCHES, move || {
            let watch = Stopwatch::start();
            ours::batches(producers, count);
            vec![watch.rate("rate", producers * count)]
        }),
        subject(STD, producers, count, || {
            let (sender, receiver) = mpsc::sync_channel(SIZE);
            Sides {
                put: Box::new(move || {
                    let sender = sender.clone();
                    Box::new(move |item| sender.send(item).unwrap())
                }),
                take: Box::new(move || receiver.recv().ok()),
            }
        }),
    ];
    #[cfg(feature = "peers")]
    subjects.extend([
        subject(peers::CROSSBEAM, producers, count, peers::crossbeam),
        subject(peers::FLUME, producers, count, peers::flume),
    ]);
    let goal = |name, to, least| Goal {
        name,
        figure: "rate",
        of: FIXED,
        to,
        bound: Bound::AtLeast(least),
    };
    Case {
        name: format!("{producers} to 1 ({count} items each)"),
        subjects,
        goals: vec![
            // Those two have no lock, and count neither permits nor bytes.
            goal("Q1", STD, 0.1),
            goal("Q2", "crossbeam-channel", 0.1),
            goal("Q3", "flume", 0.5),
            Goal {
                name: "Q4",
                figure: "rate",
                of: GROWING,
                to: FIXED,
                bound: Bound::AtLeast(0.9),
            },
            Goal {
                name: "Q5",
                figure: "rate",
                of: LIMITED,
                to: FIXED,
                bound: Bound::AtLeast(0.8),
            },
        ],
    }
}

/// Several pairs of threads, each with a queue of its own, on one limit.
fn sharing(setting: &Setting) -> Case {
    let count = setting.count(2_000_000, 200);
    let each = "deedbook, a limit each";
    let shared = "deedbook, one limit";
    let scarce = "deedbook, one limit that is short";
    let pairs = move |limit: fn(usize) -> MemoryLimit, shares: bool| {
        move || {
            let first = limit(0);
            let limits = (0..QUEUES).map(|_| if shares { first.clone() } else { limit(0) });
            ours::pairs(&limits.collect::<Vec<_>>(), count)
        }
    };
    Case {
        name: format!("{QUEUES} pairs of threads ({count} items each)"),
        subjects: vec![
            Subject::new(each, pairs(|_| MemoryLimit::new(PLENTY), false)),
            Subject::new(shared, pairs(|_| MemoryLimit::new(PLENTY), true)),
            // Room for half of what the queues would like to hold.
            Subject::new(
                scarce,
                pairs(|_| MemoryLimit::new((QUEUES * SIZE * 8 / 2) as u64), true),
            ),
        ],
        goals: vec![Goal {
            name: "Q6",
            figure: "rate",
            of: shared,
            to: each,
            bound: Bound::AtLeast(0.8),
        }],
    }
}

/// A number of producers that put so many items each, and one consumer.
fn subject(
    name: &'static str,
    producers: usize,
    count: usize,
    make: impl Fn() -> Sides + 'static,
) -> Subject {
    Subject::new(name, move || {
        let sides = make();
        let watch = Stopwatch::start();
        run::hand_over(sides, producers, count);
        vec![watch.rate("rate", producers * count)]
    })
}

/// What the slowest of several had done when the first one was done, as a share.
fn share(value: f64) -> Figure {
    ("slowest share", Unit::Count, value)
}
