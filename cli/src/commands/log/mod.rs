//! `deedbook log`: what is in the files of a log.

mod at;
mod backup;
mod compact;
mod digest;
mod dump;
mod generate;
mod history;
mod repair;
mod replay;
mod stat;
mod verify;

use crate::interrupt;
use crate::output::Output;
use crate::{Error, Status};
use clap::{Args, Subcommand};
use deedbook::ids::Position;
use deedbook::log::file::{Cut, FileLog, FileLogBuilder, ReadOnlyFileLog};
use deedbook::storage::FsStorage;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Looks into the files of a log, compacts, copies or repairs them, or makes a log up.
#[derive(Debug, Args)]
pub(crate) struct Log {
    #[command(subcommand)]
    command: LogCommand,
}

#[derive(Debug, Subcommand)]
enum LogCommand {
    Stat(stat::Stat),
    Dump(dump::Dump),
    History(history::History),
    At(at::At),
    Digest(digest::Digest),
    Verify(verify::Verify),
    Compact(compact::Compact),
    Backup(backup::Backup),
    Restore(backup::Restore),
    Repair(repair::Repair),
    Generate(generate::Generate),
}

/// Which log.
#[derive(Debug, Args)]
struct Folder {
    /// The folder that holds the log
    dir: PathBuf,
}

/// Which log, for whoever rebuilds ownership from it.
#[derive(Debug, Args)]
struct Book {
    #[command(flatten)]
    folder: Folder,
    /// If a snapshot is damaged, use the newest sound one and the entries behind it
    #[arg(long)]
    skip_damaged_snapshots: bool,
}

impl Log {
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        // From here on Ctrl-C ends a command where it leaves nothing behind.
        interrupt::flag();
        match &self.command {
            LogCommand::Stat(command) => command.run(output),
            LogCommand::Dump(command) => command.run(output),
            LogCommand::History(command) => command.run(output),
            LogCommand::At(command) => command.run(output),
            LogCommand::Digest(command) => command.run(output),
            LogCommand::Verify(command) => command.run(output),
            LogCommand::Compact(command) => command.run(output, err),
            LogCommand::Generate(command) => command.run(output, err),
            LogCommand::Backup(command) => command.run(output),
            LogCommand::Restore(command) => command.run(output),
            LogCommand::Repair(command) => command.run(output),
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
}

impl Book {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn storage(&self) -> Result<Arc<FsStorage>, Error> {
        self.folder.storage()
    }

    fn builder(&self) -> FileLogBuilder {
        let builder = FileLog::builder(self.path());
        if self.skip_damaged_snapshots {
            builder.without_damaged_snapshots()
        } else {
            builder
        }
    }

    fn open_read_only(&self) -> Result<ReadOnlyFileLog, Error> {
        Ok(self.builder().open_read_only()?)
    }
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

/// The position before the next one.
fn before(next: Position) -> Position {
    Position::new(next.get().saturating_sub(1))
}

/// The name of a file without its folder.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
