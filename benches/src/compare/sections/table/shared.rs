//! Ways in which one writer and many readers can share who owns what.

use super::row;
use arc_swap::ArcSwap;
use deedbook::ids::{BrokerId, BundleId};
use deedbook::state::Row;
use left_right::{Absorb, ReadHandleFactory, WriteHandle};
use parking_lot::{Mutex, RwLock};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// What the writer sets and readers look up.
pub(super) trait Owners: Send + Sync {
    /// Sets a bundle's row. One thread at a time calls this.
    fn set(&self, bundle: &BundleId, row: Row);

    /// Who holds a bundle.
    fn owner(&self, bundle: &BundleId) -> Option<BrokerId>;
}

/// A way by its name.
type Candidate = (&'static str, fn(&[BundleId]) -> Arc<dyn Owners>);

pub(super) const CANDIDATES: [Candidate; 6] = [
    ("one lock (parking_lot)", |bundles| {
        Arc::new(One(RwLock::new(plain(bundles))))
    }),
    ("one lock, readers first (std)", |bundles| {
        Arc::new(Std::new(plain(bundles)))
    }),
    ("256 locks (parking_lot)", |bundles| {
        Arc::new(Shards::new(bundles))
    }),
    ("papaya", |bundles| {
        Arc::new(Papaya(plain(bundles).into_iter().collect()))
    }),
    ("arc-swap of a persistent map (rpds)", |bundles| {
        Arc::new(Swapped(ArcSwap::from_pointee(
            plain(bundles).into_iter().collect(),
        )))
    }),
    ("left-right", |bundles| Arc::new(Twins::new(bundles))),
];

type Plain = HashMap<BundleId, Row>;

fn plain(bundles: &[BundleId]) -> Plain {
    let rows = bundles.iter().enumerate();
    rows.map(|(index, bundle)| (bundle.clone(), row(index, 1)))
        .collect()
}

fn owner(row: &Row) -> Option<BrokerId> {
    row.record.holder().map(|holder| holder.broker.clone())
}

struct One(RwLock<Plain>);

impl Owners for One {
    fn set(&self, bundle: &BundleId, row: Row) {
        self.0.write().insert(bundle.clone(), row);
    }

    fn owner(&self, bundle: &BundleId) -> Option<BrokerId> {
        self.0.read().get(bundle).and_then(owner)
    }
}

#[expect(clippy::disallowed_types, reason = "it is one of those compared")]
struct Std(std::sync::RwLock<Plain>);

#[expect(clippy::disallowed_types, reason = "it is one of those compared")]
impl Std {
    fn new(plain: Plain) -> Self {
        Self(std::sync::RwLock::new(plain))
    }
}

impl Owners for Std {
    fn set(&self, bundle: &BundleId, row: Row) {
        self.0.write().unwrap().insert(bundle.clone(), row);
    }

    fn owner(&self, bundle: &BundleId) -> Option<BrokerId> {
        self.0.read().unwrap().get(bundle).and_then(owner)
    }
}

const SHARD_COUNT: usize = 256;

struct Shards {
    hasher: RandomState,
    shards: Vec<RwLock<Plain>>,
}

impl Shards {
    fn new(bundles: &[BundleId]) -> Self {
        let shards = Self {
            hasher: RandomState::new(),
            shards: (0..SHARD_COUNT).map(|_| RwLock::default()).collect(),
        };
        for (bundle, row) in plain(bundles) {
            shards.set(&bundle, row);
        }
        shards
    }

    fn of(&self, bundle: &BundleId) -> &RwLock<Plain> {
        let hash = self.hasher.hash_one(bundle);
        &self.shards[hash as usize % SHARD_COUNT]
    }
}

impl Owners for Shards {
    fn set(&self, bundle: &BundleId, row: Row) {
        self.of(bundle).write().insert(bundle.clone(), row);
    }

    fn owner(&self, bundle: &BundleId) -> Option<BrokerId> {
        self.of(bundle).read().get(bundle).and_then(owner)
    }
}

struct Papaya(papaya::HashMap<BundleId, Row>);

impl Owners for Papaya {
    fn set(&self, bundle: &BundleId, row: Row) {
        self.0.pin().insert(bundle.clone(), row);
    }

    fn owner(&self, bundle: &BundleId) -> Option<BrokerId> {
        self.0.pin().get(bundle).and_then(owner)
    }
}

struct Swapped(ArcSwap<rpds::HashTrieMapSync<BundleId, Row>>);

impl Owners for Swapped {
    fn set(&self, bundle: &BundleId, row: Row) {
        let next = self.0.load().insert(bundle.clone(), row);
        self.0.store(Arc::new(next));
    }

    fn owner(&self, bundle: &BundleId) -> Option<BrokerId> {
        self.0.load().get(bundle).and_then(owner)
    }
}

/// Two maps, of which readers see one while the writer changes the other.
struct Twins {
    writer: Mutex<WriteHandle<Twin, (BundleId, Row)>>,
    readers: ReadHandleFactory<Twin>,
}

#[derive(Clone, Default)]
struct Twin(Plain);

impl Absorb<(BundleId, Row)> for Twin {
    fn absorb_first(&mut self, (bundle, row): &mut (BundleId, Row), _: &Self) {
        self.0.insert(bundle.clone(), row.clone());
    }

    fn sync_with(&mut self, first: &Self) {
        self.0.clone_from(&first.0);
    }
}

impl Twins {
    fn new(bundles: &[BundleId]) -> Self {
        let (mut writer, reader) = left_right::new::<Twin, (BundleId, Row)>();
        for row in plain(bundles) {
            writer.append(row);
        }
        writer.publish();
        Self {
            writer: Mutex::new(writer),
            readers: reader.factory(),
        }
    }
}

impl Owners for Twins {
    fn set(&self, bundle: &BundleId, row: Row) {
        let mut writer = self.writer.lock();
        writer.append((bundle.clone(), row));
        writer.publish();
    }

    fn owner(&self, bundle: &BundleId) -> Option<BrokerId> {
        thread_local! {
            static READER: RefCell<Option<(usize, left_right::ReadHandle<Twin>)>> =
                const { RefCell::new(None) };
        }
        let key = std::ptr::from_ref(self) as usize;
        READER.with_borrow_mut(|reader| {
            if reader.as_ref().is_none_or(|(of, _)| *of != key) {
                *reader = Some((key, self.readers.handle()));
            }
            let (_, reader) = reader.as_ref()?;
            reader.enter()?.0.get(bundle).and_then(owner)
        })
    }
}
