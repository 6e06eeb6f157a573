//! `deedbook log verify`: every byte of every file.

use super::replay::replay_all;
use super::{Folder, file_name, torn};
use crate::output::{Column, Output, count, table};
use crate::watch::Watch;
use crate::{Error, Status};
use clap::Args;
use deedbook::ids::Position;
use deedbook::log::file::{FileLog, inspect};
use deedbook::storage::Storage;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Reads every byte of every file and rebuilds ownership; exit status 1 if anything is not as it
/// was written
#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    folder: Folder,
}

#[derive(Debug, Serialize)]
struct Found {
    sound: bool,
    log: Option<String>,
    segments: Vec<Segment>,
    snapshots: Vec<Snapshot>,
    /// A torn write at the end, which the next opening cuts. No damage.
    torn_end: Option<String>,
    /// What is wrong with the log as a whole.
    flaw: Option<String>,
    /// One number for who owns what; none if that could not be rebuilt.
    digest: Option<String>,
}

#[derive(Debug, Serialize)]
struct Segment {
    file: String,
    first: u64,
    end: u64,
    used_bytes: u64,
    flaw: Option<String>,
}

#[derive(Debug, Serialize)]
struct Snapshot {
    horizon: u64,
    epoch: Option<u64>,
    blocks: u64,
    flaw: Option<String>,
}

impl Verify {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        let storage = self.folder.storage()?;
        let report = verify(&*storage)?;
        if report.log.is_none() && report.segments.is_empty() && report.flaw.is_none() {
            return Err(Error::NoLog {
                path: self.folder.path().to_owned(),
            });
        }
        let rebuilt = match end(&report) {
            Some(end) => rebuild(self.folder.path(), end).map(Some),
            None => Ok(None),
        };
        if let Err(Error::Interrupted) = rebuilt {
            return Err(Error::Interrupted);
        }
        let flaw = report.flaw.as_ref().map(ToString::to_string);
        let unreadable = rebuilt.as_ref().err().map(ToString::to_string);
        let found = Found {
            sound: report.is_sound() && rebuilt.is_ok(),
            log: report.log.map(|log| log.to_string()),
            segments: report.segments.iter().map(Segment::new).collect(),
            snapshots: report.snapshots.iter().map(Snapshot::new).collect(),
            torn_end: report.cut.as_ref().map(torn),
            flaw: flaw.or(unreadable),
            digest: rebuilt.ok().flatten(),
        };
        output.print(&found)?;
        Ok(if found.sound {
            Status::Good
        } else {
            Status::False
        })
    }
}

/// Reads every byte of every file.
pub(super) fn verify(storage: &dyn Storage) -> Result<inspect::Report, Error> {
    let mut verification = inspect::Verification::begin(storage)?;
    let watch = Watch::bytes(verification.bytes());
    while verification.step()? {
        watch.at(verification.bytes_done())?;
    }
    Ok(verification.finish())
}

/// Where the log ends; none if damage hides that.
fn end(report: &inspect::Report) -> Option<Position> {
    let last = report.segments.last();
    let last = last.filter(|last| last.flaw.is_none());
    last.map(|last| last.end)
}

/// Rebuilds ownership; its digest.
fn rebuild(path: &Path, end: Position) -> Result<String, Error> {
    let log = FileLog::open_read_only(path)?;
    let read = replay_all(Arc::new(log), end)?;
    Ok(read.table().digest().to_string())
}

impl Segment {
    fn new(report: &inspect::SegmentReport) -> Self {
        Self {
            file: file_name(&report.path),
            first: report.first.get(),
            end: report.end.get(),
            used_bytes: report.used_bytes,
            flaw: report.flaw.as_ref().map(ToString::to_string),
        }
    }
}

impl Snapshot {
    fn new(report: &inspect::SnapshotReport) -> Self {
        Self {
            horizon: report.horizon.get(),
            epoch: report.epoch.map(|epoch| epoch.get()),
            blocks: report.block_count,
            flaw: report.flaw.as_ref().map(ToString::to_string),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fine = |flaw: &Option<String>| flaw.clone().unwrap_or_else(|| "fine".to_owned());
        let columns = [
            Column::Left("segment"),
            Column::Right("first"),
            Column::Right("end"),
            Column::Right("bytes"),
            Column::Left(""),
        ];
        f.write_str(&table(
            &columns,
            self.segments.iter().map(|segment| {
                vec![
                    segment.file.clone(),
                    segment.first.to_string(),
                    segment.end.to_string(),
                    segment.used_bytes.to_string(),
                    fine(&segment.flaw),
                ]
            }),
        ))?;
        if !self.snapshots.is_empty() {
            let columns = [
                Column::Right("snapshot"),
                Column::Right("epoch"),
                Column::Right("blocks"),
                Column::Left(""),
            ];
            writeln!(f)?;
            f.write_str(&table(
                &columns,
                self.snapshots.iter().map(|snapshot| {
                    let epoch = snapshot
                        .epoch
                        .map_or_else(|| "-".to_owned(), |e| e.to_string());
                    let blocks = snapshot.blocks.to_string();
                    vec![
                        snapshot.horizon.to_string(),
                        epoch,
                        blocks,
                        fine(&snapshot.flaw),
                    ]
                }),
            ))?;
        }
        writeln!(f)?;
        if let Some(torn) = &self.torn_end {
            writeln!(f, "torn end, which the next opening cuts: {torn}")?;
        }
        if let Some(flaw) = &self.flaw {
            writeln!(f, "flaw: {flaw}")?;
        }
        if let Some(digest) = &self.digest {
            writeln!(f, "ownership: {digest}")?;
        }
        let files = count(self.segments.len() + self.snapshots.len(), "file");
        let verdict = if self.sound {
            "as it was written"
        } else {
            "DAMAGED"
        };
        writeln!(f, "{files}, {verdict}")
    }
}
