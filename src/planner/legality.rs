//! Whether a bundle may move to a broker: the constraints, kept up to date while a plan grows.

use super::{Barred, ClusterLoad, Constraints, Kept};
use crate::ids::{BrokerId, BundleId, Namespace};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// What may go where, for one round.
///
/// Costs nothing where nothing is constrained: whatever must be counted is counted on first use.
#[derive(Clone, Debug)]
pub(super) struct Legality<'a> {
    constraints: &'a Constraints,
    load: &'a ClusterLoad,
    /// The namespace last asked about, and whether it is excluded.
    asked: Cell<Option<(&'a Namespace, bool)>>,
    /// Whether the secondary brokers of a namespace may be used.
    secondary: BTreeMap<&'a Namespace, bool>,
    /// Brokers that some namespace has for its own.
    taken: BTreeSet<&'a BrokerId>,
    group_of: BTreeMap<&'a Namespace, &'a str>,
    /// Topics of the brokers that were asked for.
    topics: BTreeMap<&'a BrokerId, u64>,
    /// How many bundles of each namespace that is in a group a broker has, of the brokers that were
    /// asked for.
    members: BTreeMap<&'a BrokerId, BTreeMap<&'a Namespace, usize>>,
}

/// A bundle on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage<'a> {
    pub(super) bundle: &'a BundleId,
    pub(super) topics: u64,
    pub(super) from: &'a BrokerId,
    pub(super) to: &'a BrokerId,
}

impl<'a> Legality<'a> {
    /// The rules as they stand before anything moves.
    pub(super) fn new(constraints: &'a Constraints, load: &'a ClusterLoad) -> Self {
        let available = |broker: &&BrokerId| {
            load.brokers.contains_key(*broker) && !constraints.drained.contains(*broker)
        };
        let allowed = constraints.allowed.iter();
        let groups = constraints.anti_affinity.iter();
        Self {
            constraints,
            load,
            asked: Cell::new(None),
            secondary: allowed
                .map(|(namespace, allowed)| {
                    let primaries = allowed.primary.iter().filter(available).count();
                    (namespace, primaries < allowed.primaries_min)
                })
                .collect(),
            taken: constraints
                .allowed
                .values()
                .flat_map(|allowed| &allowed.primary)
                .collect(),
            group_of: groups
                .flat_map(|(group, namespaces)| {
                    namespaces
                        .iter()
                        .map(|namespace| (namespace, group.as_str()))
                })
                .collect(),
            topics: BTreeMap::new(),
            members: BTreeMap::new(),
        }
    }

    /// The rule that keeps a bundle where it is, whatever the destination.
    pub(super) fn keep(&self, bundle: &'a BundleId) -> Option<Kept> {
        if self.constraints.pinned.contains(bundle) {
            Some(Kept::Pinned)
        } else if self.excludes(bundle.namespace()) {
            Some(Kept::ExcludedNamespace)
        } else if self.load.recently_moved.contains(bundle) {
            Some(Kept::RecentlyMoved)
        } else {
            None
        }
    }

    /// Whether the bundles of a namespace stay. Bundles mostly come namespace by namespace.
    fn excludes(&self, namespace: &'a Namespace) -> bool {
        match self.asked.get() {
            Some((asked, excluded)) if asked == namespace => excluded,
            _ => {
                let excluded = self.constraints.excludes(namespace);
                self.asked.set(Some((namespace, excluded)));
                excluded
            }
        }
    }

    /// The rule that bars a bundle from a broker, if there is one.
    pub(super) fn bar(&mut self, passage: Passage<'a>) -> Option<Barred> {
        let Passage {
            bundle, from, to, ..
        } = passage;
        let namespace = bundle.namespace();
        if from == to {
            return Some(Barred::Owner);
        }
        if self.constraints.drained.contains(to) {
            return Some(Barred::Drained);
        }
        if !self.is_allowed(namespace, to) {
            return Some(Barred::NotAllowed);
        }
        let versions = &self.constraints.versions;
        // Who has no version is older than all that have one.
        if !versions.is_empty() && versions.get(to) < versions.get(from) {
            return Some(Barred::OlderVersion);
        }
        if let Some(max) = self.constraints.topics_max
            && self.topics(to).saturating_add(passage.topics) > max
        {
            return Some(Barred::TooManyTopics { max });
        }
        if self.group_of.contains_key(namespace)
            && self.relatives(namespace, to) > self.relatives(namespace, from)
        {
            return Some(Barred::AntiAffinity);
        }
        None
    }

    /// The rule that bars a bundle from the first of all brokers, if it is barred from every one.
    pub(super) fn bar_everywhere(&mut self, passage: Passage<'a>) -> Option<Barred> {
        if self.is_free() {
            return None;
        }
        let mut first = None;
        for to in self.load.brokers.keys().filter(|to| *to != passage.from) {
            let barred = self.bar(Passage { to, ..passage })?;
            first = first.or(Some(barred));
        }
        first
    }

    /// Whether anything may go to anybody.
    pub(super) fn is_free(&self) -> bool {
        let Constraints {
            drained,
            allowed,
            anti_affinity,
            topics_max,
            versions,
            ..
        } = self.constraints;
        drained.is_empty()
            && allowed.is_empty()
            && anti_affinity.is_empty()
            && topics_max.is_none()
            && versions.is_empty()
    }

    /// The brokers that a namespace may use, if they are listed; else it may use who is no other
    /// one's own.
    pub(super) fn listed(
        &self,
        namespace: &Namespace,
    ) -> Option<impl Iterator<Item = &'a BrokerId>> {
        let allowed = self.constraints.allowed.get(namespace)?;
        let secondary = self.secondary.get(namespace) == Some(&true);
        let more = allowed.secondary.iter().filter(move |_| secondary);
        Some(allowed.primary.iter().chain(more))
    }

    /// Whether a namespace may use a broker.
    pub(super) fn is_allowed(&self, namespace: &Namespace, broker: &BrokerId) -> bool {
        if self.constraints.allowed.is_empty() {
            return true;
        }
        match self.constraints.allowed.get(namespace) {
            Some(allowed) => {
                let secondary = self.secondary.get(namespace) == Some(&true);
                allowed.primary.contains(broker) || secondary && allowed.secondary.contains(broker)
            }
            None => !self.taken.contains(broker),
        }
    }

    /// How many other namespaces of the same group a broker has.
    pub(super) fn relatives(&mut self, namespace: &Namespace, broker: &'a BrokerId) -> usize {
        let Some(group) = self.group_of.get(namespace).copied() else {
            return 0;
        };
        self.count_members(broker);
        let members = self.members.get(broker);
        let others = members.into_iter().flat_map(BTreeMap::iter);
        others
            .filter(|(other, count)| {
                **count > 0 && **other != namespace && self.group_of.get(*other) == Some(&group)
            })
            .count()
    }

    /// Takes note that a bundle moves.
    pub(super) fn note(&mut self, passage: Passage<'a>) {
        if self.constraints.topics_max.is_some() {
            for broker in [passage.from, passage.to] {
                self.topics(broker);
            }
            if let Some(topics) = self.topics.get_mut(passage.from) {
                *topics = topics.saturating_sub(passage.topics);
            }
            if let Some(topics) = self.topics.get_mut(passage.to) {
                *topics = topics.saturating_add(passage.topics);
            }
        }
        let namespace = passage.bundle.namespace();
        if self.group_of.contains_key(namespace) {
            for broker in [passage.from, passage.to] {
                self.count_members(broker);
            }
            let members = self.members.get_mut(passage.from);
            if let Some(count) = members.and_then(|members| members.get_mut(namespace)) {
                *count = count.saturating_sub(1);
            }
            if let Some(members) = self.members.get_mut(passage.to) {
                *members.entry(namespace).or_insert(0) += 1;
            }
        }
    }

    fn topics(&mut self, broker: &'a BrokerId) -> u64 {
        let load = self.load;
        *self.topics.entry(broker).or_insert_with(|| {
            let bundles = load.brokers.get(broker).into_iter();
            let bundles = bundles.flat_map(|broker| broker.bundles.values().flatten());
            bundles.fold(0, |sum, bundle| sum.saturating_add(bundle.topics))
        })
    }

    fn count_members(&mut self, broker: &'a BrokerId) {
        if self.members.contains_key(broker) {
            return;
        }
        let mut members = BTreeMap::new();
        let bundles = self.load.brokers.get(broker).into_iter();
        for bundle in bundles.flat_map(|broker| broker.bundles.keys()) {
            if self.group_of.contains_key(bundle.namespace()) {
                *members.entry(bundle.namespace()).or_insert(0) += 1;
            }
        }
        self.members.insert(broker, members);
    }
}
