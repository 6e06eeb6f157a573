//! Keeps the log short: replays it to a fixed end, writes what is left of it as a snapshot,
//! publishes that, and only then lets go of what the snapshot covers.
//!
//! Below it stand the [`table`](crate::table), whose fold it shares with every reader, and
//! [`snapshot`](crate::snapshot). An [`Attempt`] is the machine: it does a bounded piece of work when
//! it is told to. A [`Compactor`] is the thread that drives it, and [`Policy`] says when. A failed
//! or abandoned attempt leaves nothing visible, and the horizon never moves back (invariant I10).

mod attempt;
mod error;
mod policy;
mod worker;

pub use attempt::{Attempt, Config, End, Progress, Report};
pub use error::Error;
pub use policy::{Counters, Policy, Reason};
pub use worker::Compactor;
