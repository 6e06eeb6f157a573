//! The table view: who owns what, rebuilt from the log.
//!
//! Below it: the rules of [`state`](crate::state), the [`log`](crate::log) and
//! [`snapshots`](crate::snapshot) of it. Above it: compactor,
//! protocol and channel. A [`Table`] is the fold of all accepted entries (invariant I1): whoever
//! reads the same log from any snapshot arrives at the same table, and the same [`Digest`]. A
//! [`Reader`] keeps one in step with a log; a [`Feed`] serves those that fold for themselves.

mod digest;
mod error;
mod feed;
mod fold;
mod index;
mod reader;
mod rows;

pub use digest::Digest;
pub use error::Error;
pub use feed::{Feed, FeedItem};
pub use fold::{Applied, RowChange, Table};
pub use reader::{Reader, ReaderEvent};
