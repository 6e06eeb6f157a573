//! What a test does to a cluster: brokers come and go, and things go wrong on purpose.

use super::cluster::{Cluster, HookPlan};
use super::node::{Life, NodeId};
use crate::ids::BrokerId;
use crate::log::{Append, AppendResult, Guard};
use crate::protocol::Input;
use crate::state::Entry;
use std::sync::Arc;
use std::time::Duration;

impl Cluster {
    /// Adds a broker, which starts at once; one that ran before starts again.
    pub fn add_broker(&mut self, broker: &BrokerId) {
        let process = self.brokers.get(broker);
        if process.is_none_or(|id| self.node(*id).life == Life::Ended) {
            self.start_node(broker);
        }
    }

    /// Kills a broker: whatever it had not sent is lost.
    pub fn crash(&mut self, broker: &BrokerId) {
        if let Some(&id) = self.brokers.get(broker) {
            self.end_node(id, "crashes");
        }
    }

    /// Kills a broker if it still runs, and starts it again under the same name.
    pub fn restart(&mut self, broker: &BrokerId) {
        self.crash(broker);
        self.start_node(broker);
    }

    /// Lets a broker stand still for a while, without noticing.
    pub fn pause(&mut self, broker: &BrokerId, time: Duration) {
        if let Some(id) = self.running(broker) {
            self.pause_node(id, time);
        }
    }

    /// Starts a second process of the same name while the first, if it runs, stands still for a
    /// while. When the first goes on it is a zombie: its session is over.
    pub fn replace(&mut self, broker: &BrokerId, time: Duration) {
        self.pause(broker, time);
        self.start_node(broker);
    }

    /// Asks a broker to hand over what it owns and to end, at the latest after `limit`.
    pub fn close(&mut self, broker: &BrokerId, limit: Duration) {
        if let Some(id) = self.running(broker) {
            let deadline = self.node(id).clock.local(self.now()).after(limit);
            self.node_mut(id).is_closing = true;
            self.arrive(id, Input::Close { deadline });
        }
    }

    /// Puts the registry out of a broker's reach for a while.
    pub fn cut_registry(&mut self, broker: &BrokerId, time: Duration) {
        let until = self.now().after(time);
        if let Some(id) = self.running(broker) {
            self.node_mut(id).link.registry_cut = until;
        }
    }

    /// Puts the log out of a broker's reach for a while: it reads nothing, and nothing that it
    /// appends arrives. What is under way already does.
    pub fn cut_log(&mut self, broker: &BrokerId, time: Duration) {
        let until = self.now().after(time);
        if let Some(id) = self.running(broker) {
            self.node_mut(id).link.log_cut = until;
        }
    }

    /// Lets a broker's clock jump forward, as if its machine had slept: by its own clock everything
    /// that it waits for is later than it was.
    pub fn jump_clock(&mut self, broker: &BrokerId, by: Duration) {
        if let Some(id) = self.running(broker) {
            self.say(id, format_args!("its clock jumps by {by:?}"));
            self.orphans.disturb(self.now());
            let node = self.node_mut(id);
            node.clock.jump(by);
            // What it is woken for is due at another moment now.
            node.wakes_at = None;
            self.wake_when_due(id);
        }
    }

    /// Lets most of a broker's appends, or their answers, get lost for a while.
    pub fn lose_appends(&mut self, broker: &BrokerId, time: Duration) {
        let until = self.now().after(time);
        if let Some(id) = self.running(broker) {
            self.node_mut(id).link.appends_lost = until;
        }
    }

    /// Lets a broker read the log late for a while.
    pub fn slow_tail(&mut self, broker: &BrokerId, time: Duration) {
        let until = self.now().after(time);
        if let Some(id) = self.running(broker) {
            self.node_mut(id).link.tail_slow = until;
        }
    }

    /// Says how a broker's hooks behave from here on, in all its lives.
    pub fn set_hooks(&mut self, broker: &BrokerId, plan: HookPlan) {
        self.hook_plans.insert(broker.clone(), plan);
    }

    /// Appends an entry as somebody who is no broker of this cluster.
    pub fn append(&mut self, entry: Entry) -> AppendResult {
        let append = Append {
            entry: Arc::new(entry),
            guard: Guard::None,
        };
        let result = self.append_now(append);
        self.log_grew();
        result
    }

    /// Ends everything that goes wrong by chance, now and from here on; what has crashed starts
    /// again when it was to, and whoever stands still goes on.
    pub fn end_faults(&mut self) {
        self.faults = None;
        for index in 0..self.nodes.len() {
            let id = NodeId(index);
            self.node_mut(id).link = Default::default();
            if self.node(id).life == Life::Paused {
                self.resume(id);
            }
        }
        self.hook_plans.clear();
        self.orphans.disturb(self.now());
    }

    /// Sends the operator home.
    pub fn end_workload(&mut self) {
        self.workload = None;
    }
}
