//! Goal: queues and their limit do what the rules say, in every order of puts, takes, questions,
//! skips, reservations, releases and ends. Method: random steps on real queues that share a real
//! limit, beside a naive model that is written from the rules; after each step everything that can
//! be seen is compared, and what must always hold is looked at.

use crate::poll_once;
use crate::rules::{BATCH_BYTES, BATCH_COUNT, Budget, LIMIT, Plain, QUEUES};
use deedbook::receive::{Batch, Closed, MemoryLimit, PutError, Queue, Reservation, Reserve};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

const BATCH: Batch = Batch {
    count_max: BATCH_COUNT,
    bytes_max: BATCH_BYTES,
    wait: Duration::ZERO,
};

#[derive(Clone, Debug)]
enum Op {
    Put(usize, usize),
    /// A put that is awaited, and given up if it has to wait.
    AwaitPut(usize, usize),
    Push(usize, usize),
    Force(usize, usize),
    Take(usize),
    Batch(usize),
    /// A batch that is awaited: not less than enough.
    AwaitBatch(usize),
    Skip(usize, usize),
    Restart(usize),
    Finish(usize),
    Close(usize),
    Reserve(usize),
    /// A reservation that is awaited.
    Await(usize),
    /// The reservation, or the wait for it, that is the so-manieth of its kind.
    Release(usize),
    GiveUp(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let queue = || 0..QUEUES;
    let bytes = || prop_oneof![4 => 0_usize..60, 2 => 60_usize..400, 1 => Just(2 * LIMIT)];
    prop_oneof![
        12 => (queue(), bytes()).prop_map(|(queue, bytes)| Op::Put(queue, bytes)),
        4 => (queue(), bytes()).prop_map(|(queue, bytes)| Op::AwaitPut(queue, bytes)),
        2 => (queue(), bytes()).prop_map(|(queue, bytes)| Op::Push(queue, bytes)),
        1 => (queue(), bytes()).prop_map(|(queue, bytes)| Op::Force(queue, bytes)),
        12 => queue().prop_map(Op::Take),
        3 => queue().prop_map(Op::Batch),
        3 => queue().prop_map(Op::AwaitBatch),
        2 => (queue(), 0_usize..4).prop_map(|(queue, count)| Op::Skip(queue, count)),
        1 => queue().prop_map(Op::Restart),
        2 => bytes().prop_map(Op::Reserve),
        2 => bytes().prop_map(Op::Await),
        4 => (0_usize..4).prop_map(Op::Release),
        1 => (0_usize..4).prop_map(Op::GiveUp),
    ]
}

/// Steps, at the end of which one queue may be finished and another one closed.
fn history() -> impl Strategy<Value = Vec<Op>> {
    let end = prop_oneof![
        (0..QUEUES).prop_map(Op::Finish),
        (0..QUEUES).prop_map(Op::Close)
    ];
    let ends = prop::collection::vec((end, prop::collection::vec(op(), 0..20)), 0..3);
    (prop::collection::vec(op(), 0..120), ends).prop_map(|(mut ops, ends)| {
        for (end, more) in ends {
            ops.push(end);
            ops.extend(more);
        }
        ops
    })
}

struct World {
    limit: MemoryLimit,
    queues: Vec<Queue<usize>>,
    granted: Vec<Arc<AtomicUsize>>,
    held: VecDeque<Reservation>,
    waits: VecDeque<(usize, Reserve)>,
    budget: Budget,
    plain: Vec<Plain>,
    waiter: usize,
}

impl World {
    fn new() -> Self {
        let limit = MemoryLimit::new(LIMIT as u64);
        let granted: Vec<_> = (0..QUEUES).map(|_| Arc::new(AtomicUsize::new(0))).collect();
        let count = Arc::clone(&granted[1]);
        let builder = || Queue::builder().weigh(|bytes: &usize| *bytes).limit(&limit);
        let on_grant = move |permits| {
            count.fetch_add(permits, Ordering::SeqCst);
        };
        let queues = vec![
            builder().size_max(16).batch(BATCH).build(),
            builder()
                .size_max(9)
                .size_min(5)
                .batch(BATCH)
                .remote(on_grant)
                .build(),
            builder().size_max(2).batch(BATCH).build(),
        ];
        Self {
            limit,
            queues,
            granted,
            held: VecDeque::new(),
            waits: VecDeque::new(),
            budget: Budget::default(),
            plain: vec![
                Plain::new(4, 16, false),
                Plain::new(5, 9, true),
                Plain::new(2, 2, false),
            ],
            waiter: 0,
        }
    }

    fn play(&mut self, op: &Op) {
        match *op {
            Op::Put(at, bytes) => {
                let goes = self.plain[at].out > 0;
                self.put(at, bytes, goes, self.queues[at].try_put(bytes));
            }
            Op::AwaitPut(at, bytes) => self.await_put(at, bytes),
            Op::Push(at, bytes) => {
                let plain = &self.plain[at];
                let room = plain.items.len() < plain.max && self.budget.may_grow();
                let goes = plain.out > 0 || room;
                self.put(at, bytes, goes, self.queues[at].push(bytes));
            }
            Op::Force(at, bytes) => self.put(at, bytes, true, self.queues[at].force(bytes)),
            Op::Take(at) => self.take(at),
            Op::Batch(at) => self.batch(at),
            Op::AwaitBatch(at) => self.await_batch(at),
            Op::Skip(at, count) => {
                self.queues[at].skip(count);
                let plain = &mut self.plain[at];
                for _ in 0..count.min(plain.out) {
                    plain.out -= 1;
                    plain.kept += 1;
                }
                plain.grant();
            }
            Op::Restart(at) => {
                self.queues[at].restart();
                let plain = &mut self.plain[at];
                plain.kept = 0;
                plain.out = plain.size.saturating_sub(plain.items.len());
                plain.tell(plain.out);
            }
            Op::Finish(at) => {
                self.queues[at].finish();
                self.plain[at].open = false;
            }
            Op::Close(at) => {
                self.queues[at].close();
                let plain = &mut self.plain[at];
                plain.open = false;
                let bytes = plain.items.drain(..).sum();
                self.budget.sub(bytes);
            }
            Op::Reserve(bytes) => {
                let reserved = self.limit.try_reserve(bytes as u64);
                assert_eq!(reserved.is_some(), self.budget.used <= LIMIT);
                if reserved.is_some() {
                    self.budget.add(bytes);
                }
                self.held.extend(reserved);
            }
            Op::Await(bytes) => self.await_reservation(bytes),
            Op::Release(which) => {
                if let Some(reservation) = self.held.remove(which) {
                    let bytes = usize::try_from(reservation.bytes()).unwrap();
                    drop(reservation);
                    self.budget.sub(bytes);
                }
            }
            Op::GiveUp(which) => {
                if let Some((who, wait)) = self.waits.remove(which) {
                    drop(wait);
                    self.budget.waiting.retain(|(waiting, _)| *waiting != who);
                }
            }
        }
        self.serve();
    }

    fn put(&mut self, at: usize, bytes: usize, goes: bool, put: Result<(), PutError<usize>>) {
        let plain = &mut self.plain[at];
        let expected = match (plain.open, goes) {
            (true, true) => Ok(()),
            (true, false) => Err(PutError::Full(bytes)),
            (false, _) => Err(PutError::Closed(bytes)),
        };
        assert_eq!(put, expected);
        if put.is_ok() {
            plain.put(bytes, &mut self.budget);
        }
    }

    fn await_put(&mut self, at: usize, bytes: usize) {
        let goes = self.plain[at].out > 0;
        match poll_once(&mut self.queues[at].put_async(bytes)) {
            Poll::Ready(put) => self.put(at, bytes, goes, put),
            Poll::Pending => assert!(self.plain[at].open && !goes),
        }
    }

    fn take(&mut self, at: usize) {
        let taken = self.queues[at].try_take();
        let plain = &mut self.plain[at];
        let expected = if !plain.items.is_empty() {
            Ok(Some(plain.leave(1, &mut self.budget)[0]))
        } else if plain.open {
            plain.ask(&mut self.budget);
            Ok(None)
        } else {
            Err(Closed)
        };
        assert_eq!(taken, expected);
    }

    /// Takes what there is of a batch, and less than one is a question.
    fn batch(&mut self, at: usize) {
        let taken = self.queues[at].try_batch();
        let plain = &mut self.plain[at];
        if !plain.open && plain.items.is_empty() {
            assert_eq!(taken, Err(Closed));
            return;
        }
        if !plain.has_batch() {
            plain.ask(&mut self.budget);
        }
        let count = plain.batch_count();
        assert_eq!(taken, Ok(plain.leave(count, &mut self.budget)));
    }

    fn await_batch(&mut self, at: usize) {
        let polled = poll_once(&mut self.queues[at].batch_async());
        let plain = &mut self.plain[at];
        if !plain.open && plain.items.is_empty() {
            assert_eq!(polled, Poll::Ready(Err(Closed)));
            return;
        }
        if !plain.has_batch() {
            plain.ask(&mut self.budget);
        }
        let expected = if plain.has_batch() {
            let count = plain.batch_count();
            Poll::Ready(Ok(plain.leave(count, &mut self.budget)))
        } else {
            Poll::Pending
        };
        assert_eq!(polled, expected);
    }

    fn await_reservation(&mut self, bytes: usize) {
        let mut wait = self.limit.reserve_async(bytes as u64);
        match poll_once(&mut wait) {
            Poll::Ready(reservation) => {
                assert!(self.budget.used <= LIMIT);
                self.held.push_back(reservation);
                self.budget.add(bytes);
            }
            Poll::Pending => {
                assert!(self.budget.used > LIMIT);
                self.budget.waiting.push_back((self.waiter, bytes));
                self.waits.push_back((self.waiter, wait));
                self.waiter += 1;
            }
        }
    }

    /// Those who got what they waited for are those whom the model served.
    fn serve(&mut self) {
        let served = std::mem::take(&mut self.budget.served);
        let mut waits = VecDeque::new();
        for (who, mut wait) in self.waits.drain(..) {
            match poll_once(&mut wait) {
                Poll::Ready(reservation) => {
                    assert!(served.contains(&who));
                    self.held.push_back(reservation);
                }
                Poll::Pending => {
                    assert!(!served.contains(&who));
                    waits.push_back((who, wait));
                }
            }
        }
        self.waits = waits;
    }

    fn compare(&mut self) {
        assert_eq!(self.limit.used(), self.budget.used as u64);
        let held: u64 = self.held.iter().map(Reservation::bytes).sum();
        let inside: usize = self.queues.iter().map(|queue| queue.status().bytes).sum();
        assert_eq!(
            self.limit.used(),
            held + inside as u64,
            "nothing else is used"
        );
        assert_eq!(self.limit.waiting(), self.budget.waiting.len());
        for (at, (queue, plain)) in self.queues.iter().zip(&mut self.plain).enumerate() {
            plain.follow(&self.budget);
            let status = queue.status();
            let seen = (status.size, status.len, status.bytes, status.was_full);
            let expected = (plain.size, plain.items.len(), plain.bytes(), plain.hint);
            assert_eq!(seen, expected, "queue {at}");
            if plain.open {
                assert_eq!(status.permits, plain.out, "permits of queue {at}");
            }
            assert!((plain.min..=plain.max).contains(&status.size));
            let stalled = plain.open && status.len == 0 && status.permits == 0;
            assert!(!stalled, "queue {at} is empty and nothing may come");
            if plain.remote {
                let granted = self.granted[at].load(Ordering::SeqCst);
                assert_eq!(granted, plain.granted, "granted by queue {at}");
            }
        }
    }
}

/// Failures are kept beside this file, and tried again first.
fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases: 400,
        failure_persistence: Some(Box::new(persistence)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn queues_and_limit_keep_the_rules(ops in history()) {
        let mut world = World::new();
        world.compare();
        for op in &ops {
            world.play(op);
            world.compare();
        }
        // Whatever happened: when all are closed and all is released, nothing is used.
        let World { limit, queues, held, waits, .. } = world;
        drop(waits);
        drop(held);
        queues.iter().for_each(Queue::close);
        prop_assert_eq!(limit.used(), 0);
    }
}
