//! Which bundles should move, and why.
//!
//! Pure: load goes in, a plan comes out. Nothing here knows of logs, sessions or time; same input,
//! same seed, same plan, whatever the order of the input. Above stand the protocol, which places
//! bundles that nobody chose a broker for, and the balancer, which carries plans out.

mod from_reports;
mod load;

pub use load::{BrokerLoad, BundleLoad, ClusterLoad, Resource, ResourceKind, Traffic};
