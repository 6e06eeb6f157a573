//! One placement for a channel and for whoever feeds it with reports and plans.

use super::Placement;
use crate::ids::{BrokerId, BundleId};
use crate::planner::{ClusterLoad, Plan};
use crate::sync::Mutex;
use std::fmt;
use std::sync::Arc;

/// A placement in several hands: one copy goes into a channel, another shows it reports and plans.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Box<dyn Placement>>>);

impl Shared {
    /// Shares a placement; its copies are the same one.
    #[must_use]
    pub fn new(placement: Box<dyn Placement>) -> Self {
        Self(Arc::new(Mutex::new(placement)))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").finish_non_exhaustive()
    }
}

impl Placement for Shared {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        self.0.lock().place(bundle, candidates)
    }

    fn observe(&mut self, load: &ClusterLoad) {
        self.0.lock().observe(load);
    }

    fn adopt(&mut self, plan: &Plan) {
        self.0.lock().adopt(plan);
    }
}
