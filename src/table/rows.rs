//! Where rows are: slots with dense numbers, found by bundle or by key.

use crate::ids::{BundleId, IdMap, KeyRange, Namespace, id_hash};
use crate::state::{Phase, Row, State};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// The number of a slot. A bundle keeps it as long as it has a row.
pub(super) type SlotId = u32;

/// All rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    slots: Vec<Slot>,
    /// Slots without a row, to be used again.
    vacant: Vec<SlotId>,
    /// The slots with a row, by the hash of the bundle.
    by_bundle: HashTable<SlotId>,
    spaces: IdMap<Namespace, Space>,
}

/// The place of a row: one line of the processor's cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Slot(Option<(BundleId, Row)>);

const _: () = assert!(
    size_of::<Slot>() == 64,
    "a row fits into one line of the cache"
);

/// A namespace: how far it is in its life, and where the rows of its bundles are.
#[derive(Clone, Debug)]
struct Space {
    phase: Phase,
    ranges: Ranges,
}

/// The ranges of a namespace, in order, and their slots. A deleted parent stands beside its
/// children; nothing else overlaps.
///
/// Looked into for each topic and changed by splits alone: so it is a list, which is searched
/// faster than a tree.
#[derive(Clone, Debug, Default)]
struct Ranges(Vec<(KeyRange, SlotId)>);

impl Ranges {
    /// The slots of those that begin at or below a key, the last one first.
    fn below(&self, key: u32) -> impl Iterator<Item = SlotId> {
        let below = self.0.get(..self.count_below(key)).unwrap_or_default();
        below.iter().rev().map(|(_, slot)| *slot)
    }

    /// How many begin at or below a key. If they are about equally wide the key itself says where
    /// to look.
    fn count_below(&self, key: u32) -> usize {
        let is_below = |(range, _): &(KeyRange, SlotId)| range.lower() <= key;
        let guess = (u64::from(key) * self.0.len() as u64) >> u32::BITS;
        let start = usize::try_from(guess).map_or(0, |guess| guess.saturating_sub(1));
        let near = self.0.get(start..start + 4).unwrap_or_default();
        match (near.first(), near.last()) {
            (Some(first), Some(last)) if is_below(first) && !is_below(last) => {
                start + near.partition_point(is_below)
            }
            _ => self.0.partition_point(is_below),
        }
    }

    /// The slots of all, or of those behind a range.
    fn behind(&self, range: Option<KeyRange>) -> impl Iterator<Item = SlotId> {
        let start = self.0.partition_point(|(other, _)| Some(*other) <= range);
        let behind = self.0.get(start..).unwrap_or_default();
        behind.iter().map(|(_, slot)| *slot)
    }

    fn insert(&mut self, range: KeyRange, slot: SlotId) {
        let place = match self.0.last() {
            Some((last, _)) if *last > range => self.0.partition_point(|(other, _)| *other < range),
            _ => self.0.len(),
        };
        self.0.insert(place, (range, slot));
    }

    fn remove(&mut self, range: KeyRange) {
        if let Ok(place) = self.0.binary_search_by_key(&range, |(other, _)| *other) {
            self.0.remove(place);
        }
    }
}

/// How many slots more are made, at least, when there are no more; else an eighth of all.
const SLOTS_MORE_MIN: usize = 64;

impl Rows {
    /// How many rows there are.
    pub(super) fn count(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// Where a namespace is in its life; none if it does not exist.
    pub(super) fn phase(&self, namespace: &Namespace) -> Option<Phase> {
        self.spaces.get(namespace).map(|space| space.phase)
    }

    /// The slot of a bundle's row.
    pub(super) fn slot(&self, bundle: &BundleId) -> Option<SlotId> {
        let is_it = |slot: &SlotId| self.row(*slot).is_some_and(|(found, _)| found == bundle);
        self.by_bundle.find(id_hash(bundle), is_it).copied()
    }

    /// The row in a slot.
    pub(super) fn row(&self, slot: SlotId) -> Option<(&BundleId, &Row)> {
        let (bundle, row) = self.slots.get(slot as usize)?.0.as_ref()?;
        Some((bundle, row))
    }

    /// The bundle that holds a key, and its row.
    pub(super) fn at_key(&self, namespace: &Namespace, key: u32) -> Option<(&BundleId, &Row)> {
        let ranges = &self.spaces.get(namespace)?.ranges;
        // Of several with one lower bound only the narrowest is not deleted, and it comes first in
        // order.
        ranges
            .below(key)
            .filter_map(|slot| self.row(slot))
            .find(|(bundle, row)| {
                row.record.state() != State::Deleted && bundle.range().contains(key)
            })
    }

    /// All rows, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = (&BundleId, &Row)> {
        let taken = self.slots.iter().filter_map(|slot| slot.0.as_ref());
        taken.map(|(bundle, row)| (bundle, row))
    }

    /// All rows, by slot.
    pub(super) fn in_slots(&self) -> impl Iterator<Item = (SlotId, &Row)> {
        let slots = (0..).zip(&self.slots);
        slots.filter_map(|(id, slot)| Some((id, &slot.0.as_ref()?.1)))
    }

    /// The rows of a namespace, or those of them behind a range, in order.
    pub(super) fn of<'a>(
        &'a self,
        namespace: &Namespace,
        behind: Option<KeyRange>,
    ) -> impl Iterator<Item = (&'a BundleId, &'a Row)> + use<'a> {
        let space = self.spaces.get(namespace).into_iter();
        space
            .flat_map(move |space| space.ranges.behind(behind))
            .filter_map(|slot| self.row(slot))
    }

    /// Says where a namespace is in its life; with none, it is gone, and its rows are, too.
    pub(super) fn set_phase(&mut self, namespace: &Namespace, phase: Option<Phase>) {
        match (phase, self.spaces.get_mut(namespace)) {
            (Some(phase), Some(space)) => space.phase = phase,
            (Some(phase), None) => {
                let ranges = Ranges::default();
                self.spaces
                    .insert(namespace.clone(), Space { phase, ranges });
            }
            (None, _) => _ = self.spaces.remove(namespace),
        }
    }

    /// Puts another row in the place of one, and gives what was there.
    pub(super) fn replace(&mut self, slot: SlotId, row: Row) -> Option<Row> {
        let (_, kept) = self.slots.get_mut(slot as usize)?.0.as_mut()?;
        Some(std::mem::replace(kept, row))
    }

    /// Puts in the row of a bundle that has none, and gives its slot. The namespace exists.
    pub(super) fn insert(&mut self, bundle: &BundleId, row: Row) -> Option<SlotId> {
        let slot = self.place(bundle.clone(), row)?;
        let slots = &self.slots;
        self.by_bundle
            .insert_unique(id_hash(bundle), slot, |slot| hash_of(slots, *slot));
        Some(slot)
    }

    /// Puts in the row of a bundle that has none, which is [found](Self::find_all) later, and gives
    /// its slot. The namespace exists.
    pub(super) fn place(&mut self, bundle: BundleId, row: Row) -> Option<SlotId> {
        let space = self.spaces.get_mut(bundle.namespace())?;
        let range = bundle.range();
        let content = Slot(Some((bundle, row)));
        let slot = match self.vacant.pop() {
            Some(slot) => {
                *self.slots.get_mut(slot as usize)? = content;
                slot
            }
            None => {
                let slot = SlotId::try_from(self.slots.len()).ok()?;
                if self.slots.len() == self.slots.capacity() {
                    let more = SLOTS_MORE_MIN.max(self.slots.len() / 8);
                    self.slots.reserve_exact(more);
                }
                self.slots.push(content);
                slot
            }
        };
        space.ranges.insert(range, slot);
        Some(slot)
    }

    /// Makes all rows found by their bundles.
    ///
    /// # Errors
    ///
    /// A bundle that has two rows.
    pub(super) fn find_all(&mut self) -> Result<(), BundleId> {
        let slots = &self.slots;
        self.by_bundle = HashTable::with_capacity(slots.len());
        for (slot, content) in (0..).zip(slots) {
            let Some((bundle, _)) = &content.0 else {
                continue;
            };
            let is_it = |other: &SlotId| bundle_in(slots, *other) == Some(bundle);
            let hasher = |other: &SlotId| hash_of(slots, *other);
            match self.by_bundle.entry(id_hash(bundle), is_it, hasher) {
                Entry::Vacant(entry) => _ = entry.insert(slot),
                Entry::Occupied(_) => return Err(bundle.clone()),
            }
        }
        Ok(())
    }

    /// Takes a row away, and gives what was there.
    pub(super) fn remove(&mut self, slot: SlotId) -> Option<Row> {
        let (bundle, row) = self.slots.get_mut(slot as usize)?.0.take()?;
        if let Some(space) = self.spaces.get_mut(bundle.namespace()) {
            space.ranges.remove(bundle.range());
        }
        if let Ok(entry) = self
            .by_bundle
            .find_entry(id_hash(&bundle), |kept| *kept == slot)
        {
            entry.remove();
        }
        self.vacant.push(slot);
        Some(row)
    }
}

fn bundle_in(slots: &[Slot], slot: SlotId) -> Option<&BundleId> {
    let (bundle, _) = slots.get(slot as usize)?.0.as_ref()?;
    Some(bundle)
}

fn hash_of(slots: &[Slot], slot: SlotId) -> u64 {
    bundle_in(slots, slot).map_or(0, id_hash)
}
