//! `deedbook simulate`: what a shedder does to a cluster, in virtual time, on a real log.

use super::queue;
use crate::interrupt;
use crate::output::{Column, Output, count, points, rate, table};
use crate::scenario::{self, Loaded};
use crate::{Error, Status};
use clap::Args;
use deedbook::ids::BundleId;
use deedbook::log::file::{Durability, FileLog};
use deedbook::planner::{Plan, Settings};
use deedbook::protocol::Answer;
use deedbook::sim::play::{Compacted, Ending, Play, Round};
use deedbook::sim::scenario::{Happening, Scenario};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt;
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

/// What a simulation found.
#[derive(Debug, Serialize)]
struct Found {
    scenario: String,
    about: String,
    seed: u64,
    notes: Vec<String>,
    rounds: Vec<RoundFound>,
    moves: usize,
    interrupted: bool,
    end: Option<EndFound>,
}

#[derive(Debug, Serialize)]
struct RoundFound {
    round: u32,
    at_s: u64,
    /// What happened before it.
    events: Vec<String>,
    /// The living ones.
    brokers: Vec<BrokerFound>,
    /// Points of the hottest minus points of the coldest.
    spread: Option<f64>,
    moves: Vec<MoveFound>,
    /// The compaction in the middle of a transfer, if it fell into this round.
    compacted: Option<String>,
}

#[derive(Debug, Serialize)]
struct BrokerFound {
    broker: String,
    /// In points; none if nothing usable is known.
    score: Option<f64>,
    bundles: usize,
}

/// Entries that did not count, for one reason.
#[derive(Debug, Serialize)]
struct RejectedFound {
    reason: &'static str,
    count: u64,
}

#[derive(Debug, Serialize)]
struct MoveFound {
    bundle: String,
    from: String,
    to: Option<String>,
    messages_per_s: f64,
    bytes_per_s: f64,
    /// Whether it was made.
    done: bool,
    outcome: String,
}

#[derive(Debug, Serialize)]
struct EndFound {
    brokers: Vec<BrokerFound>,
    spread: Option<f64>,
    log: String,
    records: u64,
    rejected: Vec<RejectedFound>,
    horizon: Option<u64>,
    digest_of_whole_history: String,
    digest_of_compacted: String,
    agree: bool,
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

fn is_done(answer: &Answer) -> bool {
    matches!(answer, Answer::Done { .. })
}

/// How a move ended, in words.
fn outcome(answer: &Answer) -> String {
    match answer {
        Answer::Done { position, .. } => format!("done at {position}"),
        Answer::Conflict { rejection, .. } => format!("conflict: {rejection}"),
        Answer::Superseded { .. } => "superseded".to_owned(),
        Answer::Refused(refused) => format!("refused: {refused}"),
        Answer::TimedOut { .. } => "not known in time".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn happened(event: &Happening) -> String {
    match event {
        Happening::Lose(broker) => format!("{broker} dies"),
        Happening::Return(broker) => format!("{broker} comes back"),
        Happening::Drain(broker) => format!("{broker} hands over and leaves"),
    }
}

/// The brokers as the strategy scores them.
fn brokers(plan: &Plan) -> Vec<BrokerFound> {
    let verdicts = plan.brokers.iter();
    let found = verdicts.map(|(name, verdict)| BrokerFound {
        broker: name.to_string(),
        score: verdict.score.as_ref().map(|score| score.points),
        bundles: verdict.bundles,
    });
    found.collect()
}

/// The points of the hottest and of the coldest.
fn extremes(brokers: &[BrokerFound]) -> Option<(f64, f64)> {
    let known = || brokers.iter().filter_map(|broker| broker.score);
    Some((known().reduce(f64::max)?, known().reduce(f64::min)?))
}

fn spread(brokers: &[BrokerFound]) -> Option<f64> {
    extremes(brokers).map(|(hottest, coldest)| hottest - coldest)
}

impl RoundFound {
    fn new(round: &Round) -> Self {
        let brokers = brokers(&round.plan);
        let planned = |bundle: &BundleId| {
            round
                .plan
                .moves
                .iter()
                .find(move |planned| planned.bundle == *bundle)
        };
        let moves = round.moves.iter().map(|made| {
            let load = planned(&made.transfer.bundle)
                .map(|planned| planned.load)
                .unwrap_or_default();
            MoveFound {
                bundle: made.transfer.bundle.to_string(),
                from: made.transfer.from.to_string(),
                to: made.transfer.to.as_ref().map(ToString::to_string),
                messages_per_s: load.messages(),
                bytes_per_s: load.bytes(),
                done: is_done(&made.answer),
                outcome: outcome(&made.answer),
            }
        });
        Self {
            round: round.number,
            at_s: round.at.as_secs(),
            events: round.events.iter().map(happened).collect(),
            spread: spread(&brokers),
            brokers,
            moves: moves.collect(),
            compacted: round.compacted.as_ref().map(|compacted| {
                let Compacted {
                    bundle,
                    row,
                    horizon,
                } = compacted;
                format!(
                    "{bundle} was {} when the log was compacted up to {horizon}",
                    row.record
                )
            }),
        }
    }
}

impl EndFound {
    fn new(last: &Plan, ending: &Ending, log: String) -> Self {
        let brokers = brokers(last);
        let rejected = ending.rejected.iter();
        Self {
            spread: spread(&brokers),
            brokers,
            log,
            records: ending.end.get().saturating_sub(1),
            rejected: rejected
                .map(|(&reason, &count)| RejectedFound { reason, count })
                .collect(),
            horizon: ending.horizon.map(|horizon| horizon.get()),
            digest_of_whole_history: ending.whole.to_string(),
            digest_of_compacted: ending.compacted.to_string(),
            agree: ending.agrees(),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} (seed {})", self.scenario, self.about, self.seed)?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let columns = [
            Column::Right("round"),
            Column::Right("time"),
            Column::Right("hottest"),
            Column::Right("coldest"),
            Column::Right("spread"),
            Column::Right("moves"),
            Column::Left("what happened"),
        ];
        writeln!(f, "\nRounds")?;
        f.write_str(&table(&columns, self.rounds.iter().map(RoundFound::row)))?;
        self.show_moves(f)?;
        match &self.end {
            Some(end) => self.show_end(f, end),
            None => Ok(()),
        }
    }
}

impl RoundFound {
    fn row(&self) -> Vec<String> {
        let extremes = extremes(&self.brokers);
        let done = self.moves.iter().filter(|made| made.done).count();
        let compacted = self
            .compacted
            .iter()
            .map(|_| "compaction in the middle of a transfer".into());
        let happened: Vec<String> = self.events.iter().cloned().chain(compacted).collect();
        vec![
            self.round.to_string(),
            format!("{}:{:02}", self.at_s / 60, self.at_s % 60),
            points(extremes.map(|(hottest, _)| hottest)),
            points(extremes.map(|(_, coldest)| coldest)),
            points(self.spread),
            if done == 0 {
                "-".to_owned()
            } else {
                done.to_string()
            },
            happened.join("; "),
        ]
    }
}

impl Found {
    fn show_moves(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rounds.iter().all(|round| round.moves.is_empty()) {
            return writeln!(f, "\nNothing moved.");
        }
        writeln!(f, "\nMoves")?;
        let columns = [
            Column::Right("round"),
            Column::Left("bundle"),
            Column::Left("from"),
            Column::Left("to"),
            Column::Right("msg/s"),
            Column::Left("outcome"),
        ];
        let rows = self
            .rounds
            .iter()
            .flat_map(|round| round.moves.iter().map(move |m| (round, m)));
        let rows = rows.map(|(round, made)| {
            vec![
                round.round.to_string(),
                made.bundle.clone(),
                made.from.clone(),
                made.to.clone().unwrap_or_else(|| "nobody".to_owned()),
                rate(made.messages_per_s),
                made.outcome.clone(),
            ]
        });
        f.write_str(&table(&columns, rows))
    }

    fn show_end(&self, f: &mut fmt::Formatter<'_>, end: &EndFound) -> fmt::Result {
        writeln!(f, "\nBrokers")?;
        let columns = [
            Column::Left("broker"),
            Column::Right("at first"),
            Column::Right("at the end"),
            Column::Right("bundles at first"),
            Column::Right("bundles at the end"),
        ];
        let first: &[BrokerFound] = self.rounds.first().map_or(&[], |round| &round.brokers);
        let rows = end.brokers.iter().map(|last| {
            let first = first.iter().find(|first| first.broker == last.broker);
            vec![
                last.broker.clone(),
                points(first.and_then(|first| first.score)),
                points(last.score),
                first.map_or_else(|| "-".to_owned(), |first| first.bundles.to_string()),
                last.bundles.to_string(),
            ]
        });
        f.write_str(&table(&columns, rows))?;
        let rejected: u64 = end.rejected.iter().map(|rejected| rejected.count).sum();
        let spread = points(end.spread);
        writeln!(
            f,
            "\n{}, {} in all; spread at the end: {spread} points",
            count(self.rounds.len(), "round"),
            count(self.moves, "move"),
        )?;
        writeln!(
            f,
            "log: {} ({}, {rejected} rejected)",
            end.log,
            count(end.records, "record")
        )?;
        if let Some(compacted) = self
            .rounds
            .iter()
            .find_map(|round| round.compacted.as_ref())
        {
            writeln!(f, "compaction: {compacted}")?;
        }
        if end.agree {
            let digest = &end.digest_of_compacted;
            writeln!(
                f,
                "ownership rebuilt from the whole history and from compacted output agrees: {digest}"
            )
        } else {
            writeln!(
                f,
                "ownership DIFFERS: {} from the whole history, {} from compacted output",
                end.digest_of_whole_history, end.digest_of_compacted
            )
        }
    }
}
