//! The queue itself: what it shows, and how it ends.

use super::builder::{OnGrant, QueueBuilder, Weigh};
use super::inside::{After, Inside, Phase};
use super::limit::MemoryLimit;
use super::waiting::Woken;
use crate::sync::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Nothing comes any more: the queue was closed, or was finished and is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed")]
pub struct Closed;

/// A queue whose size finds itself. Cheap to clone; clones are the same queue.
///
/// It starts small and doubles, up to its maximum, when it turns out too small: a put had filled
/// it, and then somebody wanted more and found it empty. Under a [`MemoryLimit`] it shrinks when
/// memory is short.
///
/// # Examples
///
/// ```
/// use deedbook::receive::Queue;
///
/// let queue = Queue::builder().size_max(100).build();
/// assert_eq!(queue.size(), 1);
/// queue.try_put("full now")?;
/// assert_eq!(queue.try_take(), Ok(Some("full now")));
/// assert_eq!(queue.try_take(), Ok(None)); // and found empty
/// assert_eq!(queue.size(), 2);
/// # Ok::<(), deedbook::receive::PutError<&str>>(())
/// ```
pub struct Queue<T> {
    pub(super) shared: Arc<Shared<T>>,
}

pub(super) struct Shared<T> {
    /// Guards items, permits and who waits. The limit is locked inside it, nothing else; nobody is
    /// woken and nothing of the embedder's is called while it is held.
    pub(super) inside: Mutex<Inside<T>>,
    pub(super) takeable: Condvar,
    pub(super) batchable: Condvar,
    pub(super) puttable: Condvar,
    pub(super) weigh: Option<Weigh<T>>,
    pub(super) on_grant: Option<OnGrant>,
    pub(super) limit: Option<MemoryLimit>,
    pub(super) batch_wait: Duration,
}

/// A queue at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatus {
    /// How many items it may hold, as things stand.
    pub size: usize,
    /// How many items are in it.
    pub len: usize,
    /// Bytes in it, as it weighs items.
    pub bytes: usize,
    /// How many items may still come: permits that the producer's side holds.
    pub permits: usize,
    /// Whether the last put filled it, and nobody has found it empty since: the size doubles once
    /// somebody does.
    pub was_full: bool,
    /// How many threads and tasks wait for an item or a batch.
    pub takers: usize,
    /// How many threads and tasks wait for a permit.
    pub putters: usize,
}

impl<T> Queue<T> {
    /// Begins to set up a queue.
    pub fn builder() -> QueueBuilder<T> {
        QueueBuilder::new()
    }

    /// How many items it may hold, as things stand.
    #[must_use]
    pub fn size(&self) -> usize {
        self.status().size
    }

    /// How many items are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.status().len
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Everything about it, of one moment.
    #[must_use]
    pub fn status(&self) -> QueueStatus {
        let mut inside = self.shared.inside.lock();
        inside.settle();
        QueueStatus {
            size: inside.flow.size(),
            len: inside.flow.queued(),
            bytes: inside.bytes(),
            permits: inside.flow.held(),
            was_full: inside.flow.was_full(),
            takers: inside.takers.count() + inside.batchers.count(),
            putters: inside.putters.count(),
        }
    }

    /// Gives back permits that were used for nothing: items were duplicates, or could not be read.
    /// Those that the producer's side did not hold are not given back.
    pub fn skip(&self, permits: usize) {
        let after = self.shared.inside.lock().skip(permits);
        self.shared.done(after);
    }

    /// The remote producer starts anew, on a new connection, and knows of no permits: it is granted
    /// what the size has room for.
    pub fn restart(&self) {
        let after = self.shared.inside.lock().restart();
        self.shared.done(after);
    }

    /// Nothing goes in any more; what is inside can be taken, and then takers are told
    /// [`Closed`]. Wakes everyone who waits.
    pub fn finish(&self) {
        let after = self.shared.inside.lock().finish();
        self.shared.done(after);
    }

    /// Nothing goes in any more, what is inside is dropped and its memory is released. Wakes
    /// everyone who waits.
    pub fn close(&self) {
        let (after, items) = self.shared.inside.lock().close();
        self.shared.done(after);
        drop(items);
    }

    /// Whether nothing goes in any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.inside.lock().phase() != Phase::Open
    }
}

impl<T> Shared<T> {
    pub(super) fn weight(&self, item: &T) -> usize {
        match &self.weigh {
            Some(weigh) => weigh(item),
            None => size_of::<T>(),
        }
    }

    /// Wakes takers, once no lock is held.
    pub(super) fn wake_takers(&self, takers: Woken) {
        wake(&self.takeable, takers);
    }

    /// Does what had to wait until no lock is held.
    pub(super) fn done(&self, after: After) {
        let After {
            granted,
            released,
            takers,
            batchers,
            putters,
        } = after;
        if let Some(limit) = self.limit.as_ref().filter(|_| released > 0) {
            limit.release(released);
        }
        self.wake_takers(takers);
        wake(&self.batchable, batchers);
        wake(&self.puttable, putters);
        if let Some(on_grant) = self.on_grant.as_ref().filter(|_| granted > 0) {
            on_grant(granted);
        }
    }
}

fn wake(condition: &Condvar, woken: Woken) {
    for _ in 0..woken.threads {
        condition.notify_one();
    }
    for task in woken.tasks {
        task.wake();
    }
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Queue").field(&self.status()).finish()
    }
}
