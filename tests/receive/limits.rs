//! Goal: reservations end, in order, and what is used comes back, whatever was given up on the way.
//! Method: the limit alone, with futures that are polled by hand, and threads.

use crate::{Wakes, poll_once};
use deedbook::receive::MemoryLimit;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What is larger than the whole limit passes when at most the limit is used, and the others wait
/// for it.
#[test]
fn an_item_larger_than_the_limit_passes_and_others_wait() {
    let limit = MemoryLimit::new(100);
    let small = limit.try_reserve(100).unwrap();
    let large = limit.try_reserve(1_000).unwrap();
    assert_eq!(limit.usage_percent(), 1_100.0);
    assert!(limit.try_reserve(0).is_none());
    drop(small);
    assert!(limit.try_reserve(1).is_none());
    drop(large);
    assert!(limit.try_reserve(1).is_some());
    assert_eq!(limit.used(), 0);
}

/// Nobody overtakes: not a small one a large one, and not one who comes when memory comes back.
#[test]
fn waiters_are_served_in_order_whatever_they_want() {
    let limit = MemoryLimit::new(10);
    let held = limit.try_reserve(11).unwrap();
    let (mut first, mut second, mut third) = (
        limit.reserve_async(50),
        limit.reserve_async(1),
        limit.reserve_async(1),
    );
    for waiter in [&mut first, &mut second, &mut third] {
        assert!(poll_once(waiter).is_pending());
    }
    drop(held);
    assert!(limit.try_reserve(0).is_none(), "it is promised already");
    assert!(poll_once(&mut second).is_pending());
    let Poll::Ready(first) = poll_once(&mut first) else {
        panic!("the first one is served first");
    };
    assert_eq!((limit.used(), limit.waiting()), (50, 2));
    drop(first);
    assert!(poll_once(&mut third).is_ready());
    assert!(poll_once(&mut second).is_ready());
    assert_eq!((limit.used(), limit.waiting()), (0, 0));
}

/// A wait that is given up takes nothing, before it was served and after.
#[test]
fn whoever_gives_up_takes_nothing() {
    let limit = MemoryLimit::new(10);
    let held = limit.try_reserve(11).unwrap();
    let (mut never, mut served, mut last) = (
        limit.reserve_async(5),
        limit.reserve_async(20),
        limit.reserve_async(3),
    );
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    for waiter in [&mut never, &mut served, &mut last] {
        let mut context = Context::from_waker(&waker);
        assert!(pin!(waiter).poll(&mut context).is_pending());
    }
    drop(never);
    drop(held);
    assert_eq!((limit.used(), wakes.count()), (20, 1));
    drop(served);
    assert_eq!(
        (limit.used(), wakes.count()),
        (3, 2),
        "the next one gets it"
    );
    assert!(poll_once(&mut last).is_ready());
    assert_eq!((limit.used(), limit.waiting()), (0, 0));
}

#[test]
fn threads_wait_for_memory_and_get_it() {
    let limit = MemoryLimit::new(100);
    let held = limit.try_reserve(101).unwrap();
    assert!(limit.reserve_for(1, Duration::from_millis(1)).is_none());
    assert_eq!((limit.used(), limit.waiting()), (101, 0));
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| limit.reserve_for(1, Duration::MAX)))
            .collect();
        while limit.waiting() < 3 {
            std::thread::yield_now();
        }
        drop(held);
        let got: Vec<_> = waiters
            .into_iter()
            .map(|waiter| waiter.join().unwrap())
            .collect();
        assert!(got.iter().all(Option::is_some));
        assert_eq!(limit.used(), 3);
    });
    assert_eq!(limit.used(), 0);
}

#[test]
fn without_a_limit_nothing_waits() {
    let limit = MemoryLimit::unlimited();
    let _held: Vec<_> = (0..10)
        .map(|_| limit.try_reserve(u64::MAX / 100).unwrap())
        .collect();
    assert_eq!(limit.usage_percent(), 0.0);
    assert!(limit.used() > 0);
}

/// Queues keep a little in reserve, so that they do not meet at the limit for each item; it is
/// little beside the limit however many they are, and gone with them.
#[test]
fn reserves_are_small_and_come_back() {
    const BYTES: u64 = 64 << 20;
    for count in [1_u64, 10, 300, 1_000] {
        let limit = MemoryLimit::new(BYTES);
        let queue = |_| crate::builder().limit(&limit).size_min(200).build();
        let queues: Vec<_> = (0..count).map(queue).collect();
        for queue in &queues {
            (0..100).for_each(|_| queue.try_put(100).unwrap());
        }
        let charged = count * 10_000;
        let used = limit.used();
        assert!(
            used >= charged && used <= charged + BYTES / 64,
            "{count}: {used}"
        );
        for queue in &queues {
            while queue.try_take().unwrap().is_some() {}
        }
        assert!(limit.used() <= BYTES / 64, "{count}: {}", limit.used());
        let (finished, closed) = queues.split_at(queues.len() / 2);
        finished.iter().for_each(deedbook::receive::Queue::finish);
        closed.iter().for_each(deedbook::receive::Queue::close);
        assert_eq!(limit.used(), 0, "{count}");
    }
}
