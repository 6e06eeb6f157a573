//! The ways in.

use super::inside::{After, Inside, Phase, Without};
use super::queue::Queue;
use super::waiting::Key;
use crate::sync::MutexGuard;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// An item that did not go in, and why.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PutError<T> {
    /// There is no permit for it, or none came in time.
    #[error("the queue is full")]
    Full(T),
    /// Nothing goes in any more.
    #[error("the queue is closed")]
    Closed(T),
}

impl<T> fmt::Debug for PutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> PutError<T> {
    /// The item.
    pub fn into_item(self) -> T {
        match self {
            Self::Full(item) | Self::Closed(item) => item,
        }
    }
}

impl<T> Queue<T> {
    /// Puts an item in, if there is a permit for it.
    ///
    /// # Errors
    ///
    /// [`PutError`] gives the item back.
    pub fn try_put(&self, item: T) -> Result<(), PutError<T>> {
        self.put_now(item, Without::Refuse)
    }

    /// Puts an item in, even without a permit as long as the largest size has room and less than
    /// 75 % of the memory limit is used: for what cannot wait and need not be lost on the way to
    /// the largest size.
    ///
    /// # Errors
    ///
    /// [`PutError`] gives the item back.
    pub fn push(&self, item: T) -> Result<(), PutError<T>> {
        self.put_now(item, Without::Exceed)
    }

    /// Puts an item in, whatever is there: for what must not be lost. The queue may hold more than
    /// its largest size afterwards.
    ///
    /// # Errors
    ///
    /// [`PutError::Closed`] gives the item back.
    pub fn force(&self, item: T) -> Result<(), PutError<T>> {
        self.put_now(item, Without::Force)
    }

    fn put_now(&self, item: T, without: Without) -> Result<(), PutError<T>> {
        let bytes = self.shared.weight(&item);
        let mut inside = self.shared.inside.lock();
        inside.settle();
        self.put_in(inside, item, bytes, without)
    }

    /// Puts an item in, and waits for a permit.
    ///
    /// # Errors
    ///
    /// [`PutError::Closed`] gives the item back.
    pub fn put(&self, item: T) -> Result<(), PutError<T>> {
        let bytes = self.shared.weight(&item);
        let mut inside = self.shared.inside.lock();
        if !inside.put_is_decided() {
            inside.putters.thread_comes();
            let waits = |inside: &mut Inside<T>| !inside.put_is_decided();
            self.shared.puttable.wait_while(&mut inside, waits);
            inside.putters.thread_goes();
        }
        self.put_in(inside, item, bytes, Without::Refuse)
    }

    /// Puts an item in, and waits for a permit, but no longer than `limit`.
    ///
    /// # Errors
    ///
    /// [`PutError`] gives the item back.
    pub fn put_for(&self, item: T, limit: Duration) -> Result<(), PutError<T>> {
        let bytes = self.shared.weight(&item);
        let mut inside = self.shared.inside.lock();
        if !inside.put_is_decided() {
            inside.putters.thread_comes();
            let waits = |inside: &mut Inside<T>| !inside.put_is_decided();
            let puttable = &self.shared.puttable;
            puttable.wait_while_for(&mut inside, waits, limit);
            inside.putters.thread_goes();
        }
        self.put_in(inside, item, bytes, Without::Refuse)
    }

    /// Puts an item in, and waits for a permit on any runtime. Dropped before its end, it puts
    /// nothing in. The error is [`PutError::Closed`].
    #[must_use = "nothing is put in before it is awaited"]
    pub fn put_async(&self, item: T) -> Put<T> {
        Put {
            queue: self.clone(),
            weighed: Some((self.shared.weight(&item), item)),
            key: None,
        }
    }

    fn put_in(
        &self,
        mut inside: MutexGuard<'_, Inside<T>>,
        item: T,
        bytes: usize,
        without: Without,
    ) -> Result<(), PutError<T>> {
        let put = inside.put(item, bytes, without);
        let phase = inside.phase();
        drop(inside);
        match put {
            Ok(after) => {
                self.shared.done(after);
                Ok(())
            }
            Err(item) if phase == Phase::Open => Err(PutError::Full(item)),
            Err(item) => Err(PutError::Closed(item)),
        }
    }
}

/// An item that goes in later. Made by [`Queue::put_async`].
#[must_use = "nothing is put in before it is awaited"]
pub struct Put<T> {
    queue: Queue<T>,
    /// What it weighs, and the item; none once it is decided.
    weighed: Option<(usize, T)>,
    /// Its place among those who wait, if it does.
    key: Option<Key>,
}

/// The item is moved as a whole and never pinned.
impl<T> Unpin for Put<T> {}

impl<T> Future for Put<T> {
    type Output = Result<(), PutError<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut inside = this.queue.shared.inside.lock();
        if !inside.put_is_decided() {
            this.key = Some(inside.putters.task_comes(this.key, context.waker()));
            return Poll::Pending;
        }
        if let Some(key) = this.key.take() {
            inside.putters.task_goes(key);
        }
        let weighed = this.weighed.take();
        let (bytes, item) = weighed.expect("a future that has ended is not polled");
        Poll::Ready(this.queue.put_in(inside, item, bytes, Without::Refuse))
    }
}

impl<T> Drop for Put<T> {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let mut inside = self.queue.shared.inside.lock();
        if inside.putters.task_goes(key) || inside.flow.held() == 0 {
            return;
        }
        // It was woken for a permit and does not use it: somebody else may.
        let putters = inside.putters.wake(1);
        drop(inside);
        self.queue.shared.done(After {
            putters,
            ..After::default()
        });
    }
}

impl<T> fmt::Debug for Put<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Put")
    }
}
