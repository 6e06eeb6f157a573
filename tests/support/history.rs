//! Random histories: each step looks at where the model stands and writes an entry that is mostly
//! valid there, so that deep states are reached; about three in ten are spoiled on purpose.

use super::model::{Bundle, Life, Model, Why};
use super::{at, broker, cuts, namespace};
use deedbook::ids::{BundleId, Cuts, Epoch, Holder, KeyRange, SessionToken};
use deedbook::state::{Body, Change, Entry, Record, State};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) const BROKERS: [&str; 3] = ["a", "b", "c"];
pub(crate) const NAMESPACES: [&str; 2] = ["t/m", "t/n"];
const BUNDLES_MAX: usize = 12;

/// Random numbers for one step; what they mean depends on where the history stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(super) pick: usize,
    pub(super) act: usize,
    pub(super) detail: usize,
    /// Out of 100.
    pub(super) spoil: u8,
    /// How many positions are left out before the entry.
    pub(crate) gap: u64,
}

pub(crate) fn steps(count: Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    vec(step(), count)
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let number = || 0..1_usize << 20;
    let step = (number(), number(), number(), 0..100_u8, 0..3_u64);
    step.prop_map(|(pick, act, detail, spoil, gap)| Step {
        pick,
        act,
        detail,
        spoil,
        gap,
    })
}

/// Where a history stands: the model of what was written, and what is true outside of the log.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) model: Model,
    pub(super) position: u64,
    sessions: BTreeMap<&'static str, u64>,
    pub(super) epoch: u64,
    pub(super) written: Vec<Entry>,
}

/// An entry, where it stands, and what the model said.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) position: u64,
    pub(crate) entry: Entry,
    pub(crate) verdict: Result<(), Why>,
}

/// Something that may be done to a bundle.
#[derive(Clone, Debug)]
struct Draft {
    author: Holder,
    forced: bool,
    next: Option<Record>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            model: Model::default(),
            position: 0,
            sessions: BROKERS.into_iter().zip([3, 2, 1]).collect(),
            epoch: 1,
            written: Vec::new(),
        }
    }
}

impl World {
    /// A history that begins behind a position.
    pub(crate) fn behind(position: u64) -> Self {
        Self {
            position,
            ..Self::default()
        }
    }

    /// Leaves out what stands before a position: something else was written there.
    pub(crate) fn pass(&mut self, next: u64) {
        self.position = self.position.max(next - 1);
    }

    /// All of a history.
    pub(crate) fn history(steps: &[Step]) -> Vec<Written> {
        let mut world = Self::default();
        steps.iter().map(|step| world.write(step)).collect()
    }

    /// Takes a step: writes an entry, and has the model judge it.
    pub(crate) fn write(&mut self, step: &Step) -> Written {
        self.happen(step);
        let (author, forced, body) = self.draft(step);
        let mut entry = Entry {
            author,
            counter: 0,
            epoch: forced.then(|| Epoch::new(self.epoch)),
            body,
        };
        if step.spoil < 30 {
            self.spoil(step, &mut entry);
        }
        self.position += 1 + step.gap;
        entry.counter = self.position;
        let verdict = self.model.apply(self.position, &entry);
        self.written.push(entry.clone());
        Written {
            position: self.position,
            entry,
            verdict,
        }
    }

    /// A broker comes back, or another leader is elected.
    fn happen(&mut self, step: &Step) {
        match step.act % 20 {
            0 => *self.sessions.entry(BROKERS[step.pick % 3]).or_default() += 4,
            1 => self.epoch += 2,
            _ => {}
        }
    }

    pub(super) fn now(&self, name: &str) -> Holder {
        Holder::new(broker(name), SessionToken::new(self.sessions[name]))
    }

    fn anyone(&self, step: &Step) -> Holder {
        self.now(BROKERS[step.detail / 7 % 3])
    }

    /// Something valid to write.
    fn draft(&self, step: &Step) -> (Holder, bool, Body) {
        let name = NAMESPACES[step.pick % 2];
        let author = self.anyone(step);
        let Some(life) = self.model.namespaces.get(name) else {
            return (author, false, self.create(step, name));
        };
        let mut mine: Vec<(&BundleId, &Bundle)> = self
            .model
            .bundles
            .iter()
            .filter(|(id, _)| id.namespace().as_str() == name)
            .collect();
        let namespace = namespace(name);
        let rare = step.act / 20 % 25;
        match life {
            Life::Live if rare == 0 => {
                let applied = at(self.position);
                return (author, false, Body::DeleteNamespace { namespace, applied });
            }
            Life::Live if rare == 1 => return (author, true, Body::LeaderStarted),
            Life::Live => {}
            Life::Ending => mine.retain(|(_, b)| !matches!(b.state, State::Free | State::Deleted)),
        }
        if mine.is_empty() {
            return (author, true, Body::EndNamespace { namespace });
        }
        let (id, bundle) = mine[step.pick / 2 % mine.len()];
        let drafts = self.drafts(step, id, bundle, *life);
        let draft = &drafts[step.act / 20 % drafts.len()];
        let mut changes = vec![to_change(id, bundle, draft)];
        if step.detail.is_multiple_of(4) {
            // More in the same entry, as far as the same author may.
            for (id, bundle) in mine.iter().filter(|(other, _)| *other != id) {
                let drafts = self.drafts(step, id, bundle, *life);
                let fits = |d: &&Draft| d.author == draft.author && d.forced == draft.forced;
                if let (Some(more), true) = (drafts.iter().find(fits), changes.len() < 3) {
                    changes.push(to_change(id, bundle, more));
                }
            }
        }
        (draft.author.clone(), draft.forced, Body::Changes(changes))
    }

    pub(super) fn create(&self, step: &Step, name: &str) -> Body {
        let at_cuts: [&[u32]; 4] = [&[], &[1 << 31], &[1, 2, 3], &[7, 1 << 31, u32::MAX - 1]];
        let at_cuts = at_cuts[step.detail / 32 % 4];
        Body::CreateNamespace {
            namespace: namespace(name),
            cuts: (!at_cuts.is_empty()).then(|| cuts(at_cuts)),
            applied: at(self.position.max(self.model.floor)),
        }
    }

    /// Everything that may be done to a bundle; never empty, but not always valid then.
    fn drafts(&self, step: &Step, id: &BundleId, bundle: &Bundle, life: Life) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let anyone = self.anyone(step);
        let mut add = |author: &Holder, forced, next| {
            drafts.push(Draft {
                author: author.clone(),
                forced,
                next,
            });
        };
        let holder = bundle
            .holder
            .as_ref()
            .map(|(name, session)| Holder::new(broker(name), SessionToken::new(*session)));
        let to = bundle.to.as_deref().map(|to| self.now(to));
        let others = || {
            BROKERS
                .into_iter()
                .filter(|name| bundle.to.as_deref() != Some(*name))
        };
        match (bundle.state, &holder, &to) {
            (State::Free, _, _) => {
                others().for_each(|name| add(&anyone, false, Some(super::assigning(name))));
            }
            (State::Assigning, _, Some(to)) => {
                for _ in 0..4 {
                    add(to, false, Some(Record::Owned { owner: to.clone() }));
                }
                add(to, false, Some(Record::Free));
                others().for_each(|name| add(to, false, Some(super::assigning(name))));
            }
            (State::Owned, Some(held), _) => {
                let split = cuts_for(step, id.range()).filter(|_| self.has_room(id));
                for cuts in split.into_iter().filter(|_| life == Life::Live) {
                    for _ in 0..3 {
                        let source = Some(held.clone());
                        add(
                            &anyone,
                            false,
                            Some(Record::Splitting {
                                source,
                                cuts: cuts.clone(),
                            }),
                        );
                    }
                }
                for name in others().filter(|name| *name != held.broker.as_str()) {
                    add(&anyone, false, Some(release(held, Some(name))));
                }
                add(&anyone, false, Some(release(held, None)));
            }
            (State::Releasing, Some(held), to) => {
                let next = to.as_ref().filter(|_| life == Life::Live);
                let next = next.map_or(Record::Free, |to| super::assigning(to.broker.as_str()));
                (0..3).for_each(|_| add(held, false, Some(next.clone())));
            }
            (State::Splitting, Some(held), _) => {
                (0..3).for_each(|_| add(held, false, Some(Record::Deleted)));
            }
            (State::Deleted, ..) => add(&anyone, true, None),
            _ => {}
        }
        self.force(step, bundle, &mut add);
        self.take_over(bundle, &mut add);
        if life == Life::Ending {
            drafts.retain(|draft| may_end(bundle, draft));
        }
        drafts
    }

    /// What a newer session of the holder's broker may do to a bundle.
    fn take_over(&self, bundle: &Bundle, add: &mut impl FnMut(&Holder, bool, Option<Record>)) {
        let Some((name, session)) = &bundle.holder else {
            return;
        };
        let now = self.now(name);
        if now.session.get() != *session {
            let mut next = bundle.clone();
            next.holder = Some(super::model::plain(&now));
            (0..3).for_each(|_| add(&now, false, Some(to_record(&next))));
        }
    }

    /// What the leader may do to a bundle.
    fn force(
        &self,
        step: &Step,
        bundle: &Bundle,
        add: &mut impl FnMut(&Holder, bool, Option<Record>),
    ) {
        let leader = self.anyone(step);
        let name = BROKERS[step.detail / 3 % 3];
        match bundle.state {
            State::Assigning | State::Owned | State::Releasing => {
                add(&leader, true, Some(Record::Free));
                if bundle.state != State::Assigning || bundle.to.as_deref() != Some(name) {
                    add(&leader, true, Some(super::assigning(name)));
                }
            }
            State::Splitting => {
                let mut next = bundle.clone();
                next.holder = Some(super::model::plain(&self.now(name)));
                if next.holder == bundle.holder {
                    next.holder = None;
                }
                add(&leader, true, Some(to_record(&next)));
            }
            State::Init | State::Free | State::Deleted => {}
        }
    }

    fn has_room(&self, id: &BundleId) -> bool {
        let mine = self
            .model
            .bundles
            .keys()
            .filter(|other| other.namespace() == id.namespace());
        mine.count() < BUNDLES_MAX
    }
}

/// Whether it still may be done in a namespace that is being deleted.
fn may_end(bundle: &Bundle, draft: &Draft) -> bool {
    match &draft.next {
        Some(Record::Assigning { .. }) => false,
        Some(Record::Releasing { destination, .. }) => {
            destination.is_none() || bundle.state == State::Releasing
        }
        _ => true,
    }
}

/// Where to split a range: in the middle, at an end, or into several.
fn cuts_for(step: &Step, range: KeyRange) -> Option<Cuts> {
    let (lower, upper) = (range.lower(), range.upper());
    let wanted: Vec<u32> = match step.detail / 16 % 4 {
        0 => range.middle().into_iter().collect(),
        1 => vec![lower + 1],
        2 => vec![upper - 1],
        _ => vec![lower + 1, lower.saturating_add(2), upper - 1],
    };
    let cuts = Cuts::new(wanted).ok()?;
    cuts.divide(range).then_some(cuts)
}

pub(crate) fn release(source: &Holder, destination: Option<&str>) -> Record {
    Record::Releasing {
        source: source.clone(),
        destination: destination.map(broker),
    }
}

fn to_change(id: &BundleId, bundle: &Bundle, draft: &Draft) -> Change {
    Change {
        bundle: id.clone(),
        expected: at(bundle.version),
        next: draft.next.clone(),
    }
}

/// The record of a plain bundle.
pub(crate) fn to_record(bundle: &Bundle) -> Record {
    let holder = bundle.holder.as_ref();
    let source =
        holder.map(|(name, session)| Holder::new(broker(name), SessionToken::new(*session)));
    let destination = bundle.to.as_deref().map(broker);
    match (bundle.state, source, destination) {
        (State::Assigning, None, Some(destination)) => Record::Assigning { destination },
        (State::Owned, Some(owner), None) => Record::Owned { owner },
        (State::Releasing, Some(source), destination) => Record::Releasing {
            source,
            destination,
        },
        (State::Splitting, source, None) => Record::Splitting {
            source,
            cuts: cuts(&bundle.cuts),
        },
        (State::Free, None, None) => Record::Free,
        (State::Deleted, None, None) => Record::Deleted,
        _ => panic!("no such record: {bundle:?}"),
    }
}
