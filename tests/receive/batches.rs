//! Goal: a batch ends by count, by bytes or by time, whichever comes first, in every form.
//! Method: queues whose batch has one border near and the others far.

use crate::{Wakes, builder, grow, poll_once};
use deedbook::receive::{Batch, Closed, MemoryLimit, Queue};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn queue(count_max: usize, bytes_max: usize, wait: Duration) -> Queue<usize> {
    let batch = Batch {
        count_max,
        bytes_max,
        wait,
    };
    builder().batch(batch).size_min(20).build()
}

#[test]
fn a_batch_ends_by_count() {
    let queue = queue(3, 1_000, Duration::MAX);
    (0..7).for_each(|item| queue.try_put(item).unwrap());
    assert_eq!(queue.take_batch().unwrap(), [0, 1, 2]);
    assert_eq!(queue.try_batch().unwrap(), [3, 4, 5]);
    assert_eq!(queue.try_batch().unwrap(), [6]);
    assert_eq!(queue.try_batch(), Ok(Vec::new()));
}

#[test]
fn a_batch_ends_by_bytes_and_a_large_item_is_one_of_its_own() {
    let queue = queue(100, 10, Duration::MAX);
    [4, 6, 5, 4, 2, 30, 1, 11]
        .iter()
        .for_each(|item| queue.try_put(*item).unwrap());
    for expected in [&[4, 6][..], &[5, 4], &[2], &[30], &[1], &[11]] {
        assert_eq!(queue.take_batch().unwrap(), expected);
    }
}

#[test]
fn a_batch_ends_by_time_with_what_there_is() {
    let queue = queue(10, 1_000, Duration::from_millis(1));
    assert_eq!(queue.take_batch(), Ok(Vec::new()));
    queue.try_put(1).unwrap();
    assert_eq!(queue.take_batch().unwrap(), [1]);
}

/// Whoever awaits a batch is woken when it is there, not at each item.
#[test]
fn an_awaited_batch_wakes_once() {
    let queue = queue(3, 1_000, Duration::MAX);
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    let mut batch = pin!(queue.batch_async());
    assert!(batch.as_mut().poll(&mut context).is_pending());
    (0..2).for_each(|item| queue.try_put(item).unwrap());
    assert_eq!(wakes.count(), 0);
    queue.try_put(2).unwrap();
    assert_eq!(wakes.count(), 1);
    assert_eq!(
        batch.as_mut().poll(&mut context),
        Poll::Ready(Ok(vec![0, 1, 2]))
    );
    assert_eq!(queue.status().takers, 0);
}

/// A queue that is smaller than a batch grows while somebody waits for one.
#[test]
fn a_waiting_batch_makes_a_queue_grow() {
    let batch = Batch {
        count_max: 5,
        wait: Duration::MAX,
        ..Batch::default()
    };
    let queue = builder().batch(batch).size_max(100).build();
    assert_eq!(queue.size(), 8, "twice the batch, less two");
    (0..3).for_each(|item| queue.try_put(item).unwrap());
    (0..3).for_each(|item| assert_eq!(queue.try_take(), Ok(Some(item))));
    // Three permits are kept back, five are out: they make a batch and fill the queue.
    let mut waiting = queue.batch_async();
    assert!(poll_once(&mut waiting).is_pending());
    (0..5).for_each(|item| queue.try_put(item).unwrap());
    assert!(queue.try_put(5).is_err());
    assert_eq!(
        poll_once(&mut waiting),
        Poll::Ready(Ok(vec![0, 1, 2, 3, 4]))
    );
    assert_eq!(queue.size(), 8, "the batch was met: nobody asked for more");
}

/// Memory does not allow a queue to grow to the size of a batch: it ends with what fits.
#[test]
fn a_batch_ends_when_memory_allows_no_more() {
    let limit = MemoryLimit::new(100);
    let _held = limit.try_reserve(80).unwrap();
    let batch = Batch {
        count_max: 10,
        wait: Duration::MAX,
        ..Batch::default()
    };
    let queue = builder().batch(batch).limit(&limit).size_max(4).build();
    let mut waiting = queue.batch_async();
    assert!(poll_once(&mut waiting).is_pending());
    (0..4).for_each(|_| queue.try_put(0).unwrap());
    assert_eq!(poll_once(&mut waiting), Poll::Ready(Ok(vec![0; 4])));
}

#[test]
fn the_end_of_a_queue_ends_batches() {
    let queue = queue(10, 1_000, Duration::MAX);
    let mut waiting = queue.batch_async();
    assert!(poll_once(&mut waiting).is_pending());
    queue.try_put(7).unwrap();
    queue.finish();
    assert_eq!(poll_once(&mut waiting), Poll::Ready(Ok(vec![7])));
    assert_eq!(queue.take_batch(), Err(Closed));
    assert_eq!(queue.try_batch(), Err(Closed));
}

/// A batch of one item needs no larger queue than one item does.
#[test]
fn the_least_size_suffices_for_a_batch() {
    for (count_max, expected) in [(0, 1), (1, 1), (2, 2), (3, 4), (5, 8), (600, 1_000)] {
        let batch = Batch {
            count_max,
            ..Batch::default()
        };
        let queue = builder().batch(batch).build();
        assert_eq!(queue.size(), expected, "batches of {count_max}");
        grow(&queue);
    }
}
