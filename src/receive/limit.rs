//! A memory limit that any number of queues and producers share.

use super::budget::{Budget, Ticket};
use crate::sync::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A limit on memory, in bytes, for any number of queues and producers. Cheap to clone; clones are
/// the same limit.
///
/// Queues charge what lies in them, whatever is used already: what has arrived is there. The limit
/// governs how large they become. They grow only while less than 75 % of it is used, and when more
/// than 95 % is used all of them are halved, whoever used it; once more when twice that is used,
/// and so on, until they may grow again.
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
    /// Guards the sum and who waits for it. Locked inside a queue's lock; nothing is locked and
    /// nobody is woken while it is held.
    state: Mutex<State>,
    served: Condvar,
    /// A copy of the count in the budget, for those who only look whether it has changed.
    halvings: AtomicU64,
    /// In bytes; none if there is no limit.
    limit: Option<u64>,
    /// How many queues share it.
    queues: AtomicU64,
}

struct State {
    budget: Budget,
    wakers: BTreeMap<Ticket, Waker>,
}

impl MemoryLimit {
    /// A limit in bytes; 0 means none.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                budget: Budget::new(bytes),
                wakers: BTreeMap::new(),
            }),
            served: Condvar::new(),
            halvings: AtomicU64::new(0),
            limit: (bytes > 0).then_some(bytes),
            queues: AtomicU64::new(0),
        }))
    }

    /// No limit: everything goes through, and usage is 0 %.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(0)
    }

    /// Bytes that are used. Queues under a limit of more than 128 KiB keep a little in reserve,
    /// which counts: all together at most a 64th part of the limit.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.0.state.lock().budget.used()
    }

    /// The share of the limit that is used, in percent; 0 if there is no limit.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share to look at; decisions are made on whole numbers"
    )]
    pub fn usage_percent(&self) -> f64 {
        let state = self.0.state.lock();
        let used = state.budget.used() as f64;
        state
            .budget
            .limit()
            .map_or(0.0, |limit| used * 100.0 / limit as f64)
    }

    /// How many wait for a reservation.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.state.lock().budget.waiting()
    }

    /// Reserves, if that goes through now.
    #[must_use]
    pub fn try_reserve(&self, bytes: u64) -> Option<Reservation> {
        let mut state = self.0.state.lock();
        let reserved = state.budget.reserve(bytes);
        self.publish(&state);
        reserved.then(|| self.reservation(bytes))
    }

    /// Reserves, and waits for it, but no longer than `limit`. Whoever waits longest is served
    /// first, whatever the sizes.
    #[must_use]
    pub fn reserve_for(&self, bytes: u64, limit: Duration) -> Option<Reservation> {
        let mut state = self.0.state.lock();
        let mut got = state.budget.reserve(bytes);
        if !got && !limit.is_zero() {
            let ticket = state.budget.wait(bytes);
            let waits = |state: &mut State| {
                got = got || state.budget.claim(ticket);
                !got
            };
            self.0.served.wait_while_for(&mut state, waits, limit);
            got = got || state.budget.give_up(ticket);
        }
        self.publish(&state);
        drop(state);
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
        self.0.state.lock().budget.may_grow()
    }

    /// How many times queues had to be halved.
    pub(super) fn halvings(&self) -> u64 {
        self.0.halvings.load(Ordering::Acquire)
    }

    /// One more queue shares it.
    pub(super) fn join(&self) {
        self.0.queues.fetch_add(1, Ordering::AcqRel);
    }

    /// One queue less shares it.
    pub(super) fn leave(&self) {
        self.0.queues.fetch_sub(1, Ordering::AcqRel);
    }

    /// One queue's share of the so-manieth part of the limit, in bytes; none if there is no limit.
    pub(super) fn share(&self, part: u64) -> Option<u64> {
        let limit = self.0.limit?;
        let queues = self.0.queues.load(Ordering::Acquire).max(1);
        Some(limit / part / queues)
    }

    /// Reserves for what is there already.
    pub(super) fn force(&self, bytes: u64) {
        let mut state = self.0.state.lock();
        state.budget.force(bytes);
        self.publish(&state);
    }

    /// Gives back, and wakes those who got it.
    pub(super) fn release(&self, bytes: u64) {
        let mut wakers = Vec::new();
        let served = {
            let mut state = self.0.state.lock();
            let served = state.budget.release(bytes);
            wakers.extend(
                served
                    .iter()
                    .filter_map(|ticket| state.wakers.remove(ticket)),
            );
            self.publish(&state);
            served.len()
        };
        if served > wakers.len() {
            self.0.served.notify_all();
        }
        for waker in wakers {
            waker.wake();
        }
    }

    fn publish(&self, state: &State) {
        self.0
            .halvings
            .store(state.budget.halvings(), Ordering::Release);
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
        f.debug_tuple("MemoryLimit")
            .field(&self.0.state.lock().budget)
            .finish()
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
        let mut state = limit.0.state.lock();
        let got = match self.ticket {
            None => state.budget.reserve(self.bytes),
            Some(ticket) => state.budget.claim(ticket),
        };
        if !got {
            let bytes = self.bytes;
            let ticket = *self.ticket.get_or_insert_with(|| state.budget.wait(bytes));
            state.wakers.insert(ticket, context.waker().clone());
            return Poll::Pending;
        }
        limit.publish(&state);
        drop(state);
        self.ticket = None;
        Poll::Ready(limit.reservation(self.bytes))
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let served = {
            let mut state = self.limit.0.state.lock();
            state.wakers.remove(&ticket);
            state.budget.give_up(ticket)
        };
        if served {
            self.limit.release(self.bytes);
        }
    }
}
