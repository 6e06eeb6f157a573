//! The receiver queue.

use super::run::Sides;
use super::{QUEUES, SIZE, share};
use crate::compare::{Figure, Stopwatch};
use deedbook::receive::{Batch, MemoryLimit, PutError, Queue, QueueBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub(super) fn growing() -> QueueBuilder<u64> {
    Queue::builder().size_max(SIZE)
}

pub(super) fn fixed() -> QueueBuilder<u64> {
    growing().size_min(SIZE)
}

pub(super) fn sides(queue: Queue<u64>) -> Sides {
    let producers = queue.clone();
    Sides {
        put: Box::new(move || {
            let queue = producers.clone();
            Box::new(move |item| queue.put(item).unwrap())
        }),
        take: Box::new(move || queue.take().ok()),
    }
}

/// As the others, but the consumer takes whatever there is at once.
pub(super) fn batches(producers: usize, count: usize) {
    let batch = Batch {
        count_max: SIZE,
        ..Batch::default()
    };
    let queue = fixed().batch(batch).build();
    let mut left = producers * count;
    thread::scope(|scope| {
        for _ in 0..producers {
            scope.spawn(|| (0..count as u64).for_each(|item| queue.put(item).unwrap()));
        }
        while left > 0 {
            left -= 1;
            queue.take().unwrap();
            left -= queue.try_batch().unwrap().len();
        }
    });
}

/// Pairs of a producer and a consumer, one queue and limit each, until the first is done: how many
/// items a second, and how far the slowest had come by then.
pub(super) fn pairs(limits: &[MemoryLimit], count: usize) -> Vec<Figure> {
    let queues: Vec<_> = limits
        .iter()
        .map(|limit| growing().limit(limit).build())
        .collect();
    let taken: [AtomicUsize; QUEUES] = std::array::from_fn(|_| AtomicUsize::new(0));
    let watch = Stopwatch::start();
    thread::scope(|scope| {
        for (queue, taken) in queues.iter().zip(&taken) {
            scope.spawn(|| {
                let ended = loop {
                    if let Err(error) = queue.put(0) {
                        break error;
                    }
                };
                assert_eq!(
                    ended,
                    PutError::Closed(0),
                    "a put that waits is not refused"
                );
            });
            scope.spawn(|| {
                while queue.take().is_ok() {
                    if taken.fetch_add(1, Ordering::Relaxed) == count {
                        // The first one that is done ends it for all.
                        queues.iter().for_each(Queue::close);
                    }
                }
            });
        }
    });
    let taken = taken.map(AtomicUsize::into_inner);
    let slowest = taken.iter().min().copied().unwrap_or(0);
    let rate = watch.rate("rate", taken.iter().sum());
    assert!(limits.iter().all(|limit| limit.used() == 0));
    vec![rate, share((slowest + 1) as f64 / (count + 1) as f64)]
}
