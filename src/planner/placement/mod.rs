//! Which broker gets a bundle that nobody chose one for.

mod at_random;
mod below_average;
mod by_plan;
mod constrained;
mod kind;
mod least_loaded;
mod least_long_term;
mod least_usage;
mod round_robin;
mod shared;
mod standings;
mod sticky;
mod unloads;

pub use at_random::AtRandom;
pub use by_plan::ByPlan;
pub use constrained::Constrained;
pub use kind::PlacementKind;
pub use least_loaded::LeastLoaded;
pub use least_long_term::LeastLongTermMessageRate;
pub use least_usage::{LeastReportedUsage, LeastResourceUsage, UsageConfig};
pub use round_robin::{InTurn, RoundRobin};
pub use shared::Shared;
pub use sticky::Sticky;

use least_long_term::long_term_messages;

use super::{ClusterLoad, Plan};
use crate::ids::{BrokerId, BundleId};
use std::fmt::Debug;

/// Chooses a broker for a bundle.
pub trait Placement: Debug + Send + Sync {
    /// One of the candidates, which are in order of their names and may be none.
    ///
    /// Whoever asks twice with the same candidates may get two answers, but every answer is one of
    /// them.
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId>;

    /// Takes in what all brokers report; who is not listed has left. Those that go by load must be
    /// shown it, the others do not look.
    fn observe(&mut self, load: &ClusterLoad) {
        let _ = load;
    }

    /// Takes in what is planned. Those that keep to plans must be told, the others do not look.
    fn adopt(&mut self, plan: &Plan) {
        let _ = plan;
    }
}
