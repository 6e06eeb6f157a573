//! What can happen next.

use super::checkers::Write;
use super::network::Fate;
use super::node::NodeId;
use crate::clock::Tick;
use crate::compactor::Attempt;
use crate::ids::{BrokerId, Epoch, SessionToken};
use crate::log::Append;
use crate::protocol::Input;

/// Something that is going to happen.
#[derive(Debug)]
pub(super) enum Event {
    /// A broker looks at its tail.
    Read(NodeId),
    /// A broker wanted to be woken at this true moment.
    Wake(NodeId, Tick),
    /// Something arrives at a broker.
    Arrive(NodeId, Input),
    /// An append arrives at the log.
    Append(NodeId, Append, Fate),
    /// A request arrives at the registry; it was sent at this local moment.
    Registry(NodeId, RegistryRequest, Tick, Fate),
    /// A write arrives at storage.
    Write(Write),
    /// A broker that stood still goes on.
    Resume(NodeId),
    /// A process is killed.
    Kill(NodeId),
    /// A broker starts, unless it runs.
    Start(BrokerId),
    /// The operator does something.
    Operate,
    /// Something goes wrong.
    Fault,
    /// Whoever leads begins to compact.
    Compact,
    /// The next step of a compaction.
    CompactStep(NodeId, Box<Attempt>),
    /// It is time to look whether anybody has waited for too long.
    Sweep,
}

/// What is asked of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegistryRequest {
    Register,
    Renew(SessionToken),
    Members(u64),
    Campaign(SessionToken),
    Drain(SessionToken),
    Resign(Epoch),
    Leave(SessionToken),
}
