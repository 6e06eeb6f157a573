//! One broker's brain: what it reads and is asked goes in, what is to be done comes out.
//!
//! No I/O, no clock, no thread and no randomness of its own: the channel drives it with real time,
//! the simulator with virtual time. Below it are the table, the log's types and the registry's;
//! above it balance and channel.
//!
//! Effects are level-triggered: what a broker does about a bundle follows from the bundle's row and
//! from what its own hooks have done, never from how it came to know the row. So replay and live
//! reading end alike (invariant I7).

mod answer;
mod appends;
mod brain;
mod closing;
mod commands;
mod config;
mod counters;
mod drain;
mod io;
mod leader;
mod lookups;
mod monitor;
mod operations;
mod ownership;
mod session;
mod timers;

pub use crate::planner::{AtRandom, Placement};
pub use answer::{Answer, Refused};
pub use brain::Protocol;
pub use config::Config;
pub use counters::{Counters, HookTimes};
pub use io::{
    Action, CloseReport, Effect, Hook, HookId, HookResult, Input, Mine, NotMine, RegistryAnswer,
    Request, Ticket, Wait,
};
