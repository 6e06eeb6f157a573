//! The fold itself: rows and facts, and how an entry changes them.

use super::digest::Digest;
use super::error::Error;
use super::index::Indexes;
use super::rows::{Rows, SlotId};
use crate::ids::{BrokerId, BundleId, Epoch, Holder, IdMap, Namespace, Position, SessionToken};
use crate::log::Payload;
use crate::state::{
    COVERING_MAX, Entry, Fact, Facts, Phase, RULES_VERSION, Rejection, Row, State, View,
    resolve_into,
};
use std::ops::Bound;
use std::sync::OnceLock;

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
    /// The sessions of the facts, found by hash.
    sessions: IdMap<BrokerId, SessionToken>,
    rows: Rows,
    /// Made when they are first asked for, and kept with the rows from then on.
    indexes: OnceLock<Indexes>,
    /// Room for the rows that an entry changes.
    resolved: Vec<(BundleId, Option<Row>)>,
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

/// What changes beside rows, or why nothing changes.
type Ruling = Result<Option<Fact>, Rejection>;

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
            sessions: IdMap::default(),
            rows: Rows::default(),
            indexes: OnceLock::new(),
            resolved: Vec::new(),
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
            sessions: facts.sessions.clone().into_iter().collect(),
            facts,
            next: horizon,
            ..Self::default()
        };
        for (namespace, phase) in &table.facts.namespaces {
            table.rows.set_phase(namespace, Some(*phase));
        }
        for (bundle, row) in rows {
            if table.rows.phase(bundle.namespace()).is_none() {
                return Err(Error::Stray { bundle });
            }
            if row.version >= horizon {
                return Err(Error::FromTheFuture { bundle });
            }
            table.rows.place(bundle, row);
        }
        let found = table.rows.find_all();
        found.map_err(|bundle| Error::Twice { bundle })?;
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
        let mut changes = Vec::new();
        let verdict = self.fold(position, entry, Some(&mut changes))?;
        Ok(verdict.map(|verdict| {
            let (outcome, fact) = match verdict {
                Ok(fact) => (Ok(changes), fact),
                Err(rejection) => (Err(rejection), None),
            };
            Applied {
                position,
                outcome,
                fact,
            }
        }))
    }

    /// Takes in the entry at `position`, as [`Table::apply`] does, for whoever does not ask what it
    /// did.
    ///
    /// # Errors
    ///
    /// As [`Table::apply`].
    pub fn absorb(&mut self, position: Position, entry: &Entry) -> Result<(), Error> {
        self.fold(position, entry, None).map(drop)
    }

    /// Takes in an entry; gives what changes beside rows, or why nothing does, and if asked for the
    /// rows that change.
    fn fold(
        &mut self,
        position: Position,
        entry: &Entry,
        mut changes: Option<&mut Vec<RowChange>>,
    ) -> Result<Option<Ruling>, Error> {
        if position < self.next {
            return Ok(None);
        }
        let mut rows = std::mem::take(&mut self.resolved);
        let verdict = resolve_into(self, position, entry, &mut rows);
        if let Ok(Some(Fact::RulesRaised(version))) = &verdict {
            check_rules(*version)?;
        }
        self.next = position.next();
        self.note_author(entry);
        let fact = match verdict {
            Ok(fact) => fact,
            Err(rejection) => {
                self.resolved = rows;
                return Ok(Some(Err(rejection)));
            }
        };
        let removes = rows.iter().any(|(_, row)| row.is_none());
        self.facts.apply(position, fact.as_ref(), removes);
        if let Some(fact) = &fact {
            self.begin(fact);
        }
        for (bundle, after) in rows.drain(..) {
            let Some(changes) = &mut changes else {
                self.set(&bundle, after);
                continue;
            };
            changes.push(RowChange {
                before: self.set(&bundle, after.clone()),
                bundle,
                after,
            });
        }
        self.resolved = rows;
        if let Some(Fact::NamespaceEnded(namespace)) = &fact {
            self.rows.set_phase(namespace, None);
        }
        Ok(Some(Ok(fact)))
    }

    /// Remembers the author's session and epoch. Most authors say nothing new about themselves.
    fn note_author(&mut self, entry: &Entry) {
        let Holder { broker, session } = &entry.author;
        let known = self.sessions.get(broker).copied();
        if known == Some(*session) && entry.epoch.is_none_or(|epoch| epoch <= self.facts.epoch) {
            return;
        }
        self.facts.note_author(&entry.author, entry.epoch);
        if known < Some(*session) {
            self.sessions.insert(broker.clone(), *session);
        }
    }

    /// Takes in a fact as far as it comes before the rows that it is about.
    fn begin(&mut self, fact: &Fact) {
        match fact {
            Fact::NamespaceCreated(namespace) => {
                self.rows.set_phase(namespace, Some(Phase::Live));
            }
            Fact::NamespaceMarked(namespace) => {
                self.rows.set_phase(namespace, Some(Phase::BeingDeleted));
            }
            Fact::NamespaceEnded(_) | Fact::LeaderStarted(_) | Fact::RulesRaised(_) => {}
        }
    }

    /// Looks at the rows that these entries are about, and says how many entries there are.
    ///
    /// Nothing comes of it but that the rows are in the processor's cache: one look depends on no
    /// other, so that the processor waits for many of them at once, while an entry that is applied
    /// has to wait for the one before it.
    pub(super) fn touch<'a>(&self, payloads: impl Iterator<Item = &'a Payload>) -> usize {
        let mut count = 0;
        for payload in payloads {
            count += 1;
            let Payload::Entry(entry) = payload else {
                continue;
            };
            for change in entry.changes() {
                std::hint::black_box(Row::version_of(self.get(&change.bundle)));
            }
        }
        count
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
        let (_, row) = self.rows.row(self.rows.slot(bundle)?)?;
        Some(row)
    }

    /// The bundle that holds a key, and its row; none if the namespace does not exist.
    #[must_use]
    pub fn at_key(&self, namespace: &Namespace, key: u32) -> Option<(&BundleId, &Row)> {
        self.rows.at_key(namespace, key)
    }

    /// All rows, by namespace and range.
    pub fn rows(&self) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.rows_after(None)
    }

    /// The rows that come after a bundle, or all of them, by namespace and range.
    pub fn rows_after(&self, last: Option<&BundleId>) -> impl Iterator<Item = (&BundleId, &Row)> {
        let same = last.map(|last| self.rows.of(last.namespace(), Some(last.range())));
        let namespaces = match last {
            Some(last) => Bound::Excluded(last.namespace()),
            None => Bound::Unbounded,
        };
        let later = self
            .facts
            .namespaces
            .range::<Namespace, _>((namespaces, Bound::Unbounded));
        same.into_iter()
            .flatten()
            .chain(later.flat_map(|(namespace, _)| self.rows.of(namespace, None)))
    }

    /// How many rows there are.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows.count()
    }

    /// The bundles that a session holds: it owns, releases or splits them. In no order.
    pub fn held_by(&self, holder: &Holder) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.in_slots(self.indexes().held.get(holder))
    }

    /// The sessions that hold bundles, in order.
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        let mut holders: Vec<_> = self.indexes().held.keys().collect();
        holders.sort_unstable();
        holders.into_iter()
    }

    /// The bundles that are to go to a broker, in no order.
    pub fn destined_to(&self, broker: &BrokerId) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.in_slots(self.indexes().destined.get(broker))
    }

    /// The bundles that somebody has a step to finish with, in no order.
    pub fn in_flight(&self) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.in_slots(self.indexes().in_flight())
    }

    /// The parents that wait for their removal, in no order.
    pub fn deleted(&self) -> impl Iterator<Item = (&BundleId, &Row)> {
        self.in_slots(self.indexes().deleted())
    }

    /// One number for all of it: equal for equal tables.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.facts, self.rows.all())
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
            let mut next = 0;
            for (bundle, row) in self.rows.of(namespace, None) {
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

    /// The sets of rows. A table that is only being rebuilt needs none.
    fn indexes(&self) -> &Indexes {
        self.indexes.get_or_init(|| {
            let mut indexes = Indexes::default();
            for (slot, row) in self.rows.in_slots() {
                indexes.update(slot, None, Some(row));
            }
            indexes
        })
    }

    fn in_slots<'a>(
        &'a self,
        slots: &'a [SlotId],
    ) -> impl Iterator<Item = (&'a BundleId, &'a Row)> {
        slots.iter().filter_map(|slot| self.rows.row(*slot))
    }

    /// Puts a row in its place, or takes it away, and gives what was there.
    fn set(&mut self, bundle: &BundleId, row: Option<Row>) -> Option<Row> {
        let (slot, before) = match (self.rows.slot(bundle), row) {
            (Some(slot), Some(row)) => (slot, self.rows.replace(slot, row)),
            (Some(slot), None) => (slot, self.rows.remove(slot)),
            (None, Some(row)) => (self.rows.insert(bundle, row)?, None),
            (None, None) => return None,
        };
        if let Some(indexes) = self.indexes.get_mut() {
            let after = self.rows.row(slot).map(|(_, row)| row);
            indexes.update(slot, before.as_ref(), after);
        }
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
        self.rows.phase(namespace)
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
        Box::new(self.rows.of(namespace, None))
    }

    fn session_of(&self, broker: &BrokerId) -> Option<SessionToken> {
        self.sessions.get(broker).copied()
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
