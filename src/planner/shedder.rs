//! What every strategy is.

use super::{ClusterLoad, Constraints, Plan};
use std::fmt::Debug;

/// Chooses the bundles that should move. Rounds come one after another; what a strategy remembers
/// of earlier ones is its own affair.
///
/// An implementation must
///
/// - be a function of its seed and of the loads it was shown, whatever the order of the input;
/// - move a bundle only away from a broker that owns it, at most once a plan, and never to a
///   drained broker or to one that is not listed;
/// - move no bundle that the constraints or [`ClusterLoad::recently_moved`] keep;
/// - say for every broker why nothing moves away from it, unless something does.
pub trait Shedder: Debug + Send + Sync + BoxedClone {
    /// Plans one round.
    fn plan(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan;
}

/// Copies a strategy with all that it remembers: to plan without a trace. Every strategy that is
/// [`Clone`] has it.
pub trait BoxedClone {
    /// The copy.
    fn boxed_clone(&self) -> Box<dyn Shedder>;
}

impl<S: Shedder + Clone + 'static> BoxedClone for S {
    fn boxed_clone(&self) -> Box<dyn Shedder> {
        Box::new(self.clone())
    }
}
