//! `deedbook log digest`: one number for who owns what.

use super::{Folder, read_to_end};
use crate::output::{Output, count};
use crate::{Error, Status};
use clap::Args;
use serde::Serialize;
use std::fmt;

/// Rebuilds ownership and prints one number for all of it: equal for equal ownership
#[derive(Debug, Args)]
pub(super) struct Digest {
    #[command(flatten)]
    folder: Folder,
}

#[derive(Debug, Serialize)]
struct Found {
    digest: String,
    log: String,
    /// Where reading began: the horizon of the newest snapshot, or the first position.
    from: u64,
    /// The next position that will be written.
    next: u64,
    rows: usize,
    namespaces: usize,
    accepted: u64,
    rejected: u64,
}

impl Digest {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        let log = self.folder.open_read_only()?;
        let read = read_to_end(log.clone())?;
        output.print(&Found {
            digest: read.table.digest().to_string(),
            log: deedbook::log::EventLog::id(&*log).to_string(),
            from: read.from.get(),
            next: read.table.next().get(),
            rows: read.table.row_count(),
            namespaces: read.table.facts().namespaces.len(),
            accepted: read.accepted,
            rejected: read.rejected,
        })?;
        Ok(Status::Good)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.digest)?;
        writeln!(
            f,
            "log {}: {} in {}, read from position {} to before {}; {} accepted, {} rejected",
            self.log,
            count(self.rows, "bundle"),
            count(self.namespaces, "namespace"),
            self.from,
            self.next,
            count(self.accepted, "change"),
            self.rejected,
        )
    }
}
