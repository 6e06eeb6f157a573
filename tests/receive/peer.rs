//! Goal: the scenarios of Apache Pulsar's own tests of the receiver queue and the memory limit end
//! as they do there. Method: their steps and values as data, played on the real queue, whose
//! producer is remote as a Pulsar broker is.

use crate::{builder, grow, grown, poll_once, sharing};
use deedbook::receive::{Batch, MemoryLimit, Queue};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

/// The scenarios of a file, and no more and no fewer than these.
fn scenarios(file: &str, ids: &[&str]) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/peer")
        .join(file);
    let rows: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let found: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(found, ids);
    rows
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// The queue that a scenario begins with.
fn queue(setup: &Value) -> Queue<usize> {
    let cap = setup.get("cap").map_or(1_000, number);
    let parts = setup.get("partitions").map_or(1, number);
    let mut queue = builder().remote(|_| {}).size_max(cap).size_min(parts);
    if let Some(count) = setup.get("batch_max") {
        queue = queue.batch(Batch {
            count_max: number(count),
            ..Batch::default()
        });
    }
    let queue = queue.build();
    if let Some(size) = setup.get("size").map(number) {
        while queue.size() < size {
            grow(&queue);
        }
        assert_eq!(queue.size(), size, "growth passes by the size of {setup}");
    }
    queue
}

/// Plays a step; what it shows, if the scenario looks at that.
fn play(queue: &Queue<usize>, step: &str) -> Value {
    let (what, count) = step.split_once(' ').unwrap_or((step, "1"));
    let count: usize = count.parse().unwrap();
    match what {
        "size" => queue.size().into(),
        "hint" => queue.status().was_full.into(),
        "send" => {
            (0..count).for_each(|_| queue.try_put(1).unwrap());
            Value::Null
        }
        "receive" => {
            (0..count).for_each(|_| assert_eq!(queue.try_take(), Ok(Some(1))));
            Value::Null
        }
        "receive_empty" => {
            assert_eq!(queue.try_take(), Ok(None));
            Value::Null
        }
        "batch_receive" => {
            let Poll::Ready(batch) = poll_once(&mut queue.batch_async()) else {
                panic!("a batch is there");
            };
            batch.unwrap().len().into()
        }
        "batch_receive_waiting" => {
            assert!(poll_once(&mut queue.batch_async()).is_pending());
            Value::Null
        }
        other => panic!("unknown step {other}"),
    }
}

#[test]
fn qs_01_to_08_sizes() {
    let ids = [
        "QS-01", "QS-02", "QS-04", "QS-05", "QS-07", "QS-08", "QS-22",
    ];
    for row in scenarios("queue_scaling.json", &ids) {
        let (id, setup, expected) = (&row["id"], &row["setup"], &row["expected"]);
        let Some(steps) = setup["steps"].as_array() else {
            assert_eq!(id, "QS-22", "which has a test of its own");
            continue;
        };
        let queue = queue(setup);
        if let Some(size) = expected.get("initial_size") {
            assert_eq!(queue.size(), number(size), "{id}");
        }
        for round in 0..setup.get("repeat").map_or(1, number) {
            for (step, value) in steps.iter().zip(expected["values"].as_array().unwrap()) {
                let shown = play(&queue, step.as_str().unwrap());
                if !value.is_null() {
                    assert_eq!(shown, *value, "{id}, round {round}, {step}");
                }
            }
        }
    }
}

/// The hint is that of the moment of the put, however soon the message is taken: here before
/// anybody looks. (On threads: `tests/concurrency`; as a rule: `src/receive/flow.rs`.)
#[test]
fn qs_22_a_message_that_is_gone_already_was_there() {
    let queue = builder().remote(|_| {}).build();
    queue.try_put(1).unwrap();
    assert_eq!(queue.try_take(), Ok(Some(1)));
    let status = queue.status();
    assert_eq!((status.len, status.was_full), (0, true));
}

#[test]
fn qs_10_to_13_a_limit_that_is_passed() {
    let ids = [
        "QS-10", "QS-11", "QS-13", "QS-14", "QS-17", "QS-19", "QS-20",
    ];
    let rows = scenarios("memory_limit.json", &ids);
    let (fill, held, shrink) = (&rows[0]["setup"], &rows[1], &rows[2]);
    let limit = MemoryLimit::new(fill["limit_bytes"].as_u64().unwrap());
    let bytes = number(&fill["message_bytes"]);
    let before = number(&shrink["setup"]["size"]);
    let c1 = grown(builder().remote(|_| {}).limit(&limit), before);
    let c2 = builder().remote(|_| {}).limit(&limit).build();
    assert_eq!(c2.size(), number(&held["setup"]["size"]));

    // Each consumer gets five; the second one has room for one, and the broker keeps the others.
    (0..number(&fill["c1_queued"])).for_each(|_| c1.try_put(bytes).unwrap());
    c2.try_put(bytes).unwrap();
    assert_eq!(c1.len(), 5);
    assert!(limit.usage_percent() > 100.0, "QS-10");
    assert_eq!(c1.size(), number(&shrink["expected"]["size"]), "QS-13");

    for received in 1..=5 {
        assert_eq!(c2.try_take(), Ok(Some(bytes)));
        if received < 5 {
            c2.try_put(bytes).unwrap();
        }
    }
    assert!(c2.status().was_full);
    assert!(poll_once(&mut c2.take_async()).is_pending());
    assert_eq!(c2.size(), number(&held["expected"]["size"]), "QS-11");
}

#[test]
fn qs_14_to_17_two_clients_on_one_limit() {
    let (limit, [c1, c2]) = sharing(300, 1_000);
    for queue in [&c1, &c2] {
        assert_eq!(queue.size(), 1, "QS-14");
        queue.try_put(100).unwrap();
        assert!(queue.status().was_full);
        assert_eq!(queue.try_take(), Ok(Some(100)));
        assert_eq!(queue.size(), 1, "QS-14");
        assert!(poll_once(&mut queue.take_async()).is_pending());
        assert_eq!(queue.size(), 2, "QS-14");
    }

    // QS-16 begins at size 1: another consumer, beside one that holds all of the budget.
    let c3 = builder().limit(&limit).build();
    c1.try_put(100).unwrap();
    c1.try_put(200).unwrap();
    assert_eq!(limit.usage_percent(), 100.0);
    for _ in 0..3 {
        assert!(poll_once(&mut c3.take_async()).is_pending());
        c3.try_put(100).unwrap();
        assert_eq!(c3.try_take(), Ok(Some(100)));
        assert_eq!(c3.size(), 1, "QS-16");
    }
    assert!(c3.status().was_full);

    c1.close();
    assert_eq!(limit.used(), 0, "QS-17");
    assert!(poll_once(&mut c3.take_async()).is_pending());
    assert_eq!(c3.size(), 2, "QS-17");
    c3.try_put(100).unwrap();
    c3.close();
    assert_eq!(limit.used(), 0, "QS-17");
}

/// A limit of 100 of which 101 are used, and three who wait for 1 each.
#[test]
fn qs_19_and_20_waiters_pass_as_memory_is_released() {
    for releases in [&[3_u64][..], &[1, 1, 1]] {
        let limit = MemoryLimit::new(100);
        let mut held: Vec<_> = releases
            .iter()
            .map(|bytes| limit.try_reserve(*bytes))
            .collect();
        let rest = 101 - releases.iter().sum::<u64>();
        let _rest = limit.try_reserve(rest).unwrap();
        assert_eq!(limit.used(), 101);
        let mut waiters: Vec<_> = (0..3).map(|_| limit.reserve_async(1)).collect();
        assert!(
            waiters
                .iter_mut()
                .all(|waiter| poll_once(waiter).is_pending())
        );
        assert_eq!((limit.used(), limit.waiting()), (101, 3));

        held.clear();
        let passed: Vec<_> = waiters.iter_mut().map(poll_once).collect();
        assert!(passed.iter().all(Poll::is_ready), "release of {releases:?}");
        assert_eq!((limit.used(), limit.waiting()), (101, 0));
    }
}

#[test]
fn qs_23_cancelled_waits_leave_nothing_behind() {
    let queue = builder().build();
    let (mut one, mut batch) = (queue.take_async(), queue.batch_async());
    assert!(poll_once(&mut one).is_pending() && poll_once(&mut batch).is_pending());
    assert_eq!(queue.status().takers, 2);
    drop(one);
    drop(batch);
    assert_eq!(queue.status().takers, 0);
}

/// A queue, and how many permits were granted beyond the first ones.
fn counted(size: usize) -> (Queue<usize>, Arc<AtomicUsize>) {
    let granted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&granted);
    let on_grant = move |permits| {
        count.fetch_add(permits, Ordering::SeqCst);
    };
    let queue = builder()
        .remote(on_grant)
        .size_min(size)
        .size_max(size)
        .build();
    assert_eq!(granted.swap(0, Ordering::SeqCst), size);
    (queue, granted)
}

/// The peer's permits are back at nothing after each round; here, where the first permits are
/// granted at once, the same is that exactly the size is in use whoever comes first.
#[test]
fn qs_25_a_return_that_races_with_a_reconnect_is_not_counted_twice() {
    let (queue, granted) = counted(4);
    for round in 0..100 {
        queue.try_put(1).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| queue.skip(1));
            scope.spawn(|| queue.restart());
        });
        let status = queue.status();
        assert_eq!(status.len, 1);
        // The skipped one may be kept back, until half the size has been used.
        assert!(
            (2..=3).contains(&status.permits),
            "round {round}: {status:?}"
        );
        queue.restart();
        assert_eq!(queue.status().permits, 3, "round {round}");
        assert_eq!(queue.try_take(), Ok(Some(1)));
        queue.restart();
        granted.store(0, Ordering::SeqCst);
    }
}

/// Eight threads give back a thousand permits each; none is lost.
#[test]
fn qs_26_concurrent_returns_add_up() {
    let (queue, granted) = counted(16_000);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..1_000).for_each(|_| queue.skip(1)));
        }
    });
    assert_eq!(granted.load(Ordering::SeqCst), 8_000);
    assert_eq!(queue.status().permits, 16_000);
}

#[test]
fn qs_28_what_cannot_be_read_gives_its_permits_back() {
    let (queue, granted) = counted(10);
    queue.skip(5);
    queue.skip(5);
    assert_eq!(granted.swap(0, Ordering::SeqCst), 10);
    queue.skip(5);
    assert_eq!(granted.load(Ordering::SeqCst), 5);
}
