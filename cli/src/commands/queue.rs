//! `deedbook simulate --queue`: how large receiver queues become, and what that costs and saves.

use crate::output::{Column, Output, count, rate, table};
use crate::{Error, Status};
use deedbook::receive::MemoryLimit;
use deedbook::sim::receiver::{self, Outcome, Setup};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The largest size of a queue that finds its own, and the size of one that does not.
const SIZE_MAX: usize = 1_000_000;

/// How many messages a second are offered.
const RATES: [u32; 5] = [1, 10, 100, 1_000, 10_000];

/// What runs at a rate are called.
const RATE: &str = "rate";

/// What was published of a run of Apache Pulsar, one queue, at those rates.
const PUBLISHED: [usize; 5] = [2, 2, 4, 32, 512];

/// The rate of the published run over three partitions.
const RATE_OF_THREE: u32 = 40_000;

const LIMIT_BYTES: u64 = 64 << 20;
const LARGE_BYTES: usize = 5_000_000;

/// The share of the throughput of a large fixed queue that is to be reached.
const THROUGHPUT_MIN: f64 = 0.95;

/// What an experiment found.
#[derive(Debug, Serialize)]
struct Found {
    seed: u64,
    seconds: u32,
    size_max: usize,
    /// At several rates, one queue and three partitions.
    rates: Vec<Run>,
    /// With more than is taken.
    backlog: Vec<Run>,
    /// Under a memory limit.
    memory: Vec<Run>,
    /// What does not hold.
    failed: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Run {
    what: &'static str,
    partitions: usize,
    /// Messages a second; none if there are always more than are taken.
    offered_per_s: Option<u32>,
    message_bytes: [usize; 2],
    /// The queue that finds its size.
    own: Side,
    /// One that has the largest size from the beginning, and no limit.
    fixed: Side,
    published: Option<Published>,
}

#[derive(Debug, Serialize)]
struct Side {
    size: usize,
    partition_sizes: Vec<usize>,
    taken_per_s: f64,
    items_max: usize,
    bytes_max: usize,
    delay_ms: f64,
}

#[derive(Debug, Serialize)]
struct Published {
    size: usize,
    partition_sizes: Vec<usize>,
}

/// Runs the experiment and prints what it found.
pub(super) fn run(output: &mut Output<'_>, seed: u64, seconds: u32) -> Result<Status, Error> {
    let bench = Bench { seed, seconds };
    let (rates, backlog, memory) = (bench.rates(), bench.backlog(), bench.memory());
    let mut found = Found {
        seed,
        seconds,
        size_max: SIZE_MAX,
        rates,
        backlog,
        memory,
        failed: Vec::new(),
    };
    found.judge();
    output.print(&found)?;
    Ok(if found.failed.is_empty() {
        Status::Good
    } else {
        Status::False
    })
}

struct Bench {
    seed: u64,
    seconds: u32,
}

impl Bench {
    fn play(&self, setups: &[Setup], limit: Option<&MemoryLimit>) -> Vec<Outcome> {
        let time = Duration::from_secs(self.seconds.into());
        receiver::run(setups, limit, self.seed, time)
    }

    /// Plays consumers beside each other, and each of them alone with a large fixed queue.
    fn compare(
        &self,
        what: &'static str,
        setups: &[Setup],
        limit: Option<&MemoryLimit>,
    ) -> Vec<Run> {
        let own = self.play(setups, limit);
        let fixed = setups.iter().flat_map(|setup| {
            let fixed = Setup {
                size: (SIZE_MAX, SIZE_MAX),
                ..*setup
            };
            self.play(&[fixed], None)
        });
        let both = setups.iter().zip(own.into_iter().zip(fixed));
        let runs = both.map(|(setup, (own, fixed))| Run {
            what,
            partitions: setup.parts,
            offered_per_s: setup.rate_per_s,
            message_bytes: setup.message_bytes,
            own: own.into(),
            fixed: fixed.into(),
            published: published(what, setup),
        });
        runs.collect()
    }

    fn rates(&self) -> Vec<Run> {
        let one = RATES.map(|rate| (1, rate));
        let three = RATES.map(|rate| (3, rate));
        let all = one.into_iter().chain(three).chain([(3, RATE_OF_THREE)]);
        let runs = all.flat_map(|(parts, rate)| {
            let setup = Setup {
                parts,
                rate_per_s: Some(rate),
                ..Setup::default()
            };
            self.compare(RATE, &[setup], None)
        });
        runs.collect()
    }

    fn backlog(&self) -> Vec<Run> {
        let runs = [1, 3].into_iter().flat_map(|parts| {
            let setup = Setup {
                parts,
                work: [Duration::from_micros(50); 2],
                ..Setup::default()
            };
            self.compare("backlog", &[setup], None)
        });
        runs.collect()
    }

    fn memory(&self) -> Vec<Run> {
        let small = Setup {
            rate_per_s: Some(10_000),
            ..Setup::default()
        };
        let large = Setup {
            message_bytes: [LARGE_BYTES; 2],
            work: [Duration::from_millis(5); 2],
            ..Setup::default()
        };
        let grows = Setup {
            message_bytes: [128, LARGE_BYTES],
            work: [Duration::from_micros(50), Duration::from_millis(5)],
            ..Setup::default()
        };
        let cases: [(_, &[Setup]); 4] = [
            ("small alone", &[small]),
            ("large alone", &[large]),
            ("both share the limit", &[small, large]),
            ("small, then large", &[grows]),
        ];
        let runs = cases.into_iter().flat_map(|(what, setups)| {
            let limit = MemoryLimit::new(LIMIT_BYTES);
            self.compare(what, setups, Some(&limit))
        });
        runs.collect()
    }
}

/// What was published of a run like this one.
fn published(what: &str, setup: &Setup) -> Option<Published> {
    let rate = setup.rate_per_s.filter(|_| what == RATE)?;
    if (setup.parts, rate) == (3, RATE_OF_THREE) {
        return Some(Published {
            size: 384,
            partition_sizes: vec![1_024, 1_024, 384],
        });
    }
    let mut known = RATES.into_iter().zip(PUBLISHED);
    let (_, size) = known.find(|(known, _)| setup.parts == 1 && *known == rate)?;
    Some(Published {
        size,
        partition_sizes: Vec::new(),
    })
}

impl From<Outcome> for Side {
    fn from(outcome: Outcome) -> Self {
        Self {
            size: outcome.size,
            partition_sizes: outcome.part_sizes,
            taken_per_s: outcome.rate_per_s,
            items_max: outcome.items_max,
            bytes_max: outcome.bytes_max,
            delay_ms: outcome.delay.as_secs_f64() * 1e3,
        }
    }
}

impl Side {
    fn sizes(&self) -> impl Iterator<Item = usize> {
        self.partition_sizes.iter().copied().chain([self.size])
    }
}

impl Run {
    /// Throughput as a share of that of the fixed queue.
    fn share(&self) -> f64 {
        self.own.taken_per_s / self.fixed.taken_per_s
    }
}

impl Found {
    fn judge(&mut self) {
        let mut failed = Vec::new();
        let all = || self.rates.iter().chain(&self.backlog).chain(&self.memory);
        for run in all() {
            let name = format!("{}, {}", run.what, count(run.partitions, "partition"));
            let offered = run
                .offered_per_s
                .map(|rate| format!(" at {rate} messages/s"));
            let name = name + &offered.unwrap_or_default();
            if run.share() < THROUGHPUT_MIN {
                failed.push(format!("{name}: {:.3} of the throughput", run.share()));
            }
            if run.own.sizes().any(|size| size > SIZE_MAX / 100) {
                failed.push(format!("{name}: not far below the maximum"));
            }
        }
        for (slower, faster) in self.rates.iter().zip(self.rates.iter().skip(1)) {
            if slower.partitions == faster.partitions && slower.own.size > faster.own.size {
                failed.push(format!(
                    "size falls from {} to {}",
                    slower.own.size, faster.own.size
                ));
            }
        }
        self.failed = failed;
    }
}

fn sizes(size: usize, partitions: &[usize]) -> String {
    if partitions.is_empty() {
        return size.to_string();
    }
    let partitions: Vec<_> = partitions.iter().map(usize::to_string).collect();
    format!("{size} ({})", partitions.join(" "))
}

fn mib(bytes: usize) -> String {
    format!("{:.2}", bytes as f64 / f64::from(1 << 20))
}

impl Run {
    fn row(&self) -> Vec<String> {
        let first = match self.offered_per_s {
            Some(offered) if self.what == RATE => rate(offered.into()),
            _ => self.what.to_owned(),
        };
        let published = self.published.as_ref();
        let published = published.map(|known| sizes(known.size, &known.partition_sizes));
        vec![
            self.partitions.to_string(),
            first,
            sizes(self.own.size, &self.own.partition_sizes),
            published.unwrap_or_else(|| "-".to_owned()),
            rate(self.own.taken_per_s),
            format!("{:.3}", self.share()),
            mib(self.own.bytes_max),
            mib(self.fixed.bytes_max),
        ]
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Receiver queues of at most {SIZE_MAX} messages, {} s of virtual time (seed {})",
            self.seconds, self.seed
        )?;
        let groups = [
            (
                "At several rates, 128 bytes a message",
                "offered/s",
                &self.rates,
            ),
            ("With more than is taken", "", &self.backlog),
            (
                "Under a limit of 64 MiB, 128 bytes and 5 MB a message",
                "",
                &self.memory,
            ),
        ];
        for (heading, offered, runs) in groups {
            let columns = [
                Column::Right("partitions"),
                Column::Right(offered),
                Column::Right("size"),
                Column::Right("published"),
                Column::Right("taken/s"),
                Column::Right("of fixed"),
                Column::Right("MiB at most"),
                Column::Right("fixed"),
            ];
            writeln!(f, "\n{heading}")?;
            f.write_str(&table(&columns, runs.iter().map(Run::row)))?;
        }
        if self.failed.is_empty() {
            let percent = THROUGHPUT_MIN * 100.0;
            writeln!(
                f,
                "\nsizes grow with the rate and stay below 1 % of the maximum; \
                 at least {percent} % of the throughput of a fixed queue"
            )
        } else {
            writeln!(f, "\nDOES NOT HOLD: {}", self.failed.join("; "))
        }
    }
}
