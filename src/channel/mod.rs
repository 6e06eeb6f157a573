//! The embedder's handle: a broker's ownership channel on real threads.
//!
//! Everything that decides anything stands below, in [`protocol`](crate::protocol); here are
//! threads, queues and the waiting. One thread steps the protocol, one follows the log, one talks
//! to the registry, one awaits appends, one calls the hooks, one balances while this broker
//! leads. Reads go to the protocol's table directly.

mod admin;
mod balancing;
mod builder;
mod cluster;
mod command;
mod compaction;
mod core;
mod events;
mod follower;
mod handle;
mod handler;
mod metrics;
mod status;
mod subscription;
mod tail;
mod workers;

pub use admin::{BrokerCommand, NamespaceCommand};
pub use balancing::Balancing;
pub use builder::{Builder, StartError};
pub use cluster::Cluster;
pub use command::{BundleCommand, Command, CommandError, CommandResult, Completed};
pub use command::{LookUpError, LookUpResult, Owner};

#[cfg(feature = "sim")]
pub(crate) use command::{command_result, look_up_result};
pub use follower::Follower;
pub use handle::Channel;
#[cfg(feature = "sim")]
pub(crate) use handler::call_hook;
pub use handler::{Completion, Ignore, OwnershipHandler};
pub use metrics::{METRICS, Metric, MetricKind, Sample};
pub use status::Status;
pub use subscription::{NextUpdate, Subscription, SubscriptionConfig, Update};
