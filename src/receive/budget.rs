//! The memory that many share, in bytes: what is used, and when it is short. No lock.

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Queues grow while less than this share of the limit is used, in percent.
pub const GROWTH_STOPS_PERCENT: u64 = 75;

/// Queues shrink when more than this share of the limit is used, in percent.
pub const SHRINK_STARTS_PERCENT: u64 = 95;

/// The sum of what is used, and how often it was too much.
///
/// A reservation goes through if at most the limit is used before it, whatever its size. So a large
/// one waits no longer than a small one, one that is larger than the limit goes through as well,
/// and what is used exceeds the limit by one reservation at most, forced ones aside.
#[derive(Debug)]
pub(super) struct Budget {
    /// None if there is no limit.
    limit: Option<u64>,
    used: AtomicU64,
    /// How many times over memory is short: up to twice what starts the shrinking, up to four
    /// times, and so on. Back at 0 only once queues may grow again, so that a sum that wavers
    /// around a border shrinks them once.
    level: AtomicU32,
    /// How many times queues had to be halved.
    halvings: AtomicU64,
}

impl Budget {
    /// A limit in bytes; 0 means none.
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit: (limit > 0).then_some(limit),
            used: AtomicU64::new(0),
            level: AtomicU32::new(0),
            halvings: AtomicU64::new(0),
        }
    }

    pub(super) fn limit(&self) -> Option<u64> {
        self.limit
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::SeqCst)
    }

    pub(super) fn halvings(&self) -> u64 {
        self.halvings.load(Ordering::Acquire)
    }

    /// Whether queues may grow.
    pub(super) fn may_grow(&self) -> bool {
        self.allows_growth(self.used())
    }

    /// Reserves whatever is used already: for what is there and cannot be refused.
    pub(super) fn force(&self, bytes: u64) {
        let before = self.used.fetch_add(bytes, Ordering::SeqCst);
        self.rise(before.saturating_add(bytes));
    }

    /// Reserves if at most the limit is used.
    pub(super) fn reserve(&self, bytes: u64) -> bool {
        let add = |used: u64| {
            let is_free = self.limit.is_none_or(|limit| used <= limit);
            used.checked_add(bytes).filter(|_| is_free)
        };
        let before = self
            .used
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
        if let Ok(before) = before {
            self.rise(before.saturating_add(bytes));
        }
        before.is_ok()
    }

    /// Gives back what was reserved.
    pub(super) fn release(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Ordering::SeqCst);
        let after = before.checked_sub(bytes);
        let after = after.expect("nothing is released that was not used");
        if self.level.load(Ordering::Acquire) > 0 && self.allows_growth(after) {
            self.level.store(0, Ordering::Release);
        }
    }

    fn allows_growth(&self, used: u64) -> bool {
        self.limit
            .is_none_or(|limit| percents(used) < percent_of(limit, GROWTH_STOPS_PERCENT))
    }

    /// So much is used, more than before: is it short, once more?
    fn rise(&self, used: u64) {
        let Some(limit) = self.limit else { return };
        let starts = percent_of(limit, SHRINK_STARTS_PERCENT);
        let above = |level: u32| percents(used) > starts.saturating_mul(1_u128 << level.min(64));
        let higher = |level| above(level).then(|| level + 1);
        while self
            .level
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, higher)
            .is_ok()
        {
            self.halvings.fetch_add(1, Ordering::AcqRel);
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
