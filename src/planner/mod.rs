//! Which bundles should move, and why.
//!
//! Pure: load goes in, a plan comes out. Nothing here knows of logs, sessions or time; same input,
//! same seed, same plan, whatever the order of the input. Above stand the protocol, which places
//! bundles that nobody chose a broker for, and the balancer, which carries plans out.

pub mod avg;
mod constraints;
mod draft;
mod effect;
mod error;
mod explain;
mod from_reports;
pub mod global;
mod guard;
mod legality;
mod load;
mod mode;
mod outlook;
pub mod overload;
mod placement;
mod plan;
mod reason;
mod rehearsal;
mod relief;
mod rules;
mod score;
mod shedder;
pub mod split;
mod strategy;
pub mod threshold;
pub mod transfer;
pub mod uniform;
mod unsettled;

pub use crate::reports::Traffic;
pub use constraints::{Allowed, Constraints, Version};
pub use effect::Effect;
pub use error::Error;
pub use explain::{Cause, Fate};
pub use load::{BrokerLoad, BundleLoad, ClusterLoad, Resource, ResourceKind, Smoothed};
pub use mode::Mode;
pub use placement::{
    AtRandom, ByPlan, Constrained, InTurn, LeastLoaded, LeastLongTermMessageRate,
    LeastReportedUsage, LeastResourceUsage, Placement, PlacementKind, RoundRobin, Shared, Sticky,
    UsageConfig,
};
pub use plan::{Amount, BrokerVerdict, Move, PairVerdict, Plan, Score, SearchVerdict, Unload};
pub use reason::{Barred, Hits, Kept, Measure, Stopped, Trigger, Wanted};
pub use rehearsal::{Rehearsal, Rehearsed, compare};
pub use score::Weights;
pub use shedder::{BoxedClone, Shedder};
pub use strategy::{Settings, Strategy};
