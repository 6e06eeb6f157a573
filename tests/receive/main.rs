//! The receiver queue and the memory limit, through their public doors: the scenarios of Apache
//! Pulsar's own tests, reported faults restated, a model, and threads.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod batches;
mod faults;
mod limits;
mod model;
mod peer;
mod rules;
mod threads;
mod waits;

use deedbook::receive::{MemoryLimit, Queue, QueueBuilder};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A message is its length.
type Message = usize;

fn builder() -> QueueBuilder<Message> {
    Queue::builder().weigh(|bytes| *bytes)
}

/// Fills the queue with messages that weigh nothing, takes them all, and asks for more.
fn grow(queue: &Queue<Message>) {
    while queue.try_put(0).is_ok() {}
    while queue.try_take().unwrap().is_some() {}
}

/// A queue that has grown to this size, which is its largest.
fn grown(builder: QueueBuilder<Message>, size: usize) -> Queue<Message> {
    let queue = builder.size_max(size).build();
    while queue.size() < size {
        grow(&queue);
    }
    queue
}

/// Looks once whether a future has ended.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Wakes {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A limit, and queues that share it.
fn sharing<const N: usize>(bytes: u64, size_max: usize) -> (MemoryLimit, [Queue<Message>; N]) {
    let limit = MemoryLimit::new(bytes);
    let queue = |_| builder().limit(&limit).size_max(size_max).build();
    let queues = std::array::from_fn(queue);
    (limit, queues)
}
