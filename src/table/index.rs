//! Sets of bundles kept beside the rows, so that no duty has to scan the table.

use crate::ids::{BrokerId, BundleId, Holder};
use crate::state::{Row, State};
use std::collections::{BTreeMap, BTreeSet};

/// Which bundles a session holds, which a broker is to get, which are in flight, and which are
/// deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    pub(super) held: Sets<Holder>,
    pub(super) destined: Sets<BrokerId>,
    pub(super) in_flight: BTreeSet<BundleId>,
    pub(super) deleted: BTreeSet<BundleId>,
}

/// Sets of bundles by a key; an empty set is not kept.
#[derive(Clone, Debug)]
pub(super) struct Sets<K>(BTreeMap<K, BTreeSet<BundleId>>);

impl<K> Default for Sets<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Clone> Sets<K> {
    pub(super) fn get(&self, key: &K) -> impl Iterator<Item = &BundleId> {
        self.0.get(key).into_iter().flatten()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }

    /// Moves a bundle from the set of one key to that of another.
    fn shift(&mut self, bundle: &BundleId, before: Option<&K>, after: Option<&K>) {
        if before == after {
            return;
        }
        if let Some(key) = before
            && let Some(set) = self.0.get_mut(key)
        {
            set.remove(bundle);
            if set.is_empty() {
                self.0.remove(key);
            }
        }
        if let Some(key) = after {
            self.0
                .entry(key.clone())
                .or_default()
                .insert(bundle.clone());
        }
    }
}

impl Indexes {
    /// Follows a row from what it was to what it is.
    pub(super) fn update(&mut self, bundle: &BundleId, before: Option<&Row>, after: Option<&Row>) {
        let holder = |row: Option<&Row>| row.and_then(|row| row.record.holder()).cloned();
        self.held
            .shift(bundle, holder(before).as_ref(), holder(after).as_ref());
        let destination = |row: Option<&Row>| row.and_then(|row| row.record.destination()).cloned();
        self.destined.shift(
            bundle,
            destination(before).as_ref(),
            destination(after).as_ref(),
        );
        let state = Row::state_of(after);
        keep(&mut self.in_flight, bundle, state.is_in_flight());
        keep(&mut self.deleted, bundle, state == State::Deleted);
    }
}

fn keep(set: &mut BTreeSet<BundleId>, bundle: &BundleId, member: bool) {
    if member {
        set.insert(bundle.clone());
    } else {
        set.remove(bundle);
    }
}
