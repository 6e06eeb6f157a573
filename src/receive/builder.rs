//! Setting up a queue.

use super::batch::Batch;
use super::flow::{Flow, Side};
use super::inside::{After, Inside};
use super::limit::MemoryLimit;
use super::purse::Purse;
use super::queue::{Queue, Shared};
use crate::sync::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;

/// How large a queue becomes at most, in items, unless told otherwise.
pub const QUEUE_SIZE_MAX: usize = 1_000;

pub(super) type Weigh<T> = Box<dyn Fn(&T) -> usize + Send + Sync>;
pub(super) type OnGrant = Box<dyn Fn(usize) + Send + Sync>;

/// Sets up a [`Queue`]. Made by [`Queue::builder`].
#[must_use = "there is no queue before it is built"]
pub struct QueueBuilder<T> {
    size_min: usize,
    size_max: usize,
    batch: Option<Batch>,
    limit: Option<MemoryLimit>,
    weigh: Option<Weigh<T>>,
    on_grant: Option<OnGrant>,
}

impl<T> QueueBuilder<T> {
    pub(super) fn new() -> Self {
        Self {
            size_min: 1,
            size_max: QUEUE_SIZE_MAX,
            batch: None,
            limit: None,
            weigh: None,
            on_grant: None,
        }
    }

    /// The largest size, in items. 0 counts as 1. Default: [`QUEUE_SIZE_MAX`].
    pub fn size_max(mut self, items: usize) -> Self {
        self.size_max = items;
        self
    }

    /// The smallest size, with which it starts, in items; at most the largest. A queue that others
    /// fill should have one for each of them. Default: 1, or what batches need.
    pub fn size_min(mut self, items: usize) -> Self {
        self.size_min = items;
        self
    }

    /// What a batch is. The smallest size becomes twice the most items, less two, so that a batch
    /// can fill; one that the largest size has no room for ends with what there is. Default:
    /// [`Batch::default`], and no larger smallest size.
    pub fn batch(mut self, batch: Batch) -> Self {
        self.batch = Some(batch);
        self
    }

    /// The memory that it shares with others. Default: no limit.
    pub fn limit(mut self, limit: &MemoryLimit) -> Self {
        self.limit = Some(limit.clone());
        self
    }

    /// What an item weighs, in bytes; asked once for each, before it goes in. Default: the size of
    /// its type, without what it points to.
    pub fn weigh(mut self, weigh: impl Fn(&T) -> usize + Send + Sync + 'static) -> Self {
        self.weigh = Some(Box::new(weigh));
        self
    }

    /// The producer is somewhere else, and is told by `on_grant` how many more items it may send:
    /// at once the first ones, later when half of the size was consumed or the size has grown.
    /// Called outside of all locks, on whichever thread consumed; numbers add up in any order.
    /// Permits that were granted are not taken back when the queue shrinks. Default: producers are
    /// in this process.
    pub fn remote(mut self, on_grant: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_grant = Some(Box::new(on_grant));
        self
    }

    /// The queue, empty and of its smallest size.
    #[must_use]
    pub fn build(self) -> Queue<T> {
        let for_batch = self.batch.map_or(1, |batch| batch.size_min());
        let side = match self.on_grant {
            Some(_) => Side::Remote,
            None => Side::Local,
        };
        let flow = Flow::new(self.size_min.max(for_batch), self.size_max, side);
        let granted = flow.held();
        let purse = self.limit.clone().map(Purse::new);
        let batch = self.batch.unwrap_or_default();
        let queue = Queue {
            shared: Arc::new(Shared {
                inside: Mutex::new(Inside::new(flow, batch, purse)),
                takeable: Condvar::new(),
                batchable: Condvar::new(),
                puttable: Condvar::new(),
                weigh: self.weigh,
                on_grant: self.on_grant,
                limit: self.limit,
                batch_wait: batch.wait,
            }),
        };
        queue.shared.done(After {
            granted,
            ..After::default()
        });
        queue
    }
}

impl<T> fmt::Debug for QueueBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueBuilder")
            .field("size_min", &self.size_min)
            .field("size_max", &self.size_max)
            .finish_non_exhaustive()
    }
}
