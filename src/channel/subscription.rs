//! Changes of a table for whoever reads them at its own pace.
//!
//! The table's side puts changes into a [receiver queue](crate::receive) and never waits. When that
//! has no room, a marker goes in, and behind it the net change of each row is kept until the
//! subscriber comes to the marker. So what is kept is bounded, and the last state of every bundle
//! arrives.

use crate::ids::BundleId;
use crate::receive::{Closed, Listener, MemoryLimit, QUEUE_SIZE_MAX, Queue, QueueStatus, Take};
use crate::sync::Mutex;
use crate::table::RowChange;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// What a subscriber is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// A row has changed.
    Changed(RowChange),
    /// The subscriber was too slow: so many changes were not kept one by one. Here is what they
    /// come to, for each row that is not as the subscriber was told last.
    Lagged {
        /// How many changes.
        missed: u64,
        /// Their net effect, in the order of bundles.
        changes: Vec<RowChange>,
    },
}

/// How much is kept for a subscriber.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubscriptionConfig {
    /// How many changes may wait for the subscriber; further ones are summed up. 0 counts as 1.
    /// Default: [`QUEUE_SIZE_MAX`].
    pub size_max: usize,
    /// Memory that it shares with others. While 75 % or more of it is used, no more changes may
    /// wait than the size that the queue has found for itself. Default: no limit.
    pub limit: Option<MemoryLimit>,
}

impl Default for SubscriptionConfig {
    fn default() -> Self {
        Self {
            size_max: QUEUE_SIZE_MAX,
            limit: None,
        }
    }
}

/// The changes of a table, from when this was made. Made by
/// [`Channel::subscribe`](super::Channel::subscribe) and
/// [`Follower::subscribe`](super::Follower::subscribe).
///
/// However slow it is read, it holds nobody up. What waits for it is bounded: by the maximum of
/// its queue, and beyond that by one net change for each bundle that there was or is. Dropped, it
/// ends.
///
/// To begin with a whole table, subscribe first, then take a snapshot, then take over each change
/// in order. The first ones may be in the snapshot already; those after them make that good.
///
/// # Examples
///
/// ```
/// use deedbook::channel::{Channel, Cluster, Update};
/// use std::time::Duration;
///
/// let limit = Duration::from_secs(10);
/// let broker = Channel::builder("broker-1:8080".parse()?).cluster(Cluster::memory()).start()?;
/// assert!(broker.wait_ready(limit));
/// let changes = broker.subscribe();
/// broker.create_namespace(&"acme/orders".parse()?, None).wait()??;
///
/// let Some(Update::Changed(change)) = changes.next_for(limit)? else {
///     panic!("the namespace has one bundle, and this is it");
/// };
/// assert_eq!(change.bundle.to_string(), "acme/orders/0x00000000_0xffffffff");
/// assert!(change.before.is_none() && change.after.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Subscription {
    queue: Queue<Item>,
}

/// What lies in the queue.
enum Item {
    Changed(RowChange),
    Lagged(Arc<Gap>),
}

/// The table's side of a subscription. Dropped, the subscriber is told the end once it has taken
/// what is there.
pub(super) struct Feeder {
    queue: Queue<Item>,
    /// What is summed up at present, if the subscriber is too slow.
    gap: Option<Arc<Gap>>,
}

/// Changes that were not kept one by one.
struct Gap {
    /// Guards the sum; nothing else is locked while it is held. Held by the table's side for one
    /// change, by the subscriber to take all of it.
    sum: Mutex<Sum>,
}

#[derive(Default)]
struct Sum {
    missed: u64,
    /// For each row what the subscriber knows, and what is so by now; where both are nothing, there
    /// is nothing to tell. None once the subscriber took it.
    rows: Option<BTreeMap<BundleId, RowChange>>,
}

impl Subscription {
    pub(super) fn new(config: &SubscriptionConfig) -> (Self, Feeder) {
        let mut builder = Queue::builder().size_max(config.size_max);
        if let Some(limit) = &config.limit {
            builder = builder.limit(limit);
        }
        let queue = builder.build();
        let feeder = Feeder {
            queue: queue.clone(),
            gap: None,
        };
        (Self { queue }, feeder)
    }

    /// The next update, if there is one.
    ///
    /// # Errors
    ///
    /// [`Closed`] if the channel has ended and nothing more comes.
    pub fn try_next(&self) -> Result<Option<Update>, Closed> {
        let item = self.queue.try_take()?;
        Ok(item.map(Update::from))
    }

    /// The next update; waits for it, but no longer than `limit`.
    ///
    /// # Errors
    ///
    /// As [`try_next`](Self::try_next).
    pub fn next_for(&self, limit: Duration) -> Result<Option<Update>, Closed> {
        let item = self.queue.take_for(limit)?;
        Ok(item.map(Update::from))
    }

    /// The next update; waits for it on any runtime. Dropped before its end, it takes nothing. The
    /// error is that of [`try_next`](Self::try_next).
    #[must_use = "nothing is taken before it is awaited"]
    pub fn next_async(&self) -> NextUpdate {
        NextUpdate(self.queue.take_async())
    }

    /// Up to a hundred updates of those that are there, be it none.
    ///
    /// # Errors
    ///
    /// As [`try_next`](Self::try_next).
    pub fn try_batch(&self) -> Result<Vec<Update>, Closed> {
        let items = self.queue.try_batch()?;
        Ok(items.into_iter().map(Update::from).collect())
    }

    /// Calls `hear` with each update, one after another, on a thread of its own, until the listener
    /// is dropped or the channel has ended.
    ///
    /// # Errors
    ///
    /// The operating system's, if it gives no thread.
    pub fn listen(
        self,
        mut hear: impl FnMut(Update) + Send + 'static,
    ) -> std::io::Result<Listener> {
        let queue = self.queue.clone();
        queue.listen(move |item| {
            // The subscription lives as long as the listener.
            let _ = &self;
            hear(Update::from(item));
        })
    }

    /// Its queue at a glance.
    #[must_use]
    pub fn status(&self) -> QueueStatus {
        self.queue.status()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.status()).finish()
    }
}

/// An update that comes later. Made by [`Subscription::next_async`].
#[derive(Debug)]
#[must_use = "nothing is taken before it is awaited"]
pub struct NextUpdate(Take<Item>);

impl Future for NextUpdate {
    type Output = Result<Update, Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_ok(Update::from)
    }
}

impl From<Item> for Update {
    /// A marker ends here: whatever comes after this is kept one by one again.
    fn from(item: Item) -> Self {
        match item {
            Item::Changed(change) => Self::Changed(change),
            Item::Lagged(gap) => {
                let Sum { missed, rows } = mem::take(&mut *gap.sum.lock());
                Self::Lagged {
                    missed,
                    changes: rows.unwrap_or_default().into_values().collect(),
                }
            }
        }
    }
}

impl Feeder {
    /// Tells the subscriber, and never waits for it. Says whether there still is one.
    pub(super) fn tell(&mut self, change: &RowChange) -> bool {
        if let Some(gap) = &self.gap {
            if gap.add(change) {
                return !self.queue.is_closed();
            }
            self.gap = None;
        }
        let put = self.queue.push(Item::Changed(change.clone()));
        if put.is_ok() {
            return true;
        }
        let gap = Arc::new(Gap::new(change));
        self.gap = Some(Arc::clone(&gap));
        self.queue.force(Item::Lagged(gap)).is_ok()
    }
}

impl fmt::Debug for Feeder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Feeder").field(&self.queue).finish()
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.queue.finish();
    }
}

impl Gap {
    fn new(change: &RowChange) -> Self {
        let gap = Self {
            sum: Mutex::new(Sum {
                missed: 0,
                rows: Some(BTreeMap::new()),
            }),
        };
        gap.add(change);
        gap
    }

    /// Adds a change; not if the subscriber has taken the sum.
    fn add(&self, change: &RowChange) -> bool {
        let mut sum = self.sum.lock();
        let Sum { missed, rows } = &mut *sum;
        let Some(rows) = rows else { return false };
        *missed += 1;
        match rows.entry(change.bundle.clone()) {
            Entry::Vacant(new) => {
                new.insert(change.clone());
            }
            Entry::Occupied(mut known) => {
                let net = known.get_mut();
                net.after.clone_from(&change.after);
                if net.before.is_none() && net.after.is_none() {
                    known.remove();
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
