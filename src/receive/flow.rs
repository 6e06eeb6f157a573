//! The size of a queue, how it finds itself, and the permits that follow from it. Pure.
//!
//! Every permit is in one of three places: with the producer (`held`), with an item in the queue
//! (`queued`), or given back by an item that left (`spent`) and not yet granted again. Together
//! they are the size, or more for a while: after the size was halved, or after items came without
//! a permit. What is too much is paid off by items that leave.

/// Where the permits are that were granted and not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// In this process: they are nothing but a number, and go when the size shrinks.
    Local,
    /// With somebody who was told of them: they cannot be taken back.
    Remote,
}

/// A queue's size and permits, without its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    size_min: usize,
    size_max: usize,
    size: usize,
    side: Side,
    held: usize,
    queued: usize,
    spent: usize,
    /// The hint: the last put filled the queue, and nobody has found it empty since.
    was_full: bool,
}

impl Flow {
    /// A queue of the smallest size, whose permits have all been granted.
    pub(crate) fn new(size_min: usize, size_max: usize, side: Side) -> Self {
        let size_max = size_max.max(1);
        let size = size_min.clamp(1, size_max);
        Self {
            size_min: size,
            size_max,
            size,
            side,
            held: size,
            queued: 0,
            spent: 0,
            was_full: false,
        }
    }

    /// How many items it may hold, as things stand.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// How many items it may hold at most, ever.
    pub(crate) fn size_max(&self) -> usize {
        self.size_max
    }

    /// How many items are in it.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// How many items may still come.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Whether the last put filled it, and nobody has found it empty since.
    pub(crate) fn was_full(&self) -> bool {
        self.was_full
    }

    /// An item comes in, with a permit if there is one. Whoever needs one looks at
    /// [`held`](Self::held) first.
    pub(crate) fn put(&mut self) {
        self.held = self.held.saturating_sub(1);
        self.queued += 1;
        // Taken at this very moment: however soon the item leaves, it was in here.
        self.was_full = self.queued + self.spent >= self.size;
    }

    /// Items leave. Returns how many permits are granted now.
    pub(crate) fn take(&mut self, count: usize) -> usize {
        assert!(count <= self.queued, "nothing is taken that is not there");
        self.queued -= count;
        self.spent += count;
        self.grant()
    }

    /// Permits were used for nothing: an item was a duplicate, or could not be read. Returns how
    /// many are granted now. More than the producer held are not given back.
    pub(crate) fn skip(&mut self, count: usize) -> usize {
        let count = count.min(self.held);
        self.held -= count;
        self.spent += count;
        self.grant()
    }

    /// Somebody wants more than there is. The size doubles if the last put had filled the queue, it
    /// is not the largest, and `may_grow` agrees, which is asked only then. Returns how many
    /// permits are granted now.
    pub(crate) fn ask(&mut self, may_grow: impl FnOnce() -> bool) -> usize {
        let has_room = self.size < self.size_max;
        if !self.was_full || (has_room && !may_grow()) {
            return 0;
        }
        self.was_full = false;
        if !has_room {
            return 0;
        }
        self.size = self.size.saturating_mul(2).min(self.size_max);
        let total = self.held + self.queued + self.spent;
        let granted = self.spent + self.size.saturating_sub(total);
        self.spent = 0;
        self.held += granted;
        granted
    }

    /// Memory is short: half the size, that many times, but not below the least.
    pub(crate) fn halve(&mut self, times: u64) {
        for _ in 0..times {
            if self.size == self.size_min {
                break;
            }
            self.size = (self.size / 2).max(self.size_min);
        }
        self.pay_off();
    }

    /// The producer's side starts anew and knows of no permits. Returns how many it is granted.
    pub(crate) fn restart(&mut self) -> usize {
        self.spent = 0;
        self.held = self.size.saturating_sub(self.queued);
        self.held
    }

    /// Grants what was given back, once that is half the size.
    fn grant(&mut self) -> usize {
        self.pay_off();
        if self.spent < (self.size / 2).max(1) {
            return 0;
        }
        self.held += self.spent;
        std::mem::take(&mut self.spent)
    }

    /// Lets permits go that the size has no room for.
    fn pay_off(&mut self) {
        let total = self.held + self.queued + self.spent;
        let too_many = total.saturating_sub(self.size);
        let from_spent = too_many.min(self.spent);
        self.spent -= from_spent;
        if self.side == Side::Local {
            self.held -= (too_many - from_spent).min(self.held);
        }
    }
}
