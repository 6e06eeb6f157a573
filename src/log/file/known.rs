//! Which entries are in the log already, so that a repeated append is the same append.

use crate::ids::{EntryId, Position, SessionToken};
use std::collections::{BTreeMap, VecDeque};

/// The ids of retained entries and where these stand.
///
/// Sessions count their entries upwards, and positions grow: each session's list is sorted by
/// counter in all but odd cases, and adding to it costs next to nothing.
#[derive(Debug, Default)]
pub(super) struct KnownIds {
    sessions: BTreeMap<SessionToken, VecDeque<(u64, Position)>>,
}

impl KnownIds {
    /// Where the entry stands, if it is known.
    pub(super) fn get(&self, id: EntryId) -> Option<Position> {
        let list = self.sessions.get(&id.session)?;
        if list.back()?.0 < id.counter {
            return None;
        }
        let index = list.binary_search_by_key(&id.counter, |(counter, _)| *counter);
        list.get(index.ok()?).map(|(_, position)| *position)
    }

    /// Remembers an entry; of two with one id the first stands.
    pub(super) fn insert(&mut self, id: EntryId, position: Position) {
        let list = self.sessions.entry(id.session).or_default();
        if list.back().is_none_or(|(last, _)| *last < id.counter) {
            list.push_back((id.counter, position));
        } else if let Err(index) = list.binary_search_by_key(&id.counter, |(counter, _)| *counter) {
            list.insert(index, (id.counter, position));
        }
    }

    /// Forgets an entry that did not get into the log after all.
    pub(super) fn remove(&mut self, id: EntryId) {
        if let Some(list) = self.sessions.get_mut(&id.session)
            && let Ok(index) = list.binary_search_by_key(&id.counter, |(counter, _)| *counter)
        {
            list.remove(index);
        }
    }

    /// Forgets what was trimmed.
    pub(super) fn trim(&mut self, first: Position) {
        self.sessions.retain(|_, list| {
            list.retain(|(_, position)| *position >= first);
            !list.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id((session, counter): (u64, u64)) -> EntryId {
        let session = SessionToken::new(session);
        EntryId { session, counter }
    }

    proptest! {
        /// Against a plain map, whatever the order of counters.
        #[test]
        fn it_is_a_map(
            ids in prop::collection::vec((0..3_u64, 0..20_u64), 0..60),
            removed in prop::collection::vec((0..3_u64, 0..20_u64), 0..10),
            first in 0..60_u64,
        ) {
            let mut known = KnownIds::default();
            let mut model = BTreeMap::new();
            for (position, &raw) in (1..).map(Position::new).zip(&ids) {
                known.insert(id(raw), position);
                model.entry(raw).or_insert(position);
            }
            for raw in removed {
                known.remove(id(raw));
                model.remove(&raw);
            }
            known.trim(Position::new(first));
            model.retain(|_, position| *position >= Position::new(first));
            for raw in (0..4).flat_map(|session| (0..21).map(move |counter| (session, counter))) {
                prop_assert_eq!(known.get(id(raw)), model.get(&raw).copied());
            }
        }
    }
}
