//! Goal: on real threads nothing is lost, doubled or overtaken, and memory comes back to nothing.
//! Method: producers and consumers that count, with small queues, so that they wait for each other
//! all the time. (Every schedule of few threads: `tests/concurrency`.)

use crate::builder;
use deedbook::receive::{Batch, MemoryLimit, Queue};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

const PER_PRODUCER: usize = 2_000;

/// Takes until the end, in one of the forms.
fn consume(queue: &Queue<usize>, form: usize) -> Vec<usize> {
    let mut got = Vec::new();
    match form {
        0 => got.extend(std::iter::from_fn(|| queue.take().ok())),
        1 => {
            while let Ok(item) = queue.take_for(Duration::from_secs(60)) {
                got.extend(item);
            }
        }
        _ => {
            while let Ok(batch) = queue.take_batch() {
                got.extend(batch);
            }
        }
    }
    got
}

#[test]
fn all_that_goes_in_comes_out_once_and_in_order() {
    for (producers, consumers, size_max) in [(1, 1, 1), (3, 1, 2), (1, 3, 64), (3, 3, 1_000)] {
        let limit = MemoryLimit::new(1 << 30);
        let batch = Batch {
            count_max: 5,
            wait: Duration::from_millis(1),
            ..Batch::default()
        };
        let queue = builder()
            .limit(&limit)
            .batch(batch)
            .size_max(size_max)
            .build();
        let got: Vec<Vec<usize>> = thread::scope(|scope| {
            let taking: Vec<_> = (0..consumers)
                .map(|form| {
                    scope.spawn({
                        let queue = queue.clone();
                        move || consume(&queue, form)
                    })
                })
                .collect();
            let putting: Vec<_> = (0..producers)
                .map(|producer| {
                    scope.spawn({
                        let queue = queue.clone();
                        move || {
                            for count in 0..PER_PRODUCER {
                                queue.put(producer * PER_PRODUCER + count).unwrap();
                            }
                        }
                    })
                })
                .collect();
            putting
                .into_iter()
                .for_each(|putting| putting.join().unwrap());
            queue.finish();
            taking
                .into_iter()
                .map(|taking| taking.join().unwrap())
                .collect()
        });
        for items in &got {
            let mut last = BTreeMap::new();
            for item in items {
                let before = last.insert(item / PER_PRODUCER, *item);
                assert!(before < Some(*item), "items of one producer stay in order");
            }
        }
        let mut all: Vec<_> = got.concat();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..producers * PER_PRODUCER));
        assert_eq!(limit.used(), 0);
        assert!(queue.size() <= size_max);
    }
}
