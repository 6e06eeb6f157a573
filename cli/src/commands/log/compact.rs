//! `deedbook log compact`: a snapshot of all that is there, and the rest trimmed.

use super::{Book, torn};
use crate::output::{Output, count};
use crate::watch::Watch;
use crate::{Error, Status};
use clap::Args;
use deedbook::clock::BootClock;
use deedbook::compactor::{Attempt, Config, End, Progress, Report};
use deedbook::ids::{BrokerId, Epoch};
use deedbook::log::EventLog;
use deedbook::log::file::FileLog;
use deedbook::registry::{LogRegistry, Registry};
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// The name under which the command leads the log for a moment.
const NAME: &str = "deedbook-log-compact";

/// How long it may take: as long as it takes, for nobody else can open the log meanwhile.
const SESSION: Duration = Duration::from_secs(24 * 3600);

/// Compacts a log that no broker has open
#[derive(Debug, Args)]
pub(super) struct Compact {
    #[command(flatten)]
    book: Book,
}

#[derive(Debug, Serialize)]
struct Found {
    horizon_before: u64,
    horizon_after: u64,
    entries_read: u64,
    rows_before: u64,
    rows_after: u64,
    dropped: u64,
    bytes_written: u64,
}

impl Compact {
    pub(super) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        // Opening for writing would make a log where there is none.
        drop(self.book.open_read_only()?);
        // Threads would make the next segment, which nobody needs here, of a size of their own.
        let log = self.book.builder().without_threads().open()?;
        if let Some(cut) = log.cut() {
            let _ = writeln!(err, "cut a torn end: {}", torn(cut));
        }
        for path in log.set_aside() {
            let _ = writeln!(err, "set a damaged snapshot aside: {}", path.display());
        }
        let report = lead_and_compact(log)?;
        output.print(&Found {
            horizon_before: report.horizon_before.get(),
            horizon_after: report.horizon_after.get(),
            entries_read: report.entries_read,
            rows_before: report.rows_before,
            rows_after: report.rows_after,
            dropped: report.dropped(),
            bytes_written: report.bytes_written,
        })?;
        Ok(Status::Good)
    }
}

/// Only a leader compacts: registers, leads, compacts, and leaves.
fn lead_and_compact(log: FileLog) -> Result<Report, Error> {
    let log = Arc::new(log);
    let registry = LogRegistry::new(log.clone(), Arc::new(BootClock), SESSION);
    let name = BrokerId::new(NAME).map_err(|_| Error::NotLeading)?;
    let session = registry.register(&name)?;
    let Some(epoch) = registry.campaign(session)? else {
        return Err(Error::NotLeading);
    };
    let report = compact(log, epoch);
    registry.leave(session)?;
    report
}

/// Until the snapshot is published, a compaction that is given up leaves nothing behind.
fn compact(log: Arc<FileLog>, epoch: Epoch) -> Result<Report, Error> {
    let horizon = log.snapshot()?.map_or(0, |newest| newest.horizon().get());
    let watch = Watch::records(log.end().get().saturating_sub(horizon));
    let mut attempt = Attempt::new(log, epoch, End::CaughtUp, Config::default());
    loop {
        match attempt.step(Duration::ZERO)? {
            Progress::Replaying | Progress::Writing => watch.at(attempt.report().entries_read)?,
            Progress::Publishing | Progress::Trimming => {}
            Progress::Done(report) => return Ok(report),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "horizon {} -> {}: {} and {} in, {} out, {} dropped; {} written",
            self.horizon_before,
            self.horizon_after,
            count(self.rows_before, "bundle"),
            count(self.entries_read, "change"),
            count(self.rows_after, "bundle"),
            self.dropped,
            count(self.bytes_written, "byte"),
        )
    }
}
