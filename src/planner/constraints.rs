//! What no strategy may touch, whatever the load.

use super::Kept;
use crate::ids::{BrokerId, BundleId, Namespace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The namespace that Apache Pulsar keeps its own topics in.
const SYSTEM_NAMESPACE: &str = "pulsar/system";

/// Limits that hold for every strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Constraints {
    /// Brokers that are being emptied: no part of any pair, so never a destination. What they own
    /// leaves them with the drain, not with a plan. Default: none.
    pub drained: BTreeSet<BrokerId>,
    /// Bundles that stay where they are. Default: none.
    pub pinned: BTreeSet<BundleId>,
    /// Namespaces whose bundles stay where they are. Default: `pulsar/system`.
    pub excluded_namespaces: BTreeSet<Namespace>,
}

impl Default for Constraints {
    fn default() -> Self {
        Self {
            drained: BTreeSet::new(),
            pinned: BTreeSet::new(),
            excluded_namespaces: Namespace::new(SYSTEM_NAMESPACE).into_iter().collect(),
        }
    }
}

impl Constraints {
    /// The rule that keeps a bundle where it is, if there is one.
    #[must_use]
    pub fn keep(&self, bundle: &BundleId) -> Option<Kept> {
        if self.pinned.contains(bundle) {
            Some(Kept::Pinned)
        } else if self.excluded_namespaces.contains(bundle.namespace()) {
            Some(Kept::ExcludedNamespace)
        } else {
            None
        }
    }
}
