//! Clusters under load that are made up, as large as wanted, from one seed.

use super::dice::Dice;
use crate::ids::{BrokerId, BundleId, KeyRange, Namespace};
use crate::planner::{BrokerLoad, BundleLoad, ClusterLoad, Resource, Traffic};

/// So many bundles make a namespace.
const BUNDLES_A_NAMESPACE: u32 = 1024;

/// What a made-up cluster is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MadeUp {
    /// How many brokers.
    pub brokers: u32,
    /// How many bundles, the same number on each broker as far as that can be.
    pub bundles: u32,
    /// From the score of the coldest broker to that of the hottest, in points; evenly between. At
    /// most 100: they lie around 50.
    pub spread_points: f64,
    /// The same seed gives the same cluster.
    pub seed: u64,
}

impl MadeUp {
    /// Makes it up. Each broker's bundles bear between nothing and twice its average, and a
    /// message has a thousand bytes.
    #[must_use]
    pub fn load(&self) -> ClusterLoad {
        let mut dice = Dice::new(self.seed);
        let mut load = ClusterLoad::default();
        let Some(brokers) = u64::from(self.brokers).checked_sub(1) else {
            return load;
        };
        let mut namespaces = Namespaces::default();
        let mut ranks: Vec<u32> = (0..self.brokers).collect();
        for index in (1..ranks.len()).rev() {
            let other = dice.below(index as u64 + 1);
            ranks.swap(index, usize::try_from(other).unwrap_or(0));
        }
        for (index, rank) in (0u32..).zip(ranks) {
            let place = if brokers == 0 {
                0.5
            } else {
                f64::from(rank) / brokers as f64
            };
            let points = 50.0 + (place - 0.5) * self.spread_points;
            let spare = u32::from(index < self.bundles % self.brokers);
            let count = self.bundles / self.brokers + spare;
            let broker = self.broker(points, count, &mut namespaces, &mut dice);
            if let Ok(name) = BrokerId::new(format!("broker-{index:05}:8080")) {
                load.brokers.insert(name, broker);
            }
        }
        load
    }

    fn broker(
        &self,
        points: f64,
        count: u32,
        namespaces: &mut Namespaces,
        dice: &mut Dice,
    ) -> BrokerLoad {
        let used = Some(Resource::new(points, 100.0));
        let mut broker = BrokerLoad {
            cpu: used,
            direct_memory: used,
            bandwidth_in: used,
            bandwidth_out: used,
            ..BrokerLoad::default()
        };
        // A point is a thousand messages a second, shared by the bundles.
        let average = points * 1000.0 / f64::from(count.max(1));
        for _ in 0..count {
            let rate = average * dice.below(2001) as f64 / 1000.0;
            let short_term = Traffic {
                message_rate_in: rate / 2.0,
                message_rate_out: rate / 2.0,
                throughput_in: rate * 500.0,
                throughput_out: rate * 500.0,
            };
            broker.traffic = broker.traffic + short_term;
            let load = BundleLoad {
                short_term,
                topics: 10,
                ..BundleLoad::default()
            };
            broker
                .bundles
                .extend(namespaces.next().map(|bundle| (bundle, Some(load))));
        }
        broker
    }
}

/// Namespaces that are divided into bundles, one after the other.
#[derive(Debug, Default)]
struct Namespaces {
    current: Option<Namespace>,
    namespaces: u32,
    next: u32,
}

impl Namespaces {
    fn next(&mut self) -> Option<BundleId> {
        if self.current.is_none() || self.next == BUNDLES_A_NAMESPACE {
            self.current = Namespace::new(format!("made-up/n{:05}", self.namespaces)).ok();
            self.namespaces += 1;
            self.next = 0;
        }
        let width = u32::MAX / BUNDLES_A_NAMESPACE;
        let lower = self.next * width;
        self.next += 1;
        let last = self.next == BUNDLES_A_NAMESPACE;
        let upper = if last { u32::MAX } else { lower + width };
        Some(BundleId::new(
            self.current.clone()?,
            KeyRange::new(lower, upper).ok()?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_cluster_is_as_large_and_as_lopsided_as_wanted() {
        let made_up = MadeUp {
            brokers: 10,
            bundles: 1234,
            spread_points: 90.0,
            seed: 7,
        };
        let load = made_up.load();
        assert_eq!(load, made_up.load());
        assert_ne!(load, MadeUp { seed: 8, ..made_up }.load());
        let bundles = load.brokers.values().map(|broker| broker.bundles.len());
        assert_eq!((load.brokers.len(), bundles.sum::<usize>()), (10, 1234));
        let points = load
            .brokers
            .values()
            .map(|broker| broker.cpu.unwrap().usage);
        let (min, max) = points.fold((f64::MAX, f64::MIN), |(min, max), points| {
            (points.min(min), points.max(max))
        });
        assert_eq!((min, max), (5.0, 95.0));
        let distinct: std::collections::BTreeSet<_> = load
            .brokers
            .values()
            .flat_map(|broker| broker.bundles.keys())
            .collect();
        assert_eq!(distinct.len(), 1234);
    }
}
