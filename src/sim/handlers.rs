//! Hooks of embedders in the place of simulated ones.

use super::cluster::Cluster;
use super::node::NodeId;
use crate::channel::{Completion, OwnershipHandler, call_hook};
use crate::ids::BrokerId;
use crate::protocol::{Hook, HookId, HookResult};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// Makes the hooks of one process.
pub(super) type MakeHandler = Box<dyn FnMut() -> Arc<dyn OwnershipHandler> + Send>;

/// How a hook of a process ended.
type Ended = (NodeId, HookId, HookResult);

/// The embedder's hooks of each process that runs, and those that have not ended.
pub(super) struct Handlers {
    makers: BTreeMap<BrokerId, MakeHandler>,
    running: BTreeMap<NodeId, Arc<dyn OwnershipHandler>>,
    open: BTreeSet<(NodeId, HookId)>,
    say: Sender<Ended>,
    heard: Receiver<Ended>,
}

impl Handlers {
    pub(super) fn new(makers: BTreeMap<BrokerId, MakeHandler>) -> Self {
        let (say, heard) = mpsc::channel();
        Self {
            makers,
            running: BTreeMap::new(),
            open: BTreeSet::new(),
            say,
            heard,
        }
    }

    /// A process starts: its hooks know nothing of those before it.
    pub(super) fn start(&mut self, id: NodeId, broker: &BrokerId) {
        if let Some(make) = self.makers.get_mut(broker) {
            self.running.insert(id, make());
        }
    }

    /// A process is gone, with its hooks.
    pub(super) fn gone(&mut self, id: NodeId) {
        self.running.remove(&id);
        self.open.retain(|(node, _)| *node != id);
    }

    /// Calls a hook, if this process has hooks of an embedder; says whether it has.
    pub(super) fn call(&mut self, id: NodeId, run: HookId, hook: &Hook) -> bool {
        let Some(handler) = self.running.get(&id) else {
            return false;
        };
        self.open.insert((id, run));
        let say = self.say.clone();
        let done = Completion::new(move |result| {
            // A cluster that is gone does not care any more.
            let _ = say.send((id, run, result));
        });
        call_hook(&**handler, hook, done);
        true
    }

    /// Whether a hook was called that has not ended.
    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }
}

impl Cluster {
    /// Takes note of the hooks that have ended meanwhile.
    pub(super) fn hear_hooks(&mut self) {
        while let Ok((id, run, result)) = self.handlers.heard.try_recv() {
            if !self.handlers.open.remove(&(id, run)) {
                continue;
            }
            if result == HookResult::Failed {
                // Whoever cannot take what it was promised holds up others.
                self.orphans.disturb(self.now());
            }
            self.end_hook(id, run, result);
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Handlers");
        text.field("open", &self.open).finish_non_exhaustive()
    }
}
