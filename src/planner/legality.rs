//! Whether a bundle may move to a broker: the constraints, kept up to date while a plan grows.

use super::rules::{Census, Rules};
use super::{Barred, ClusterLoad, Constraints, Kept};
use crate::ids::{BrokerId, BundleId, Namespace};
use std::cell::Cell;
use std::collections::BTreeMap;

/// What may go where, for one round.
///
/// Costs nothing where nothing is constrained: whatever must be counted is counted on first use.
#[derive(Clone, Debug)]
pub(super) struct Legality<'a> {
    constraints: &'a Constraints,
    load: &'a ClusterLoad,
    /// The namespace last asked about, and whether it is excluded.
    asked: Cell<Option<(&'a Namespace, bool)>>,
    rules: Rules<'a>,
    /// What those brokers have that were asked for.
    counted: BTreeMap<&'a BrokerId, Census>,
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
        Self {
            constraints,
            load,
            asked: Cell::new(None),
            rules: Rules::new(constraints, load.brokers.keys()),
            counted: BTreeMap::new(),
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
        if let Some(barred) = self.rules.bar(namespace, to) {
            return Some(barred);
        }
        if self.rules.version(to) < self.rules.version(from) {
            return Some(Barred::OlderVersion);
        }
        if let Some(max) = self.constraints.topics_max
            && self.census(to).topics.saturating_add(passage.topics) > max
        {
            return Some(Barred::TooManyTopics { max });
        }
        if self.rules.has_group(namespace)
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
        self.rules.listed(namespace)
    }

    /// How many other namespaces of the same group a broker has.
    pub(super) fn relatives(&mut self, namespace: &Namespace, broker: &'a BrokerId) -> usize {
        self.census(broker);
        let census = self.counted.get(broker);
        census.map_or(0, |census| self.rules.relatives(namespace, census))
    }

    /// Takes note that a bundle moves.
    pub(super) fn note(&mut self, passage: Passage<'a>) {
        let namespace = passage.bundle.namespace();
        if !self.rules.counts(namespace) {
            return;
        }
        for broker in [passage.from, passage.to] {
            self.census(broker);
        }
        if let Some(census) = self.counted.get_mut(passage.from) {
            census.remove(namespace, passage.topics);
        }
        if let Some(census) = self.counted.get_mut(passage.to) {
            self.rules.add(census, namespace, passage.topics);
        }
    }

    /// What a broker has.
    fn census(&mut self, broker: &'a BrokerId) -> &Census {
        let (load, rules) = (self.load, &self.rules);
        self.counted
            .entry(broker)
            .or_insert_with(|| rules.census(load.brokers.get(broker)))
    }
}
