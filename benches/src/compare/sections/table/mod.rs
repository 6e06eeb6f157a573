//! Looking rows up: by bundle and by key, alone and beside a writer that never pauses.

mod shared;

use crate::compare::{Bound, Case, Goal, Section, Setting, Stopwatch, Subject, corpus};
use deedbook::ids::{BundleId, Fence, Holder, Position, SessionToken};
use deedbook::state::{Facts, Phase, Record, Row};
use deedbook::table::Table;
use shared::Owners;
use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub(super) const SECTION: Section = Section {
    name: "table",
    what: "looking up who owns a bundle",
    cases,
};

/// Who writes beside the reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    None,
    /// As a large cluster does that hands over much: at most fifty thousand changes a second.
    Paced,
    FullSpeed,
}

/// How many changes a writer makes between two pauses.
const BURST: usize = 50;
const PAUSE: Duration = Duration::from_millis(1);

const ALONE: &str = "alone";
const BUSY: &str = "beside a busy writer";
const FULL_SPEED: &str = "beside a writer at full speed";

const BY_BUNDLE: &str = "table, by bundle";
const BY_KEY: &str = "table, by key";

fn cases(setting: &Setting) -> Vec<Case> {
    let bundles = Rc::new(corpus::bundles(setting.count(corpus::BUNDLE_COUNT, 100)));
    let mut cases = vec![alone(setting, &bundles)];
    cases.extend(shared::CANDIDATES.map(|(name, make)| beside(setting, &bundles, name, make)));
    cases
}

fn row(index: usize, version: u64) -> Row {
    let session = SessionToken::new(1);
    Row {
        record: Record::Owned {
            owner: Holder::new(corpus::broker(index), session),
        },
        version: Position::new(version),
        fence: Fence::new(1),
    }
}

fn table(bundles: &[BundleId]) -> Table {
    let mut facts = Facts::default();
    for bundle in bundles {
        facts
            .namespaces
            .insert(bundle.namespace().clone(), Phase::Live);
    }
    let rows = bundles.iter().enumerate();
    let rows = rows.map(|(index, bundle)| (bundle.clone(), row(index, 1)));
    Table::from_snapshot(Position::new(2), facts, rows).unwrap()
}

/// Numbers without a pattern, the same each time.
struct Scatter(u64);

impl Scatter {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn alone(setting: &Setting, bundles: &Rc<Vec<BundleId>>) -> Case {
    let count = setting.count(2_000_000, 100);
    let table = Rc::new(table(bundles));
    let plain: HashMap<BundleId, Row> = (bundles.iter().enumerate())
        .map(|(index, bundle)| (bundle.clone(), row(index, 1)))
        .collect();
    let subject = |name, mut find: Box<dyn FnMut(&BundleId) -> bool>| {
        let bundles = Rc::clone(bundles);
        Subject::new(name, move || {
            let mut scatter = Scatter(7);
            let watch = Stopwatch::start();
            let found = (0..count)
                .filter(|_| find(black_box(&bundles[scatter.below(bundles.len())])))
                .count();
            assert_eq!(found, count, "every bundle has a row");
            vec![watch.rate("rate", count)]
        })
    };
    let by_key = Rc::clone(&table);
    Case {
        name: format!("{} bundles, nobody else", bundles.len()),
        subjects: vec![
            subject(
                "std's map",
                Box::new(move |bundle| plain.contains_key(bundle)),
            ),
            subject(
                BY_BUNDLE,
                Box::new(move |bundle| table.get(bundle).is_some()),
            ),
            subject(
                BY_KEY,
                Box::new(move |bundle| {
                    let key = bundle.range().lower();
                    by_key.at_key(bundle.namespace(), key).is_some()
                }),
            ),
        ],
        goals: vec![
            Goal {
                name: "G7: a topic takes at most twice as long as a bundle",
                figure: "rate",
                of: BY_KEY,
                to: BY_BUNDLE,
                bound: Bound::AtLeast(0.5),
            },
            Goal {
                name: "G7: within 1.3 times of a map that nobody shares",
                figure: "rate",
                of: BY_BUNDLE,
                to: "std's map",
                bound: Bound::AtLeast(1.0 / 1.3),
            },
        ],
    }
}

/// One reader, without and beside a writer.
fn beside(
    setting: &Setting,
    bundles: &[BundleId],
    name: &'static str,
    make: fn(&[BundleId]) -> Arc<dyn Owners>,
) -> Case {
    let span = Duration::from_millis(setting.count(300, 2) as u64);
    let bundles: Arc<Vec<BundleId>> = Arc::new(bundles.to_vec());
    let owners = make(&bundles);
    let subject = |name, writer| {
        let (owners, bundles) = (Arc::clone(&owners), Arc::clone(&bundles));
        Subject::new(name, move || {
            let (reads, writes) = run(&owners, &bundles, writer, span);
            vec![
                ("reads", crate::compare::Unit::PerSecond, reads),
                ("writes", crate::compare::Unit::PerSecond, writes),
            ]
        })
    };
    let goal = |name, of| Goal {
        name,
        figure: "reads",
        of,
        to: ALONE,
        bound: Bound::AtLeast(0.8),
    };
    Case {
        name: name.to_owned(),
        subjects: vec![
            subject(ALONE, Writer::None),
            subject(BUSY, Writer::Paced),
            subject(FULL_SPEED, Writer::FullSpeed),
        ],
        goals: vec![
            goal("G7: look-ups beside a busy writer", BUSY),
            goal("G7: look-ups beside a writer at full speed", FULL_SPEED),
        ],
    }
}

fn run(
    owners: &Arc<dyn Owners>,
    bundles: &Arc<Vec<BundleId>>,
    writer: Writer,
    span: Duration,
) -> (f64, f64) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = (writer != Writer::None).then(|| {
            scope.spawn(|| {
                let mut scatter = Scatter(11);
                let mut writes = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..BURST {
                        let index = scatter.below(bundles.len());
                        owners.set(&bundles[index], row(index, writes));
                        writes += 1;
                    }
                    if writer == Writer::Paced {
                        // Nobody unparks it.
                        thread::park_timeout(PAUSE);
                    }
                }
                writes
            })
        });
        let watch = Stopwatch::start();
        let mut scatter = Scatter(7);
        let mut reads = 0_u64;
        while watch.elapsed() < span {
            for _ in 0..64 {
                let bundle = &bundles[scatter.below(bundles.len())];
                assert!(black_box(owners.owner(bundle)).is_some());
            }
            reads += 64;
        }
        let seconds = watch.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let writes = writer.map_or(0, |writer| writer.join().unwrap());
        (reads as f64 / seconds, writes as f64 / seconds)
    })
}
