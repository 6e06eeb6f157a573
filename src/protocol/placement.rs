//! Which broker gets a bundle that nobody chose one for.

use crate::ids::{BrokerId, BundleId};
use std::fmt::Debug;

/// Chooses a broker for a bundle.
pub trait Placement: Debug + Send + Sync {
    /// One of the candidates, which are in order of their names and may be none.
    ///
    /// Whoever asks twice with the same candidates may get two answers, but every answer is one of
    /// them.
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId>;
}

/// Spreads bundles evenly by a hash of bundle and broker: the broker with the highest score gets
/// the bundle, so that one that comes or goes moves no bundle between the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtRandom;

impl Placement for AtRandom {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        use std::hash::{Hash, Hasher};
        let score = |broker: &BrokerId| {
            let mut hasher = siphasher::sip::SipHasher13::new();
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
