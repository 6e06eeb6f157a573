//! Goal: whatever the pace of a subscriber, it arrives at the table, each update fits to what it
//! was told before, and what is kept for it is bounded. Method: random changes of a few rows, a
//! subscriber that takes at random, and a copy that it keeps from nothing but the updates.

use super::*;
use crate::ids::{Fence, Position};
use crate::state::{Record, Row};
use proptest::prelude::*;

const BUNDLES: u32 = 6;
const SIZE_MAX: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A row comes, or changes.
    Set(u32),
    /// A row goes.
    Remove(u32),
    /// The subscriber takes so many.
    Take(usize),
    /// The subscriber takes what there is of a batch.
    Batch,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..BUNDLES).prop_map(Step::Set),
        2 => (0..BUNDLES).prop_map(Step::Remove),
        2 => (1_usize..4).prop_map(Step::Take),
        1 => Just(Step::Batch),
    ]
}

fn bundle(index: u32) -> BundleId {
    let name = format!("t/n/0x0000000{index}_0xffffffff");
    name.parse().unwrap()
}

/// The table's side, and the copy of the subscriber.
struct Scene {
    table: BTreeMap<BundleId, Row>,
    version: u64,
    feeder: Feeder,
    subscription: Subscription,
    copy: BTreeMap<BundleId, Row>,
    told: u64,
    heard: u64,
}

impl Scene {
    fn new(config: &SubscriptionConfig) -> Self {
        let (subscription, feeder) = Subscription::new(config);
        Self {
            table: BTreeMap::new(),
            version: 0,
            feeder,
            subscription,
            copy: BTreeMap::new(),
            told: 0,
            heard: 0,
        }
    }

    fn play(&mut self, step: Step) {
        match step {
            Step::Set(index) => {
                self.version += 1;
                let row = Row {
                    record: Record::Free,
                    version: Position::new(self.version),
                    fence: Fence::default(),
                };
                self.change(bundle(index), Some(row));
            }
            Step::Remove(index) => self.change(bundle(index), None),
            Step::Take(count) => {
                for _ in 0..count {
                    let update = self.subscription.try_next().unwrap();
                    self.hear(update);
                }
            }
            Step::Batch => {
                let updates = self.subscription.try_batch().unwrap();
                updates
                    .into_iter()
                    .for_each(|update| self.hear(Some(update)));
            }
        }
        assert!(self.subscription.status().len <= SIZE_MAX + 1);
        let sum = self.feeder.gap.as_ref().map(|gap| gap.sum.lock());
        let kept = sum.and_then(|sum| sum.rows.as_ref().map(BTreeMap::len));
        assert!(kept.unwrap_or(0) <= BUNDLES as usize);
    }

    fn change(&mut self, bundle: BundleId, after: Option<Row>) {
        let before = match &after {
            Some(row) => self.table.insert(bundle.clone(), row.clone()),
            None => self.table.remove(&bundle),
        };
        if before.is_none() && after.is_none() {
            return;
        }
        self.told += 1;
        let change = RowChange {
            bundle,
            before,
            after,
        };
        assert!(self.feeder.tell(&change));
    }

    fn hear(&mut self, update: Option<Update>) {
        match update {
            None => {}
            Some(Update::Changed(change)) => {
                self.heard += 1;
                self.take_over(change);
            }
            Some(Update::Lagged { missed, changes }) => {
                assert!(missed > 0);
                self.heard += missed;
                changes
                    .into_iter()
                    .for_each(|change| self.take_over(change));
            }
        }
    }

    fn take_over(&mut self, change: RowChange) {
        let before = self.copy.get(&change.bundle);
        assert_eq!(before, change.before.as_ref(), "it continues what was told");
        match change.after {
            Some(row) => self.copy.insert(change.bundle, row),
            None => self.copy.remove(&change.bundle),
        };
    }

    /// The subscriber catches up, and has heard of everything.
    fn finish(&mut self) {
        while let Some(update) = self.subscription.try_next().unwrap() {
            self.hear(Some(update));
        }
        assert_eq!(self.copy, self.table);
        assert_eq!(self.heard, self.told, "each change was told, or counted");
    }
}

proptest! {
    #[test]
    fn a_subscriber_of_any_pace_arrives_at_the_table(
        steps in prop::collection::vec(step(), 0..200),
        is_short_of_memory: bool,
    ) {
        let limit = MemoryLimit::new(1_000_000);
        let _held = is_short_of_memory.then(|| limit.try_reserve(800_000).unwrap());
        let mut scene = Scene::new(&SubscriptionConfig {
            size_max: SIZE_MAX,
            limit: Some(limit.clone()),
        });
        for step in steps {
            scene.play(step);
        }
        scene.finish();
        drop(scene);
        prop_assert_eq!(limit.used(), if is_short_of_memory { 800_000 } else { 0 });
    }
}

/// With memory, the maximum may wait; without, only what the queue has found to be enough.
#[test]
fn what_may_wait_depends_on_memory() {
    for (used, waiting) in [(0, SIZE_MAX), (800_000, 1)] {
        let limit = MemoryLimit::new(1_000_000);
        let _held = limit.try_reserve(used).unwrap();
        let mut scene = Scene::new(&SubscriptionConfig {
            size_max: SIZE_MAX,
            limit: Some(limit),
        });
        (0..BUNDLES).for_each(|index| scene.play(Step::Set(index)));
        assert_eq!(
            scene.subscription.status().len,
            waiting + 1,
            "and the marker"
        );
        for _ in 0..waiting {
            let next = scene.subscription.try_next();
            assert!(matches!(next, Ok(Some(Update::Changed(_)))));
        }
        let Ok(Some(Update::Lagged { missed, changes })) = scene.subscription.try_next() else {
            panic!("the marker comes last");
        };
        assert_eq!((missed, changes.len()), ((6 - waiting) as u64, 6 - waiting));
    }
}

/// What came and went while nobody looked is not told, but counted.
#[test]
fn what_came_and_went_leaves_no_trace() {
    let config = SubscriptionConfig {
        size_max: 1,
        ..SubscriptionConfig::default()
    };
    let mut scene = Scene::new(&config);
    for _ in 0..3 {
        scene.play(Step::Set(0));
    }
    for index in 1..BUNDLES {
        scene.play(Step::Set(index));
        scene.play(Step::Remove(index));
    }
    let gap = scene.feeder.gap.as_ref().unwrap();
    assert_eq!(gap.sum.lock().rows.as_ref().unwrap().len(), 1);
    scene.finish();
}

#[test]
fn either_side_hears_that_the_other_has_gone() {
    let change = RowChange {
        bundle: bundle(0),
        before: None,
        after: None,
    };
    for told_before in 0..4 {
        let config = SubscriptionConfig {
            size_max: 1,
            ..SubscriptionConfig::default()
        };
        let (subscription, mut feeder) = Subscription::new(&config);
        for _ in 0..told_before {
            assert!(feeder.tell(&change));
        }
        drop(subscription);
        assert!(!feeder.tell(&change), "after {told_before}");

        let (subscription, mut feeder) = Subscription::new(&config);
        for _ in 0..told_before {
            assert!(feeder.tell(&change));
        }
        drop(feeder);
        for _ in 0..told_before.min(2) {
            assert!(subscription.try_next().unwrap().is_some());
        }
        assert_eq!(subscription.try_next(), Err(Closed));
    }
}
