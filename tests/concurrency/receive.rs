//! The receiver queue and the memory limit under chosen schedules.

use super::explore;
use deedbook::receive::{Batch, Ended, MemoryLimit, Queue};
use shuttle::future::block_on;
use shuttle::thread;
use std::sync::mpsc;
use std::time::Duration;

fn limited(size_max: usize) -> (MemoryLimit, Queue<usize>) {
    let limit = MemoryLimit::new(100);
    let builder = Queue::builder().weigh(|bytes| *bytes).limit(&limit);
    let batch = Batch {
        count_max: 2,
        wait: Duration::ZERO,
        ..Batch::default()
    };
    let queue = builder.size_max(size_max).batch(batch).build();
    (limit, queue)
}

/// An item is taken as soon as it is put, before anybody can look at the queue: it was full.
#[test]
fn a_hint_survives_a_concurrent_drain() {
    explore(|| {
        let queue = Queue::builder().remote(|_| {}).build();
        let takes = queue.clone();
        let taker = thread::spawn(move || takes.take());
        queue.try_put(7).unwrap();
        assert_eq!(taker.join().unwrap(), Ok(7));
        assert_eq!(queue.try_take(), Ok(None));
        assert_eq!(queue.size(), 2);
    });
}

/// Producers that wait for permits and consumers that wait for items, in every form; nobody waits
/// for ever, and each item arrives once.
#[test]
fn all_that_goes_in_comes_out_once() {
    explore(|| {
        let (limit, queue) = limited(2);
        let producers: Vec<_> = (0..2)
            .map(|producer| {
                let queue = queue.clone();
                thread::spawn(move || {
                    queue.put(10 * producer + 1).unwrap();
                    block_on(queue.put_async(10 * producer + 2)).unwrap();
                })
            })
            .collect();
        let forms: [fn(&Queue<usize>) -> Vec<usize>; 3] = [
            |queue| queue.take().into_iter().collect(),
            |queue| block_on(queue.take_async()).into_iter().collect(),
            |queue| block_on(queue.batch_async()).unwrap_or_default(),
        ];
        let consumers: Vec<_> = forms
            .into_iter()
            .map(|take| {
                let queue = queue.clone();
                thread::spawn(move || {
                    let mut got = Vec::new();
                    loop {
                        let items = take(&queue);
                        if items.is_empty() {
                            return got;
                        }
                        got.extend(items);
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.join().unwrap();
        }
        queue.finish();
        let mut all = Vec::new();
        for consumer in consumers {
            all.extend(consumer.join().unwrap());
        }
        all.sort_unstable();
        assert_eq!(all, [1, 2, 11, 12]);
        assert_eq!(limit.used(), 0);
    });
}

/// A queue is closed while items arrive, leave and are waited for: what was charged is released.
#[test]
fn closing_leaks_nothing_and_wakes_everyone() {
    explore(|| {
        let (limit, queue) = limited(1);
        let producers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || while queue.put(30).is_ok() {})
            })
            .collect();
        let takes = queue.clone();
        let taker = thread::spawn(move || {
            let _ = takes.take();
            let _ = block_on(takes.take_async());
        });
        queue.close();
        for producer in producers {
            producer.join().unwrap();
        }
        taker.join().unwrap();
        assert_eq!(limit.used(), 0);
        let status = queue.status();
        assert_eq!((status.len, status.takers, status.putters), (0, 0, 0));
    });
}

/// Reservations that wait, one that is given up, and a queue that charges beside them.
#[test]
fn reservations_all_pass_and_all_come_back() {
    explore(|| {
        let (limit, queue) = limited(1);
        let held = limit.try_reserve(101).unwrap();
        let mut threads: Vec<_> = (0..2)
            .map(|_| {
                let limit = limit.clone();
                thread::spawn(move || drop(block_on(limit.reserve_async(60))))
            })
            .collect();
        let (hasty, charging) = (limit.clone(), queue.clone());
        threads.push(thread::spawn(move || {
            // Waits for no time here: it is given up, or served while it is being given up.
            drop(hasty.reserve_for(50, Duration::from_secs(1)));
        }));
        threads.push(thread::spawn(move || {
            charging.try_put(40).unwrap();
            charging.take().unwrap();
        }));
        drop(held);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((limit.used(), limit.waiting()), (0, 0));
    });
}

/// Memory comes back once, at the moment at which somebody begins to wait for it.
#[test]
fn memory_that_comes_back_is_not_missed() {
    explore(|| {
        let limit = MemoryLimit::new(100);
        let held = limit.try_reserve(101).unwrap();
        let waits = limit.clone();
        let waiter = thread::spawn(move || drop(block_on(waits.reserve_async(1))));
        drop(held);
        waiter.join().unwrap();
        assert_eq!((limit.used(), limit.waiting()), (0, 0));
    });
}

/// Memory becomes short, and the queue smaller, while producers wait for permits and put: each
/// waits longer, and none is refused.
#[test]
fn puts_that_wait_outlast_a_shortage() {
    explore(|| {
        let limit = MemoryLimit::new(100);
        let queue = Queue::builder().limit(&limit).weigh(|_| 1).size_max(4);
        let queue: Queue<usize> = queue.build();
        while queue.size() < 4 {
            while queue.try_put(0).is_ok() {}
            while queue.try_take() != Ok(None) {}
        }
        let producers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || {
                    queue.put(1).unwrap();
                    block_on(queue.put_async(2)).unwrap();
                    queue.put(3).unwrap();
                })
            })
            .collect();
        let others = limit.clone();
        let shortage = thread::spawn(move || {
            drop(others.try_reserve(200));
            drop(others.try_reserve(400));
        });
        let sum: usize = (0..6).map(|_| queue.take().unwrap()).sum();
        for thread in producers.into_iter().chain([shortage]) {
            thread.join().unwrap();
        }
        assert_eq!((sum, limit.used()), (12, 0));
    });
}

/// A task that was woken and dropped hands its wake on, whenever that happens.
#[test]
fn a_wait_that_is_given_up_takes_no_wake_along() {
    explore(|| {
        let (_limit, queue) = limited(2);
        let gives_up = queue.clone();
        let hasty = thread::spawn(move || {
            let mut take = Box::pin(gives_up.take_async());
            block_on(async {
                // Polled once, and dropped.
                std::future::poll_fn(|context| {
                    let _ = take.as_mut().poll(context).map(|item| {
                        // It came at once: back to where others find it.
                        gives_up.force(item.unwrap()).unwrap();
                    });
                    std::task::Poll::Ready(())
                })
                .await;
            });
            thread::yield_now();
            drop(take);
        });
        let takes = queue.clone();
        let patient = thread::spawn(move || block_on(takes.take_async()));
        queue.put(5).unwrap();
        assert_eq!(patient.join().unwrap(), Ok(5));
        hasty.join().unwrap();
        assert_eq!(queue.status().takers, 0);
    });
}

/// A listener is stopped while items come: what it did not hear is still there.
#[test]
fn a_listener_that_is_stopped_loses_nothing() {
    explore(|| {
        let (_limit, queue) = limited(2);
        let (told, heard) = mpsc::channel();
        let listener = queue.listen(move |item| told.send(item).unwrap());
        let puts = queue.clone();
        let producer = thread::spawn(move || {
            puts.put(1).unwrap();
            puts.put(2).unwrap();
        });
        assert_eq!(listener.unwrap().stop(), Ended::Stopped);
        producer.join().unwrap();
        let mut all: Vec<_> = heard.try_iter().collect();
        while let Ok(Some(item)) = queue.try_take() {
            all.push(item);
        }
        assert_eq!(all, [1, 2]);
    });
}
