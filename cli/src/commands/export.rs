//! `deedbook export pulsar`: a log of ours as ownership events of Apache Pulsar.

use crate::output::{Output, count};
use crate::{Error, Status, interrupt};
use clap::{Args, Subcommand};
use deedbook::foreign::Exporter;
use deedbook::log::file::FileLog;
use deedbook::table::{Reader, ReaderEvent, RowChange};
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a log in the form of another system.
#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(subcommand)]
    command: ExportCommand,
}

#[derive(Debug, Subcommand)]
enum ExportCommand {
    Pulsar(Pulsar),
}

/// Writes what a log says as ownership events of Apache Pulsar, one line of JSON each.
///
/// It begins with the newest snapshot, if the log has one, and leaves out what was rejected. The
/// events pass the rules of Apache Pulsar and of this library: `deedbook import pulsar` reads them.
/// Without --out they go to standard output, with --json too.
#[derive(Debug, Args)]
struct Pulsar {
    /// The folder that holds the log
    dir: PathBuf,
    /// Write the events into this file, and print what was written
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Found {
    file: String,
    /// Where reading began: the horizon of a snapshot, or the first position.
    from: u64,
    /// The next position that will be written.
    next: u64,
    events: u64,
    removals: u64,
    forced: u64,
    /// Entries that were rejected, and so are no events.
    rejected: u64,
}

impl Export {
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        match &self.command {
            ExportCommand::Pulsar(command) => command.run(output, err),
        }
    }
}

impl Pulsar {
    fn run(&self, output: &mut Output<'_>, err: &mut dyn Write) -> Result<Status, Error> {
        let log = Arc::new(FileLog::open_read_only(&self.dir)?);
        let mut found = Found {
            file: String::new(),
            from: 1,
            next: 1,
            events: 0,
            removals: 0,
            forced: 0,
            rejected: 0,
        };
        let reader = Reader::new(log);
        let is_whole = match &self.out {
            None => found.write(reader, output.lines()).map_err(named(None))?,
            Some(path) => {
                found.file = path.display().to_string();
                let file = File::create_new(path).map_err(|source| Error::Unwritable {
                    path: path.clone(),
                    source,
                })?;
                found.write(reader, file).map_err(named(Some(path)))?
            }
        };
        if self.out.is_some() {
            output.print(&found)?;
        }
        if is_whole {
            return Ok(Status::Good);
        }
        let _ = writeln!(err, "interrupted after {}", count(found.events, "event"));
        Ok(Status::Interrupted)
    }
}

/// Why events cannot be written: there is no reading the log, or no writing the file.
enum Failure {
    Log(deedbook::table::Error),
    Write(std::io::Error),
}

/// Says whose failure it is: a file's, or standard output's.
fn named(path: Option<&Path>) -> impl Fn(Failure) -> Error + '_ {
    move |failure| match (failure, path) {
        (Failure::Log(error), _) => Error::Table(error),
        (Failure::Write(error), None) => Error::Write(error),
        (Failure::Write(source), Some(path)) => Error::Unwritable {
            path: path.to_owned(),
            source,
        },
    }
}

impl Found {
    /// Reads the log to its end and writes its events; says whether nobody stopped it.
    fn write(&mut self, mut reader: Reader, to: impl Write) -> Result<bool, Failure> {
        let stop = interrupt::flag();
        let mut to = BufWriter::new(to);
        let mut exporter = Exporter::new();
        let mut is_whole = true;
        while let Some(event) = reader.poll().map_err(Failure::Log)? {
            let changes = match event {
                ReaderEvent::Applied { applied, .. } => applied.outcome.unwrap_or_else(|_| {
                    self.rejected += 1;
                    Vec::new()
                }),
                ReaderEvent::Jumped { to, changes, .. } => {
                    self.from = to.get();
                    changes
                }
                ReaderEvent::CaughtUp { .. } => break,
                ReaderEvent::Member { .. } => continue,
            };
            let written = self.write_events(&mut exporter, &changes, &mut to);
            written.map_err(Failure::Write)?;
            if stop.is_set() {
                is_whole = false;
                break;
            }
        }
        self.next = reader.table().next().get();
        to.flush().map_err(Failure::Write)?;
        Ok(is_whole)
    }

    fn write_events(
        &mut self,
        exporter: &mut Exporter,
        changes: &[RowChange],
        to: &mut impl Write,
    ) -> std::io::Result<()> {
        for event in exporter.events(changes) {
            self.events += 1;
            match &event.observed {
                None => self.removals += 1,
                Some(observed) => self.forced += u64::from(observed.record.forced),
            }
            serde_json::to_writer(&mut *to, &event)?;
            to.write_all(b"\n")?;
        }
        Ok(())
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} ({}, {} by force) of positions {} to before {}; {} rejected and left out",
            self.file,
            count(self.events, "event"),
            count(self.removals, "removal"),
            self.forced,
            self.from,
            self.next,
            count(self.rejected, "change"),
        )
    }
}
