//! A cluster to try a shedder on: what it bears, and what happens to it.

use crate::balance;
use crate::ids::{BrokerId, BundleId, Cuts, Namespace};
use crate::planner::{ClusterLoad, Constraints, Mode, PlacementKind, split};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A cluster to try a shedder on.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Everything drawn by chance comes from it.
    pub seed: u64,
    /// Who owns what and bears what at the beginning.
    pub load: ClusterLoad,
    /// What no plan may touch.
    pub constraints: Constraints,
    /// Limits of carrying plans out.
    pub balance: balance::Config,
    /// Who chooses destinations where the strategy leaves them open; none: nobody.
    pub placement: Option<(PlacementKind, Mode)>,
    /// When bundles are split, and where; none: never.
    pub splits: Option<split::Config>,
    /// When rounds come, and how many.
    pub rounds: Rounds,
    /// What happens on the way.
    pub events: Vec<Event>,
}

/// When the rounds of the balancer come, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// From one round to the next. Default: 60 s.
    pub interval: Duration,
    /// Most rounds. Default: 120.
    pub max: u32,
    /// So many rounds in a row without a move, and no event to come, are the end. Default: 10, two
    /// more than a difference over the low threshold has to last.
    pub quiet: u32,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(60),
            max: 120,
            quiet: 10,
        }
    }
}

/// Something that happens before a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The round before which it happens, from 1.
    pub round: u32,
    /// What happens.
    #[serde(flatten)]
    pub what: Happening,
}

/// What may happen to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// A broker's process dies without a word.
    Lose(BrokerId),
    /// A broker starts again under its name.
    Return(BrokerId),
    /// A broker hands over what it owns and leaves.
    Drain(BrokerId),
}

/// Why a scenario cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It has no brokers.
    #[error("the scenario has no brokers")]
    NoBrokers,
    /// Two bundles hold the same keys.
    #[error("{first} and {second} hold the same keys; a namespace's bundles must not overlap")]
    Overlap {
        /// One of them.
        first: BundleId,
        /// The other.
        second: BundleId,
    },
    /// An event names a broker that the scenario does not have.
    #[error("an event of round {round} names {broker}, which the scenario does not have")]
    UnknownBroker {
        /// The event's round.
        round: u32,
        /// The broker.
        broker: BrokerId,
    },
}

impl Happening {
    /// The broker that it happens to.
    #[must_use]
    pub const fn broker(&self) -> &BrokerId {
        match self {
            Self::Lose(broker) | Self::Return(broker) | Self::Drain(broker) => broker,
        }
    }
}

impl Scenario {
    /// A scenario that plays `load` with everything else as usual.
    #[must_use]
    pub fn new(load: ClusterLoad) -> Self {
        Self {
            seed: 1,
            load,
            constraints: Constraints::default(),
            balance: balance::Config::default(),
            placement: None,
            splits: None,
            rounds: Rounds::default(),
            events: Vec::new(),
        }
    }

    /// Whether it can be played.
    ///
    /// # Errors
    ///
    /// [`Error`] if it contradicts itself.
    pub fn check(&self) -> Result<(), Error> {
        if self.load.brokers.is_empty() {
            return Err(Error::NoBrokers);
        }
        for Event { round, what } in &self.events {
            let broker = what.broker();
            if !self.load.brokers.contains_key(broker) {
                return Err(Error::UnknownBroker {
                    round: *round,
                    broker: broker.clone(),
                });
            }
        }
        self.namespaces().map(|_| ())
    }

    /// The namespaces of its bundles, and where to cut them so that each bundle is there. Keys that
    /// no bundle holds get bundles of their own, which nobody owns.
    ///
    /// # Errors
    ///
    /// [`Error::Overlap`] if two bundles hold the same keys.
    pub fn namespaces(&self) -> Result<BTreeMap<Namespace, Option<Cuts>>, Error> {
        let bundles: BTreeSet<&BundleId> = self
            .load
            .brokers
            .values()
            .flat_map(|broker| broker.bundles.keys())
            .collect();
        let mut cuts: BTreeMap<Namespace, BTreeSet<u32>> = BTreeMap::new();
        let mut before: Option<&BundleId> = None;
        for bundle in bundles {
            if let Some(first) = before.filter(|before| before.overlaps(bundle)) {
                return Err(Error::Overlap {
                    first: first.clone(),
                    second: bundle.clone(),
                });
            }
            let range = bundle.range();
            let ends = [range.lower(), range.upper()];
            let inner = ends.into_iter().filter(|cut| (1..u32::MAX).contains(cut));
            cuts.entry(bundle.namespace().clone())
                .or_default()
                .extend(inner);
            before = Some(bundle);
        }
        let cuts = cuts.into_iter();
        Ok(cuts
            .map(|(n, cuts)| (n, Cuts::new(Vec::from_iter(cuts)).ok()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::BrokerLoad;

    fn scenario(bundles: &[&str]) -> Scenario {
        let bundles = bundles
            .iter()
            .map(|text| (text.parse().unwrap(), None))
            .collect();
        let broker = BrokerLoad {
            bundles,
            ..BrokerLoad::default()
        };
        let brokers = BTreeMap::from([("a".parse().unwrap(), broker)]);
        Scenario::new(ClusterLoad {
            brokers,
            ..ClusterLoad::default()
        })
    }

    #[test]
    fn a_namespace_is_cut_where_its_bundles_meet_and_gaps_are_filled() {
        let scenario = scenario(&["t/n/0x00000010_0x00000020", "t/n/0x00000020_0xffffffff"]);
        let namespaces = scenario.namespaces().unwrap();
        let cuts = namespaces[&Namespace::new("t/n").unwrap()]
            .as_ref()
            .unwrap();
        assert_eq!(cuts.as_slice(), [0x10, 0x20]);
    }

    #[test]
    fn bundles_that_overlap_are_refused() {
        let scenario = scenario(&["t/n/0x00000000_0x00000020", "t/n/0x00000010_0xffffffff"]);
        assert!(matches!(scenario.check(), Err(Error::Overlap { .. })));
    }

    #[test]
    fn an_event_must_happen_to_somebody() {
        let mut scenario = scenario(&["t/n/0x00000000_0xffffffff"]);
        let broker: BrokerId = "nobody".parse().unwrap();
        scenario.events.push(Event {
            round: 3,
            what: Happening::Lose(broker.clone()),
        });
        assert_eq!(
            scenario.check(),
            Err(Error::UnknownBroker { round: 3, broker })
        );
    }
}
