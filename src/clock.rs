//! The only source of time: monotonic [`Tick`]s, real or driven by hand.
//!
//! Layers above never ask what time it is on their own; they are told. Wall-clock time plays no
//! part in any decision.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A moment of a monotonic clock, in nanoseconds since a start that only this clock knows.
///
/// Ticks of different clocks cannot be compared: what one machine measured says nothing on another.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tick(u64);

impl Tick {
    /// The clock's start.
    pub const ZERO: Self = Self(0);

    /// The moment `nanos` nanoseconds after the clock's start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's start.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The moment `wait` later; stays at the end of time instead of wrapping (after 584 years).
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tick({:?})", Duration::from_nanos(self.0))
    }
}

/// Tells the time.
///
/// An implementation must never go backwards, and should go on while the machine is suspended: a
/// lease that ran out while a laptop slept has run out.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The present moment.
    fn now(&self) -> Tick;
}

/// The machine's clock since boot, suspended time included where the system tells it (Linux).
#[derive(Clone, Copy, Debug, Default)]
pub struct BootClock;

impl Clock for BootClock {
    #[cfg(target_os = "linux")]
    fn now(&self) -> Tick {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
        Tick(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the door that time comes through"
    )]
    fn now(&self) -> Tick {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let start = *START.get_or_init(std::time::Instant::now);
        Tick(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A clock that stands still until it is told to go on. Clones show the same time.
///
/// # Examples
///
/// ```
/// use deedbook::clock::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::default();
/// let start = clock.now();
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now().since(start), Duration::from_secs(60));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(
            u64::try_from(by.as_nanos()).unwrap_or(u64::MAX),
            Ordering::SeqCst,
        );
    }

    /// Sets the time, which must not be earlier than it is.
    pub fn set(&self, now: Tick) {
        self.0.fetch_max(now.nanos(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Tick {
        Tick(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_clock_does_not_go_back() {
        let clock = BootClock;
        let first = clock.now();
        assert!(clock.now() >= first);
        assert!(first > Tick::ZERO);
    }

    #[test]
    fn ticks_saturate_at_both_ends() {
        assert_eq!(Tick::ZERO.since(Tick::from_nanos(5)), Duration::ZERO);
        assert_eq!(
            Tick::from_nanos(u64::MAX)
                .after(Duration::from_secs(1))
                .nanos(),
            u64::MAX
        );
    }
}
