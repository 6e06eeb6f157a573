//! I7: hooks of one bundle run one at a time, and each acquire is followed by exactly one release
//! once the row no longer names this session with that fence.

use super::Violation;
use crate::ids::{BrokerId, BundleId, Fence};
use crate::protocol::{Hook, HookId, HookResult, Protocol};
use crate::sim::node::NodeId;
use std::collections::BTreeMap;

/// What the hooks of all processes have done.
#[derive(Debug, Default)]
pub(in crate::sim) struct Hooks {
    running: BTreeMap<(NodeId, HookId), Hook>,
    /// What is acquired and not released, with its fence.
    acquired: BTreeMap<(NodeId, BundleId), Fence>,
}

impl Hooks {
    /// A hook begins.
    pub(in crate::sim) fn began(
        &mut self,
        node: NodeId,
        broker: &BrokerId,
        id: HookId,
        hook: &Hook,
    ) -> Result<(), Violation> {
        let key = (node, hook.bundle().clone());
        let acquired = self.acquired.get(&key).copied();
        let of_node = (node, HookId(0))..=(node, HookId(u64::MAX));
        let mut running = self.running.range(of_node);
        let wrong = if running.any(|(_, other)| other.bundle() == hook.bundle()) {
            Some("another hook of the bundle still runs")
        } else {
            match (hook, acquired) {
                (Hook::Acquire { .. }, Some(_)) => Some("it was not released"),
                (Hook::Release { .. } | Hook::Split { .. }, None) => Some("it was not acquired"),
                (Hook::Release { fence, .. } | Hook::Split { fence, .. }, Some(with))
                    if *fence != with =>
                {
                    Some("it was acquired with another fence")
                }
                _ => None,
            }
        };
        if let Some(wrong) = wrong {
            return Err(Violation::WrongHook {
                broker: broker.clone(),
                hook: hook.clone(),
                wrong,
            });
        }
        self.running.insert((node, id), hook.clone());
        Ok(())
    }

    /// A hook ends, of this bundle. A release that fails has ended all the same.
    pub(in crate::sim) fn ended(
        &mut self,
        node: NodeId,
        id: HookId,
        result: &HookResult,
    ) -> Option<BundleId> {
        let hook = self.running.remove(&(node, id))?;
        let bundle = hook.bundle().clone();
        let key = (node, bundle.clone());
        match hook {
            Hook::Acquire { fence, .. } if *result == HookResult::Done => {
                self.acquired.insert(key, fence);
            }
            Hook::Release { .. } => _ = self.acquired.remove(&key),
            Hook::Acquire { .. } | Hook::Split { .. } => {}
        }
        Some(bundle)
    }

    /// The process is gone with all that it held.
    pub(in crate::sim) fn gone(&mut self, node: NodeId) {
        self.running.retain(|(other, _), _| *other != node);
        self.acquired.retain(|(other, _), _| *other != node);
    }

    /// Compares what is acquired with the table, for a process at rest.
    pub(in crate::sim) fn check_at_rest(
        &self,
        node: NodeId,
        protocol: &Protocol,
    ) -> Result<(), Violation> {
        let session = protocol.session();
        let named = |bundle: &BundleId| {
            let row = protocol.table().get(bundle)?;
            row.is_served_by(session.as_ref()).then_some(row.fence)
        };
        let mine = self
            .acquired
            .iter()
            .filter(|((other, _), _)| *other == node);
        let acquired = mine.map(|((_, bundle), _)| bundle);
        let held = protocol.held().map(|(bundle, _)| bundle);
        for bundle in acquired.chain(held) {
            let acquired = self.acquired.get(&(node, bundle.clone())).copied();
            let row = named(bundle);
            if acquired != row {
                return Err(Violation::HookMissing {
                    broker: protocol.broker().clone(),
                    bundle: bundle.clone(),
                    acquired,
                    row,
                });
            }
        }
        Ok(())
    }
}
