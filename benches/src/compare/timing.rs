//! Measuring time.

use super::case::{Figure, Unit};
use std::time::{Duration, Instant};

/// Runs from when it is made.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "measuring is what this is for")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has been running.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// So many things since it was started, as a rate.
    #[must_use]
    pub fn rate(&self, name: &'static str, count: usize) -> Figure {
        let rate = count as f64 / self.elapsed().as_secs_f64();
        (name, Unit::PerSecond, rate)
    }

    /// How long it has been running, as a figure.
    #[must_use]
    pub fn time(&self, name: &'static str) -> Figure {
        let nanoseconds = self.elapsed().as_nanos() as f64;
        (name, Unit::Nanoseconds, nanoseconds)
    }
}

/// How long each of many things took.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// Does something and notes how long it took.
    pub fn time<T>(&mut self, f: impl FnOnce() -> T) -> T {
        let watch = Stopwatch::start();
        let done = f();
        self.0.push(watch.elapsed());
        done
    }

    /// Takes over what was noted elsewhere.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The median and the 99th percentile.
    #[must_use]
    pub fn figures(mut self) -> [Figure; 2] {
        self.0.sort_unstable();
        let at = |share: f64| {
            let index = (share * self.0.len() as f64) as usize;
            let latency = self.0.get(index.min(self.0.len().saturating_sub(1)));
            latency.map_or(0.0, |latency| latency.as_nanos() as f64)
        };
        [
            ("p50", Unit::Nanoseconds, at(0.5)),
            ("p99", Unit::Nanoseconds, at(0.99)),
        ]
    }
}
