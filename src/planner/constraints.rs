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
    ///
    /// Bundles of heartbeat namespaces stay whatever the constraints say: such a namespace belongs
    /// to the one broker after which it is called.
    #[must_use]
    pub fn keep(&self, bundle: &BundleId) -> Option<Kept> {
        if self.pinned.contains(bundle) {
            Some(Kept::Pinned)
        } else if is_excluded(&self.excluded_namespaces, bundle.namespace()) {
            Some(Kept::ExcludedNamespace)
        } else {
            None
        }
    }
}

fn is_excluded(excluded: &BTreeSet<Namespace>, namespace: &Namespace) -> bool {
    excluded.contains(namespace) || is_heartbeat(namespace)
}

/// Whether a namespace is called `pulsar/host:port`, as Apache Pulsar calls the one in which a
/// broker checks its own health.
fn is_heartbeat(namespace: &Namespace) -> bool {
    let address = namespace.as_str().strip_prefix("pulsar/");
    let port = address
        .and_then(|address| address.rsplit_once(':'))
        .map(|(_, port)| port);
    port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_and_the_systems_own_topics_stay() {
        let keep = |namespace: &str| {
            let bundle = format!("{namespace}/0x00000000_0xffffffff")
                .parse()
                .unwrap();
            Constraints::default().keep(&bundle)
        };
        for namespace in ["pulsar/system", "pulsar/broker-1:8080", "pulsar/[::1]:8080"] {
            assert_eq!(
                keep(namespace),
                Some(Kept::ExcludedNamespace),
                "{namespace}"
            );
        }
        for namespace in [
            "acme/orders",
            "acme/broker-1:8080",
            "pulsar/topics",
            "pulsar/a:b",
        ] {
            assert_eq!(keep(namespace), None, "{namespace}");
        }
    }
}
