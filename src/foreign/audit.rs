//! Replays foreign events under one set of rules.

use super::coverage::{Coverage, cover};
use super::event::{Event, Observed};
use super::native::{self, Against, NotNative};
use super::rule_set::RuleSet;
use crate::ids::{BundleId, KeyRange, Namespace};
use crate::state::pulsar::{Brokers, Refusal};
use crate::state::{Rejection, State};
use std::collections::BTreeMap;

/// What is left of foreign events under one set of rules.
///
/// It needs memory for the bundles that are there, however many events go by.
///
/// # Examples
///
/// ```
/// use deedbook::foreign::{Audit, RuleSet, read};
///
/// let mut audit = Audit::new(RuleSet::PulsarSystemTopic);
/// let lines = [
///     r#"{"key": "acme/orders/0x00000000_0xffffffff",
///         "value": {"state": "Assigning", "dstBroker": "broker-1:8080", "versionId": 1}}"#,
///     r#"{"key": "acme/orders/0x00000000_0xffffffff",
///         "value": {"state": "Owned", "dstBroker": "broker-2:8080", "versionId": 2}}"#,
/// ];
/// let events = lines.map(|line| read(&mut serde_json::Deserializer::from_str(line)).unwrap().0);
/// assert!(audit.apply(1, &events[0]).is_ok());
/// // It was promised to another broker.
/// let dropped = audit.apply(2, &events[1]).unwrap_err();
/// assert_eq!(dropped.to_string(), "Assigning becomes Owned only if the destination stays");
/// ```
#[derive(Clone, Debug)]
pub struct Audit {
    rules: RuleSet,
    brokers: Brokers,
    rows: BTreeMap<Namespace, BTreeMap<KeyRange, Held>>,
    row_count: usize,
}

/// A bundle as the last accepted event left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What it said.
    pub observed: Observed,
    /// Its number, as the caller counts events: a line of a file.
    pub number: u64,
}

/// Why an event changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Dropped {
    /// The rules of Apache Pulsar refuse it, or its version under any rules.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The native rules reject it.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// It is nothing that the native rules know.
    #[error(transparent)]
    NotNative(#[from] NotNative),
}

impl Dropped {
    /// A stable short name, for counters and reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.name(),
            Self::Rejected(rejection) => rejection.name(),
            Self::NotNative(NotNative::NobodyNamed { .. }) => "nobody_named",
            Self::NotNative(NotNative::NoChildren) => "no_children",
            Self::NotNative(NotNative::ToItself) => "to_itself",
        }
    }
}

impl Audit {
    /// Nothing yet, under these rules.
    #[must_use]
    pub fn new(rules: RuleSet) -> Self {
        Self {
            rules,
            brokers: Brokers::Checked,
            rows: BTreeMap::new(),
            row_count: 0,
        }
    }

    /// Whether terms about brokers are looked at; the native rules always do. Default: checked.
    #[must_use]
    pub fn with_brokers(mut self, brokers: Brokers) -> Self {
        self.brokers = brokers;
        self
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> RuleSet {
        self.rules
    }

    /// Takes in an event, which the caller calls by this number.
    ///
    /// # Errors
    ///
    /// Why it is [`Dropped`].
    pub fn apply(&mut self, number: u64, event: &Event) -> Result<(), Dropped> {
        let (namespace, range) = (event.bundle.namespace(), event.bundle.range());
        let none = BTreeMap::new();
        let rows = self.rows.get(namespace).unwrap_or(&none);
        let kept = rows.get(&range);
        match self.rules.rules() {
            Some(rules) => {
                let kept = kept.map(|kept| &kept.observed.record);
                let next = event.observed.as_ref().map(|next| &next.record);
                rules.judge(kept, next, self.brokers)?;
            }
            None => native::judge(kept, event, rows).map_err(|against| match against {
                Against::Number(refusal) => Dropped::Refused(refusal),
                Against::Form(form) => Dropped::NotNative(form),
                Against::Rule(rejection) => Dropped::Rejected(rejection),
            })?,
        }
        self.set(number, event);
        Ok(())
    }

    fn set(&mut self, number: u64, event: &Event) {
        let (namespace, range) = (event.bundle.namespace(), event.bundle.range());
        let is_gone = |observed: &Observed| {
            self.rules == RuleSet::Native && observed.record.state == State::Init
        };
        let next = event.observed.as_ref().filter(|next| !is_gone(next));
        let rows = self.rows.entry(namespace.clone()).or_default();
        let before = match next {
            Some(observed) => rows.insert(
                range,
                Held {
                    observed: observed.clone(),
                    number,
                },
            ),
            None => rows.remove(&range),
        };
        if rows.is_empty() {
            self.rows.remove(namespace);
        }
        self.row_count += usize::from(next.is_some());
        self.row_count -= usize::from(before.is_some());
    }

    /// How many bundles are there.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// A bundle.
    #[must_use]
    pub fn get(&self, bundle: &BundleId) -> Option<&Held> {
        self.rows.get(bundle.namespace())?.get(&bundle.range())
    }

    /// All bundles, by namespace and range.
    pub fn rows(&self) -> impl Iterator<Item = (BundleId, &Held)> {
        self.rows.iter().flat_map(|(namespace, rows)| {
            let named = |range: &KeyRange| BundleId::new(namespace.clone(), *range);
            rows.iter().map(move |(range, held)| (named(range), held))
        })
    }

    /// The namespaces, in order.
    pub fn namespaces(&self) -> impl Iterator<Item = &Namespace> {
        self.rows.keys()
    }

    /// How many bundles of a namespace are there.
    #[must_use]
    pub fn bundle_count(&self, namespace: &Namespace) -> usize {
        self.rows.get(namespace).map_or(0, BTreeMap::len)
    }

    /// The bundles of one namespace, by range.
    pub(super) fn rows_of(&self, namespace: &Namespace) -> impl Iterator<Item = (KeyRange, &Held)> {
        let rows = self.rows.get(namespace).into_iter().flatten();
        rows.map(|(range, held)| (*range, held))
    }

    /// How the bundles of a namespace cover its key space.
    #[must_use]
    pub fn coverage(&self, namespace: &Namespace) -> Coverage {
        cover(self.rows_of(namespace))
    }

    /// The bundles that stand otherwise in another audit: state, brokers, or not there at all.
    /// Numbers of records do not count.
    pub fn differences<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (BundleId, Option<&'a Held>, Option<&'a Held>)> {
        let ours = self
            .rows()
            .map(|(bundle, held)| (other.get(&bundle), bundle, held));
        let ours =
            ours.filter(|(there, _, held)| !there.is_some_and(|there| stands_alike(held, there)));
        let ours = ours.map(|(there, bundle, held)| (bundle, Some(held), there));
        let theirs = other
            .rows()
            .filter(|(bundle, _)| self.get(bundle).is_none())
            .map(|(bundle, held)| (bundle, None, Some(held)));
        ours.chain(theirs)
    }
}

fn stands_alike(one: &Held, other: &Held) -> bool {
    let (one, other) = (&one.observed.record, &other.observed.record);
    (one.state, one.holder(), one.successor()) == (other.state, other.holder(), other.successor())
}
