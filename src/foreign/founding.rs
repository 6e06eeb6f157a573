//! What foreign events left, as the first entries of a log of ours.

use super::audit::{Audit, Held};
use super::coverage::{Overlap, is_child};
use super::native::{BEFORE, NotNative, cuts, native};
use crate::ids::{BrokerId, BundleId, Cuts, Holder, KeyRange, Namespace, SessionToken};
use crate::state::{Body, CHANGES_MAX, Change, PARTS_MAX, Record, State};
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// The namespaces and owners with which a new log begins.
///
/// A bundle in flight stands there as it was, so that whoever reads the log takes it up. Keys that
/// no bundle holds get a free one: a namespace is whole. A split that does not say which children
/// it makes is not under way any more: its owner owns the bundle.
#[derive(Clone, Debug)]
pub struct Founding {
    namespaces: BTreeMap<Namespace, BTreeMap<KeyRange, Record>>,
    filled: Vec<BundleId>,
}

/// Why no log can begin with what is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoundingError {
    /// Two bundles hold the same keys, which no log of ours says.
    #[error("{namespace}/{} and {namespace}/{} hold the same keys", overlap.first, overlap.second)]
    Overlaps {
        /// Whose they are.
        namespace: Namespace,
        /// The two.
        overlap: Overlap,
    },
    /// A record does not say what its state needs.
    #[error("{bundle}: {reason}")]
    NotNative {
        /// The bundle.
        bundle: BundleId,
        /// What is missing.
        reason: NotNative,
    },
    /// A namespace has more bundles than one can be created with.
    #[error("{namespace} has {count} bundles; one is created with at most {PARTS_MAX}")]
    TooManyParts {
        /// The namespace.
        namespace: Namespace,
        /// How many it has.
        count: usize,
    },
}

impl Founding {
    /// What an audit ended with.
    ///
    /// # Errors
    ///
    /// [`FoundingError`] if no log of ours can say that.
    pub fn new(audit: &Audit) -> Result<Self, FoundingError> {
        let mut founding = Self {
            namespaces: BTreeMap::new(),
            filled: Vec::new(),
        };
        for namespace in audit.namespaces() {
            let coverage = audit.coverage(namespace);
            if let Some(&overlap) = coverage.overlaps.first() {
                let namespace = namespace.clone();
                return Err(FoundingError::Overlaps { namespace, overlap });
            }
            let mut wanted = BTreeMap::new();
            let mut parent: Option<(KeyRange, &Held)> = None;
            for (range, held) in by_width(audit, namespace) {
                let born = parent.is_some_and(|(parent, held)| is_child(parent, held, range));
                if born {
                    continue;
                }
                if let Some(record) = wanted_of(namespace, range, held)? {
                    wanted.insert(range, record);
                    parent = Some((range, held));
                }
            }
            if wanted.is_empty() {
                continue;
            }
            for gap in coverage.gaps {
                founding.filled.push(BundleId::new(namespace.clone(), gap));
                wanted.insert(gap, Record::Free);
            }
            if wanted.len() > PARTS_MAX {
                return Err(FoundingError::TooManyParts {
                    namespace: namespace.clone(),
                    count: wanted.len(),
                });
            }
            founding.namespaces.insert(namespace.clone(), wanted);
        }
        Ok(founding)
    }

    /// How many namespaces there will be.
    #[must_use]
    pub fn namespace_count(&self) -> usize {
        self.namespaces.len()
    }

    /// How many bundles there will be.
    #[must_use]
    pub fn bundle_count(&self) -> usize {
        self.namespaces.values().map(BTreeMap::len).sum()
    }

    /// The free bundles that fill gaps.
    #[must_use]
    pub fn filled(&self) -> &[BundleId] {
        &self.filled
    }

    /// The brokers that hold bundles: each needs a session of the log, in whose name it takes them.
    #[must_use]
    pub fn holders(&self) -> BTreeSet<BrokerId> {
        let records = self.namespaces.values().flat_map(BTreeMap::values);
        let holders = records.filter_map(Record::holder);
        holders.map(|holder| holder.broker.clone()).collect()
    }

    /// The next entries to append: each with the broker whose session signs it, none for anybody.
    /// When all of them are in `table` there are more, until nothing is left to write.
    ///
    /// `sessions` are those of [`Self::holders`]; a bundle whose holder has none stays assigned.
    pub fn entries(
        &self,
        table: &Table,
        sessions: &BTreeMap<BrokerId, SessionToken>,
    ) -> Vec<(Option<BrokerId>, Body)> {
        let mut bodies = Vec::new();
        let mut changes: BTreeMap<Option<BrokerId>, Vec<Change>> = BTreeMap::new();
        for (namespace, wanted) in &self.namespaces {
            if !table.facts().namespaces.contains_key(namespace) {
                bodies.push((None, create(namespace, wanted, table)));
                continue;
            }
            for (range, wanted) in wanted {
                let bundle = BundleId::new(namespace.clone(), *range);
                if let Some((author, change)) = toward(bundle, wanted, table, sessions) {
                    changes.entry(author).or_default().push(change);
                }
            }
        }
        for (author, changes) in changes {
            let groups = changes.chunks(CHANGES_MAX);
            bodies.extend(groups.map(|group| (author.clone(), Body::Changes(group.to_vec()))));
        }
        bodies
    }
}

/// The bundles of a namespace by where they begin, the widest first: parents before children.
fn by_width<'a>(audit: &'a Audit, namespace: &Namespace) -> Vec<(KeyRange, &'a Held)> {
    let mut rows: Vec<_> = audit.rows_of(namespace).collect();
    rows.sort_by_key(|(range, _)| (range.lower(), std::cmp::Reverse(range.upper())));
    rows
}

/// What a bundle is to be; none if it is not to be there.
fn wanted_of(
    namespace: &Namespace,
    range: KeyRange,
    held: &Held,
) -> Result<Option<Record>, FoundingError> {
    let observed = &held.observed;
    let record = match observed.record.state {
        State::Init | State::Deleted => return Ok(None),
        State::Splitting if cuts(observed, range).is_none() => {
            let mut owned = observed.clone();
            owned.record.state = State::Owned;
            owned.record.destination = owned.record.source.take();
            native(&owned, range, BEFORE)
        }
        _ => native(observed, range, BEFORE),
    };
    record.map(Some).map_err(|reason| FoundingError::NotNative {
        bundle: BundleId::new(namespace.clone(), range),
        reason,
    })
}

fn create(namespace: &Namespace, wanted: &BTreeMap<KeyRange, Record>, table: &Table) -> Body {
    let inner: Vec<u32> = wanted.keys().skip(1).map(|range| range.lower()).collect();
    Body::CreateNamespace {
        namespace: namespace.clone(),
        cuts: Cuts::new(inner).ok(),
        applied: table.facts().floor,
    }
}

/// The next step of a bundle to what it is to be, and who takes it; none for anybody.
fn toward(
    bundle: BundleId,
    wanted: &Record,
    table: &Table,
    sessions: &BTreeMap<BrokerId, SessionToken>,
) -> Option<(Option<BrokerId>, Change)> {
    let row = table.get(&bundle)?;
    let broker = wanted.holder().map(|holder| holder.broker.clone());
    let (author, next) = match (&row.record, wanted, broker) {
        (Record::Free, Record::Assigning { .. }, _) => (None, wanted.clone()),
        (Record::Free, _, Some(destination)) => (None, Record::Assigning { destination }),
        (Record::Assigning { .. }, _, Some(broker)) => {
            let owner = Holder::new(broker.clone(), *sessions.get(&broker)?);
            (Some(broker), Record::Owned { owner })
        }
        (Record::Owned { owner }, wanted, _) => (None, held_by(owner, wanted)?),
        _ => return None,
    };
    let change = Change {
        bundle,
        expected: row.version,
        next: Some(next),
    };
    Some((author, change))
}

/// What is wanted beyond being owned, in the name of the session that owns.
fn held_by(owner: &Holder, wanted: &Record) -> Option<Record> {
    match wanted {
        Record::Releasing { destination, .. } => Some(Record::Releasing {
            source: owner.clone(),
            destination: destination.clone(),
        }),
        Record::Splitting { cuts, .. } => Some(Record::Splitting {
            source: Some(owner.clone()),
            cuts: cuts.clone(),
        }),
        _ => None,
    }
}
