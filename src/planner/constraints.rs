//! What no strategy may touch, whatever the load.

use super::{Error, Kept};
use crate::ids::{BrokerId, BundleId, Namespace};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// The namespace that Apache Pulsar keeps its own topics in.
const SYSTEM_NAMESPACE: &str = "pulsar/system";

/// Limits that hold for every strategy, and for placement that is [`Constrained`].
///
/// [`Constrained`]: super::Constrained
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Constraints {
    /// Brokers that are being emptied: no part of any pair, so never a destination. What they own
    /// leaves them with the drain, not with a plan. Default: none.
    pub drained: BTreeSet<BrokerId>,
    /// Bundles that stay where they are. Default: none.
    pub pinned: BTreeSet<BundleId>,
    /// Namespaces whose bundles stay where they are. Default: `pulsar/system`.
    pub excluded_namespaces: BTreeSet<Namespace>,
    /// The brokers that a namespace may use. A broker that is primary for some namespace takes
    /// bundles of no namespace that is not listed, as in Apache Pulsar. Default: none is listed.
    pub allowed: BTreeMap<Namespace, Allowed>,
    /// Groups of namespaces that should not meet on one broker, by the name of the group: a bundle
    /// moves to no broker that has more namespaces of its group, itself not counted, than its owner
    /// has, and is placed where there are fewest. Default: none.
    pub anti_affinity: BTreeMap<String, BTreeSet<Namespace>>,
    /// Most topics that a broker may come to have by moves and placement. Default: no limit.
    pub topics_max: Option<u64>,
    /// The versions that brokers run, during a rolling upgrade: a bundle moves to no broker with an
    /// older one than its owner's, and is placed on one with the newest. Who is not listed is older
    /// than all that are. Default: none.
    pub versions: BTreeMap<BrokerId, Version>,
}

/// The brokers that a namespace may use: each by its name, or all of one host by that of the host,
/// which is the name up to the last colon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Allowed {
    /// Those that it uses.
    pub primary: BTreeSet<BrokerId>,
    /// Those that it may use as well while fewer primaries than the minimum are there.
    pub secondary: BTreeSet<BrokerId>,
    /// The minimum of primaries that are listed and not being drained. Default: 1.
    pub primaries_min: usize,
}

impl Default for Allowed {
    fn default() -> Self {
        Self {
            primary: BTreeSet::new(),
            secondary: BTreeSet::new(),
            primaries_min: 1,
        }
    }
}

/// A version such as `3.0.1` or `3.0.1-rc.2`: numbers with dots between them, and perhaps what it
/// is called before it is released. What follows a `+` does not count.
///
/// # Examples
///
/// ```
/// use deedbook::planner::Version;
///
/// let versions = ["3.0.9", "3.0.10-rc.2", "3.0.10-rc.10", "3.0.10"];
/// let versions: Result<Vec<Version>, _> = versions.iter().map(|text| text.parse()).collect();
/// assert!(versions?.is_sorted());
/// assert!("three".parse::<Version>().is_err());
/// # Ok::<(), deedbook::planner::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    numbers: Vec<u64>,
    stage: Stage,
}

/// How far a version is; the order is that of the stages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Stage {
    /// What it is called before its release.
    Before(Vec<Part>),
    Released,
}

/// What stands between two dots; numbers come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Number(u64),
    Word(String),
}

impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let counts = text.split('+').next().unwrap_or(text);
        let (numbers, stage) = match counts.split_once('-') {
            None => (counts, Stage::Released),
            Some((numbers, before)) => {
                let part = |part: &str| match part.parse() {
                    Ok(number) => Part::Number(number),
                    Err(_) => Part::Word(part.to_owned()),
                };
                (
                    numbers,
                    Stage::Before(before.split('.').map(part).collect()),
                )
            }
        };
        let numbers: Result<_, _> = numbers.split('.').map(str::parse).collect();
        let numbers = numbers.map_err(|_| Error::NoVersion {
            text: text.to_owned(),
        })?;
        Ok(Self { numbers, stage })
    }
}

impl TryFrom<String> for Version {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.numbers.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{number}")?;
        }
        let Stage::Before(parts) = &self.stage else {
            return Ok(());
        };
        for (index, part) in parts.iter().enumerate() {
            let separator = if index == 0 { "-" } else { "." };
            match part {
                Part::Number(number) => write!(f, "{separator}{number}")?,
                Part::Word(word) => write!(f, "{separator}{word}")?,
            }
        }
        Ok(())
    }
}

impl Default for Constraints {
    fn default() -> Self {
        Self {
            drained: BTreeSet::new(),
            pinned: BTreeSet::new(),
            excluded_namespaces: Namespace::new(SYSTEM_NAMESPACE).into_iter().collect(),
            allowed: BTreeMap::new(),
            anti_affinity: BTreeMap::new(),
            topics_max: None,
            versions: BTreeMap::new(),
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
        } else if self.excludes(bundle.namespace()) {
            Some(Kept::ExcludedNamespace)
        } else {
            None
        }
    }

    /// Whether the bundles of a namespace stay where they are.
    pub(super) fn excludes(&self, namespace: &Namespace) -> bool {
        self.excluded_namespaces.contains(namespace) || heartbeat_of(namespace).is_some()
    }
}

/// The name of the broker whose own a namespace is: it is called `pulsar/host:port`, as Apache
/// Pulsar calls the one in which a broker checks its own health.
pub(super) fn heartbeat_of(namespace: &Namespace) -> Option<&str> {
    let address = namespace.as_str().strip_prefix("pulsar/")?;
    let (_, port) = address.rsplit_once(':')?;
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_port.then_some(address)
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
