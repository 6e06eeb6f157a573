//! `deedbook log at`: who owned what, once a record had been read.

use super::replay::replay;
use super::{Book, before};
use crate::output::{Column, Output, count, table};
use crate::{Error, Status};
use clap::Args;
use deedbook::ids::Position;
use deedbook::log::file::inspect;
use deedbook::state::Phase;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Shows ownership as it was once the record at a position had been read
#[derive(Debug, Args)]
pub(super) struct At {
    #[command(flatten)]
    book: Book,
    /// The position; `dump` shows them
    position: Position,
}

#[derive(Debug, Serialize)]
struct Found {
    position: u64,
    /// Where reading began: the horizon of a snapshot, or the first position.
    from: u64,
    digest: String,
    /// The highest epoch that had spoken.
    epoch: u64,
    namespaces: Vec<Namespace>,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Namespace {
    namespace: String,
    being_deleted: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    bundle: String,
    state: String,
    /// The whole record, in words.
    record: String,
    version: u64,
    fence: u64,
}

impl At {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        let stat = inspect::stat(&*self.book.storage()?)?;
        let (position, next) = (self.position, self.position.next());
        if next < stat.rebuilt_from() {
            return Err(Error::TrimmedAway {
                position,
                oldest: before(stat.rebuilt_from()),
            });
        }
        if position >= stat.end {
            return Err(Error::NotWritten {
                position,
                last: before(stat.end),
            });
        }
        let log = self.book.open_read_only()?.with_snapshots_up_to(next);
        let read = replay(Arc::new(log), next, |_, _| {})?;
        let facts = read.table().facts();
        output.print(&Found {
            position: position.get(),
            from: read.from.get(),
            digest: read.table().digest().to_string(),
            epoch: facts.epoch.get(),
            namespaces: facts
                .namespaces
                .iter()
                .map(|(namespace, phase)| Namespace {
                    namespace: namespace.to_string(),
                    being_deleted: *phase == Phase::BeingDeleted,
                })
                .collect(),
            rows: read
                .table()
                .rows()
                .map(|(bundle, row)| Row {
                    bundle: bundle.to_string(),
                    state: row.record.state().to_string(),
                    record: row.record.to_string(),
                    version: row.version.get(),
                    fence: row.fence.get(),
                })
                .collect(),
        })?;
        Ok(Status::Good)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = [
            Column::Left("bundle"),
            Column::Left("record"),
            Column::Right("since"),
            Column::Right("fence"),
        ];
        if !self.rows.is_empty() {
            f.write_str(&table(
                &columns,
                self.rows.iter().map(|row| {
                    vec![
                        row.bundle.clone(),
                        row.record.clone(),
                        row.version.to_string(),
                        row.fence.to_string(),
                    ]
                }),
            ))?;
            writeln!(f)?;
        }
        for namespace in self.namespaces.iter().filter(|n| n.being_deleted) {
            writeln!(f, "{} is being deleted", namespace.namespace)?;
        }
        writeln!(
            f,
            "at position {}: {} in {}, epoch {}, ownership {}",
            self.position,
            count(self.rows.len(), "bundle"),
            count(self.namespaces.len(), "namespace"),
            self.epoch,
            self.digest,
        )
    }
}
