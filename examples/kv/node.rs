//! One node: a deedbook channel, and the bundles that it serves.

use super::storage::Storage;
use deedbook::channel::{Channel, Cluster, Completion, OwnershipHandler};
use deedbook::ids::{BrokerId, BundleId, Fence, Namespace};
use deedbook::protocol::Mine;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Why a node did not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It does not serve the key now: ask who does.
    NotMine,
    /// Storage knows a newer owner.
    Fenced,
}

/// What a node keeps of a bundle while it serves it. The lock is held for one write at a time.
type Served = Arc<Mutex<Open>>;

struct Open {
    fence: Fence,
    counts: BTreeMap<u32, u64>,
}

/// The hooks: a bundle is opened when it is acquired, and forgotten when it is released.
struct Bundles {
    storage: Arc<Storage>,
    served: Arc<Mutex<BTreeMap<BundleId, Served>>>,
}

impl OwnershipHandler for Bundles {
    fn acquire(&self, bundle: &BundleId, fence: Fence, done: Completion) {
        let counts = self.storage.open(bundle.range(), fence);
        let open = Arc::new(Mutex::new(Open { fence, counts }));
        self.served.lock().insert(bundle.clone(), open);
        done.done();
    }

    fn release(&self, bundle: &BundleId, _: Fence, _: Option<&BrokerId>, done: Completion) {
        // A write that is under way is not waited for: that is what the fence is for.
        self.served.lock().remove(bundle);
        done.done();
    }
}

#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) channel: Channel,
    storage: Arc<Storage>,
    served: Arc<Mutex<BTreeMap<BundleId, Served>>>,
}

impl Node {
    pub(crate) fn start(
        name: BrokerId,
        cluster: Cluster,
        storage: Arc<Storage>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let served = Arc::default();
        let bundles = Bundles {
            storage: Arc::clone(&storage),
            served: Arc::clone(&served),
        };
        let channel = Channel::builder(name)
            .cluster(cluster)
            .handler(bundles)
            .start()?;
        if !channel.wait_ready(Duration::from_secs(30)) {
            return Err("the node does not become ready".into());
        }
        Ok(Self {
            channel,
            storage,
            served,
        })
    }

    /// Counts a key once, if this node owns it. `stall` is called in the middle, between the look
    /// at ownership and the write: time passes there, how much nobody knows.
    pub(crate) fn count(
        &self,
        namespace: &Namespace,
        key: u32,
        stall: impl FnOnce(&BundleId, Fence),
    ) -> Result<u64, Refused> {
        let bundle = self.channel.read(|table| {
            let found = table.at_key(namespace, key);
            found.map(|(bundle, _)| bundle.clone())
        });
        let bundle = bundle.ok_or(Refused::NotMine)?;
        let Mine::Yes { fence } = self.channel.is_mine(&bundle) else {
            return Err(Refused::NotMine);
        };
        let open = self.served.lock().get(&bundle).cloned();
        let open = open.ok_or(Refused::NotMine)?;
        let mut open = open.lock();
        if open.fence != fence {
            return Err(Refused::NotMine);
        }
        let count = open.counts.get(&key).copied().unwrap_or(0) + 1;
        stall(&bundle, fence);
        self.storage
            .write(key, count, fence)
            .map_err(|_| Refused::Fenced)?;
        open.counts.insert(key, count);
        Ok(count)
    }
}
