//! Which entries are in the log already, so that a repeated append is the same append.

use crate::ids::{EntryId, Position, SessionToken};
use std::collections::{BTreeMap, VecDeque};

/// The ids of retained entries and where these stand.
///
/// Sessions count their entries upwards, and positions grow: each session's list is sorted by
/// counter in all but odd cases, and adding to it costs next to nothing. It is kept in blocks, so
/// that what was trimmed is forgotten a block at a time: appends wait for that.
#[derive(Debug, Default)]
pub(super) struct KnownIds {
    sessions: BTreeMap<SessionToken, VecDeque<Block>>,
    /// Entries below it were trimmed, whether or not their blocks are still there.
    first: Position,
}

/// How many ids a block has, but for those that came late.
const BLOCK_IDS: usize = if cfg!(test) { 4 } else { 1024 };

/// Ids of one session, by counter.
#[derive(Debug, Default)]
struct Block {
    ids: Vec<(u64, Position)>,
    /// The newest position among them.
    newest: Position,
}

impl Block {
    fn last(&self) -> Option<u64> {
        self.ids.last().map(|(counter, _)| *counter)
    }

    fn find(&self, counter: u64) -> Result<usize, usize> {
        self.ids.binary_search_by_key(&counter, |(other, _)| *other)
    }

    fn insert(&mut self, index: usize, counter: u64, position: Position) {
        self.ids.insert(index, (counter, position));
        self.newest = self.newest.max(position);
    }
}

impl KnownIds {
    /// Where the entry stands, if it is known.
    pub(super) fn get(&self, id: EntryId) -> Option<Position> {
        let blocks = self.sessions.get(&id.session)?;
        let block = blocks.get(place(blocks, id.counter))?;
        let (_, position) = block.ids.get(block.find(id.counter).ok()?)?;
        (*position >= self.first).then_some(*position)
    }

    /// Remembers an entry; of two with one id the first stands, unless it was trimmed.
    pub(super) fn insert(&mut self, id: EntryId, position: Position) {
        let blocks = self.sessions.entry(id.session).or_default();
        let place = place(blocks, id.counter);
        if let Some(block) = blocks.get_mut(place) {
            match block.find(id.counter) {
                Err(index) => block.insert(index, id.counter, position),
                Ok(index) => {
                    if let Some((_, kept)) = block.ids.get_mut(index)
                        && *kept < self.first
                    {
                        *kept = position;
                        block.newest = block.newest.max(position);
                    }
                }
            }
            return;
        }
        let has_room = |block: &&mut Block| block.ids.len() < BLOCK_IDS;
        if let Some(block) = blocks.back_mut().filter(has_room) {
            block.insert(block.ids.len(), id.counter, position);
        } else {
            let mut block = Block::default();
            block.insert(0, id.counter, position);
            blocks.push_back(block);
        }
    }

    /// Forgets an entry that did not get into the log after all.
    pub(super) fn remove(&mut self, id: EntryId) {
        if let Some(blocks) = self.sessions.get_mut(&id.session)
            && let place = place(blocks, id.counter)
            && let Some(block) = blocks.get_mut(place)
            && let Ok(index) = block.find(id.counter)
        {
            block.ids.remove(index);
            if block.ids.is_empty() {
                blocks.remove(place);
            }
        }
    }

    /// Forgets what was trimmed.
    pub(super) fn trim(&mut self, first: Position) {
        self.first = self.first.max(first);
        self.sessions.retain(|_, blocks| {
            while blocks.front().is_some_and(|block| block.newest < first) {
                blocks.pop_front();
            }
            !blocks.is_empty()
        });
    }

    /// How many ids take room.
    #[cfg(test)]
    fn count(&self) -> usize {
        let blocks = self.sessions.values().flatten();
        blocks.map(|block| block.ids.len()).sum()
    }
}

/// Which block a counter is in, if it is in any; the number of blocks if it is above all.
fn place(blocks: &VecDeque<Block>, counter: u64) -> usize {
    match blocks.back() {
        Some(block) if block.last() >= Some(counter) => {}
        _ => return blocks.len(),
    }
    blocks.partition_point(|block| block.last() < Some(counter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id((session, counter): (u64, u64)) -> EntryId {
        let session = SessionToken::new(session);
        EntryId { session, counter }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert((u64, u64)),
        Remove((u64, u64)),
        Trim(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let raw = || (0..3_u64, 0..40_u64);
        let step = prop_oneof![
            6 => raw().prop_map(Step::Insert),
            1 => raw().prop_map(Step::Remove),
            1 => (0..120_u64).prop_map(Step::Trim),
        ];
        prop::collection::vec(step, 0..120)
    }

    proptest! {
        /// Against a plain map, whatever the order of counters.
        #[test]
        fn it_is_a_map(steps in steps()) {
            let mut known = KnownIds::default();
            let mut model = BTreeMap::new();
            let mut trimmed = 0;
            for (position, step) in (1..).zip(steps) {
                match step {
                    Step::Insert(raw) => {
                        known.insert(id(raw), Position::new(position));
                        model.entry(raw).or_insert(Position::new(position));
                    }
                    Step::Remove(raw) => {
                        known.remove(id(raw));
                        model.remove(&raw);
                    }
                    Step::Trim(first) => {
                        // Only what was written is trimmed.
                        trimmed = first.min(position).max(trimmed);
                        known.trim(Position::new(trimmed));
                        model.retain(|_, position| *position >= Position::new(trimmed));
                    }
                }
                let all = (0..120).map(|both| (both / 40, both % 40));
                for raw in all {
                    prop_assert_eq!(known.get(id(raw)), model.get(&raw).copied());
                }
            }
            known.trim(Position::new(1000));
            prop_assert_eq!(known.count(), 0);
        }
    }

    #[test]
    fn what_was_trimmed_takes_no_room_but_for_one_block_of_each_session() {
        let mut known = KnownIds::default();
        for counter in 0..100 {
            known.insert(id((1, counter)), Position::new(1 + 2 * counter));
            known.insert(id((2, counter)), Position::new(2 + 2 * counter));
        }
        known.trim(Position::new(102));
        // 50 of session 1 remain and 51 of session 2: one is in a block with three before it.
        assert_eq!(known.count(), 52 + 52);
    }
}
