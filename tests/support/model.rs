//! A second fold, as plain as can be: one flat map, and an `if` for each sentence of the design.
//!
//! It shares nothing with the rules of `state` but the types of what is written into the log. Where
//! several sentences speak against an entry it names the first in this order: the author, the
//! namespace, the version, the states, whose word it is, and only then the terms.

use deedbook::ids::{BundleId, Holder, KeyRange};
use deedbook::state::{Body, Change, Entry, Record, State};
use std::collections::BTreeMap;

/// What is known of one bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bundle {
    pub(crate) state: State,
    /// Owner or source: broker and session.
    pub(crate) holder: Option<(String, u64)>,
    pub(crate) to: Option<String>,
    pub(crate) cuts: Vec<u32>,
    pub(crate) version: u64,
    pub(crate) fence: u64,
}

/// Where a namespace is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Live,
    Ending,
}

/// The whole fold.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Model {
    pub(crate) namespaces: BTreeMap<String, Life>,
    pub(crate) bundles: BTreeMap<BundleId, Bundle>,
    pub(crate) sessions: BTreeMap<String, u64>,
    pub(crate) epoch: u64,
    pub(crate) floor: u64,
}

/// Why an entry changes nothing: the name of the reason, `terms` for all that have to do with what
/// the new record says.
pub(crate) type Why = &'static str;

type Written = Vec<(BundleId, Option<Bundle>)>;

impl Bundle {
    pub(crate) fn new(record: &Record, version: u64, fence: u64) -> Self {
        let mut new = Self {
            state: State::Free,
            holder: None,
            to: None,
            cuts: Vec::new(),
            version,
            fence,
        };
        match record {
            Record::Free => new.state = State::Free,
            Record::Assigning { destination } => {
                new.state = State::Assigning;
                new.to = Some(destination.as_str().to_owned());
            }
            Record::Owned { owner } => {
                new.state = State::Owned;
                new.holder = Some(plain(owner));
            }
            Record::Releasing {
                source,
                destination,
            } => {
                new.state = State::Releasing;
                new.holder = Some(plain(source));
                new.to = destination.as_ref().map(|to| to.as_str().to_owned());
            }
            Record::Splitting { source, cuts } => {
                new.state = State::Splitting;
                new.holder = source.as_ref().map(plain);
                new.cuts = cuts.as_slice().to_vec();
            }
            Record::Deleted => new.state = State::Deleted,
        }
        new
    }
}

pub(crate) fn plain(holder: &Holder) -> (String, u64) {
    (holder.broker.as_str().to_owned(), holder.session.get())
}

fn refuse_if(wrong: bool, why: Why) -> Result<(), Why> {
    if wrong { Err(why) } else { Ok(()) }
}

impl Model {
    pub(crate) fn apply(&mut self, position: u64, entry: &Entry) -> Result<(), Why> {
        self.hear(entry)?;
        match &entry.body {
            Body::Changes(changes) => {
                let written = self.changes(position, entry, changes)?;
                self.write(position, written);
            }
            Body::CreateNamespace {
                namespace,
                cuts,
                applied,
            } => {
                let cuts = cuts.as_ref().map_or(&[][..], |cuts| cuts.as_slice());
                refuse_if(
                    self.namespaces.contains_key(namespace.as_str()),
                    "namespace_exists",
                )?;
                refuse_if(applied.get() < self.floor, "stale_view")?;
                refuse_if(cuts.first() == Some(&0), "terms")?;
                refuse_if(cuts.last() == Some(&u32::MAX), "terms")?;
                self.namespaces
                    .insert(namespace.as_str().to_owned(), Life::Live);
                for range in pieces(KeyRange::FULL, cuts) {
                    let free = Bundle::new(&Record::Free, position, 0);
                    self.bundles
                        .insert(BundleId::new(namespace.clone(), range), free);
                }
            }
            Body::DeleteNamespace { namespace, applied } => {
                let life = self
                    .namespaces
                    .get_mut(namespace.as_str())
                    .ok_or("unknown_namespace")?;
                refuse_if(*life == Life::Ending, "terms")?;
                refuse_if(applied.get() < self.floor, "stale_view")?;
                *life = Life::Ending;
            }
            Body::EndNamespace { namespace } => {
                refuse_if(entry.epoch.is_none(), "no_epoch")?;
                let life = *self
                    .namespaces
                    .get(namespace.as_str())
                    .ok_or("unknown_namespace")?;
                refuse_if(life == Life::Live, "namespace_not_marked")?;
                let inside = |bundle: &BundleId| bundle.namespace() == namespace;
                let mut states = self
                    .bundles
                    .iter()
                    .filter(|(id, _)| inside(id))
                    .map(|(_, bundle)| bundle.state);
                let all_over = states.all(|state| matches!(state, State::Free | State::Deleted));
                refuse_if(!all_over, "namespace_in_use")?;
                self.bundles.retain(|id, _| !inside(id));
                self.namespaces.remove(namespace.as_str());
                self.floor = position;
            }
            Body::LeaderStarted => refuse_if(entry.epoch.is_none(), "no_epoch")?,
            Body::RaiseRules { version } => {
                refuse_if(entry.epoch.is_none(), "no_epoch")?;
                refuse_if(*version <= 1, "rules_not_newer")?;
            }
        }
        Ok(())
    }

    /// An older session is not heard at all; a newer one is remembered, and so is a newer epoch.
    fn hear(&mut self, entry: &Entry) -> Result<(), Why> {
        let (broker, session) = plain(&entry.author);
        let highest = self.sessions.entry(broker).or_insert(session);
        refuse_if(session < *highest, "stale_session")?;
        *highest = session;
        if let Some(epoch) = entry.epoch {
            refuse_if(epoch.get() < self.epoch, "stale_epoch")?;
            self.epoch = epoch.get();
        }
        Ok(())
    }

    fn write(&mut self, position: u64, written: Written) {
        for (id, bundle) in written {
            match bundle {
                Some(bundle) => _ = self.bundles.insert(id, bundle),
                None => {
                    self.bundles.remove(&id);
                    self.floor = position;
                }
            }
        }
    }

    fn changes(&self, position: u64, entry: &Entry, changes: &[Change]) -> Result<Written, Why> {
        refuse_if(changes.is_empty() || changes.len() > 1000, "change_count")?;
        let mut written = Written::new();
        for change in changes {
            let life = self.namespaces.get(change.bundle.namespace().as_str());
            let life = *life.ok_or("unknown_namespace")?;
            let Some(old) = self.bundles.get(&change.bundle) else {
                refuse_if(change.expected.get() != 0, "stale_version")?;
                // Its keys are somebody's already.
                return Err(if change.next.is_some() {
                    "overlaps"
                } else {
                    "invalid_transition"
                });
            };
            refuse_if(change.expected.get() != old.version, "stale_version")?;
            let fence = if entry.epoch.is_some() {
                forced(old, change, life, position)?
            } else {
                ordinary(old, change, life, position, &plain(&entry.author))?
            };
            let new = change
                .next
                .as_ref()
                .map(|record| Bundle::new(record, position, fence));
            if change.next == Some(Record::Deleted) {
                for range in pieces(change.bundle.range(), &old.cuts) {
                    let child = Bundle {
                        state: State::Owned,
                        holder: old.holder.clone(),
                        to: None,
                        cuts: Vec::new(),
                        version: position,
                        fence: position,
                    };
                    let id = BundleId::new(change.bundle.namespace().clone(), range);
                    written.push((id, Some(child)));
                }
            }
            written.push((change.bundle.clone(), new));
        }
        for (n, (id, _)) in written.iter().enumerate() {
            let twice = written.iter().take(n).any(|(other, _)| other == id);
            refuse_if(twice, "duplicate_bundle")?;
        }
        Ok(written)
    }

    /// Whether each namespace's bundles, but deleted ones, lie one behind the other without a gap.
    pub(crate) fn is_whole(&self) -> bool {
        self.namespaces.keys().all(|namespace| {
            let mine = self.bundles.iter().filter(|(id, bundle)| {
                id.namespace().as_str() == namespace && bundle.state != State::Deleted
            });
            let mut ranges: Vec<_> = mine
                .map(|(id, _)| (id.range().lower(), id.range().upper()))
                .collect();
            ranges.sort_unstable();
            let meets = ranges
                .iter()
                .zip(ranges.iter().skip(1))
                .all(|(a, b)| a.1 == b.0);
            meets
                && ranges.first().is_some_and(|first| first.0 == 0)
                && ranges.last().is_some_and(|last| last.1 == u32::MAX)
        })
    }
}

/// The pieces of a range, by its inner boundaries.
fn pieces(range: KeyRange, cuts: &[u32]) -> Vec<KeyRange> {
    let mut bounds = vec![range.lower()];
    bounds.extend(cuts);
    bounds.push(range.upper());
    let pairs = bounds.iter().zip(bounds.iter().skip(1));
    pairs
        .filter_map(|(&lower, &upper)| KeyRange::new(lower, upper).ok())
        .collect()
}

/// What anybody but the leader may do; gives the fence of the new record.
fn ordinary(
    old: &Bundle,
    change: &Change,
    life: Life,
    position: u64,
    author: &(String, u64),
) -> Result<u64, Why> {
    let next = change.next.as_ref().ok_or("invalid_transition")?;
    let new = Bundle::new(next, 0, 0);
    let ending = life == Life::Ending;
    let is_destination = old.to.as_ref() == Some(&author.0);
    let is_holder = old.holder.as_ref() == Some(author);
    let is_successor = old
        .holder
        .as_ref()
        .is_some_and(|held| held.0 == author.0 && held.1 < author.1);
    let names_author = new.holder.as_ref() == Some(author);
    match (old.state, new.state) {
        (State::Free, State::Assigning) => {
            refuse_if(ending, "terms")?;
            Ok(position)
        }
        (State::Assigning, State::Owned) => {
            refuse_if(!is_destination, "wrong_author")?;
            refuse_if(!names_author, "terms")?;
            Ok(old.fence)
        }
        (State::Assigning, State::Assigning) => {
            refuse_if(!is_destination, "wrong_author")?;
            refuse_if(new.to == old.to || ending, "terms")?;
            Ok(position)
        }
        (State::Assigning, State::Free) => {
            refuse_if(!is_destination, "wrong_author")?;
            Ok(0)
        }
        (State::Owned, State::Releasing | State::Splitting) => {
            refuse_if(new.holder != old.holder, "terms")?;
            leave(old, &new, change.bundle.range(), ending)?;
            Ok(old.fence)
        }
        (State::Owned, State::Owned)
        | (State::Releasing, State::Releasing)
        | (State::Splitting, State::Splitting) => {
            refuse_if(!is_successor, "wrong_author")?;
            refuse_if(
                !names_author || new.to != old.to || new.cuts != old.cuts,
                "terms",
            )?;
            Ok(position)
        }
        (State::Releasing, State::Assigning) => {
            refuse_if(!is_holder, "wrong_author")?;
            refuse_if(new.to != old.to || ending, "terms")?;
            Ok(position)
        }
        (State::Releasing, State::Free) => {
            refuse_if(!is_holder, "wrong_author")?;
            refuse_if(old.to.is_some() && !ending, "terms")?;
            Ok(0)
        }
        (State::Splitting, State::Deleted) => {
            refuse_if(!is_holder, "wrong_author")?;
            Ok(0)
        }
        _ => Err("invalid_transition"),
    }
}

/// What may be asked of an owner: to let go of the range, or to split it.
fn leave(old: &Bundle, new: &Bundle, range: KeyRange, ending: bool) -> Result<(), Why> {
    if new.state == State::Splitting {
        refuse_if(ending, "terms")?;
        let inside = |&cut: &u32| range.lower() < cut && cut < range.upper();
        return refuse_if(!new.cuts.iter().all(inside), "terms");
    }
    let owner = old.holder.as_ref().map(|held| &held.0);
    refuse_if(
        new.to.is_some() && (ending || new.to.as_ref() == owner),
        "terms",
    )
}

/// What only the leader may do; gives the fence of the new record.
fn forced(old: &Bundle, change: &Change, life: Life, position: u64) -> Result<u64, Why> {
    let Some(next) = &change.next else {
        refuse_if(old.state != State::Deleted, "invalid_transition")?;
        return Ok(0);
    };
    let new = Bundle::new(next, 0, 0);
    match (old.state, new.state) {
        (State::Assigning | State::Owned | State::Releasing, State::Free) => Ok(0),
        (State::Assigning | State::Owned | State::Releasing, State::Assigning) => {
            let same = old.state == State::Assigning && new.to == old.to;
            refuse_if(same || life == Life::Ending, "terms")?;
            Ok(position)
        }
        (State::Splitting, State::Splitting) => {
            refuse_if(new.holder == old.holder || new.cuts != old.cuts, "terms")?;
            Ok(if new.holder.is_some() { position } else { 0 })
        }
        _ => Err("invalid_transition"),
    }
}
