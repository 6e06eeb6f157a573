//! The times and limits that a broker lives by.

use std::time::Duration;

/// The times and limits that a broker lives by.
///
/// All brokers of a cluster should have the same.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// How far two clocks may drift apart, as a share of the time measured. Default: 0.01.
    pub drift: f64,
    /// What a take-over waits beyond the session's own end. Default: 500 ms.
    pub takeover_margin: Duration,
    /// How much longer the leader leaves what a dead broker owns, so that it may come back for it.
    /// Default: 0.
    pub reclaim_grace: Duration,
    /// How often the leader looks for orphans. Default: 60 s.
    pub monitor_interval: Duration,
    /// How long a bundle may be promised to a broker that does not take it. Default: 30 s.
    pub in_flight_limit: Duration,
    /// How long a parent stands in the table after its split. Default: 3600 s.
    pub tombstone_delay: Duration,
    /// How long one hook may take; one that takes longer ends the broker's session. Default: 60 s.
    pub hook_limit: Duration,
    /// How long a look-up waits if it does not say. Default: 30 s.
    pub lookup_limit: Duration,
    /// How long a command waits if it does not say. Default: 60 s.
    pub command_limit: Duration,
    /// After what time a request that got no answer is made again. Default: 1 s.
    pub retry_interval: Duration,
    /// How many forced changes the leader has under way at once. Default: 10.
    pub overrides_max: usize,
    /// How many look-ups and commands may wait at once; one more is refused. Default: 100 000.
    pub waiting_max: usize,
    /// The part of the time for closing that is kept for ending the session. Default: 2 s.
    pub close_reserve: Duration,
    /// How long a session lives without a renewal; the registry's word. Default: 10 s.
    pub session_ttl: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            drift: 0.01,
            takeover_margin: Duration::from_millis(500),
            reclaim_grace: Duration::ZERO,
            monitor_interval: Duration::from_secs(60),
            in_flight_limit: Duration::from_secs(30),
            tombstone_delay: Duration::from_secs(3600),
            hook_limit: Duration::from_secs(60),
            lookup_limit: Duration::from_secs(30),
            command_limit: Duration::from_secs(60),
            retry_interval: Duration::from_secs(1),
            overrides_max: 10,
            waiting_max: 100_000,
            close_reserve: Duration::from_secs(2),
            session_ttl: Duration::from_secs(10),
        }
    }
}

impl Config {
    /// How long after the last accepted renewal was sent a broker may still say "mine": its clock
    /// may be slow.
    #[must_use]
    pub fn certain_for(&self) -> Duration {
        self.session_ttl.mul_f64((1.0 - self.drift).max(0.0))
    }

    /// How long the leader waits after it first saw a session dead before it takes anything from
    /// it: its clock may be fast.
    #[must_use]
    pub fn takeover_delay(&self) -> Duration {
        self.session_ttl.mul_f64(1.0 + self.drift.max(0.0)) + self.takeover_margin
    }

    /// How often a session is renewed and the members are listed: three times in its life.
    #[must_use]
    pub fn renew_interval(&self) -> Duration {
        self.session_ttl / 3
    }
}
