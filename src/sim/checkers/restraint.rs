//! Nobody floods the registry: requests come in turn, and once more when a member comes or goes.

use super::Violation;
use crate::clock::Tick;
use crate::ids::BrokerId;
use crate::sim::node::NodeId;
use std::collections::BTreeMap;
use std::time::Duration;

/// For how long requests are counted together.
const WINDOW: Duration = Duration::from_secs(10);

/// How many requests a process may make in that time for reasons of its own: it renews and lists
/// three times in a session's life, registers once a second while it has none, and leaves.
const OWN_MAX: u64 = 40;

/// How many it may make more for each member that comes, leaves or is elected.
const PER_MEMBER_MAX: u64 = 4;

/// The requests of the present window.
#[derive(Debug, Default)]
pub(in crate::sim) struct Restraint {
    began: Tick,
    members: u64,
    requests: BTreeMap<NodeId, u64>,
}

impl Restraint {
    pub(in crate::sim) fn asked(&mut self, node: NodeId) {
        *self.requests.entry(node).or_default() += 1;
    }

    /// A member came, left or was elected.
    pub(in crate::sim) fn member(&mut self) {
        self.members += 1;
    }

    /// Closes the window if it is over. What happened at the end of the one before may have its
    /// effect in this one, so that its members count half.
    pub(in crate::sim) fn check<'a>(
        &mut self,
        now: Tick,
        broker: impl Fn(NodeId) -> Option<&'a BrokerId>,
    ) -> Result<(), Violation> {
        if now.since(self.began) < WINDOW {
            return Ok(());
        }
        self.began = now;
        let max = OWN_MAX + PER_MEMBER_MAX * self.members;
        self.members /= 2;
        let requests = std::mem::take(&mut self.requests);
        let mut flooding = requests.into_iter().filter(|(_, count)| *count > max);
        match flooding.find_map(|(node, count)| Some((broker(node)?, count))) {
            Some((broker, count)) => Err(Violation::Flood {
                broker: broker.clone(),
                count,
                max,
                window: WINDOW,
            }),
            None => Ok(()),
        }
    }
}
