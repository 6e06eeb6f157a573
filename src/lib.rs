//! Brokers agree on who owns which bundle: one totally ordered event log, a compactor that keeps it
//! short, a table view that rebuilds ownership from compacted output and validates every
//! transition, and a planner that decides which bundles should move.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod balance;
pub mod channel;
pub mod clock;
pub mod compactor;
pub mod foreign;
pub mod ids;
pub mod log;
pub mod pending;
pub mod planner;
pub mod protocol;
pub mod receive;
pub mod registry;
pub mod reports;
#[cfg(feature = "sim")]
pub mod sim;
pub mod snapshot;
pub mod state;
pub mod storage;
mod sync;
pub mod table;
#[cfg(feature = "test-util")]
pub mod testing;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
