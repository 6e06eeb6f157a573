//! What a queue has charged to the memory limit that it shares.

use super::limit::MemoryLimit;

/// A queue's account with its limit.
#[derive(Debug)]
pub(super) struct Purse {
    limit: MemoryLimit,
    charged: u64,
    /// How many of the limit's halvings the queue has followed.
    halvings: u64,
}

impl Purse {
    pub(super) fn new(limit: MemoryLimit) -> Self {
        let halvings = limit.halvings();
        Self {
            limit,
            charged: 0,
            halvings,
        }
    }

    pub(super) fn limit(&self) -> &MemoryLimit {
        &self.limit
    }

    /// Charges an item that came in.
    pub(super) fn charge(&mut self, bytes: u64) {
        self.limit.force(bytes);
        self.charged += bytes;
    }

    /// Takes off what left. Returns what is to be released once no lock is held.
    pub(super) fn refund(&mut self, bytes: u64) -> u64 {
        self.charged -= bytes;
        bytes
    }

    /// How many halvings came since this was asked last.
    pub(super) fn new_halvings(&mut self) -> u64 {
        let halvings = self.limit.halvings();
        halvings - std::mem::replace(&mut self.halvings, halvings)
    }
}

impl Drop for Purse {
    fn drop(&mut self) {
        self.limit.release(self.charged);
    }
}
