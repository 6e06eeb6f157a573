//! A broker's state in one value.

use super::balancing::Balancing;
use crate::ids::{BrokerId, Epoch, Position, SessionToken};
use crate::protocol::{Counters, Wait};
use crate::state::State;
use crate::table;
use std::collections::BTreeMap;
use std::time::Duration;

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
    /// How long the session has lived, as this process knows it.
    pub session_age: Option<Duration>,
    /// Who leads, as far as this broker knows.
    pub leader: Option<BrokerId>,
    /// Whom this broker, as leader, waits for before it takes what they hold.
    pub waits: Vec<Wait>,
    /// The epoch, if it leads.
    pub epoch: Option<Epoch>,
    /// The next position that the table waits for.
    pub next: Position,
    /// How many positions were read and are not in the table yet.
    pub unapplied: u64,
    /// How long ago the log had last been read to its end; none before the first time.
    pub lag: Option<Duration>,
    /// How many bundles it holds.
    pub held: usize,
    /// How many bundles of the whole cluster are in flight, by state.
    pub in_flight: BTreeMap<State, usize>,
    /// What balancing by this broker has come to; none if it has no balancer. While a round is
    /// planned, what it had come to before.
    pub balancing: Option<Balancing>,
    /// What it has counted since it started.
    pub counters: Counters,
    /// Why the log cannot be read any more, if so.
    pub read_error: Option<table::Error>,
    /// Why what was read cannot be applied any more, if so.
    pub apply_error: Option<table::Error>,
    /// Whether a thread of the channel has panicked: nothing is certain any more.
    pub poisoned: bool,
}
