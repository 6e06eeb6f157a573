//! The fold itself: rows and facts, and how an entry changes them.

use super::digest::Digest;
use super::error::Error;
use super::index::Indexes;
use crate::ids::{BrokerId, BundleId, Epoch, Holder, KeyRange, Namespace, Position, SessionToken};
use crate::state::{
    Accepted, COVERING_MAX, Entry, Fact, Facts, Phase, RULES_VERSION, Rejection, Row, State, View,
    resolve_entry,
};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Ownership as the log says it is, up to a position.
///
/// # Examples
///
/// ```
/// use deedbook::ids::{Holder, Position, SessionToken};
/// use deedbook::state::{Body, Entry};
/// use deedbook::table::Table;
///
/// let mut table = Table::default();
/// let create = Entry {
///     author: Holder::new("broker-1:8080".parse()?, SessionToken::new(1)),
///     counter: 1,
///     epoch: None,
///     body: Body::CreateNamespace {
///         namespace: "acme/orders".parse()?,
///         cuts: None,
///         applied: Position::ZERO,
///     },
/// };
/// let applied = table.apply(Position::new(1), &create).unwrap().unwrap();
/// assert!(applied.outcome.is_ok());
/// assert_eq!(table.rows().count(), 1);
/// # Ok::<(), deedbook::ids::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    facts: Facts,
    /// By namespace and range. A deleted parent stands beside its children; nothing else overlaps.
    rows: BTreeMap<Namespace, BTreeMap<KeyRange, (BundleId, Row)>>,
    row_count: usize,
    indexes: Indexes,
    /// The next position to read: everything below it is in the rows and facts.
    next: Position,
}

/// What an entry did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Where it stands.
    pub position: Position,
    /// The rows that changed, in the order in which the entry changes them; or why nothing did.
    pub outcome: Result<Vec<RowChange>, Rejection>,
    /// What changed beside rows.
    pub fact: Option<Fact>,
}

/// One row before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// Which bundle.
    pub bundle: BundleId,
    /// What it was; none if it was absent.
    pub before: Option<Row>,
    /// What it is; none if it is gone.
    pub after: Option<Row>,
}

impl Default for Table {
    /// Before the first entry.
    fn default() -> Self {
        Self {
            facts: Facts::default(),
            rows: BTreeMap::new(),
            row_count: 0,
            indexes: Indexes::default(),
            next: Position::ZERO.next(),
        }
    }
}

impl Table {
    /// The table of a snapshot: everything below `horizon`.
    ///
    /// Each row is a first transition from nothing, which out of compacted output may lead to any
    /// state: compaction may have fallen into the middle of an assignment, a transfer or a
    /// split.
    ///
    /// # Errors
    ///
    /// [`Error`] if the rows contradict each other or the facts.
    pub fn from_snapshot(
        horizon: Position,
        facts: Facts,
        rows: impl IntoIterator<Item = (BundleId, Row)>,
    ) -> Result<Self, Error> {
        check_rules(facts.rules_version)?;
        let mut table = Self {
            facts,
            next: horizon,
            ..Self::default()
        };
        for (bundle, row) in rows {
            if !table.facts.namespaces.contains_key(bundle.namespace()) {
                return Err(Error::Stray { bundle });
            }
            if row.version >= horizon {
                return Err(Error::FromTheFuture { bundle });
            }
            if table.set(&bundle, Some(row)).is_some() {
                return Err(Error::Twice { bundle });
            }
        }
        table.check_whole()?;
        Ok(table)
    }

    /// Takes in the entry at `position`. An entry that was taken in before changes nothing and
    /// gives nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NewerRules`] if the entry raised the rules above what this library applies; the
    /// table stays as it was.
    pub fn apply(&mut self, position: Position, entry: &Entry) -> Result<Option<Applied>, Error> {
        if position < self.next {
            return Ok(None);
        }
        let verdict = resolve_entry(self, position, entry);
        if let Ok(Accepted {
            fact: Some(Fact::RulesRaised(version)),
            ..
        }) = &verdict
        {
            check_rules(*version)?;
        }
        self.next = position.next();
        self.facts.note_author(&entry.author, entry.epoch);
        let accepted = match verdict {
            Ok(accepted) => accepted,
            Err(rejection) => {
                return Ok(Some(Applied {
                    position,
                    outcome: Err(rejection),
                    fact: None,
                }));
            }
        };
        self.facts.apply(position, &accepted);
        let changes = accepted.rows.into_iter().map(|(bundle, after)| {
            let before = self.set(&bundle, after.clone());
            RowChange {
                bundle,
                before,
                after,
            }
        });
        let outcome = Ok(changes.collect());
        Ok(Some(Applied {
            position,
            outcome,
            fact: accepted.fact,
        }))
    }

    /// Passes over a position that holds no entry.
    pub fn skip(&mut self, position: Position) {
        self.next = self.next.max(position.next());
    }

    /// The next position to read.
    #[must_use]
    pub fn next(&self) -> Position {
        self.next
    }

    /// What is known beside rows.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The row of a bundle.
    #[must_use]
    pub fn get(&self, bundle: &BundleId) -> Option<&Row> {
        self.rows
            .get(bundle.namespace())?
            .get(&bundle.range())
            .map(|(_, row)| row)
    }

    /// The bundle that holds a key, and its row; none if the namespace does not exist.
    #[must_use]
    pub fn at_key(&self, namespace: &Namespace, key: u32) -> Option<(&BundleId, &Row)> {
        let rows = self.rows.get(namespace)?;
        let last = KeyRange::new(key, u32::MAX).unwrap_or(KeyRange::FULL);
        let below = if key == u32::MAX {
            rows.range(..)
        } else {
            rows.range(..=last)
        };
        // Of several with one lower bound only the narrowest is not deleted, and it comes first in
        // order.
        below
            .rev()
            .map(|(_, (bundle, row))| (bundle, row))
            .find(|(bundle, row)| {
                row.record.state() != State::Deleted && bundle.range().contains(key)
            })
    }

    /// All rows, by namespace and range.
    pub fn rows(&self) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.rows
            .values()
            .flat_map(BTreeMap::values)
            .map(|(bundle, row)| (bundle, row))
    }

    /// The rows that come after a bundle, or all of them, by namespace and range.
    pub fn rows_after(&self, last: Option<&BundleId>) -> impl Iterator<Item = (&BundleId, &Row)> {
        let beyond = |last: &BundleId| (Bound::Excluded(last.range()), Bound::Unbounded);
        let same = last.and_then(|last| Some(self.rows.get(last.namespace())?.range(beyond(last))));
        let namespaces = match last {
            Some(last) => Bound::Excluded(last.namespace()),
            None => Bound::Unbounded,
        };
        let later = self
            .rows
            .range::<Namespace, _>((namespaces, Bound::Unbounded));
        same.into_iter()
            .chain(later.map(|(_, rows)| rows.range(..)))
            .flatten()
            .map(|(_, (bundle, row))| (bundle, row))
    }

    /// How many rows there are.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// The bundles that a session holds, in order: it owns, releases or splits them.
    pub fn held_by(&self, holder: &Holder) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.with_rows(self.indexes.held.get(holder))
    }

    /// The sessions that hold bundles, in order.
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        self.indexes.held.keys()
    }

    /// The bundles that are to go to a broker, in order.
    pub fn destined_to(&self, broker: &BrokerId) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.with_rows(self.indexes.destined.get(broker))
    }

    /// The bundles that somebody has a step to finish with, in order.
    pub fn in_flight(&self) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.with_rows(self.indexes.in_flight.iter())
    }

    /// The parents that wait for their removal, in order.
    pub fn deleted(&self) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.with_rows(self.indexes.deleted.iter())
    }

    /// One number for all of it: equal for equal tables.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.facts, self.rows())
    }

    /// The net changes that lead from this table to a later one, by namespace and range: removals,
    /// changes, births.
    #[must_use]
    pub fn difference(&self, later: &Self) -> Vec<RowChange> {
        let gone = self
            .rows()
            .filter(|(bundle, _)| later.get(bundle).is_none());
        let gone = gone.map(|(bundle, row)| RowChange {
            bundle: bundle.clone(),
            before: Some(row.clone()),
            after: None,
        });
        let changed = later
            .rows()
            .filter(|(bundle, row)| self.get(bundle) != Some(*row));
        let changed = changed.map(|(bundle, row)| RowChange {
            bundle: bundle.clone(),
            before: self.get(bundle).cloned(),
            after: Some(row.clone()),
        });
        gone.chain(changed).collect()
    }

    /// Whether the bundles of every namespace but deleted ones partition its key space (invariant
    /// I5).
    ///
    /// # Errors
    ///
    /// [`Error::NotWhole`] for the first namespace where they do not.
    pub fn check_whole(&self) -> Result<(), Error> {
        for namespace in self.facts.namespaces.keys() {
            let not_whole = |key| Error::NotWhole {
                namespace: namespace.clone(),
                key,
            };
            let rows = self
                .rows
                .get(namespace)
                .into_iter()
                .flat_map(BTreeMap::values);
            let mut next = 0;
            for (bundle, row) in rows {
                if row.record.state() == State::Deleted {
                    continue;
                }
                if bundle.range().lower() != next {
                    return Err(not_whole(next.min(bundle.range().lower())));
                }
                next = bundle.range().upper();
            }
            if next != u32::MAX {
                return Err(not_whole(next));
            }
        }
        Ok(())
    }

    fn with_rows<'a>(
        &'a self,
        bundles: impl Iterator<Item = &'a BundleId>,
    ) -> impl Iterator<Item = (&'a BundleId, &'a Row)> {
        bundles.filter_map(|bundle| self.get(bundle).map(|row| (bundle, row)))
    }

    /// Puts a row in its place, or takes it away, and gives what was there.
    fn set(&mut self, bundle: &BundleId, row: Option<Row>) -> Option<Row> {
        let range = bundle.range();
        let rows = self.rows.entry(bundle.namespace().clone()).or_default();
        let before = match &row {
            Some(row) => rows.insert(range, (bundle.clone(), row.clone())),
            None => rows.remove(&range),
        };
        if rows.is_empty() {
            self.rows.remove(bundle.namespace());
        }
        let before = before.map(|(_, row)| row);
        match (&before, &row) {
            (None, Some(_)) => self.row_count += 1,
            (Some(_), None) => self.row_count -= 1,
            _ => {}
        }
        self.indexes.update(bundle, before.as_ref(), row.as_ref());
        before
    }
}

fn check_rules(version: u32) -> Result<(), Error> {
    if version > RULES_VERSION {
        return Err(Error::NewerRules {
            version,
            known: RULES_VERSION,
        });
    }
    Ok(())
}

impl View for Table {
    fn row(&self, bundle: &BundleId) -> Option<&Row> {
        self.get(bundle)
    }

    fn namespace(&self, namespace: &Namespace) -> Option<Phase> {
        self.facts.namespaces.get(namespace).copied()
    }

    fn covering(&self, bundle: &BundleId) -> Vec<BundleId> {
        let mut found = Vec::new();
        let mut key = bundle.range().lower();
        while found.len() < COVERING_MAX && bundle.range().contains(key) {
            let Some((holder, _)) = self.at_key(bundle.namespace(), key) else {
                break;
            };
            found.push(holder.clone());
            if holder.range().upper() == u32::MAX {
                break;
            }
            key = holder.range().upper();
        }
        found
    }

    fn rows_of<'a>(
        &'a self,
        namespace: &Namespace,
    ) -> Box<dyn Iterator<Item = (&'a BundleId, &'a Row)> + 'a> {
        let rows = self
            .rows
            .get(namespace)
            .into_iter()
            .flat_map(BTreeMap::values);
        Box::new(rows.map(|(bundle, row)| (bundle, row)))
    }

    fn session_of(&self, broker: &BrokerId) -> Option<SessionToken> {
        self.facts.sessions.get(broker).copied()
    }

    fn epoch(&self) -> Epoch {
        self.facts.epoch
    }

    fn floor(&self) -> Position {
        self.facts.floor
    }

    fn rules_version(&self) -> u32 {
        self.facts.rules_version
    }
}

#[cfg(test)]
mod tests;
