//! Which bundles leaders have moved lately, as the log tells it.

use crate::clock::Tick;
use crate::ids::{BundleId, Position, SessionToken};
use crate::state::{Entry, Record, Row};
use crate::table::Table;
use std::collections::BTreeMap;
use std::time::Duration;

/// Which bundles leaders have moved lately. Every broker that balances keeps it, so that whoever
/// comes to lead knows what was moved before.
///
/// What a broker gives away that leaves, and what nobody has any more, has not been moved: its new
/// place was not chosen by load.
///
/// # Examples
///
/// ```
/// use deedbook::balance::Recent;
/// use std::time::Duration;
///
/// let recent = Recent::new(Duration::from_secs(1800));
/// assert_eq!(recent.moved().count(), 0);
/// ```
#[derive(Debug)]
pub struct Recent {
    kept: Duration,
    moved: BTreeMap<BundleId, Tick>,
    /// When to look next for what is too old.
    sweep_at: Tick,
}

impl Recent {
    /// Nothing has moved yet; what moves is remembered for `kept`.
    #[must_use]
    pub fn new(kept: Duration) -> Self {
        Self {
            kept,
            moved: BTreeMap::new(),
            sweep_at: Tick::ZERO,
        }
    }

    /// Takes in an entry that the table has applied: whether it takes bundles from their owners in
    /// the name of the session that leads.
    pub fn note(
        &mut self,
        now: Tick,
        leader: Option<SessionToken>,
        position: Position,
        entry: &Entry,
        table: &Table,
    ) {
        if leader != Some(entry.author.session) {
            return;
        }
        for change in entry.changes() {
            let takes = matches!(change.next, Some(Record::Releasing { .. }));
            if takes && Row::version_of(table.get(&change.bundle)) == position {
                self.moved.insert(change.bundle.clone(), now);
            }
        }
        if now >= self.sweep_at {
            let kept = self.kept;
            self.moved.retain(|_, moved| now.since(*moved) < kept);
            self.sweep_at = now.after(kept);
        }
    }

    /// When each was moved. Some may be too old by now.
    pub fn moved(&self) -> impl Iterator<Item = (&BundleId, Tick)> {
        self.moved.iter().map(|(bundle, moved)| (bundle, *moved))
    }
}
