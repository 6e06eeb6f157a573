//! A whole cluster in virtual time, from one seed.
//!
//! What runs is the product's own code: protocol, registry, log, table. Simulated are time, the
//! network, what storage and hooks do, the operator, and what goes wrong. Everything is drawn from
//! one seed, and one thread does it all, so that a run repeats exactly. After each event the
//! [checkers](Violation) look whether all that must hold still does.

mod builder;
mod checkers;
mod cluster;
mod compaction;
mod control;
mod describe;
mod dice;
mod drive;
mod embedder;
mod event;
mod failure;
mod faults;
mod handlers;
mod history;
mod inspect;
mod load;
mod made_up;
mod network;
mod node;
pub mod play;
pub mod receiver;
mod rest;
pub mod scenario;
mod services;
mod trace;
mod workload;
mod world;

pub use builder::{Builder, Guards};
pub use checkers::Violation;
pub use cluster::{Cluster, HookPlan, Outcome};
pub use dice::Span;
pub use failure::Failure;
pub use faults::{FaultKind, Faults};
pub use load::LoadModel;
pub use made_up::MadeUp;
pub use network::Delays;
pub use trace::{LINES_KEPT, Trace};
pub use workload::Workload;
