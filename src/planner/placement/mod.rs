//! Which broker gets a bundle that nobody chose one for.

mod at_random;
mod by_plan;
mod sticky;

pub use at_random::AtRandom;
pub use by_plan::ByPlan;
pub use sticky::Sticky;

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
