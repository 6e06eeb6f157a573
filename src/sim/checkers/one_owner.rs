//! I3: at no moment do two processes say "mine" for overlapping keys, each by its own clock.

use super::Violation;
use crate::clock::Tick;
use crate::ids::{BundleId, Fence};
use crate::sim::node::{Life, Node};

/// Compares what one process says "mine" to with what all others say, at one true moment.
///
/// What a process serves grows only in its own steps, so it is enough to look after each step at
/// what that step added. A process that stands still says nothing.
pub(in crate::sim) fn check_one_owner(
    nodes: &[Node],
    own: &Node,
    now: Tick,
    added: &[(BundleId, Fence)],
) -> Result<(), Violation> {
    let others = nodes
        .iter()
        .filter(|node| node.life == Life::Running && !std::ptr::eq(*node, own));
    for node in others {
        for (bundle, fence) in added {
            let mut overlapping = node.serves.keys().filter(|other| other.overlaps(bundle));
            let served = overlapping.find_map(|other| Some((other, node.is_mine(now, other)?)));
            if let Some((other, other_fence)) = served {
                return Err(Violation::TwoOwners {
                    first: own.broker.clone(),
                    bundle: bundle.clone(),
                    fence: *fence,
                    second: node.broker.clone(),
                    other: other.clone(),
                    other_fence,
                });
            }
        }
    }
    Ok(())
}

/// A process that has closed says "mine" to nothing: it has told the cluster that it is gone.
pub(in crate::sim) fn check_closed(node: &Node, now: Tick) -> Result<(), Violation> {
    let mut held = node.protocol.held().map(|(bundle, _)| bundle);
    match held.find(|bundle| node.is_mine(now, bundle).is_some()) {
        Some(bundle) => Err(Violation::ClosedOwner {
            broker: node.broker.clone(),
            bundle: bundle.clone(),
        }),
        None => Ok(()),
    }
}
