//! Goal: what others reported as faults of such queues does not happen here. Method: each report
//! restated as the steps that lead to it.

use crate::{builder, grow, poll_once, sharing};
use deedbook::receive::{Batch, MemoryLimit, Queue};
use std::task::Poll;
use std::time::Duration;

/// No limit is a usage of nothing, not of nothing out of nothing.
#[test]
fn without_a_limit_a_queue_grows_to_its_maximum() {
    let limit = MemoryLimit::new(0);
    let queue = builder().limit(&limit).size_max(100).build();
    let mut sizes = vec![queue.size()];
    while queue.size() < 100 {
        grow(&queue);
        sizes.push(queue.size());
        assert!(sizes.len() < 20, "{sizes:?}");
    }
    assert_eq!(sizes, [1, 2, 4, 8, 16, 32, 64, 100]);
    queue.try_put(1 << 40).unwrap();
    assert_eq!(limit.usage_percent(), 0.0);
}

#[test]
fn the_configured_size_is_the_maximum() {
    let queue = builder().size_max(5).build();
    let sizes: [usize; 6] = std::array::from_fn(|_| {
        let size = queue.size();
        grow(&queue);
        size
    });
    assert_eq!(sizes, [1, 2, 4, 5, 5, 5]);
}

/// Between "full" and "found empty" a message comes that leaves room: the queue is large enough.
#[test]
fn a_put_that_leaves_room_takes_the_hint_back() {
    let queue = builder().size_max(100).build();
    grow(&queue);
    grow(&queue);
    assert_eq!(queue.size(), 4);
    while queue.try_put(0).is_ok() {}
    assert!(queue.status().was_full);
    for _ in 0..3 {
        queue.try_take().unwrap();
    }
    queue.try_put(0).unwrap();
    assert!(!queue.status().was_full);
    while queue.try_take().unwrap().is_some() {}
    assert_eq!(queue.size(), 4);
}

#[test]
fn growth_stops_at_75_percent_and_shrinking_starts_above_95() {
    for (used, grows) in [(74, true), (75, false), (76, false)] {
        let (limit, [queue]) = sharing(100, 100);
        let _held = limit.try_reserve(used).unwrap();
        grow(&queue);
        assert_eq!(queue.size(), if grows { 2 } else { 1 }, "{used} % used");
    }
    for (used, size) in [(95, 8), (96, 4), (190, 4), (191, 2), (381, 1), (1_000, 1)] {
        let (limit, [queue]) = sharing(100, 8);
        (0..3).for_each(|_| grow(&queue));
        assert_eq!(queue.size(), 8);
        let _held = limit.try_reserve(used).unwrap();
        assert_eq!(queue.size(), size, "{used} % used");
    }
}

/// The producer's reservation shrinks the consumer's queue, at once.
#[test]
fn whoever_reserves_everybody_shrinks() {
    let (limit, [queue, other]) = sharing(100, 8);
    (0..3).for_each(|_| grow(&queue));
    (0..2).for_each(|_| grow(&other));
    queue.try_put(50).unwrap();
    let _producer = limit.try_reserve(46).unwrap();
    assert_eq!((queue.size(), other.size()), (4, 2));
}

/// A sum that goes up and down around the border halves the queues once, not at each passing.
#[test]
fn a_sum_that_wavers_shrinks_once() {
    let (limit, [queue]) = sharing(100, 64);
    (0..6).for_each(|_| grow(&queue));
    let held = limit.try_reserve(90).unwrap();
    for _ in 0..10 {
        drop(limit.try_reserve(6).unwrap());
    }
    assert_eq!(queue.size(), 32);
    drop(held);
    let _again = limit.try_reserve(96).unwrap();
    assert_eq!(queue.size(), 16, "after it was low, it counts again");
}

/// Permits that a remote producer has are not taken back; the queue holds more than its size once.
#[test]
fn permits_that_were_granted_stay_granted() {
    let limit = MemoryLimit::new(100);
    let queue = builder()
        .remote(|_| {})
        .limit(&limit)
        .size_min(1)
        .size_max(8)
        .build();
    (0..3).for_each(|_| grow(&queue));
    assert_eq!((queue.size(), queue.status().permits), (8, 8));
    let held = limit.try_reserve(96).unwrap();
    assert_eq!((queue.size(), queue.status().permits), (4, 8));
    (0..8).for_each(|_| queue.try_put(0).unwrap());
    drop(held);
    for left in (0..8).rev() {
        queue.try_take().unwrap();
        let status = queue.status();
        assert!(status.permits + status.len <= 4.max(left), "{status:?}");
    }
    assert_eq!(queue.status().permits, 4);
}

/// Messages arrive while the consumer closes; all of them are released.
#[test]
fn closing_while_messages_arrive_leaks_nothing() {
    for _ in 0..50 {
        let limit = MemoryLimit::new(1 << 20);
        let queue = builder().limit(&limit).size_min(100).build();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..10 {
                    let _ = queue.try_put(100);
                }
            });
            scope.spawn(|| queue.close());
        });
        assert_eq!(limit.used(), 0);
        assert!(queue.try_put(100).is_err());
        assert_eq!(limit.used(), 0);
    }
}

/// A message that is refused is given back and charged to nobody.
#[test]
fn a_failed_put_charges_nothing() {
    let (limit, [queue]) = sharing(1_000, 1);
    queue.try_put(10).unwrap();
    let error = queue.try_put(20).unwrap_err();
    assert_eq!(error.into_item(), 20);
    assert_eq!(limit.used(), 10);
    queue.close();
    assert_eq!(queue.try_put(30).unwrap_err().into_item(), 30);
    assert_eq!(limit.used(), 0);
}

/// A batch of more than the queue can hold ends with what it holds.
#[test]
fn a_batch_larger_than_the_queue_ends() {
    let batch = Batch {
        count_max: 10,
        wait: Duration::MAX,
        ..Batch::default()
    };
    let queue = builder().batch(batch).size_max(5).build();
    assert_eq!(queue.size(), 5);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..5).for_each(|item| queue.put(item).unwrap()));
        assert_eq!(queue.take_batch().unwrap(), [0, 1, 2, 3, 4]);
    });
    // A batch that has time ends by it.
    let patient = Batch {
        wait: Duration::ZERO,
        ..batch
    };
    let queue = builder().batch(patient).size_max(5).build();
    queue.try_put(1).unwrap();
    assert_eq!(queue.take_batch().unwrap(), [1]);
    assert!(queue.take_batch().unwrap().is_empty());
}

/// With a queue of the right size a batch fills, though permits are kept back.
#[test]
fn a_batch_fills_whatever_is_kept_back() {
    for count_max in 1..12 {
        let batch = Batch {
            count_max,
            wait: Duration::MAX,
            ..Batch::default()
        };
        let queue = builder().batch(batch).build();
        for taken_before in 0..count_max {
            for _ in 0..taken_before {
                queue.try_put(0).unwrap();
                queue.try_take().unwrap();
            }
            while queue.len() < count_max {
                queue
                    .try_put(0)
                    .unwrap_or_else(|_| panic!("{count_max}: {queue:?}"));
            }
            assert_eq!(queue.take_batch().unwrap().len(), count_max);
        }
    }
}

/// A queue of no size would never be given anything.
#[test]
fn a_size_of_nothing_is_a_size_of_one() {
    let queue = Queue::builder().size_max(0).size_min(0).build();
    queue.try_put(1).unwrap();
    assert_eq!((queue.size(), queue.try_take()), (1, Ok(Some(1))));
    queue.try_put(2).unwrap();
}

/// Permits of messages that were skipped are granted again: at half the size, and at size one each.
#[test]
fn skipped_messages_keep_the_flow_going() {
    for (size, expected) in [(4, &[2, 2][..]), (1, &[1, 1, 1, 1])] {
        let (told, grants) = std::sync::mpsc::channel();
        let on_grant = move |permits| told.send(permits).unwrap();
        let queue = builder()
            .remote(on_grant)
            .size_min(size)
            .size_max(size)
            .build();
        assert_eq!(grants.recv(), Ok(size));
        (0..4).for_each(|_| queue.skip(1));
        assert_eq!(grants.try_iter().collect::<Vec<_>>(), expected);
    }
}

/// A function that is called with each message takes no more than the one it works on.
#[test]
fn a_listener_leaves_to_others_what_it_has_no_time_for() {
    let queue = builder().size_min(4).build();
    let (entered, has_entered) = std::sync::mpsc::channel();
    let (leave, may_leave) = std::sync::mpsc::channel::<()>();
    (0..4).for_each(|item| queue.try_put(item).unwrap());
    let listener = queue
        .listen(move |item| {
            entered.send(item).unwrap();
            let _ = may_leave.recv();
        })
        .unwrap();
    assert_eq!(has_entered.recv(), Ok(0));
    assert_eq!(queue.len(), 3);
    assert_eq!(queue.try_take(), Ok(Some(1)));
    drop(leave);
    assert_eq!(has_entered.recv(), Ok(2));
    queue.finish();
    assert_eq!(listener.wait(), deedbook::receive::Ended::Closed);
    assert!(queue.is_empty());
}

/// Memory becomes short before a put that waits: it has lost its permit and waits for another one,
/// instead of being refused.
#[test]
fn who_waits_for_a_permit_is_not_refused_when_memory_is_short() {
    let limit = MemoryLimit::new(100);
    let queue = builder().size_max(8).size_min(2).limit(&limit).build();
    while queue.size() < 8 {
        while queue.try_put(1).is_ok() {}
        while queue.try_take() != Ok(None) {}
    }
    (0..4).for_each(|_| queue.try_put(1).unwrap());
    let held = limit.try_reserve(92).unwrap();
    let mut put = queue.put_async(1);
    assert!(poll_once(&mut put).is_pending());
    assert_eq!((queue.size(), queue.len()), (4, 4));
    assert_eq!([queue.try_take(), queue.try_take()], [Ok(Some(1)); 2]);
    assert_eq!(poll_once(&mut put), Poll::Ready(Ok(())));
    drop(held);
}
