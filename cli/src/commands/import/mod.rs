//! `deedbook import pulsar`: an ownership log of Apache Pulsar, replayed, audited, and taken over.

mod found;
mod lines;
mod replay;
mod write_log;

use crate::output::Output;
use crate::{Error, Status, interrupt};
use clap::{Args, Subcommand};
use deedbook::foreign::{Founding, RuleSet};
use deedbook::state::pulsar::Brokers;
use found::{Found, Show};
pub use lines::LINE_BYTES_MAX;
pub use replay::LISTED_MAX;
use replay::Replay;
use std::io::Write;
use std::path::PathBuf;

/// Reads an ownership log of another system: what it says, and what its rules dropped.
#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    command: ImportCommand,
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    Pulsar(Pulsar),
}

/// Replays ownership events of Apache Pulsar under a set of rules.
///
/// A line of the file is an event: {"key": BUNDLE, "value": RECORD}, the record as brokers publish
/// it, or null for a removal. docs/import.md shows how to get such a file and what the rule sets
/// are.
///
/// Exit status 0 if every line was read and no key has two owners, 1 if not, 2 if the file cannot
/// be read or no log can be written.
#[derive(Debug, Args)]
struct Pulsar {
    /// The events, in order; - reads standard input
    file: PathBuf,
    /// Replay under these rules: native, pulsar-system-topic, pulsar-metadata-store, pip-192,
    /// pip-192-second-draft or pip-192-first-draft
    #[arg(long, value_name = "SET", default_value_t = RuleSet::PulsarSystemTopic)]
    rules: RuleSet,
    /// Say what these rules would decide otherwise; may be given several times
    #[arg(long, value_name = "SET")]
    compare: Vec<RuleSet>,
    /// Leave out what rules say of the brokers in a record, as Apache Pulsar can be told to
    #[arg(long)]
    ignore_brokers: bool,
    /// Write what is left as a new log into this folder, which must be empty or not there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// In text, show at most so many of each list; JSON holds them all
    #[arg(long, value_name = "N", default_value_t = 20)]
    list: usize,
}

impl Import {
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        match &self.command {
            ImportCommand::Pulsar(command) => command.run(output, err),
        }
    }
}

impl Pulsar {
    fn run(&self, output: &mut Output<'_>, err: &mut dyn Write) -> Result<Status, Error> {
        if let Some(folder) = &self.out {
            write_log::check_unused(folder)?;
        }
        let stop = interrupt::flag();
        let brokers = if self.ignore_brokers {
            Brokers::Unchecked
        } else {
            Brokers::Checked
        };
        let mut replay = Replay::new(self.rules, &self.compare, brokers);
        replay.read(&self.file, stop)?;
        let mut written = None;
        if let Some(folder) = self.out.as_ref().filter(|_| !replay.interrupted) {
            let founding = Founding::new(replay.audit())?;
            written = Some(write_log::write_log(folder, &founding)?);
        }
        let file = self.file.display().to_string();
        let found = Found::new(file, &replay, written);
        output.print(&Show {
            found: &found,
            list: self.list,
        })?;
        Ok(if replay.interrupted {
            let _ = writeln!(err, "interrupted after line {}", replay.lines);
            Status::Interrupted
        } else if found.is_sound() {
            Status::Good
        } else {
            Status::False
        })
    }
}
