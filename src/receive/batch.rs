//! When a batch is large enough.

use std::time::Duration;

/// How many items a batch has at most, unless told otherwise.
pub const BATCH_COUNT_MAX: usize = 100;

/// How many bytes a batch has at most, unless told otherwise or one item alone has more.
pub const BATCH_BYTES_MAX: usize = 10 << 20;

/// When a batch is large enough: as soon as one of the three is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Most items. 0 counts as 1. Default: [`BATCH_COUNT_MAX`].
    pub count_max: usize,
    /// Most bytes, as the queue weighs items; a single larger item is a batch of its own. Default:
    /// [`BATCH_BYTES_MAX`].
    pub bytes_max: usize,
    /// How long to wait for more; whatever is there then is the batch, be it nothing. Default:
    /// 100 ms.
    pub wait: Duration,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            count_max: BATCH_COUNT_MAX,
            bytes_max: BATCH_BYTES_MAX,
            wait: Duration::from_millis(100),
        }
    }
}

impl Batch {
    /// Whether so much is enough.
    pub(super) fn is_met(&self, count: usize, bytes: usize) -> bool {
        count >= self.count_max.max(1) || bytes >= self.bytes_max
    }

    /// How many of the items that weigh so much make the batch.
    pub(super) fn fill(&self, weights: impl Iterator<Item = usize>) -> usize {
        let mut sum = 0_usize;
        weights
            .take(self.count_max.max(1))
            .enumerate()
            .take_while(|(index, bytes)| {
                sum = sum.saturating_add(*bytes);
                *index == 0 || sum <= self.bytes_max
            })
            .count()
    }

    /// The least size of a queue from which this can be taken. Up to half of the permits, less one,
    /// may be kept back; the others must suffice for a batch.
    pub(super) fn size_min(&self) -> usize {
        self.count_max
            .max(1)
            .saturating_mul(2)
            .saturating_sub(2)
            .max(1)
    }
}
