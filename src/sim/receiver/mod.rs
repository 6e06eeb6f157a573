//! Receiver queues in virtual time: how large they become, and what that does for throughput and
//! memory.
//!
//! What runs are the product's own queues. Simulated are a broker that sends what it has permits
//! for, the network between, and a consumer that takes one message after the other and pauses now
//! and then, as programs do. One thread does it all, and a seed repeats it.

mod world;

use crate::receive::MemoryLimit;
use std::time::Duration;

/// How a consumer is supplied, and what it does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// How many partitions feed it; from two on each has a queue of its own, which fills the one
    /// that is read.
    pub parts: usize,
    /// Messages a second of all partitions together; none if there are always more than are taken.
    pub rate_per_s: Option<u32>,
    /// Bytes of a message in the first half of the time, and in the second.
    pub message_bytes: [usize; 2],
    /// How long the consumer works on a message, in the first half of the time and in the second.
    pub work: [Duration; 2],
    /// The smallest and the largest size of each queue.
    pub size: (usize, usize),
    /// From the consumer to the broker and back.
    pub round_trip: Duration,
    /// By how much each way may take longer.
    pub jitter: Duration,
    /// Bytes a second that reach the consumer at most, from each partition.
    pub bytes_per_s: u64,
    /// How long it takes to wake a consumer that waits.
    pub wake: Duration,
    /// From the end of one pause of the consumer to the next one, on the average.
    pub pause_every: Duration,
    /// How long a pause lasts at most.
    pub pause_max: Duration,
}

impl Default for Setup {
    /// Messages of 128 bytes over a network of 5 ms and 10 Gbit/s, to a consumer that takes 5 µs
    /// for each, 50 µs to wake, and stops for up to 30 ms twice a second; a queue that may grow to
    /// a million.
    fn default() -> Self {
        Self {
            parts: 1,
            rate_per_s: None,
            message_bytes: [128; 2],
            work: [Duration::from_micros(5); 2],
            size: (1, 1_000_000),
            round_trip: Duration::from_millis(5),
            jitter: Duration::from_millis(1),
            bytes_per_s: 1_250_000_000,
            wake: Duration::from_micros(50),
            pause_every: Duration::from_millis(500),
            pause_max: Duration::from_millis(30),
        }
    }
}

/// What became of a consumer's queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The size of the queue that is read, at the end.
    pub size: usize,
    /// The sizes of the partitions' queues at the end, if there are several.
    pub part_sizes: Vec<usize>,
    /// Messages taken.
    pub taken: u64,
    /// Messages taken a second.
    pub rate_per_s: f64,
    /// Most messages in all of its queues at once.
    pub items_max: usize,
    /// Most bytes in all of its queues at once.
    pub bytes_max: usize,
    /// How long a message was under way, from when it was there at the broker; on the average.
    pub delay: Duration,
}

/// Plays consumers beside each other, which share a limit if there is one, for so long.
#[must_use]
pub fn run(
    setups: &[Setup],
    limit: Option<&MemoryLimit>,
    seed: u64,
    time: Duration,
) -> Vec<Outcome> {
    world::World::new(setups, limit, seed, time).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(20);

    fn play(setup: Setup) -> Outcome {
        run(&[setup], None, 1, TIME).remove(0)
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let setup = Setup {
            parts: 3,
            rate_per_s: Some(3_000),
            ..Setup::default()
        };
        let outcome = play(setup);
        assert_eq!(outcome, play(setup));
        assert_ne!(outcome, run(&[setup], None, 2, TIME).remove(0));
    }

    /// Whatever is offered and can be taken is taken, and the size grows with it.
    #[test]
    fn sizes_grow_with_the_rate_and_stay_small() {
        let mut last = 0;
        for rate in [10, 100, 1_000, 10_000] {
            let setup = Setup {
                rate_per_s: Some(rate),
                ..Setup::default()
            };
            let outcome = play(setup);
            assert!(outcome.size >= last, "{rate}: {outcome:?}");
            assert!(outcome.size < 10_000, "{rate}: {outcome:?}");
            assert!(outcome.items_max <= outcome.size, "{rate}: {outcome:?}");
            let share = outcome.rate_per_s / f64::from(rate);
            assert!((0.9..1.1).contains(&share), "{rate}: {outcome:?}");
            last = outcome.size;
        }
    }

    /// The rule looks at the consumer's side alone: where each message is taken before the next one
    /// comes, nothing ever fills the queue, and what is under way limits the rate: a size a round
    /// trip. Whoever has such a line gives the queue a larger smallest size.
    #[test]
    fn a_queue_that_never_fills_does_not_grow() {
        let steady = Setup {
            rate_per_s: Some(10_000),
            jitter: Duration::ZERO,
            wake: Duration::ZERO,
            pause_every: TIME * 100,
            pause_max: Duration::ZERO,
            ..Setup::default()
        };
        let outcome = play(steady);
        assert_eq!(outcome.size, 2);
        assert!(
            (outcome.rate_per_s - 2.0 / 0.005).abs() < 20.0,
            "{outcome:?}"
        );
        let larger = Setup {
            size: (128, 1_000_000),
            ..steady
        };
        assert!(play(larger).rate_per_s > 9_800.0);
    }

    #[test]
    fn memory_keeps_sizes_down_and_nobody_starves() {
        let small = Setup {
            rate_per_s: Some(5_000),
            ..Setup::default()
        };
        let large = Setup {
            message_bytes: [5_000_000; 2],
            work: [Duration::from_millis(5); 2],
            ..Setup::default()
        };
        let limit = MemoryLimit::new(64 << 20);
        let both = run(&[small, large], Some(&limit), 1, TIME);
        let [small, large] = &both[..] else {
            panic!("two went in");
        };
        assert!((small.rate_per_s - 5_000.0).abs() < 250.0, "{small:?}");
        assert!(large.rate_per_s > 190.0, "{large:?}");
        assert!(large.size <= 16, "{large:?}");
        let without = run(
            &[Setup {
                size: (1_000, 1_000),
                message_bytes: [5_000_000; 2],
                work: [Duration::from_millis(5); 2],
                ..Setup::default()
            }],
            None,
            1,
            TIME,
        );
        assert!(without[0].bytes_max > 10 * large.bytes_max, "{without:?}");
        assert_eq!(limit.used(), 0);
    }
}
