//! `deedbook log stat`: how large a log is, and how much of it is still of use.

use super::replay::{Replay, replay_all};
use super::{Book, file_name, torn};
use crate::output::{self, Column, Output, count, table};
use crate::{Error, Status};
use clap::Args;
use deedbook::log::file::inspect;
use deedbook::table::Table;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Shows segments, snapshots, sizes, how much is dead weight, and the oldest bundle in flight
#[derive(Debug, Args)]
pub(super) struct Stat {
    #[command(flatten)]
    book: Book,
}

#[derive(Debug, Serialize)]
struct Found {
    log: String,
    /// The first position that is retained.
    first: u64,
    /// The next position that will be written.
    end: u64,
    /// The horizon of the newest snapshot; 0 without one.
    horizon: u64,
    /// The lowest position at which ownership can still be told.
    told_from: u64,
    bytes: u64,
    segments: Vec<File>,
    snapshots: Vec<File>,
    spare_bytes: u64,
    torn_end: Option<String>,
    rows: usize,
    /// How many records a newcomer reads on top of the snapshot.
    records_behind_snapshot: u64,
    rejected: u64,
    /// How much of what a newcomer reads is of no use to it any more.
    dead_percent: f64,
    in_flight: usize,
    oldest_in_flight: Option<InFlight>,
}

#[derive(Debug, Serialize)]
struct File {
    file: String,
    /// Of a segment its first position, of a snapshot its horizon.
    position: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct InFlight {
    bundle: String,
    record: String,
    since: u64,
    /// How many records came after it.
    records_ago: u64,
}

impl Stat {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        let stat = inspect::stat(&*self.book.storage()?)?;
        let read = replay_all(Arc::new(self.book.open_read_only()?), stat.end)?;
        let segments = stat.segments.iter().map(|segment| File {
            file: file_name(&segment.path),
            position: segment.first.get(),
            bytes: segment.bytes,
        });
        let snapshots = stat.snapshots.iter().map(|snapshot| File {
            file: file_name(&snapshot.path),
            position: snapshot.horizon.get(),
            bytes: snapshot.bytes,
        });
        let (segments, snapshots): (Vec<_>, Vec<_>) = (segments.collect(), snapshots.collect());
        let files = segments.iter().chain(&snapshots);
        output.print(&Found {
            log: stat.log.to_string(),
            first: stat.first().get(),
            end: stat.end.get(),
            horizon: stat.horizon().get(),
            told_from: stat.rebuilt_from().get().saturating_sub(1).max(1),
            bytes: files.map(|file| file.bytes).sum::<u64>() + stat.spare_bytes,
            segments,
            snapshots,
            spare_bytes: stat.spare_bytes,
            torn_end: stat.cut.as_ref().map(torn),
            rows: read.table().row_count(),
            records_behind_snapshot: read.records,
            rejected: read.rejected,
            dead_percent: dead_percent(&read),
            in_flight: read.table().in_flight().count(),
            oldest_in_flight: oldest_in_flight(read.table()),
        })?;
        Ok(Status::Good)
    }
}

/// Of a snapshot's rows and the records behind it, those that did not become a row.
fn dead_percent(read: &Replay) -> f64 {
    let weight = read.snapshot_rows + read.records;
    let dead = weight.saturating_sub(read.table().row_count() as u64);
    if weight == 0 {
        return 0.0;
    }
    (1000.0 * dead as f64 / weight as f64).round() / 10.0
}

fn oldest_in_flight(table: &Table) -> Option<InFlight> {
    let (bundle, row) = table.in_flight().min_by_key(|(_, row)| row.version)?;
    Some(InFlight {
        bundle: bundle.to_string(),
        record: row.record.to_string(),
        since: row.version.get(),
        records_ago: table.next().get() - row.version.get() - 1,
    })
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = [
            Column::Left("file"),
            Column::Right("position"),
            Column::Right("size"),
        ];
        let files = self.segments.iter().chain(&self.snapshots);
        f.write_str(&table(
            &columns,
            files.map(|file| {
                vec![
                    file.file.clone(),
                    file.position.to_string(),
                    output::bytes(file.bytes),
                ]
            }),
        ))?;
        writeln!(f)?;
        writeln!(
            f,
            "log {}: positions {} to {}, {} in {} and {}, {} of it spare",
            self.log,
            self.first,
            self.end - 1,
            output::bytes(self.bytes),
            count(self.segments.len(), "segment"),
            count(self.snapshots.len(), "snapshot"),
            output::bytes(self.spare_bytes),
        )?;
        writeln!(
            f,
            "horizon {}; ownership can be told from position {} on",
            self.horizon, self.told_from,
        )?;
        writeln!(
            f,
            "{}; a newcomer reads {} behind the snapshot, {} rejected; {:.1} % is of no use to it",
            count(self.rows, "bundle"),
            count(self.records_behind_snapshot, "record"),
            self.rejected,
            self.dead_percent,
        )?;
        if let Some(torn) = &self.torn_end {
            writeln!(f, "torn end, which the next opening cuts: {torn}")?;
        }
        match &self.oldest_in_flight {
            None => writeln!(f, "nothing is in flight"),
            Some(oldest) => writeln!(
                f,
                "{} in flight; for longest {}: {} since position {}, {} ago",
                count(self.in_flight, "bundle"),
                oldest.bundle,
                oldest.record,
                oldest.since,
                count(oldest.records_ago, "record"),
            ),
        }
    }
}
