//! The rules of queue and limit in plain words: naive, one permit at a time, for `model` to hold
//! the real ones to.

use std::collections::VecDeque;

/// Bytes of the limit.
pub(crate) const LIMIT: usize = 1_000;
/// How many queues share it.
pub(crate) const QUEUES: usize = 3;
/// What each may hold of the 75 % into which queues may grow.
const SHARE: usize = LIMIT / QUEUES * 75 / 100;
/// What is enough for a batch.
pub(crate) const BATCH_COUNT: usize = 3;
pub(crate) const BATCH_BYTES: usize = 400;

/// The rules of the limit, in plain words.
#[derive(Default)]
pub(crate) struct Budget {
    pub(crate) used: usize,
    pub(crate) tripped: u32,
    pub(crate) halvings: usize,
    /// How many times a queue with less than its share was refused to grow.
    pub(crate) claims: usize,
    pub(crate) waiting: VecDeque<(usize, usize)>,
    pub(crate) served: Vec<usize>,
}

impl Budget {
    pub(crate) fn may_grow(&self) -> bool {
        self.used * 100 < LIMIT * 75
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.used += bytes;
        while self.used * 100 > LIMIT * 95 * 2_usize.pow(self.tripped) {
            self.tripped += 1;
            self.halvings += 1;
        }
    }

    pub(crate) fn sub(&mut self, bytes: usize) {
        self.used -= bytes;
        if self.may_grow() {
            self.tripped = 0;
        }
        while self.used <= LIMIT && !self.waiting.is_empty() {
            let (who, bytes) = self.waiting.pop_front().unwrap();
            self.served.push(who);
            self.add(bytes);
        }
    }
}

/// The rules of a queue, in plain words.
pub(crate) struct Plain {
    pub(crate) size: usize,
    pub(crate) min: usize,
    pub(crate) max: usize,
    pub(crate) remote: bool,
    pub(crate) items: VecDeque<usize>,
    /// Permits at the producer's side, and those that came back and were not granted again.
    pub(crate) out: usize,
    pub(crate) kept: usize,
    pub(crate) hint: bool,
    pub(crate) halvings: usize,
    pub(crate) claims: usize,
    pub(crate) granted: usize,
    pub(crate) open: bool,
}

impl Plain {
    pub(crate) fn new(min: usize, max: usize, remote: bool) -> Self {
        Self {
            size: min,
            min,
            max,
            remote,
            items: VecDeque::new(),
            out: min,
            kept: 0,
            hint: false,
            halvings: 0,
            claims: 0,
            granted: min,
            open: true,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.items.iter().sum()
    }

    /// Permits beyond the size go: first those that came back, then, if nobody was told of them,
    /// those of the producer.
    pub(crate) fn trim(&mut self) {
        while self.out + self.items.len() + self.kept > self.size {
            if self.kept > 0 {
                self.kept -= 1;
            } else if self.out > 0 && !self.remote {
                self.out -= 1;
            } else {
                return;
            }
        }
    }

    pub(crate) fn follow(&mut self, budget: &Budget) {
        let was_halved = self.halvings < budget.halvings;
        while self.halvings < budget.halvings {
            self.halvings += 1;
            self.size = self.min.max(self.size / 2);
        }
        // Others want to grow: once for all that asked since, and not while it is shrinking.
        let is_asked = self.claims < budget.claims;
        self.claims = budget.claims;
        let is_shrinking = was_halved || self.items.len() > self.size;
        if is_asked && !is_shrinking && self.bytes() > SHARE {
            self.size = self.min.max(self.size / 2);
        }
        self.trim();
    }

    pub(crate) fn grant(&mut self) {
        self.trim();
        if self.kept >= self.size / 2 && self.kept > 0 {
            self.out += self.kept;
            self.tell(self.kept);
            self.kept = 0;
        }
    }

    pub(crate) fn put(&mut self, bytes: usize, budget: &mut Budget) {
        self.out = self.out.saturating_sub(1);
        self.items.push_back(bytes);
        self.hint = self.items.len() + self.kept >= self.size;
        budget.add(bytes);
    }

    pub(crate) fn ask(&mut self, budget: &mut Budget) {
        if !self.hint {
            return;
        }
        if self.size < self.max && !budget.may_grow() {
            if self.bytes() < SHARE {
                budget.claims += 1;
                self.claims = budget.claims;
            }
            return;
        }
        self.hint = false;
        let grown = self.max.min(self.size * 2);
        if grown > self.size {
            self.size = grown;
            let before = self.out;
            self.out += std::mem::take(&mut self.kept);
            while self.out + self.items.len() < self.size {
                self.out += 1;
            }
            self.tell(self.out - before);
        }
    }

    /// Permits go out while something may come in.
    pub(crate) fn tell(&mut self, permits: usize) {
        if self.open {
            self.granted += permits;
        }
    }

    pub(crate) fn leave(&mut self, count: usize, budget: &mut Budget) -> Vec<usize> {
        let left: Vec<_> = self.items.drain(..count).collect();
        budget.sub(left.iter().sum());
        self.kept += count;
        self.grant();
        left
    }

    pub(crate) fn has_batch(&self) -> bool {
        let count = self.items.len();
        let nothing_comes = self.out == 0 && count > 0;
        !self.open || count >= BATCH_COUNT || self.bytes() >= BATCH_BYTES || nothing_comes
    }

    /// As many items as a batch has; one, if it is large.
    pub(crate) fn batch_count(&self) -> usize {
        let fits = |count: &usize| self.items.iter().take(*count).sum::<usize>() <= BATCH_BYTES;
        let most = self.items.len().min(BATCH_COUNT);
        (0..=most).rev().find(fits).unwrap_or(0).max(most.min(1))
    }
}
