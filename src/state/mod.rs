//! Records, changes, entries, and the one rule by which they are accepted.
//!
//! Above it stand the log, which carries entries, and the table, which folds them. Everything here
//! is pure.
//!
//! # The transitions
//!
//! Ordinary ones, then the leader's forced ones. A bundle is born only with its namespace (`Free`)
//! or by the split of its parent (`Owned`), and ends only as a `Deleted` parent or with its
//! namespace.
//!
//! | from | to | by | on the terms that |
//! | --- | --- | --- | --- |
//! | Free | Assigning | any broker | the namespace is not being deleted |
//! | Assigning | Owned | the destination | names its author as holder |
//! | Assigning | Assigning | the destination | another destination; the namespace is not being deleted |
//! | Assigning | Free | the destination | - |
//! | Owned | Releasing | any broker | the holder stays; the destination, if any, is not the holder; with a destination: the namespace is not being deleted |
//! | Owned | Splitting | any broker | the holder stays; the cuts lie inside the bundle; the namespace is not being deleted |
//! | Owned | Owned | a newer session of the broker that holds it | names its author as holder |
//! | Releasing | Assigning | the session that holds it | the destination stays; the namespace is not being deleted |
//! | Releasing | Free | the session that holds it | no destination waits for it, or the namespace is being deleted |
//! | Releasing | Releasing | a newer session of the broker that holds it | names its author as holder; the destination stays |
//! | Splitting | Deleted | the session that holds it | the children are born with it, owned by the source |
//! | Splitting | Splitting | a newer session of the broker that holds it | names its author as holder; the cuts stay |
//! | Assigning | Assigning | the leader | another destination; the namespace is not being deleted |
//! | Assigning | Free | the leader | - |
//! | Owned | Assigning | the leader | the namespace is not being deleted |
//! | Owned | Free | the leader | - |
//! | Releasing | Assigning | the leader | the namespace is not being deleted |
//! | Releasing | Free | the leader | - |
//! | Splitting | Splitting | the leader | another holder, or none; the cuts stay |
//! | Deleted | Init | the leader | - |

mod entry;
mod facts;
pub mod pulsar;
mod record;
mod rejection;
mod resolve;
pub mod rules;

pub use entry::{Body, CHANGES_MAX, Change, Entry, PARTS_MAX};
pub use facts::Facts;
pub use record::{Record, Row, State};
pub use rejection::Rejection;
pub(crate) use resolve::resolve_into;
pub use resolve::{
    Accepted, COVERING_MAX, Context, Fact, Phase, Verdict, View, resolve_change, resolve_entry,
};

/// The version of the rules that this library applies. A log that was raised above it is not read.
pub const RULES_VERSION: u32 = 1;
