//! Sets of rows kept beside them, so that no duty has to scan the table.

use super::rows::SlotId;
use crate::ids::{BrokerId, Holder, IdMap};
use crate::state::{Row, State};
use std::hash::Hash;

/// Which rows a session holds, which a broker is to get, which are in flight, and which are
/// deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    pub(super) held: Sets<Holder>,
    pub(super) destined: Sets<BrokerId>,
    /// By whether somebody has a step to finish, or the row is that of a deleted parent.
    aging: Sets<Aging>,
}

/// What a row waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Aging {
    /// That somebody finishes a step.
    InFlight,
    /// That it is removed.
    Deleted,
}

/// Sets of slots by a key, of which each slot is in one at most. An empty set is not kept.
///
/// A slot is found in its set by its place there, and the last one takes the place of one that
/// goes: the order of a set means nothing, and depends on when the sets were made.
#[derive(Clone, Debug)]
pub(super) struct Sets<K> {
    sets: IdMap<K, Vec<SlotId>>,
    /// For each slot its place in the set that it is in.
    places: Vec<u32>,
}

impl<K> Default for Sets<K> {
    fn default() -> Self {
        Self {
            sets: IdMap::default(),
            places: Vec::new(),
        }
    }
}

impl<K: Eq + Hash + Clone> Sets<K> {
    pub(super) fn get(&self, key: &K) -> &[SlotId] {
        self.sets.get(key).map_or(&[], Vec::as_slice)
    }

    /// The keys, in no order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.sets.keys()
    }

    /// Moves a slot from the set of one key to that of another.
    fn shift(&mut self, slot: SlotId, before: Option<&K>, after: Option<&K>) {
        if before == after {
            return;
        }
        if let Some(key) = before {
            self.remove(slot, key);
        }
        if let Some(key) = after {
            self.insert(slot, key);
        }
    }

    fn insert(&mut self, slot: SlotId, key: &K) {
        let set = match self.sets.get_mut(key) {
            Some(set) => set,
            None => self.sets.entry(key.clone()).or_default(),
        };
        let index = slot as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, 0);
        }
        if let Some(place) = self.places.get_mut(index) {
            *place = set.len() as u32;
        }
        set.push(slot);
    }

    fn remove(&mut self, slot: SlotId, key: &K) {
        let (Some(set), Some(&place)) = (self.sets.get_mut(key), self.places.get(slot as usize))
        else {
            return;
        };
        assert_eq!(
            set.get(place as usize),
            Some(&slot),
            "a slot is in its place"
        );
        set.swap_remove(place as usize);
        if let Some(&moved) = set.get(place as usize)
            && let Some(its) = self.places.get_mut(moved as usize)
        {
            *its = place;
        }
        if set.is_empty() {
            self.sets.remove(key);
        }
    }
}

impl Indexes {
    pub(super) fn in_flight(&self) -> &[SlotId] {
        self.aging.get(&Aging::InFlight)
    }

    pub(super) fn deleted(&self) -> &[SlotId] {
        self.aging.get(&Aging::Deleted)
    }

    /// Follows the row of a slot from what it was to what it is.
    pub(super) fn update(&mut self, slot: SlotId, before: Option<&Row>, after: Option<&Row>) {
        fn holder(row: Option<&Row>) -> Option<&Holder> {
            row?.record.holder()
        }
        fn destination(row: Option<&Row>) -> Option<&BrokerId> {
            row?.record.destination()
        }
        self.held.shift(slot, holder(before), holder(after));
        self.destined
            .shift(slot, destination(before), destination(after));
        let (before, after) = (aging(before), aging(after));
        self.aging.shift(slot, before.as_ref(), after.as_ref());
    }
}

fn aging(row: Option<&Row>) -> Option<Aging> {
    match Row::state_of(row) {
        state if state.is_in_flight() => Some(Aging::InFlight),
        State::Deleted => Some(Aging::Deleted),
        _ => None,
    }
}
