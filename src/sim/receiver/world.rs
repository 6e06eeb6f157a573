//! What happens, in the order of virtual time.

use super::{Outcome, Setup};
use crate::receive::{MemoryLimit, Queue};
use crate::sim::dice::{Dice, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Since the beginning, in nanoseconds.
type Nanos = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    born: Nanos,
    bytes: usize,
}

/// What happens to a consumer, or to one of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The broker has one more message.
    Produced {
        part: usize,
    },
    /// The broker may send so many more.
    Granted {
        part: usize,
        permits: usize,
    },
    /// A message reaches the consumer.
    Arrived {
        part: usize,
        message: Message,
    },
    /// The consumer is done with a message.
    Done,
    Paused,
    Resumed,
}

pub(super) struct World {
    lines: Vec<Line>,
    /// By time, and in the order of planning.
    events: BinaryHeap<Reverse<(Nanos, u64, usize, Event)>>,
    planned: u64,
    now: Nanos,
    end: Nanos,
    /// What each of these is drawn from, so that one queue meets the same as another one does.
    production: Dice,
    network: Dice,
    pauses: Dice,
}

/// A consumer, its queues, and the broker before them.
struct Line {
    setup: Setup,
    parts: Vec<Part>,
    /// The queue that is read, if there are several partitions.
    top: Option<Queue<Message>>,
    /// The partition that was served first, last time.
    turn: usize,
    is_busy: bool,
    is_paused: bool,
    taken: u64,
    delay: u128,
    items: usize,
    items_max: usize,
    bytes: usize,
    bytes_max: usize,
}

struct Part {
    queue: Queue<Message>,
    /// What the queue granted, and the network has not taken along yet.
    granted: Arc<AtomicUsize>,
    /// At the broker: permits, and when each message came that is not sent.
    permits: usize,
    waiting: VecDeque<Nanos>,
    /// When the broker's line is free again, and when the last message arrives.
    free_at: Nanos,
    last_arrival: Nanos,
}

fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl World {
    pub(super) fn new(
        setups: &[Setup],
        limit: Option<&MemoryLimit>,
        seed: u64,
        time: Duration,
    ) -> Self {
        let mut world = Self {
            lines: setups.iter().map(|setup| Line::new(setup, limit)).collect(),
            events: BinaryHeap::new(),
            planned: 0,
            now: 0,
            end: nanos(time),
            production: Dice::new(seed),
            network: Dice::new(seed.wrapping_add(1)),
            pauses: Dice::new(seed.wrapping_add(2)),
        };
        for (at, setup) in setups.iter().enumerate() {
            for part in 0..setup.parts.max(1) {
                world.produce_next(at, part);
            }
            world.pause_next(at, setup);
            world.carry_grants(at);
        }
        world
    }

    pub(super) fn run(mut self) -> Vec<Outcome> {
        while let Some(Reverse((now, _, at, event))) = self.events.pop() {
            if now >= self.end {
                break;
            }
            self.now = now;
            self.happen(at, event);
            self.carry_grants(at);
        }
        let seconds = Duration::from_nanos(self.end).as_secs_f64();
        let lines = self.lines.into_iter();
        lines.map(|line| line.outcome(seconds)).collect()
    }

    fn plan(&mut self, wait: Duration, at: usize, event: Event) {
        self.plan_at(self.now.saturating_add(nanos(wait)), at, event);
    }

    fn plan_at(&mut self, when: Nanos, at: usize, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((when, self.planned, at, event)));
    }

    /// The time is in two halves: this is what is so in the present one.
    fn present<T: Copy>(&self, halves: [T; 2]) -> T {
        let [first, second] = halves;
        if self.now < self.end / 2 {
            first
        } else {
            second
        }
    }

    fn one_way(&mut self, setup: &Setup) -> Duration {
        let jitter = Span {
            min: Duration::ZERO,
            max: setup.jitter,
        };
        setup.round_trip / 2 + self.network.between(jitter)
    }

    /// Gaps are drawn evenly between none and twice the mean.
    fn produce_next(&mut self, at: usize, part: usize) {
        let Some(setup) = self.lines.get(at).map(|line| line.setup) else {
            return;
        };
        let Some(rate) = setup.rate_per_s else { return };
        let parts = u32::try_from(setup.parts.max(1)).unwrap_or(1);
        let gap = Span {
            min: Duration::ZERO,
            max: Duration::from_secs(2) * parts / rate.max(1),
        };
        let gap = self.production.between(gap);
        self.plan(gap, at, Event::Produced { part });
    }

    fn pause_next(&mut self, at: usize, setup: &Setup) {
        let gap = Span {
            min: Duration::ZERO,
            max: setup.pause_every * 2,
        };
        let gap = self.pauses.between(gap);
        self.plan(gap, at, Event::Paused);
    }

    fn happen(&mut self, at: usize, event: Event) {
        let now = self.now;
        let Some(line) = self.lines.get_mut(at) else {
            return;
        };
        match event {
            Event::Produced { part } => {
                if let Some(part) = line.parts.get_mut(part) {
                    part.waiting.push_back(now);
                }
                self.send(at, part);
                self.produce_next(at, part);
            }
            Event::Granted { part, permits } => {
                if let Some(part) = line.parts.get_mut(part) {
                    part.permits += permits;
                }
                self.send(at, part);
            }
            Event::Arrived { part, message } => {
                line.arrive(part, message);
                line.feed();
                if !line.is_busy && !line.is_paused {
                    // It waits for this, and has to be woken.
                    line.is_busy = true;
                    let wake = line.setup.wake;
                    self.plan(wake, at, Event::Done);
                }
            }
            Event::Done => {
                line.is_busy = false;
                self.serve(at);
            }
            Event::Paused => {
                line.is_paused = true;
                let length = Span {
                    min: Duration::ZERO,
                    max: line.setup.pause_max,
                };
                let length = self.pauses.between(length);
                self.plan(length, at, Event::Resumed);
            }
            Event::Resumed => {
                line.is_paused = false;
                let setup = line.setup;
                self.pause_next(at, &setup);
                self.serve(at);
            }
        }
    }

    /// The broker sends what it has, as far as it may.
    fn send(&mut self, at: usize, index: usize) {
        let Some(setup) = self.lines.get(at).map(|line| line.setup) else {
            return;
        };
        let bytes = self.present(setup.message_bytes);
        let on_line = Duration::from_secs(1) * u32::try_from(bytes).unwrap_or(u32::MAX)
            / u32::try_from(setup.bytes_per_s).unwrap_or(u32::MAX);
        loop {
            let way = nanos(self.one_way(&setup));
            let now = self.now;
            let part = self
                .lines
                .get_mut(at)
                .and_then(|line| line.parts.get_mut(index));
            let Some(part) = part.filter(|part| part.permits > 0) else {
                return;
            };
            let born = match setup.rate_per_s {
                // There always is one more.
                None => now,
                Some(_) => match part.waiting.pop_front() {
                    Some(born) => born,
                    None => return,
                },
            };
            part.permits -= 1;
            part.free_at = part.free_at.max(now) + nanos(on_line);
            part.last_arrival = part.last_arrival.max(part.free_at + way);
            let when = part.last_arrival;
            let message = Message { born, bytes };
            self.plan_at(
                when,
                at,
                Event::Arrived {
                    part: index,
                    message,
                },
            );
        }
    }

    /// The consumer takes a message, if it can.
    fn serve(&mut self, at: usize) {
        let now = self.now;
        let Some(line) = self.lines.get_mut(at) else {
            return;
        };
        line.feed();
        if line.is_busy || line.is_paused {
            return;
        }
        if line.take(now) {
            let work = line.setup.work;
            line.feed();
            let work = self.present(work);
            self.plan(work, at, Event::Done);
        }
    }

    /// What the queues granted sets out for the broker.
    fn carry_grants(&mut self, at: usize) {
        let Some(line) = self.lines.get(at) else {
            return;
        };
        let setup = line.setup;
        let granted = line
            .parts
            .iter()
            .map(|part| part.granted.swap(0, Ordering::Relaxed));
        let granted: Vec<_> = granted
            .enumerate()
            .filter(|(_, permits)| *permits > 0)
            .collect();
        for (part, permits) in granted {
            let way = self.one_way(&setup);
            self.plan(way, at, Event::Granted { part, permits });
        }
    }
}

impl Line {
    fn new(setup: &Setup, limit: Option<&MemoryLimit>) -> Self {
        let (size_min, size_max) = setup.size;
        let builder = || {
            let builder = Queue::builder().weigh(|message: &Message| message.bytes);
            let builder = builder.size_max(size_max).size_min(size_min);
            match limit {
                Some(limit) => builder.limit(limit),
                None => builder,
            }
        };
        let part = || {
            let granted = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&granted);
            let remote = builder().remote(move |permits| {
                count.fetch_add(permits, Ordering::Relaxed);
            });
            Part {
                queue: remote.build(),
                granted,
                permits: 0,
                waiting: VecDeque::new(),
                free_at: 0,
                last_arrival: 0,
            }
        };
        let parts = setup.parts.max(1);
        let top = (parts > 1).then(|| builder().size_min(size_min.max(parts)).build());
        Self {
            setup: *setup,
            parts: (0..parts).map(|_| part()).collect(),
            top,
            turn: 0,
            is_busy: false,
            is_paused: false,
            taken: 0,
            delay: 0,
            items: 0,
            items_max: 0,
            bytes: 0,
            bytes_max: 0,
        }
    }

    fn arrive(&mut self, part: usize, message: Message) {
        let Some(part) = self.parts.get(part) else {
            return;
        };
        let put = part.queue.try_put(message);
        assert!(
            put.is_ok(),
            "a broker sends no more than it has permits for"
        );
        self.items += 1;
        self.items_max = self.items_max.max(self.items);
        self.bytes += message.bytes;
        self.bytes_max = self.bytes_max.max(self.bytes);
    }

    /// Hands on what the partitions have, as far as the queue that is read has room.
    fn feed(&mut self) {
        let Some(top) = &self.top else { return };
        // Each time another one comes first, so that none is always last.
        self.turn = (self.turn + 1) % self.parts.len();
        let (later, first) = self.parts.split_at(self.turn);
        for part in first.iter().chain(later) {
            while top.status().permits > 0
                && let Ok(Some(message)) = part.queue.try_take()
            {
                let put = top.try_put(message);
                assert!(put.is_ok(), "there was a permit, and nobody else puts");
            }
        }
    }

    /// Takes a message, or asks for one in vain.
    fn take(&mut self, now: Nanos) -> bool {
        let first = self.parts.first().map(|part| &part.queue);
        let taken = match self.top.as_ref().or(first).map(Queue::try_take) {
            Some(Ok(Some(message))) => message,
            _ => return false,
        };
        self.is_busy = true;
        self.taken += 1;
        self.delay += u128::from(now - taken.born);
        self.items -= 1;
        self.bytes -= taken.bytes;
        true
    }

    fn outcome(self, seconds: f64) -> Outcome {
        let sizes: Vec<_> = self.parts.iter().map(|part| part.queue.size()).collect();
        let first = sizes.first().copied().unwrap_or(0);
        let delay = self.delay / u128::from(self.taken.max(1));
        Outcome {
            size: self.top.as_ref().map_or(first, Queue::size),
            part_sizes: self.top.as_ref().map(|_| sizes).unwrap_or_default(),
            taken: self.taken,
            rate_per_s: self.taken as f64 / seconds,
            items_max: self.items_max,
            bytes_max: self.bytes_max,
            delay: Duration::from_nanos(u64::try_from(delay).unwrap_or(u64::MAX)),
        }
    }
}
