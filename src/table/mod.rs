//! The table view: who owns what, rebuilt from the log.
//!
//! Below it: the rules of [`state`](crate::state) and the [`log`](crate::log). Above it: compactor,
//! protocol and channel. A [`Table`] is the fold of all accepted entries (invariant I1): whoever
//! reads the same log from any snapshot arrives at the same table, and the same [`Digest`].

mod digest;
mod error;
mod fold;
mod index;

pub use digest::Digest;
pub use error::Error;
pub use fold::{Applied, RowChange, Table};
