//! Keys and values, as other systems have them, in terms of bundles: a key is a namespace of one
//! bundle, a value is the record of that bundle, a removal is the end of the namespace.
//!
//! A value is written as an assignment or as its end, in turn, so that each write is one accepted
//! entry. Which value a version stands for is kept beside the log.

use crate::cluster::{Cluster, Listener};
use crate::support::{assigning, bundle_of, free, namespace};
use deedbook::ids::{BundleId, Position};
use deedbook::state::{Record, Row};
use deedbook::table::{RowChange, Table};
use std::collections::BTreeMap;

/// A log of values.
pub(crate) struct Keys {
    pub(crate) cluster: Cluster,
    values: BTreeMap<Position, String>,
}

/// The bundle that stands for a key.
pub(crate) fn key_bundle(key: &str) -> BundleId {
    bundle_of(&format!("t/{key}"), 0, u32::MAX)
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self {
            cluster: Cluster::new(),
            values: BTreeMap::new(),
        }
    }

    /// Writes a value.
    pub(crate) fn put(&mut self, key: &str, value: impl ToString) {
        let bundle = key_bundle(key);
        match self
            .cluster
            .table
            .get(&bundle)
            .map(|row| row.record.clone())
        {
            None => self.cluster.create(&format!("t/{key}"), 1),
            // The destination, which is the second broker, gives it up again.
            Some(Record::Assigning { .. }) => self.cluster.change(1, &bundle, free()),
            Some(_) => self.cluster.change(0, &bundle, assigning("b")),
        }
        let version = self.cluster.table.get(&bundle).unwrap().version;
        self.values.insert(version, value.to_string());
    }

    /// Writes a value by somebody who does not know the last one: it does not count.
    pub(crate) fn put_stale(&mut self, key: &str) {
        use deedbook::state::{Body, Change};
        let bundle = key_bundle(key);
        let version = Row::version_of(self.cluster.table.get(&bundle));
        let change = Change {
            bundle,
            expected: version.previous(),
            next: Some(assigning("c")),
        };
        let applied = self.cluster.append(2, None, Body::Changes(vec![change]));
        let rejection = applied.outcome.unwrap_err();
        assert!(["stale_version", "unknown_namespace"].contains(&rejection.name()));
    }

    /// Removes a key; one that is not there is no error.
    pub(crate) fn remove(&mut self, key: &str) {
        let bundle = key_bundle(key);
        let Some(row) = self.cluster.table.get(&bundle) else {
            self.put_stale(key);
            return;
        };
        if row.record != free() {
            self.cluster.change(1, &bundle, free());
        }
        self.cluster.remove(&format!("t/{key}"));
        assert!(
            !self
                .cluster
                .table
                .facts()
                .namespaces
                .contains_key(&namespace(&format!("t/{key}")))
        );
    }

    /// The present value of each key, by key.
    pub(crate) fn of(&self, table: &Table) -> BTreeMap<String, String> {
        let rows = table.rows();
        rows.map(|(bundle, row)| (name(bundle), self.value(row)))
            .collect()
    }

    fn value(&self, row: &Row) -> String {
        self.values
            .get(&row.version)
            .cloned()
            .unwrap_or_else(|| "?".to_owned())
    }

    /// What a newcomer is told, from the newest snapshot on, in order: key and value, none for a
    /// removal.
    pub(crate) fn heard(&self) -> Vec<(String, Option<String>)> {
        let mut newcomer = Listener::new(self.cluster.shared());
        newcomer.check(&self.cluster);
        self.told(&newcomer.changes)
    }

    /// Changes as keys and values, without the steps that only make room for a removal.
    pub(crate) fn told(&self, changes: &[RowChange]) -> Vec<(String, Option<String>)> {
        let changes = changes.iter().filter_map(|change| {
            let value = match &change.after {
                Some(row) => Some(self.values.get(&row.version)?.clone()),
                None => None,
            };
            Some((name(&change.bundle), value))
        });
        changes.collect()
    }

    /// What the newest snapshot holds.
    pub(crate) fn compacted(&self) -> BTreeMap<String, String> {
        let snapshot = self.cluster.snapshot();
        snapshot.map(|table| self.of(&table)).unwrap_or_default()
    }
}

fn name(bundle: &BundleId) -> String {
    let namespace = bundle.namespace().as_str();
    namespace.strip_prefix("t/").unwrap_or(namespace).to_owned()
}

/// Values by key.
pub(crate) fn owned_map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}
