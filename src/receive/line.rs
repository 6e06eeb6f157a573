//! Who waits for memory, in order. Pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

/// Names one that waits.
pub(super) type Ticket = u64;

/// Those who wait for a reservation, the one that came first in front.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: VecDeque<(Ticket, u64)>,
    /// Those who got what they waited for and have not seen it yet.
    served: BTreeSet<Ticket>,
    /// How to wake those of them that are no threads.
    wakers: BTreeMap<Ticket, Waker>,
    next_ticket: Ticket,
}

/// Whom to wake.
#[derive(Debug, Default)]
#[must_use = "they wait to be woken"]
pub(super) struct Served {
    /// Whether there are threads among them.
    pub(super) threads: bool,
    pub(super) tasks: Vec<Waker>,
}

impl Line {
    pub(super) fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Joins the end.
    pub(super) fn join(&mut self, bytes: u64) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push_back((ticket, bytes));
        ticket
    }

    /// One that waits is a task, to be woken like this.
    pub(super) fn task(&mut self, ticket: Ticket, waker: Waker) {
        self.wakers.insert(ticket, waker);
    }

    /// Whether one that waited was served; it is told so once.
    pub(super) fn claim(&mut self, ticket: Ticket) -> bool {
        self.served.remove(&ticket)
    }

    /// One that waited gives up. Says whether it had been served meanwhile: then it has to release
    /// what it got.
    pub(super) fn give_up(&mut self, ticket: Ticket) -> bool {
        self.waiting.retain(|(waiting, _)| *waiting != ticket);
        self.wakers.remove(&ticket);
        self.claim(ticket)
    }

    /// Serves them in order, for as long as `reserve` agrees.
    pub(super) fn serve(&mut self, reserve: impl Fn(u64) -> bool) -> Served {
        let mut woken = Served::default();
        while let Some((ticket, bytes)) = self.waiting.front().copied()
            && reserve(bytes)
        {
            self.waiting.pop_front();
            self.served.insert(ticket);
            match self.wakers.remove(&ticket) {
                Some(waker) => woken.tasks.push(waker),
                None => woken.threads = true,
            }
        }
        woken
    }
}
