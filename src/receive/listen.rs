//! Items handed to a function as they come.

use super::queue::Queue;
use super::take::{One, Until};
use crate::sync::thread::{self, JoinHandle};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A thread that hands the items of a queue to a function. Dropped, it stops: after the present
/// call, or that for an item which comes at this very moment.
#[must_use = "dropped, it stops"]
pub struct Listener {
    stopped: Arc<AtomicBool>,
    /// Wakes the thread, so that it looks whether it is to stop.
    rouse: Box<dyn Fn() + Send + Sync>,
    thread: Option<JoinHandle<Ended>>,
}

/// Why a [`Listener`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The queue was closed, or was finished and is empty.
    Closed,
    /// It was dropped or stopped.
    Stopped,
    /// The function panicked. The item that it was called with is gone; the others are still in
    /// the queue.
    Panicked,
}

impl<T: Send + 'static> Queue<T> {
    /// Calls `hear` with each item, one after another, on a thread of its own. It takes an item
    /// only once the call before has returned: what it has no time for stays in the queue, for
    /// others too.
    ///
    /// # Errors
    ///
    /// The operating system's, if it gives no thread.
    ///
    /// # Examples
    ///
    /// A queue that several others feed, each of which keeps what this one has no room for:
    ///
    /// ```
    /// use deedbook::receive::Queue;
    ///
    /// let parts = [Queue::builder().build(), Queue::builder().build()];
    /// let all = Queue::builder().size_min(parts.len()).build();
    /// let feeders: Vec<_> = parts
    ///     .iter()
    ///     .map(|part| {
    ///         let all = all.clone();
    ///         part.listen(move |item| drop(all.put(item)))
    ///     })
    ///     .collect::<Result<_, _>>()?;
    /// parts[0].put(1)?;
    /// parts[1].put(2)?;
    /// assert_eq!(all.take()? + all.take()?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn listen(&self, hear: impl FnMut(T) + Send + 'static) -> std::io::Result<Listener> {
        let stopped = Arc::new(AtomicBool::new(false));
        let (queue, stop) = (self.clone(), Arc::clone(&stopped));
        let thread = thread::Builder::new()
            .name("deedbook-receiver".to_owned())
            .spawn(move || run(&queue, &stop, hear))?;
        let (queue, stop) = (self.clone(), Arc::clone(&stopped));
        let rouse = move || {
            let takers = {
                let mut inside = queue.shared.inside.lock();
                stop.store(true, Ordering::Release);
                // All of them: one that was woken for an item might be the one that stops.
                inside.takers.wake_all()
            };
            queue.shared.wake_takers(takers);
        };
        Ok(Listener {
            stopped,
            rouse: Box::new(rouse),
            thread: Some(thread),
        })
    }
}

fn run<T>(queue: &Queue<T>, stop: &AtomicBool, mut hear: impl FnMut(T)) -> Ended {
    let is_stopped = || stop.load(Ordering::Acquire);
    while !is_stopped() {
        match queue.wait::<One>(&Until::Stopped(&is_stopped)) {
            Ok(Some(item)) => {
                if catch_unwind(AssertUnwindSafe(|| hear(item))).is_err() {
                    return Ended::Panicked;
                }
            }
            Ok(None) => {}
            Err(_) => return Ended::Closed,
        }
    }
    Ended::Stopped
}

impl Listener {
    /// Stops after the present call, waits for it, and says how it ended.
    pub fn stop(mut self) -> Ended {
        (self.rouse)();
        self.join()
    }

    /// Waits until it ends by itself: the queue ends, or the function panics.
    pub fn wait(mut self) -> Ended {
        self.join()
    }

    fn join(&mut self) -> Ended {
        let thread = self.thread.take();
        // The last handle may be dropped by the function itself.
        let thread = thread.filter(|thread| thread.thread().id() != thread::current().id());
        let ended = thread.map(JoinHandle::join);
        ended.map_or(Ended::Stopped, |ended| ended.unwrap_or(Ended::Panicked))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.thread.is_some() {
            (self.rouse)();
            self.join();
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("stopped", &self.stopped.load(Ordering::Acquire))
            .finish()
    }
}
