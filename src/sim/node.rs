//! One life of one broker: a real protocol, its own clock, its own place in the log.

use super::network::Link;
use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Fence};
use crate::protocol::{CloseReport, Input, Mine, Protocol};
use crate::table::Feed;
use std::collections::BTreeMap;
use std::fmt;

/// Names one life of a broker: which of all processes ever started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(pub(super) usize);

/// A broker's clock: begins anywhere, and runs a little too fast or too slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalClock {
    pub(super) offset: u64,
    /// Local nanoseconds in a million true ones.
    pub(super) rate_ppm: u64,
}

const PPM: u128 = 1_000_000;

impl LocalClock {
    /// What it shows at a true moment.
    pub(super) fn local(self, truth: Tick) -> Tick {
        let passed = u128::from(truth.nanos()) * u128::from(self.rate_ppm) / PPM;
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        Tick::from_nanos(self.offset.saturating_add(passed))
    }

    /// It shows so much more from now on.
    pub(super) fn jump(&mut self, by: std::time::Duration) {
        self.offset = Tick::from_nanos(self.offset).after(by).nanos();
    }

    /// The first true moment at which it shows `local`.
    pub(super) fn truth(self, local: Tick) -> Tick {
        let passed = u128::from(local.nanos().saturating_sub(self.offset)) * PPM;
        let truth = passed.div_ceil(u128::from(self.rate_ppm));
        Tick::from_nanos(u64::try_from(truth).unwrap_or(u64::MAX))
    }
}

/// How a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// It runs.
    Running,
    /// It stands still, and does not know it: what arrives waits for it.
    Paused,
    /// It is gone: crashed, or closed in order.
    Ended,
}

/// A process.
pub(super) struct Node {
    pub(super) broker: BrokerId,
    pub(super) life: Life,
    pub(super) clock: LocalClock,
    pub(super) protocol: Protocol,
    pub(super) feed: Feed,
    pub(super) link: Link,
    /// Whether a look at the tail is scheduled.
    pub(super) reads: bool,
    /// The true moment at which it is going to be woken.
    pub(super) wakes_at: Option<Tick>,
    /// Whether it was asked to close.
    pub(super) is_closing: bool,
    /// How it closed, if it did so in order.
    pub(super) closed: Option<CloseReport>,
    /// What arrived while it stood still.
    pub(super) mailbox: Vec<Input>,
    /// What it would have answered "mine" to after its last step.
    pub(super) serves: BTreeMap<BundleId, Fence>,
}

impl Node {
    /// Whether it answers "mine" for a bundle at a true moment.
    pub(super) fn is_mine(&self, truth: Tick, bundle: &BundleId) -> Option<Fence> {
        match self.protocol.is_mine(self.clock.local(truth), bundle) {
            Mine::Yes { fence } => Some(fence),
            _ => None,
        }
    }

    /// Looks again at what it answers "mine" to.
    pub(super) fn refresh(&mut self, truth: Tick) {
        let held = self.protocol.held().map(|(bundle, _)| bundle.clone());
        let held: Vec<BundleId> = held.collect();
        self.serves = held
            .into_iter()
            .filter_map(|bundle| self.is_mine(truth, &bundle).map(|fence| (bundle, fence)))
            .collect();
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.broker, self.life)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_moment_has_come_at_its_true_moment_and_not_before() {
        for rate_ppm in [990_000, 1_000_000, 1_007_919] {
            let clock = LocalClock {
                offset: 12_345,
                rate_ppm,
            };
            for nanos in [1, 999_999, 1_000_000_007, 86_400_000_000_001] {
                let local = Tick::from_nanos(12_345 + nanos);
                let truth = clock.truth(local);
                assert!(clock.local(truth) >= local);
                assert!(clock.local(Tick::from_nanos(truth.nanos() - 1)) < local);
            }
        }
    }
}
