//! What all nodes share, as a disk array or an object store would be: it knows no brokers, only
//! fences. Whoever takes over opens its keys with the fence it was given; from then on a write with
//! a lower one is refused.

use deedbook::ids::{Fence, KeyRange};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Whether fences are looked at. Without them a former owner's late write is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fences {
    Checked,
    Ignored,
}

/// The write came with a lower fence than its key was opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fenced;

#[derive(Debug)]
pub(crate) struct Storage {
    fences: Fences,
    /// Guards all that is stored. Nothing else is locked while it is held.
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    values: BTreeMap<u32, u64>,
    opened: Vec<(KeyRange, Fence)>,
    stale_writes: u64,
}

impl Storage {
    pub(crate) fn new(fences: Fences) -> Self {
        let inner = Mutex::default();
        Self { fences, inner }
    }

    /// Opens the keys of a range, and gives what they hold.
    pub(crate) fn open(&self, range: KeyRange, fence: Fence) -> BTreeMap<u32, u64> {
        let mut inner = self.inner.lock();
        let covered = |of: KeyRange| {
            range.contains(of.lower()) && range.width() >= of.width() && range.upper() >= of.upper()
        };
        inner
            .opened
            .retain(|(of, with)| !covered(*of) || *with > fence);
        inner.opened.push((range, fence));
        let values = inner.values.range(range.lower()..);
        let inside = values.take_while(|(key, _)| range.contains(**key));
        inside.map(|(key, value)| (*key, *value)).collect()
    }

    /// Writes a key, unless somebody opened it with a higher fence.
    pub(crate) fn write(&self, key: u32, value: u64, fence: Fence) -> Result<(), Fenced> {
        let mut inner = self.inner.lock();
        let opened = inner.opened.iter().filter(|(range, _)| range.contains(key));
        let is_stale = opened
            .max_by_key(|(_, with)| *with)
            .is_some_and(|(_, with)| *with > fence);
        if is_stale && self.fences == Fences::Checked {
            return Err(Fenced);
        }
        inner.stale_writes += u64::from(is_stale);
        inner.values.insert(key, value);
        Ok(())
    }

    /// The sum of all counts.
    pub(crate) fn total(&self) -> u64 {
        self.inner.lock().values.values().sum()
    }

    /// How many writes of former owners were taken.
    pub(crate) fn stale_writes(&self) -> u64 {
        self.inner.lock().stale_writes
    }
}
