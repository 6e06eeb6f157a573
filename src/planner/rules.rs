//! What constraints say of brokers and namespaces, whoever asks: who plans moves or who places.

use super::constraints::heartbeat_of;
use super::{Barred, BrokerLoad, Constraints, Version};
use crate::ids::{BrokerId, Namespace};
use std::collections::{BTreeMap, BTreeSet};

/// Constraints, ready to be asked about many bundles and brokers.
#[derive(Clone, Debug)]
pub(super) struct Rules<'a> {
    constraints: &'a Constraints,
    /// The brokers that are there and may be used, of the namespaces for which they are listed.
    allowed: BTreeMap<&'a Namespace, BTreeSet<&'a BrokerId>>,
    /// Brokers that some namespace has for its own.
    taken: BTreeSet<&'a BrokerId>,
    group_of: BTreeMap<&'a Namespace, &'a str>,
}

/// What a broker has of that which constraints count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    pub(super) topics: u64,
    /// How many bundles of each namespace that is in a group.
    members: BTreeMap<Namespace, usize>,
}

impl<'a> Rules<'a> {
    /// The rules while these brokers are there.
    pub(super) fn new(
        constraints: &'a Constraints,
        brokers: impl Iterator<Item = &'a BrokerId>,
    ) -> Self {
        let groups = constraints.anti_affinity.iter();
        let mut rules = Self {
            constraints,
            allowed: BTreeMap::new(),
            taken: BTreeSet::new(),
            group_of: groups
                .flat_map(|(group, namespaces)| {
                    namespaces
                        .iter()
                        .map(|namespace| (namespace, group.as_str()))
                })
                .collect(),
        };
        if !constraints.allowed.is_empty() {
            rules.allow(brokers);
        }
        rules
    }

    /// Finds the brokers that are listed, by name or by host.
    fn allow(&mut self, brokers: impl Iterator<Item = &'a BrokerId>) {
        let mut by_name: BTreeMap<&str, BTreeSet<&BrokerId>> = BTreeMap::new();
        for broker in brokers {
            let host = broker.as_str().rsplit_once(':').map(|(host, _)| host);
            for name in host.into_iter().chain([broker.as_str()]) {
                by_name.entry(name).or_default().insert(broker);
            }
        }
        let drained = &self.constraints.drained;
        let there = |names: &BTreeSet<BrokerId>| -> BTreeSet<&'a BrokerId> {
            let brokers = names.iter().filter_map(|name| by_name.get(name.as_str()));
            brokers.flatten().copied().collect()
        };
        for (namespace, allowed) in &self.constraints.allowed {
            let mut usable = there(&allowed.primary);
            self.taken.extend(&usable);
            let ready = usable.iter().filter(|broker| !drained.contains(**broker));
            if ready.count() < allowed.primaries_min {
                usable.extend(there(&allowed.secondary));
            }
            self.allowed.insert(namespace, usable);
        }
    }

    /// The rule that bars a namespace from a broker, whoever has its bundles now.
    pub(super) fn bar(&self, namespace: &Namespace, broker: &BrokerId) -> Option<Barred> {
        let own = heartbeat_of(namespace);
        if self.constraints.drained.contains(broker) {
            Some(Barred::Drained)
        } else if own.is_some_and(|own| own != broker.as_str())
            || !self.is_allowed(namespace, broker)
        {
            Some(Barred::NotAllowed)
        } else {
            None
        }
    }

    /// The brokers that a namespace may use, if they are listed; else it may use who is no other
    /// one's own.
    pub(super) fn listed(
        &self,
        namespace: &Namespace,
    ) -> Option<impl Iterator<Item = &'a BrokerId>> {
        let usable = self.allowed.get(namespace)?;
        Some(usable.iter().copied())
    }

    /// Whether a namespace may use a broker.
    fn is_allowed(&self, namespace: &Namespace, broker: &BrokerId) -> bool {
        match self.allowed.get(namespace) {
            Some(usable) => usable.contains(broker),
            None => !self.taken.contains(broker),
        }
    }

    /// What a broker runs; who is not listed is older than all that are.
    pub(super) fn version(&self, broker: &BrokerId) -> Option<&'a Version> {
        self.constraints.versions.get(broker)
    }

    /// Whether a namespace should not meet some others.
    pub(super) fn has_group(&self, namespace: &Namespace) -> bool {
        self.group_of.contains_key(namespace)
    }

    /// Whether the bundles of a namespace are counted.
    pub(super) fn counts(&self, namespace: &Namespace) -> bool {
        self.constraints.topics_max.is_some() || self.has_group(namespace)
    }

    /// Counts what a broker has, if it counts.
    pub(super) fn census(&self, load: Option<&BrokerLoad>) -> Census {
        let mut census = Census::default();
        let bundles = load.into_iter().flat_map(|load| &load.bundles);
        for (bundle, of) in bundles.filter(|(bundle, _)| self.counts(bundle.namespace())) {
            let topics = of.as_ref().map_or(0, |of| of.topics);
            self.add(&mut census, bundle.namespace(), topics);
        }
        census
    }

    /// Adds a bundle to what a broker has.
    pub(super) fn add(&self, census: &mut Census, namespace: &Namespace, topics: u64) {
        census.topics = census.topics.saturating_add(topics);
        if self.has_group(namespace) {
            *census.members.entry(namespace.clone()).or_insert(0) += 1;
        }
    }

    /// How many other namespaces of the same group are among what a broker has.
    pub(super) fn relatives(&self, namespace: &Namespace, census: &Census) -> usize {
        let Some(group) = self.group_of.get(namespace) else {
            return 0;
        };
        let others = census.members.iter();
        others
            .filter(|(other, count)| {
                **count > 0 && *other != namespace && self.group_of.get(other) == Some(group)
            })
            .count()
    }
}

impl Census {
    /// Takes a bundle away.
    pub(super) fn remove(&mut self, namespace: &Namespace, topics: u64) {
        self.topics = self.topics.saturating_sub(topics);
        if let Some(count) = self.members.get_mut(namespace) {
            *count = count.saturating_sub(1);
        }
    }
}
