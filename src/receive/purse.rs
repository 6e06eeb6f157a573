//! What a queue has charged to the memory limit that it shares.
//!
//! It keeps a little in reserve, so that not every item that comes or leaves asks the limit, where
//! all queues meet. All reserves together are a small part of the limit.

use super::limit::MemoryLimit;

/// How many bytes a queue takes from its limit at a time, beyond what it needs, at most.
pub const RESERVE_BYTES_MAX: u64 = 65_536;

/// Smaller reserves are not worth it; a queue that could have no more has none.
const RESERVE_BYTES_MIN: u64 = 1_024;

/// All reserves together are at most twice this part of the limit.
const RESERVES_PART: u64 = 128;

/// A queue's account with its limit.
#[derive(Debug)]
pub(super) struct Purse {
    limit: MemoryLimit,
    /// What it has from the limit: at least what is charged.
    reserved: u64,
    charged: u64,
    /// Whether the queue needs no more: nothing is kept in reserve from then on.
    is_ended: bool,
    /// How many of the limit's halvings the queue has followed.
    halvings: u64,
    /// How many of the limit's claims the queue has heard of, or made itself.
    claims: u64,
}

impl Purse {
    pub(super) fn new(limit: MemoryLimit) -> Self {
        let (halvings, claims) = (limit.halvings(), limit.claims());
        limit.join();
        Self {
            limit,
            reserved: 0,
            charged: 0,
            is_ended: false,
            halvings,
            claims,
        }
    }

    pub(super) fn limit(&self) -> &MemoryLimit {
        &self.limit
    }

    /// Whether the queue may grow. If not, and it holds less than its share, those that hold more
    /// than theirs are asked to give way.
    pub(super) fn may_grow(&mut self) -> bool {
        let may = self.limit.may_grow();
        if !may && self.charged < self.limit.fair_share() {
            self.limit.claim();
            self.claims = self.limit.claims();
        }
        may
    }

    /// Whether another queue wants to grow and this one holds more than its share; told once.
    pub(super) fn gives_way(&mut self) -> bool {
        let claims = self.limit.claims();
        let is_asked = std::mem::replace(&mut self.claims, claims) != claims;
        is_asked && self.charged > self.limit.fair_share()
    }

    /// Charges an item that came in.
    pub(super) fn charge(&mut self, bytes: u64) {
        self.charged += bytes;
        if self.charged > self.reserved {
            let more = self.charged - self.reserved + self.reserve();
            self.limit.force(more);
            self.reserved += more;
        }
    }

    /// Takes off what left. Returns what is to be released once no lock is held.
    pub(super) fn refund(&mut self, bytes: u64) -> u64 {
        self.charged -= bytes;
        let (idle, reserve) = (self.reserved - self.charged, self.reserve());
        if idle <= 2 * reserve {
            return 0;
        }
        self.reserved -= idle - reserve;
        idle - reserve
    }

    /// Nothing comes in any more. Returns what is to be released once no lock is held.
    pub(super) fn end(&mut self) -> u64 {
        self.is_ended = true;
        self.refund(0)
    }

    /// How many halvings came since this was asked last.
    pub(super) fn new_halvings(&mut self) -> u64 {
        let halvings = self.limit.halvings();
        halvings - std::mem::replace(&mut self.halvings, halvings)
    }

    /// How much is kept beyond what is charged: less, the more queues share the limit.
    fn reserve(&self) -> u64 {
        if self.is_ended {
            return 0;
        }
        let share = self.limit.share(RESERVES_PART);
        let reserve = share.map_or(RESERVE_BYTES_MAX, |share| share.min(RESERVE_BYTES_MAX));
        if reserve < RESERVE_BYTES_MIN {
            0
        } else {
            reserve
        }
    }
}

impl Drop for Purse {
    fn drop(&mut self) {
        self.limit.leave();
        self.limit.release(self.reserved);
    }
}
