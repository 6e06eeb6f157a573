//! Placement by a hash: evenly, without any memory.

use super::Placement;
use crate::ids::{BrokerId, BundleId};

/// Spreads bundles evenly by a hash of bundle and broker: the broker with the highest score gets
/// the bundle, so that one that comes or goes moves no bundle between the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtRandom {
    seed: u64,
}

impl AtRandom {
    /// The same seed gives the same placement. Default: 0.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }
}

impl Placement for AtRandom {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        use std::hash::{Hash, Hasher};
        let score = |broker: &BrokerId| {
            let mut hasher = siphasher::sip::SipHasher13::new_with_keys(self.seed, 0);
            bundle.namespace().as_str().hash(&mut hasher);
            hasher.write_u32(bundle.range().lower());
            broker.as_str().hash(&mut hasher);
            hasher.finish()
        };
        candidates
            .iter()
            .max_by_key(|broker| score(broker))
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{KeyRange, Namespace};
    use std::collections::BTreeMap;

    #[test]
    fn one_seed_one_placement_another_seed_another_and_each_of_them_even() {
        let brokers: Vec<_> = ["a", "b", "c"].map(|n| BrokerId::new(n).unwrap()).into();
        let namespace = Namespace::new("t/n").unwrap();
        let bundles: Vec<_> = (0..300)
            .map(|i| BundleId::new(namespace.clone(), KeyRange::new(i, i + 1).unwrap()))
            .collect();
        let places = |seed| -> Vec<_> {
            let mut placement = AtRandom::new(seed);
            let place = |bundle| placement.place(bundle, &brokers).unwrap();
            bundles.iter().map(place).collect()
        };
        assert_eq!(places(7), places(7));
        assert_ne!(places(7), places(8));
        let mut counts = BTreeMap::new();
        for broker in places(7) {
            *counts.entry(broker).or_insert(0) += 1;
        }
        // 100 each, give or take five standard deviations of about 8.
        assert!(
            counts.values().all(|count| (60..=140).contains(count)),
            "{counts:?}"
        );
    }
}
