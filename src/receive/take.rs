//! The ways out: one item or a batch, now, within a time, whenever it comes, or awaited.

use super::inside::{After, Inside, Taken};
use super::queue::{Closed, Queue, Shared};
use super::waiting::{Key, Waiting};
use crate::sync::Condvar;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// What somebody wants of a queue.
pub(super) trait Want<T> {
    type Got;

    /// Whether it is there, or never will be.
    fn is_there(inside: &Inside<T>) -> bool;

    /// Takes it; with `any`, what there is of it.
    fn take(inside: &mut Inside<T>, any: bool, after: &mut After) -> Taken<Self::Got>;

    /// Who waits for it.
    fn waiting(inside: &mut Inside<T>) -> &mut Waiting;

    /// What threads wait on.
    fn condition(shared: &Shared<T>) -> &Condvar;

    /// Somebody was woken for it and does not take it: another one may.
    fn pass_on(inside: &mut Inside<T>) -> After;
}

/// One item.
pub(super) enum One {}

impl<T> Want<T> for One {
    type Got = T;

    fn is_there(inside: &Inside<T>) -> bool {
        inside.has_one()
    }

    fn take(inside: &mut Inside<T>, _: bool, after: &mut After) -> Taken<T> {
        inside.take(after)
    }

    fn waiting(inside: &mut Inside<T>) -> &mut Waiting {
        &mut inside.takers
    }

    fn condition(shared: &Shared<T>) -> &Condvar {
        &shared.takeable
    }

    fn pass_on(inside: &mut Inside<T>) -> After {
        After {
            takers: inside.takers.wake(1),
            ..After::default()
        }
    }
}

/// As many as a batch has.
pub(super) enum Many {}

impl<T> Want<T> for Many {
    type Got = Vec<T>;

    fn is_there(inside: &Inside<T>) -> bool {
        inside.has_batch()
    }

    fn take(inside: &mut Inside<T>, any: bool, after: &mut After) -> Taken<Vec<T>> {
        inside.take_batch(any, after)
    }

    fn waiting(inside: &mut Inside<T>) -> &mut Waiting {
        &mut inside.batchers
    }

    fn condition(shared: &Shared<T>) -> &Condvar {
        &shared.batchable
    }

    fn pass_on(inside: &mut Inside<T>) -> After {
        After {
            batchers: inside.batchers.wake(1),
            ..After::default()
        }
    }
}

/// How long somebody waits.
pub(super) enum Until<'a> {
    /// Not at all.
    Now,
    /// So long.
    For(Duration),
    /// Until it comes, or until this says so, which is asked whenever takers are woken.
    Stopped(&'a dyn Fn() -> bool),
}

impl<T> Queue<T> {
    /// The oldest item, if there is one. Finding none counts as asking for more.
    ///
    /// # Errors
    ///
    /// [`Closed`] if none will come.
    pub fn try_take(&self) -> Result<Option<T>, Closed> {
        self.wait::<One>(&Until::Now)
    }

    /// The oldest item; waits for it.
    ///
    /// # Errors
    ///
    /// [`Closed`] if none will come.
    pub fn take(&self) -> Result<T, Closed> {
        let taken = self.wait::<One>(&Until::Stopped(&|| false))?;
        taken.ok_or(Closed)
    }

    /// The oldest item; waits for it, but no longer than `limit`.
    ///
    /// # Errors
    ///
    /// [`Closed`] if none will come.
    pub fn take_for(&self, limit: Duration) -> Result<Option<T>, Closed> {
        self.wait::<One>(&Until::For(limit))
    }

    /// The oldest item; waits for it on any runtime. Dropped before its end, it takes nothing.
    #[must_use = "nothing is taken before it is awaited"]
    pub fn take_async(&self) -> Take<T> {
        Take(Receive::new(self))
    }

    /// As much of a batch as there is now, be it nothing. Finding less than a batch counts as
    /// asking for more.
    ///
    /// # Errors
    ///
    /// [`Closed`] if nothing will come.
    pub fn try_batch(&self) -> Result<Vec<T>, Closed> {
        let taken = self.wait::<Many>(&Until::Now)?;
        Ok(taken.unwrap_or_default())
    }

    /// A batch: waits until there is enough, nothing more can come, or the batch's time has passed.
    ///
    /// # Errors
    ///
    /// [`Closed`] if nothing will come.
    ///
    /// # Examples
    ///
    /// ```
    /// use deedbook::receive::{Batch, Queue};
    ///
    /// let batch = Batch { count_max: 3, ..Batch::default() };
    /// let queue = Queue::builder().batch(batch).build();
    /// for item in 0..4 {
    ///     queue.put(item)?;
    /// }
    /// assert_eq!(queue.take_batch()?, [0, 1, 2]);
    /// assert_eq!(queue.try_batch()?, [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_batch(&self) -> Result<Vec<T>, Closed> {
        let taken = self.wait::<Many>(&Until::For(self.shared.batch_wait))?;
        Ok(taken.unwrap_or_default())
    }

    /// A batch; waits on any runtime until there is enough, or nothing more can come. There is no
    /// time-out in it, since the timer is the runtime's: when that ends the wait, take what there
    /// is with [`try_batch`](Self::try_batch). Dropped before its end, it takes nothing.
    #[must_use = "nothing is taken before it is awaited"]
    pub fn batch_async(&self) -> TakeBatch<T> {
        TakeBatch(Receive::new(self))
    }

    /// Takes what is wanted, and waits for it; none if it was not there in time.
    pub(super) fn wait<W: Want<T>>(&self, until: &Until<'_>) -> Result<Option<W::Got>, Closed> {
        let mut after = After::default();
        let mut inside = self.shared.inside.lock();
        let now = matches!(until, Until::Now);
        let mut taken = W::take(&mut inside, now, &mut after);
        if matches!(taken, Taken::Nothing) && !now {
            if after.is_something() {
                drop(inside);
                self.shared.done(std::mem::take(&mut after));
                inside = self.shared.inside.lock();
            }
            W::waiting(&mut inside).thread_comes();
            let condition = W::condition(&self.shared);
            match until {
                Until::Now => {}
                Until::For(limit) => {
                    let waits = |inside: &mut Inside<T>| !W::is_there(inside);
                    condition.wait_while_for(&mut inside, waits, *limit);
                }
                Until::Stopped(is_stopped) => {
                    let waits = |inside: &mut Inside<T>| !W::is_there(inside) && !is_stopped();
                    condition.wait_while(&mut inside, waits);
                }
            }
            W::waiting(&mut inside).thread_goes();
            taken = W::take(&mut inside, true, &mut after);
        }
        drop(inside);
        self.shared.done(after);
        match taken {
            Taken::This(got) => Ok(Some(got)),
            Taken::Nothing => Ok(None),
            Taken::Ended => Err(Closed),
        }
    }
}

/// Something that is taken later.
struct Receive<T, W: Want<T>> {
    queue: Queue<T>,
    /// Its place among those who wait, if it does.
    key: Option<Key>,
    want: PhantomData<fn() -> W>,
}

impl<T, W: Want<T>> Receive<T, W> {
    fn new(queue: &Queue<T>) -> Self {
        Self {
            queue: queue.clone(),
            key: None,
            want: PhantomData,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<W::Got, Closed>> {
        let mut after = After::default();
        let mut inside = self.queue.shared.inside.lock();
        let taken = W::take(&mut inside, false, &mut after);
        if matches!(taken, Taken::Nothing) {
            let waiting = W::waiting(&mut inside);
            self.key = Some(waiting.task_comes(self.key, context.waker()));
        } else if let Some(key) = self.key.take() {
            W::waiting(&mut inside).task_goes(key);
        }
        drop(inside);
        self.queue.shared.done(after);
        match taken {
            Taken::This(got) => Poll::Ready(Ok(got)),
            Taken::Nothing => Poll::Pending,
            Taken::Ended => Poll::Ready(Err(Closed)),
        }
    }
}

impl<T, W: Want<T>> Drop for Receive<T, W> {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let mut inside = self.queue.shared.inside.lock();
        if W::waiting(&mut inside).task_goes(key) || !W::is_there(&inside) {
            return;
        }
        let after = W::pass_on(&mut inside);
        drop(inside);
        self.queue.shared.done(after);
    }
}

/// An item that is taken later. Made by [`Queue::take_async`].
#[must_use = "nothing is taken before it is awaited"]
pub struct Take<T>(Receive<T, One>);

impl<T> Future for Take<T> {
    type Output = Result<T, Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context)
    }
}

impl<T> fmt::Debug for Take<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Take")
    }
}

/// A batch that is taken later. Made by [`Queue::batch_async`].
#[must_use = "nothing is taken before it is awaited"]
pub struct TakeBatch<T>(Receive<T, Many>);

impl<T> Future for TakeBatch<T> {
    type Output = Result<Vec<T>, Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context)
    }
}

impl<T> fmt::Debug for TakeBatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TakeBatch")
    }
}
