//! The one rule that table, compactor and protocol share: is this entry accepted, and what does it
//! change?
//!
//! Pure: the answer depends on the fold so far and on the entry, never on clocks or on who is
//! alive.

use super::entry::{Body, CHANGES_MAX, Change, Entry};
use super::record::{Record, Row, State};
use super::rejection::Rejection;
use super::rules::{By, FORCED, ORDINARY, Rule, Term, find};
use crate::ids::{
    BrokerId, BundleId, Cuts, Epoch, Fence, Holder, KeyRange, Namespace, Position, SessionToken,
};
use std::collections::HashSet;

/// Most bundles that an answer names as those that hold somebody's keys.
pub const COVERING_MAX: usize = 8;

/// What the fold knows so far.
pub trait View {
    /// The row of a bundle; none if it is absent.
    fn row(&self, bundle: &BundleId) -> Option<&Row>;
    /// Where a namespace is in its life; none if it does not exist.
    fn namespace(&self, namespace: &Namespace) -> Option<Phase>;
    /// The bundles that hold this one's keys, in order, at most [`COVERING_MAX`] of them; `Deleted`
    /// ones do not.
    fn covering(&self, bundle: &BundleId) -> Vec<BundleId>;
    /// All rows of a namespace.
    fn rows_of<'a>(
        &'a self,
        namespace: &Namespace,
    ) -> Box<dyn Iterator<Item = (&'a BundleId, &'a Row)> + 'a>;
    /// The newest session that a broker has spoken in.
    fn session_of(&self, broker: &BrokerId) -> Option<SessionToken>;
    /// The newest epoch that a leader has spoken in.
    fn epoch(&self) -> Epoch;
    /// The position of the last accepted removal.
    fn floor(&self) -> Position;
    /// The version of the rules in force.
    fn rules_version(&self) -> u32;
}

/// Where a namespace is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Its bundles can be assigned, moved and split.
    Live,
    /// It is marked: its bundles can only be let go of.
    BeingDeleted,
}

/// What an accepted entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The rows that change: the bundle and what it becomes; none removes it.
    pub rows: Vec<(BundleId, Option<Row>)>,
    /// What changes beside rows.
    pub fact: Option<Fact>,
}

/// What an entry changes beside rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A namespace exists from here on.
    NamespaceCreated(Namespace),
    /// A namespace is being deleted from here on.
    NamespaceMarked(Namespace),
    /// A namespace is gone.
    NamespaceEnded(Namespace),
    /// A leader began.
    LeaderStarted(Epoch),
    /// A newer version of the rules holds.
    RulesRaised(u32),
}

/// Accepted with its effects, or rejected with the reason.
pub type Verdict = Result<Accepted, Rejection>;

/// Judges an entry at `position` against everything before it.
///
/// # Errors
///
/// The [`Rejection`] that keeps it from changing anything.
pub fn resolve_entry(view: &impl View, position: Position, entry: &Entry) -> Verdict {
    let mut rows = Vec::new();
    let fact = resolve_into(view, position, entry, &mut rows)?;
    Ok(Accepted { rows, fact })
}

/// Does what [`resolve_entry`] does, with room for the rows that there is already. What is in it
/// after a rejection means nothing.
pub(crate) fn resolve_into(
    view: &impl View,
    position: Position,
    entry: &Entry,
    rows: &mut Vec<(BundleId, Option<Row>)>,
) -> Result<Option<Fact>, Rejection> {
    rows.clear();
    check_author(view, entry)?;
    let fact = match &entry.body {
        Body::Changes(changes) => {
            resolve_changes(view, position, entry, changes, rows)?;
            return Ok(None);
        }
        Body::CreateNamespace {
            namespace,
            cuts,
            applied,
        } => create_namespace(view, position, (namespace, cuts.as_ref(), *applied), rows)?,
        Body::DeleteNamespace { namespace, applied } => mark_namespace(view, namespace, *applied)?,
        Body::EndNamespace { namespace } => {
            leaders(entry)?;
            end_namespace(view, namespace, rows)?
        }
        Body::LeaderStarted => Fact::LeaderStarted(leaders(entry)?),
        Body::RaiseRules { version } => {
            leaders(entry)?;
            let current = view.rules_version();
            if *version <= current {
                return Err(Rejection::RulesNotNewer {
                    version: *version,
                    current,
                });
            }
            Fact::RulesRaised(*version)
        }
    };
    Ok(Some(fact))
}

/// Judges one change of a bundle whose row is `kept`, by the tables of [`rules`](super::rules). The
/// effect is the bundle's new row alone; children and namespaces are [`resolve_entry`]'s.
///
/// # Errors
///
/// The [`Rejection`] that keeps it from changing anything.
pub fn resolve_change(
    kept: Option<&Row>,
    change: &Change,
    context: Context<'_>,
) -> Result<Option<Row>, Rejection> {
    let bundle = || change.bundle.clone();
    let found = Row::version_of(kept);
    if change.expected != found {
        return Err(Rejection::StaleVersion {
            bundle: bundle(),
            expected: change.expected,
            found,
        });
    }
    let from = Row::state_of(kept);
    let to = change.next.as_ref().map_or(State::Init, Record::state);
    let table = if context.forced { FORCED } else { ORDINARY };
    let (Some(rule), Some(kept)) = (find(table, from, to), kept) else {
        return Err(Rejection::InvalidTransition {
            bundle: bundle(),
            from,
            to,
            forced: context.forced,
        });
    };
    if !speaks(rule.by, &kept.record, context.author) {
        return Err(Rejection::WrongAuthor {
            bundle: bundle(),
            needed: rule.by,
        });
    }
    for &term in rule.terms {
        if !holds(term, &kept.record, change, context) {
            return Err(match term {
                Term::CutsDivide => Rejection::NotAPartition { bundle: bundle() },
                Term::NamespaceStays | Term::NamespaceStaysIfDestination => {
                    Rejection::NamespaceBeingDeleted {
                        namespace: change.bundle.namespace().clone(),
                    }
                }
                term => Rejection::TermBroken {
                    bundle: bundle(),
                    term,
                },
            });
        }
    }
    Ok(change.next.clone().map(|record| Row {
        fence: fence(kept, &record, rule, context.position),
        record,
        version: context.position,
    }))
}

/// What a change is judged in, beside the bundle's row.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Where the entry stands.
    pub position: Position,
    /// Who wrote it.
    pub author: &'a Holder,
    /// Whether it claims the leader's powers, with an epoch that is not stale.
    pub forced: bool,
    /// Where the bundle's namespace is in its life.
    pub phase: Phase,
}

/// A session or an epoch that a newer one has followed is not heard.
fn check_author(view: &impl View, entry: &Entry) -> Result<(), Rejection> {
    let Holder { broker, session } = &entry.author;
    if let Some(highest) = view.session_of(broker).filter(|highest| highest > session) {
        return Err(Rejection::StaleSession {
            broker: broker.clone(),
            session: *session,
            highest,
        });
    }
    match entry.epoch {
        Some(epoch) if epoch < view.epoch() => Err(Rejection::StaleEpoch {
            epoch,
            highest: view.epoch(),
        }),
        _ => Ok(()),
    }
}

/// The epoch of an entry that needs one.
fn leaders(entry: &Entry) -> Result<Epoch, Rejection> {
    entry.epoch.ok_or(Rejection::NoEpoch)
}

fn resolve_changes(
    view: &impl View,
    position: Position,
    entry: &Entry,
    changes: &[Change],
    rows: &mut Vec<(BundleId, Option<Row>)>,
) -> Result<(), Rejection> {
    if changes.is_empty() || changes.len() > CHANGES_MAX {
        return Err(Rejection::ChangeCount {
            count: changes.len(),
        });
    }
    for change in changes {
        let namespace = change.bundle.namespace();
        let phase = view
            .namespace(namespace)
            .ok_or_else(|| Rejection::UnknownNamespace {
                namespace: namespace.clone(),
            })?;
        let forced = entry.epoch.is_some();
        let context = Context {
            position,
            author: &entry.author,
            forced,
            phase,
        };
        let kept = view.row(&change.bundle);
        if kept.is_none() && change.expected == Position::ZERO && change.next.is_some() {
            // Its keys are somebody's since the namespace exists: it is born by a split or not at
            // all.
            return Err(Rejection::Overlaps {
                bundles: view.covering(&change.bundle),
            });
        }
        let after = resolve_change(kept, change, context)?;
        let births = kept.map(|kept| births(&change.bundle, kept, after.as_ref()));
        rows.push((change.bundle.clone(), after));
        rows.extend(births.into_iter().flatten());
    }
    if let Some(twice) = find_twice(rows) {
        return Err(Rejection::DuplicateBundle {
            bundle: twice.clone(),
        });
    }
    Ok(())
}

/// A bundle that an entry would change twice.
fn find_twice(rows: &[(BundleId, Option<Row>)]) -> Option<&BundleId> {
    if rows.len() == 1 {
        return None;
    }
    let mut seen = HashSet::with_capacity(rows.len());
    let mut bundles = rows.iter().map(|(bundle, _)| bundle);
    bundles.find(|bundle| !seen.insert(*bundle))
}

/// The children that a finished split brings into being: what the splitting record says, owned by
/// its source.
fn births(parent: &BundleId, kept: &Row, after: Option<&Row>) -> Vec<(BundleId, Option<Row>)> {
    let (
        Record::Splitting {
            source: Some(source),
            cuts,
        },
        Some(after),
    ) = (&kept.record, after)
    else {
        return Vec::new();
    };
    if after.record != Record::Deleted {
        return Vec::new();
    }
    let row = Row {
        record: Record::Owned {
            owner: source.clone(),
        },
        version: after.version,
        fence: Fence::at(after.version),
    };
    parent
        .children(cuts)
        .map(|child| (child, Some(row.clone())))
        .collect()
}

fn create_namespace(
    view: &impl View,
    position: Position,
    (namespace, cuts, applied): (&Namespace, Option<&Cuts>, Position),
    rows: &mut Vec<(BundleId, Option<Row>)>,
) -> Result<Fact, Rejection> {
    if view.namespace(namespace).is_some() {
        return Err(Rejection::NamespaceExists {
            namespace: namespace.clone(),
        });
    }
    if applied < view.floor() {
        return Err(Rejection::StaleView {
            applied,
            floor: view.floor(),
        });
    }
    let whole = BundleId::new(namespace.clone(), KeyRange::FULL);
    let bundles: Vec<BundleId> = match cuts {
        None => vec![whole],
        Some(cuts) if cuts.divide(KeyRange::FULL) => whole.children(cuts).collect(),
        Some(_) => return Err(Rejection::NotAPartition { bundle: whole }),
    };
    let free = Row {
        record: Record::Free,
        version: position,
        fence: Fence::default(),
    };
    let born = bundles.into_iter();
    rows.extend(born.map(|bundle| (bundle, Some(free.clone()))));
    Ok(Fact::NamespaceCreated(namespace.clone()))
}

fn mark_namespace(
    view: &impl View,
    namespace: &Namespace,
    applied: Position,
) -> Result<Fact, Rejection> {
    match view.namespace(namespace) {
        None => Err(Rejection::UnknownNamespace {
            namespace: namespace.clone(),
        }),
        Some(Phase::BeingDeleted) => Err(Rejection::NamespaceBeingDeleted {
            namespace: namespace.clone(),
        }),
        Some(Phase::Live) if applied < view.floor() => Err(Rejection::StaleView {
            applied,
            floor: view.floor(),
        }),
        Some(Phase::Live) => Ok(Fact::NamespaceMarked(namespace.clone())),
    }
}

fn end_namespace(
    view: &impl View,
    namespace: &Namespace,
    rows: &mut Vec<(BundleId, Option<Row>)>,
) -> Result<Fact, Rejection> {
    match view.namespace(namespace) {
        None => {
            return Err(Rejection::UnknownNamespace {
                namespace: namespace.clone(),
            });
        }
        Some(Phase::Live) => {
            return Err(Rejection::NamespaceNotMarked {
                namespace: namespace.clone(),
            });
        }
        Some(Phase::BeingDeleted) => {}
    }
    for (bundle, row) in view.rows_of(namespace) {
        let state = row.record.state();
        if !matches!(state, State::Free | State::Deleted) {
            let (namespace, bundle) = (namespace.clone(), bundle.clone());
            return Err(Rejection::NamespaceInUse {
                namespace,
                bundle,
                state,
            });
        }
        rows.push((bundle.clone(), None));
    }
    Ok(Fact::NamespaceEnded(namespace.clone()))
}

/// Whether the author is the one whose word the transition needs. That a leader's epoch is not
/// stale was checked with the entry.
fn speaks(by: By, kept: &Record, author: &Holder) -> bool {
    match by {
        By::Anyone | By::Leader => true,
        By::Destination => kept.destination() == Some(&author.broker),
        By::Source => kept.holder() == Some(author),
        By::Successor => kept.holder().is_some_and(|holder| {
            holder.broker == author.broker && holder.session < author.session
        }),
    }
}

/// Whether the new record keeps to a term. A change without a record breaks every term that asks
/// for one.
fn holds(term: Term, kept: &Record, change: &Change, context: Context<'_>) -> bool {
    let Some(next) = &change.next else {
        return false;
    };
    let live = context.phase == Phase::Live;
    match term {
        Term::HolderIsAuthor => next.holder() == Some(context.author),
        Term::HolderStays => next.holder() == kept.holder(),
        Term::HolderChanges => next.holder() != kept.holder(),
        Term::DestinationChanges => next.destination() != kept.destination(),
        Term::DestinationStays => next.destination() == kept.destination(),
        Term::DestinationIsNotHolder => next
            .destination()
            .is_none_or(|next| kept.holder().is_none_or(|holder| holder.broker != *next)),
        Term::NobodyWaits => kept.destination().is_none() || !live,
        Term::CutsStay => cuts_of(next) == cuts_of(kept),
        Term::CutsDivide => cuts_of(next).is_some_and(|cuts| cuts.divide(change.bundle.range())),
        Term::NamespaceStays => live,
        Term::NamespaceStaysIfDestination => live || next.destination().is_none(),
        Term::ChildrenAreBorn => true,
    }
}

fn cuts_of(record: &Record) -> Option<&Cuts> {
    match record {
        Record::Splitting { cuts, .. } => Some(cuts),
        _ => None,
    }
}

/// Who was chosen at this entry gets its position; who was chosen before keeps what it got; nobody
/// has none.
fn fence(kept: &Row, next: &Record, rule: &Rule, position: Position) -> Fence {
    match next {
        Record::Assigning { .. } => Fence::at(position),
        _ if next.holder().is_none() => Fence::default(),
        _ if matches!(rule.by, By::Successor | By::Leader) => Fence::at(position),
        _ => kept.fence,
    }
}
