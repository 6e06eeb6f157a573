//! Goal: nobody who waits for a queue waits for ever, and no wake is lost with a wait that was
//! given up. Method: futures polled by hand, one wake at a time.

use crate::{Wakes, builder, poll_once};
use deedbook::receive::{Closed, Ended, PutError, Queue};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn poll<F: Future + Unpin>(future: &mut F, wakes: &Arc<Wakes>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(wakes));
    std::pin::Pin::new(future).poll(&mut Context::from_waker(&waker))
}

#[test]
fn an_awaited_item_wakes_one_task() {
    let queue = builder().size_min(4).build();
    let (first_wakes, second_wakes) = (Arc::default(), Arc::default());
    let (mut first, mut second) = (queue.take_async(), queue.take_async());
    assert!(poll(&mut first, &first_wakes).is_pending());
    assert!(
        poll(&mut first, &first_wakes).is_pending(),
        "polled twice, it waits once"
    );
    assert!(poll(&mut second, &second_wakes).is_pending());
    assert_eq!(queue.status().takers, 2);
    queue.try_put(5).unwrap();
    assert_eq!((first_wakes.count(), second_wakes.count()), (1, 0));
    assert_eq!(poll(&mut first, &first_wakes), Poll::Ready(Ok(5)));
    queue.try_put(6).unwrap();
    assert_eq!(poll(&mut second, &second_wakes), Poll::Ready(Ok(6)));
}

/// A task that was woken for an item and is dropped before it takes it: the next one is woken.
#[test]
fn a_wake_is_passed_on_by_whoever_does_not_use_it() {
    let queue = builder().size_min(4).build();
    let (first_wakes, second_wakes) = (Arc::default(), Arc::default());
    let (mut first, mut second) = (queue.take_async(), queue.take_async());
    assert!(poll(&mut first, &first_wakes).is_pending());
    assert!(poll(&mut second, &second_wakes).is_pending());
    queue.try_put(5).unwrap();
    assert_eq!(second_wakes.count(), 0);
    drop(first);
    assert_eq!(second_wakes.count(), 1);
    assert_eq!(poll(&mut second, &second_wakes), Poll::Ready(Ok(5)));
    assert_eq!(queue.status().takers, 0);
}

/// The same for permits.
#[test]
fn a_permit_is_passed_on_by_whoever_does_not_use_it() {
    let queue = builder().build();
    queue.try_put(1).unwrap();
    let (first_wakes, second_wakes) = (Arc::default(), Arc::default());
    let (mut first, mut second) = (queue.put_async(2), queue.put_async(3));
    assert!(poll(&mut first, &first_wakes).is_pending());
    assert!(poll(&mut second, &second_wakes).is_pending());
    assert_eq!(queue.status().putters, 2);
    assert_eq!(queue.try_take(), Ok(Some(1)));
    assert_eq!((first_wakes.count(), second_wakes.count()), (1, 0));
    drop(first);
    assert_eq!(second_wakes.count(), 1);
    assert_eq!(poll(&mut second, &second_wakes), Poll::Ready(Ok(())));
    assert_eq!((queue.try_take(), queue.status().putters), (Ok(Some(3)), 0));
}

/// Growth alone lets a producer go on that waits.
#[test]
fn growth_wakes_producers() {
    let queue = builder().build();
    queue.try_put(1).unwrap();
    assert_eq!(queue.try_take(), Ok(Some(1)));
    queue.try_put(2).unwrap();
    let wakes = Arc::default();
    let mut put = queue.put_async(3);
    assert!(poll(&mut put, &wakes).is_pending());
    assert_eq!(queue.try_take(), Ok(Some(2)));
    assert_eq!(poll(&mut put, &wakes), Poll::Ready(Ok(())));
    assert_eq!(queue.try_take(), Ok(Some(3)));
    assert_eq!(queue.try_take(), Ok(None));
    assert_eq!(queue.size(), 2);
}

#[test]
fn the_end_of_a_queue_ends_every_wait() {
    for end in [Queue::finish, Queue::close] {
        let queue = builder().build();
        queue.try_put(1).unwrap();
        let wakes = Arc::default();
        let mut put = queue.put_async(2);
        assert!(poll(&mut put, &wakes).is_pending());
        end(&queue);
        assert_eq!(wakes.count(), 1);
        assert_eq!(
            poll(&mut put, &wakes),
            Poll::Ready(Err(PutError::Closed(2)))
        );

        let queue: Queue<usize> = builder().build();
        let (mut one, mut batch) = (queue.take_async(), queue.batch_async());
        assert!(poll(&mut one, &wakes).is_pending());
        assert!(poll(&mut batch, &wakes).is_pending());
        end(&queue);
        assert_eq!(wakes.count(), 3);
        assert_eq!(poll(&mut one, &wakes), Poll::Ready(Err(Closed)));
        assert_eq!(poll(&mut batch, &wakes), Poll::Ready(Err(Closed)));
    }
}

/// What is inside a finished queue can be taken; what is inside a closed one is gone.
#[test]
fn finishing_keeps_what_is_inside_and_closing_does_not() {
    let queue = builder().build();
    queue.try_put(1).unwrap();
    queue.finish();
    assert_eq!(queue.try_put(2), Err(PutError::Closed(2)));
    assert_eq!(queue.take(), Ok(1));
    assert_eq!(queue.take(), Err(Closed));
    assert_eq!(queue.take_for(Duration::MAX), Err(Closed));

    let queue = builder().build();
    queue.try_put(1).unwrap();
    queue.close();
    assert_eq!((queue.len(), queue.take()), (0, Err(Closed)));
}

#[test]
fn waiting_in_vain_says_so() {
    let queue = builder().build();
    assert_eq!(queue.take_for(Duration::from_millis(1)), Ok(None));
    queue.try_put(1).unwrap();
    let late = queue.put_for(2, Duration::from_millis(1));
    assert_eq!(late, Err(PutError::Full(2)));
    assert_eq!(queue.status().takers + queue.status().putters, 0);
}

#[test]
fn a_listener_that_panics_ends_and_says_so() {
    let queue = builder().size_min(4).build();
    let listener = queue.listen(|item| assert_ne!(item, 2, "told to")).unwrap();
    (1..4).for_each(|item| queue.put(item).unwrap());
    assert_eq!(listener.wait(), Ended::Panicked);
    assert_eq!(queue.try_take(), Ok(Some(3)));
}

/// One that waits for an item is stopped, and takes none that comes later.
#[test]
fn a_listener_that_is_stopped_takes_no_more() {
    let queue = builder().build();
    let (told, heard) = std::sync::mpsc::channel();
    let listener = queue.listen(move |item| told.send(item).unwrap()).unwrap();
    queue.put(1).unwrap();
    assert_eq!(heard.recv(), Ok(1));
    assert_eq!(listener.stop(), Ended::Stopped);
    queue.put(2).unwrap();
    assert!(heard.recv().is_err());
    assert_eq!(queue.try_take(), Ok(Some(2)));
    assert!(poll_once(&mut queue.take_async()).is_pending());
}
