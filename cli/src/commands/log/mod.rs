//! `deedbook log`: what is in the files of a log.

mod compact;
mod digest;
mod dump;
mod generate;
mod verify;

use crate::output::Output;
use crate::{Error, Status};
use clap::{Args, Subcommand};
use deedbook::ids::Position;
use deedbook::log::EventLog;
use deedbook::log::file::{Cut, FileLog, ReadOnlyFileLog};
use deedbook::storage::FsStorage;
use deedbook::table::{Reader, ReaderEvent, Table};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Looks into the files of a log, compacts them, or makes a log up.
#[derive(Debug, Args)]
pub(crate) struct Log {
    #[command(subcommand)]
    command: LogCommand,
}

#[derive(Debug, Subcommand)]
enum LogCommand {
    Dump(dump::Dump),
    Verify(verify::Verify),
    Compact(compact::Compact),
    Digest(digest::Digest),
    Generate(generate::Generate),
}

/// Which log.
#[derive(Debug, Args)]
struct Folder {
    /// The folder that holds the log
    dir: PathBuf,
}

impl Log {
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        match &self.command {
            LogCommand::Dump(command) => command.run(output),
            LogCommand::Verify(command) => command.run(output),
            LogCommand::Compact(command) => command.run(output, err),
            LogCommand::Digest(command) => command.run(output),
            LogCommand::Generate(command) => command.run(output, err),
        }
    }
}

impl Folder {
    fn path(&self) -> &Path {
        &self.dir
    }

    fn storage(&self) -> Result<Arc<FsStorage>, Error> {
        Ok(Arc::new(FsStorage::existing(&self.dir)?))
    }

    fn open_read_only(&self) -> Result<Arc<ReadOnlyFileLog>, Error> {
        Ok(Arc::new(FileLog::open_read_only(&self.dir)?))
    }
}

/// Reads a log to its end: from the newest snapshot if there is one.
struct ReadToEnd {
    table: Table,
    /// Where reading began: the horizon of a snapshot, or the first position.
    from: Position,
    accepted: u64,
    rejected: u64,
}

fn read_to_end(log: Arc<dyn EventLog>) -> Result<ReadToEnd, Error> {
    let mut reader = Reader::new(log);
    let mut from = Position::ZERO.next();
    let (mut accepted, mut rejected) = (0, 0);
    while let Some(event) = reader.poll()? {
        match event {
            ReaderEvent::Applied { applied, .. } if applied.outcome.is_ok() => accepted += 1,
            ReaderEvent::Applied { .. } => rejected += 1,
            ReaderEvent::Jumped { to, .. } => from = to,
            ReaderEvent::CaughtUp { .. } => break,
            ReaderEvent::Member { .. } => {}
        }
    }
    Ok(ReadToEnd {
        table: reader.table().clone(),
        from,
        accepted,
        rejected,
    })
}

/// What a torn write at the end of a log comes to.
fn torn(cut: &Cut) -> String {
    let Cut {
        path,
        offset,
        bytes,
        ..
    } = cut;
    format!("{} from byte {offset} on, {bytes} bytes", path.display())
}
