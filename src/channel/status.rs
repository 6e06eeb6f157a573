//! A broker's state in one value.

use crate::ids::{BrokerId, Epoch, Position, SessionToken};
use crate::table;

/// A broker's state in one value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Its name.
    pub broker: BrokerId,
    /// Its living session.
    pub session: Option<SessionToken>,
    /// Whether commands are taken: the session is certain and the log has been read to its end.
    pub ready: bool,
    /// The epoch, if it leads.
    pub epoch: Option<Epoch>,
    /// The next position to read.
    pub next: Position,
    /// How many bundles it holds.
    pub held: usize,
    /// How many bundles are in flight, in the whole cluster.
    pub in_flight: usize,
    /// Why the log cannot be read any more, if so.
    pub read_error: Option<table::Error>,
    /// Why what was read cannot be applied any more, if so.
    pub apply_error: Option<table::Error>,
    /// Whether a thread of the channel has panicked: nothing is certain any more.
    pub poisoned: bool,
}
