//! The memory that many share, in bytes: what is used, who waits for some, and when it is short.
//! Pure.

use std::collections::{BTreeSet, VecDeque};

/// Queues grow while less than this share of the limit is used, in percent.
pub const GROWTH_STOPS_PERCENT: u64 = 75;

/// Queues shrink when more than this share of the limit is used, in percent.
pub const SHRINK_STARTS_PERCENT: u64 = 95;

/// Names one that waits.
pub(super) type Ticket = u64;

/// The sum of what is used, and whoever waits for it to fall, in order.
///
/// A reservation goes through if at most the limit is used before it, whatever its size. So a large
/// one waits no longer than a small one, one that is larger than the limit goes through as well,
/// and what is used exceeds the limit by one reservation at most, forced ones aside.
#[derive(Debug)]
pub(super) struct Budget {
    /// None if there is no limit.
    limit: Option<u64>,
    used: u64,
    /// How many times over memory is short: up to twice what starts the shrinking, up to four
    /// times, and so on. Back at 0 only once queues may grow again, so that a sum that wavers
    /// around a border shrinks them once.
    level: u32,
    /// How many times queues had to be halved.
    halvings: u64,
    /// Whoever waits does so only while more than the limit is used.
    waiting: VecDeque<(Ticket, u64)>,
    /// Those who got what they waited for and have not seen it yet.
    served: BTreeSet<Ticket>,
    next_ticket: Ticket,
}

impl Budget {
    /// A limit in bytes; 0 means none.
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit: (limit > 0).then_some(limit),
            used: 0,
            level: 0,
            halvings: 0,
            waiting: VecDeque::new(),
            served: BTreeSet::new(),
            next_ticket: 0,
        }
    }

    pub(super) fn limit(&self) -> Option<u64> {
        self.limit
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn halvings(&self) -> u64 {
        self.halvings
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether queues may grow.
    pub(super) fn may_grow(&self) -> bool {
        self.limit
            .is_none_or(|limit| percents(self.used) < percent_of(limit, GROWTH_STOPS_PERCENT))
    }

    /// Reserves whatever is used already: for what is there and cannot be refused.
    pub(super) fn force(&mut self, bytes: u64) {
        self.used = self.used.saturating_add(bytes);
        self.rise();
    }

    /// Reserves if at most the limit is used.
    pub(super) fn reserve(&mut self, bytes: u64) -> bool {
        let free = self.is_free();
        if free {
            self.force(bytes);
        }
        free
    }

    /// Joins the end of those who wait.
    pub(super) fn wait(&mut self, bytes: u64) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push_back((ticket, bytes));
        ticket
    }

    /// Whether one that waited was served; it is told so once.
    pub(super) fn claim(&mut self, ticket: Ticket) -> bool {
        self.served.remove(&ticket)
    }

    /// One that waited gives up. Says whether it had been served meanwhile: then it has to release
    /// what it got.
    pub(super) fn give_up(&mut self, ticket: Ticket) -> bool {
        self.waiting.retain(|(waiting, _)| *waiting != ticket);
        self.claim(ticket)
    }

    /// Gives back what was reserved, and serves those who wait, in order. Returns whom.
    pub(super) fn release(&mut self, bytes: u64) -> Vec<Ticket> {
        assert!(bytes <= self.used, "nothing is released that was not used");
        self.used -= bytes;
        if self.may_grow() {
            self.level = 0;
        }
        let mut served = Vec::new();
        while self.is_free()
            && let Some((ticket, bytes)) = self.waiting.pop_front()
        {
            self.force(bytes);
            self.served.insert(ticket);
            served.push(ticket);
        }
        served
    }

    fn is_free(&self) -> bool {
        self.limit.is_none_or(|limit| self.used <= limit)
    }

    /// More is used than before: is it short, once more?
    fn rise(&mut self) {
        let Some(limit) = self.limit else { return };
        let starts = percent_of(limit, SHRINK_STARTS_PERCENT);
        while percents(self.used) > starts.saturating_mul(1_u128 << self.level.min(64)) {
            self.level += 1;
            self.halvings += 1;
        }
    }
}

/// A share of the limit, in hundredths of a byte, so that nothing is rounded.
fn percent_of(limit: u64, percent: u64) -> u128 {
    u128::from(limit) * u128::from(percent)
}

fn percents(bytes: u64) -> u128 {
    u128::from(bytes) * 100
}
