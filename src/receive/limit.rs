//! A memory limit that any number of queues and producers share.

use super::budget::{Budget, GROWTH_STOPS_PERCENT};
use super::line::{Line, Ticket};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A limit on memory, in bytes, for any number of queues and producers. Cheap to clone; clones are
/// the same limit.
///
/// Queues charge what lies in them, whatever is used already: what has arrived is there. The limit
/// governs how large they become. They grow only while less than 75 % of it is used, and when more
/// than 95 % is used all of them are halved, whoever used it; once more when twice that is used,
/// and so on, until they may grow again. One that may not grow, and holds less than its part of
/// what queues may grow into, makes those give way that hold more than theirs: each is halved once.
///
/// Producers reserve before they make something: a reservation goes through if at most the limit is
/// used before it. One that is larger than the whole limit goes through as well, and the others
/// wait until it is released.
///
/// # Examples
///
/// ```
/// use deedbook::receive::MemoryLimit;
/// use std::time::Duration;
///
/// let limit = MemoryLimit::new(1_000);
/// let held = limit.try_reserve(1_200).expect("nothing is used");
/// assert_eq!(limit.usage_percent(), 120.0);
/// assert!(limit.reserve_for(1, Duration::ZERO).is_none());
/// drop(held);
/// assert_eq!(limit.used(), 0);
///
/// let none = MemoryLimit::unlimited();
/// let _held = none.try_reserve(1 << 40).expect("there is no limit");
/// assert_eq!(none.usage_percent(), 0.0);
/// ```
#[derive(Clone)]
pub struct MemoryLimit(Arc<Shared>);

struct Shared {
    budget: Budget,
    /// Guards who waits. Nothing is locked and nobody is woken while it is held.
    line: Mutex<Line>,
    served: Condvar,
    /// How many wait: whoever releases looks here only, as long as nobody does.
    waiting: AtomicUsize,
    /// How many times a queue that holds little was refused to grow.
    claims: AtomicU64,
    /// How many queues share it.
    queues: AtomicU64,
}

impl MemoryLimit {
    /// A limit in bytes; 0 means none.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(Shared {
            budget: Budget::new(bytes),
            line: Mutex::new(Line::default()),
            served: Condvar::new(),
            waiting: AtomicUsize::new(0),
            claims: AtomicU64::new(0),
            queues: AtomicU64::new(0),
        }))
    }

    /// No limit: everything goes through, and usage is 0 %.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(0)
    }

    /// Bytes that are used.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.0.budget.used()
    }

    /// The share of the limit that is used, in percent; 0 if there is no limit.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share to look at; decisions are made on whole numbers"
    )]
    pub fn usage_percent(&self) -> f64 {
        let limit = self.0.budget.limit();
        limit.map_or(0.0, |limit| self.used() as f64 * 100.0 / limit as f64)
    }

    /// How many wait for a reservation.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::SeqCst)
    }

    /// Reserves, if that goes through now.
    #[must_use]
    pub fn try_reserve(&self, bytes: u64) -> Option<Reservation> {
        // Nobody overtakes those who wait.
        let reserved = self.waiting() == 0 && self.0.budget.reserve(bytes);
        reserved.then(|| self.reservation(bytes))
    }

    /// Reserves, and waits for it, but no longer than `limit`. Whoever waits longest is served
    /// first, whatever the sizes.
    #[must_use]
    pub fn reserve_for(&self, bytes: u64, limit: Duration) -> Option<Reservation> {
        let reservation = self.try_reserve(bytes);
        if reservation.is_some() || limit.is_zero() {
            return reservation;
        }
        let mut line = self.0.line.lock();
        let ticket = line.join(bytes);
        let mut got = self.serve(line, |line| line.claim(ticket));
        if !got {
            let mut line = self.0.line.lock();
            let waits = |line: &mut Line| {
                got = got || line.claim(ticket);
                !got
            };
            self.0.served.wait_while_for(&mut line, waits, limit);
            drop(line);
            got = got || self.give_up(ticket);
        }
        got.then(|| self.reservation(bytes))
    }

    /// Reserves, and waits for it on any runtime. Whoever waits longest is served first, whatever
    /// the sizes. Dropped before its end it reserves nothing.
    #[must_use = "nothing is reserved before it is awaited"]
    pub fn reserve_async(&self, bytes: u64) -> Reserve {
        Reserve {
            limit: self.clone(),
            bytes,
            ticket: None,
        }
    }

    /// Whether queues may grow.
    pub(super) fn may_grow(&self) -> bool {
        self.0.budget.may_grow()
    }

    /// How many times queues had to be halved.
    pub(super) fn halvings(&self) -> u64 {
        self.0.budget.halvings()
    }

    /// How many claims there were.
    pub(super) fn claims(&self) -> u64 {
        self.0.claims.load(Ordering::Acquire)
    }

    /// A queue that holds little wants to grow, and may not.
    pub(super) fn claim(&self) {
        self.0.claims.fetch_add(1, Ordering::AcqRel);
    }

    /// One queue's part of what queues may grow into, in bytes. When they may not grow, and no
    /// producer has reserved anything, one of them at least holds as much.
    pub(super) fn fair_share(&self) -> u64 {
        self.share(1).map_or(u64::MAX, |share| {
            let percents = u128::from(share) * u128::from(GROWTH_STOPS_PERCENT);
            u64::try_from(percents / 100).unwrap_or(u64::MAX)
        })
    }

    /// One queue's share of the so-manieth part of the limit, in bytes; none if there is no limit.
    pub(super) fn share(&self, part: u64) -> Option<u64> {
        let limit = self.0.budget.limit()?;
        let queues = self.0.queues.load(Ordering::Acquire).max(1);
        Some(limit / part / queues)
    }

    /// One more queue shares it.
    pub(super) fn join(&self) {
        self.0.queues.fetch_add(1, Ordering::AcqRel);
    }

    /// One queue less shares it.
    pub(super) fn leave(&self) {
        self.0.queues.fetch_sub(1, Ordering::AcqRel);
    }

    /// Reserves for what is there already.
    pub(super) fn force(&self, bytes: u64) {
        self.0.budget.force(bytes);
    }

    /// Gives back, and wakes those who got it.
    pub(super) fn release(&self, bytes: u64) {
        self.0.budget.release(bytes);
        // Who comes to wait says so and then looks whether there is memory; here it is the other
        // way round. So one of the two sees the other.
        if self.waiting() > 0 {
            self.serve(self.0.line.lock(), |_| ());
        }
    }

    /// One that waits gives up. Says whether it had been served meanwhile.
    fn give_up(&self, ticket: Ticket) -> bool {
        let mut line = self.0.line.lock();
        let served = line.give_up(ticket);
        self.serve(line, |_| served)
    }

    /// Serves those who wait, as far as there is memory, lets one of them look, and wakes the
    /// others once the line is free.
    fn serve<R>(&self, mut line: MutexGuard<'_, Line>, then: impl FnOnce(&mut Line) -> R) -> R {
        self.0.waiting.store(line.count(), Ordering::SeqCst);
        let served = line.serve(|bytes| self.0.budget.reserve(bytes));
        let result = then(&mut line);
        self.0.waiting.store(line.count(), Ordering::SeqCst);
        drop(line);
        if served.threads {
            self.0.served.notify_all();
        }
        served.tasks.into_iter().for_each(Waker::wake);
        result
    }

    fn reservation(&self, bytes: u64) -> Reservation {
        Reservation {
            limit: self.clone(),
            bytes,
        }
    }
}

impl fmt::Debug for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryLimit").field(&self.0.budget).finish()
    }
}

/// Memory that was reserved, until this is dropped.
#[derive(Debug)]
#[must_use = "dropped, it is released"]
pub struct Reservation {
    limit: MemoryLimit,
    bytes: u64,
}

impl Reservation {
    /// How much it is, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.limit.release(self.bytes);
    }
}

/// A reservation that comes later. Made by [`MemoryLimit::reserve_async`].
#[derive(Debug)]
pub struct Reserve {
    limit: MemoryLimit,
    bytes: u64,
    /// Its place among those who wait, once it was polled in vain.
    ticket: Option<Ticket>,
}

impl Future for Reserve {
    type Output = Reservation;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reservation> {
        let limit = self.limit.clone();
        let mut line = limit.0.line.lock();
        let ticket = self.ticket.unwrap_or_else(|| line.join(self.bytes));
        let got = limit.serve(line, |line| {
            let got = line.claim(ticket);
            if !got {
                line.task(ticket, context.waker().clone());
            }
            got
        });
        self.ticket = (!got).then_some(ticket);
        if !got {
            return Poll::Pending;
        }
        Poll::Ready(limit.reservation(self.bytes))
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        if self.ticket.is_some_and(|ticket| self.limit.give_up(ticket)) {
            self.limit.release(self.bytes);
        }
    }
}
