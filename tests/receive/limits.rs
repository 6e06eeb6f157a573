//! Goal: reservations end, in order, and what is used comes back, whatever was given up on the way.
//! Method: the limit alone, with futures that are polled by hand, and threads.

use crate::{Wakes, poll_once};
use deedbook::receive::{MemoryLimit, Queue};
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

/// Of queues that share a limit, one that came early and took most of what there is to grow into
/// gives way to one that came late, until both have their share.
#[test]
fn a_queue_that_came_late_gets_its_share() {
    let limit = MemoryLimit::new(100);
    let queue = || {
        Queue::builder()
            .size_max(128)
            .weigh(|_: &()| 1)
            .limit(&limit)
    };
    let (early, late) = (queue().build(), queue().build());
    // What may come in does, and then all of it is asked for.
    let fill = |queue: &Queue<()>| while queue.try_put(()).is_ok() {};
    let drain = |queue: &Queue<()>| while queue.try_take() != Ok(None) {};
    while early.size() < 64 {
        fill(&early);
        drain(&early);
    }
    let held = limit.try_reserve(11).unwrap();
    fill(&early);
    assert_eq!((limit.used(), late.size()), (75, 1));
    let mut rounds = 0;
    while late.size() < early.size() {
        // Whenever the late one is filled, the early one is full.
        fill(&late);
        drain(&late);
        let half = early.size() / 2;
        (0..half).for_each(|_| early.try_take().unwrap().unwrap());
        fill(&early);
        rounds += 1;
        assert!(rounds < 100, "{:?} {:?}", early.status(), late.status());
    }
    assert_eq!((early.size(), late.size()), (32, 32));
    drop(held);
}
