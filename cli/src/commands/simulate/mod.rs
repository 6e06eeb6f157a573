//! `deedbook simulate`: what a shedder does to a cluster, in virtual time, on a real log.

mod found;
mod text;

use super::queue;
use crate::interrupt;
use crate::output::{Output, count};
use crate::scenario::{self, Loaded};
use crate::{Error, Status};
use clap::Args;
use deedbook::log::file::{Durability, FileLog};
use deedbook::planner::Settings;
use deedbook::sim::play::Play;
use deedbook::sim::scenario::Scenario;
use found::{EndFound, Found, RoundFound, is_done};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How large the log's segments are: a simulation writes little.
const SEGMENT_BYTES: u64 = 1 << 20;

/// Plays a scenario in virtual time and shows, round by round, loads, moves and spread.
///
/// The brokers are real ones, over a real log on disk; only time, network and load are simulated.
/// In the middle of the first transfer the log is compacted, and what the scenario says happens on
/// the way. At the end ownership is rebuilt twice, from the whole history and from compacted
/// output.
///
/// Exit status 0 if both agree, 1 if not, 2 if the scenario or the log cannot be used.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// The scenario: a TOML file, see scenarios/ and docs/cli.md
    #[arg(required_unless_present = "queue")]
    scenario: Option<PathBuf>,
    /// Write the log into this folder, which must be empty or not there [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// Draw everything that is left to chance from this number [default: the scenario's]
    #[arg(long)]
    seed: Option<u64>,
    /// Stop after so many rounds [default: the scenario's]
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Play receiver queues instead, at several rates and under a memory limit
    #[arg(long, conflicts_with_all = ["scenario", "log", "rounds"])]
    queue: bool,
    /// How long to play them, in virtual time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 120,
        conflicts_with = "scenario"
    )]
    seconds: u32,
}

impl Simulate {
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        let Some(path) = &self.scenario else {
            return queue::run(output, self.seed.unwrap_or(1), self.seconds);
        };
        let Loaded {
            about,
            mut scenario,
            shedder,
            notes,
        } = scenario::read(path)?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.rounds.max = self.rounds.unwrap_or(scenario.rounds.max);
        let mut found = Found {
            scenario: path.display().to_string(),
            about,
            seed: scenario.seed,
            notes: notes.iter().map(ToString::to_string).collect(),
            rounds: Vec::new(),
            moves: 0,
            splits: 0,
            interrupted: false,
            end: None,
        };
        let mut judge = shedder.clone().build()?;
        let constraints = scenario.constraints.clone();
        let temporary = tempfile::tempdir().map_err(Error::Temporary)?;
        let folder = self
            .log
            .clone()
            .unwrap_or_else(|| temporary.path().join("log"));
        let mut play = self.start(scenario, shedder, &folder)?;
        found.play(&mut play)?;
        if found.interrupted {
            output.print(&found)?;
            let _ = writeln!(
                err,
                "interrupted after {}",
                count(found.rounds.len(), "round")
            );
            return Ok(Status::Interrupted);
        }
        let ending = play.finish()?;
        let log = self
            .log
            .as_ref()
            .map_or_else(|| "temporary".to_owned(), |log| log.display().to_string());
        let last = judge.plan(&ending.load, &constraints);
        found.end = Some(EndFound::new(&last, &ending, log));
        output.print(&found)?;
        Ok(if ending.agrees() {
            Status::Good
        } else {
            Status::False
        })
    }
}

impl Found {
    /// Plays the rounds, and keeps what there is if somebody wants no more.
    fn play(&mut self, play: &mut Play) -> Result<(), Error> {
        let stop = interrupt::flag();
        let bar = progress(play.rounds_max());
        while let Some(round) = play.next_round()? {
            bar.inc(1);
            bar.set_message(count(round.moves.len(), "move"));
            let made = round.moves.iter().filter(|made| is_done(&made.answer));
            self.moves += made.count();
            let made = round.splits.iter().filter(|made| is_done(&made.answer));
            self.splits += made.count();
            self.rounds.push(RoundFound::new(&round));
            if stop.is_set() {
                self.interrupted = true;
                break;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }
}

impl Simulate {
    /// Opens the log and brings the cluster to where the scenario begins.
    fn start(&self, scenario: Scenario, shedder: Settings, folder: &Path) -> Result<Play, Error> {
        let used = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        if used {
            return Err(Error::FolderInUse {
                path: folder.to_owned(),
            });
        }
        // The cluster lives in virtual time; nobody waits for a disk that is to survive a power
        // cut.
        let log = FileLog::builder(folder)
            .durability(Durability::Never)
            .segment_bytes(SEGMENT_BYTES)
            .open()?;
        Play::start(scenario, shedder.build()?, move |_| Arc::new(log)).map_err(Error::from)
    }
}

fn progress(rounds: u32) -> ProgressBar {
    // Hidden unless standard error is a terminal.
    let style = "round {pos} of at most {len} {wide_bar} {msg}";
    let bar = ProgressBar::new(rounds.into());
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
