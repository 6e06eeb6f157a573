//! `deedbook log digest`: one number for who owns what.

use super::Book;
use super::replay::replay_all;
use crate::output::{Output, count};
use crate::{Error, Status};
use clap::Args;
use deedbook::log::EventLog;
use deedbook::log::file::inspect;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Rebuilds ownership and prints one number for all of it: equal for equal ownership
#[derive(Debug, Args)]
pub(super) struct Digest {
    #[command(flatten)]
    book: Book,
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
        let end = inspect::stat(&*self.book.storage()?)?.end;
        let log = self.book.open_read_only()?;
        let id = log.id();
        let read = replay_all(Arc::new(log), end)?;
        output.print(&Found {
            digest: read.table().digest().to_string(),
            log: id.to_string(),
            from: read.from.get(),
            next: read.table().next().get(),
            rows: read.table().row_count(),
            namespaces: read.table().facts().namespaces.len(),
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
