//! Sets of bundles kept beside the rows, so that no duty has to scan the table.

use crate::ids::{BrokerId, BundleId};
use crate::state::{Record, Row, State};
use std::collections::{BTreeMap, BTreeSet};

/// Which bundles a broker is named in, which are in flight, and which are deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    /// As holder or as destination.
    named: BTreeMap<BrokerId, BTreeSet<BundleId>>,
    in_flight: BTreeSet<BundleId>,
    deleted: BTreeSet<BundleId>,
}

impl Indexes {
    pub(super) fn named(&self, broker: &BrokerId) -> impl Iterator<Item = &BundleId> {
        self.named.get(broker).into_iter().flatten()
    }

    pub(super) fn brokers(&self) -> impl Iterator<Item = &BrokerId> {
        self.named.keys()
    }

    pub(super) fn in_flight(&self) -> &BTreeSet<BundleId> {
        &self.in_flight
    }

    pub(super) fn deleted(&self) -> &BTreeSet<BundleId> {
        &self.deleted
    }

    /// Follows a row from what it was to what it is.
    pub(super) fn update(&mut self, bundle: &BundleId, before: Option<&Row>, after: Option<&Row>) {
        for broker in before.into_iter().flat_map(|row| brokers_in(&row.record)) {
            if let Some(bundles) = self.named.get_mut(broker) {
                bundles.remove(bundle);
                if bundles.is_empty() {
                    self.named.remove(broker);
                }
            }
        }
        for broker in after.into_iter().flat_map(|row| brokers_in(&row.record)) {
            self.named
                .entry(broker.clone())
                .or_default()
                .insert(bundle.clone());
        }
        let state = Row::state_of(after);
        keep(&mut self.in_flight, bundle, state.is_in_flight());
        keep(&mut self.deleted, bundle, state == State::Deleted);
    }
}

fn brokers_in(record: &Record) -> impl Iterator<Item = &BrokerId> {
    record
        .holder()
        .map(|holder| &holder.broker)
        .into_iter()
        .chain(record.destination())
}

fn keep(set: &mut BTreeSet<BundleId>, bundle: &BundleId, member: bool) {
    if member {
        set.insert(bundle.clone());
    } else {
        set.remove(bundle);
    }
}
