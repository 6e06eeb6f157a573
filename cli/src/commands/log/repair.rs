//! `deedbook log repair`: what can be saved of a damaged log, and the log that goes on with it.

use super::Folder;
use super::verify::verify;
use crate::folder::{NewFolder, beside, rename, resolve, sync_parent};
use crate::output::{Output, count};
use crate::watch::Watch;
use crate::{Error, Status};
use clap::Args;
use deedbook::ids::Position;
use deedbook::log::Payload;
use deedbook::log::file::{inspect, repair};
use deedbook::snapshot::{BLOCK_BYTES, Snapshot, Writer};
use deedbook::storage::Storage;
use deedbook::table::Table;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// Shows what of a damaged log can be saved; with --apply, saves it and keeps the original aside
#[derive(Debug, Args)]
pub(super) struct Repair {
    #[command(flatten)]
    folder: Folder,
    /// Put a log that goes on with what can be saved in the place of the damaged one
    #[arg(long)]
    apply: bool,
}

#[derive(Debug, Serialize)]
struct Found {
    /// Whether there is nothing to repair.
    sound: bool,
    /// What is wrong, file by file.
    flaws: Vec<String>,
    saved: Option<Saved>,
    applied: bool,
    /// Where the damaged log is now.
    original: Option<String>,
}

#[derive(Debug, Serialize)]
struct Saved {
    /// The horizon of the snapshot that is used; 0 without one.
    snapshot: u64,
    /// How many records behind it can be read.
    records: u64,
    /// The first position that is lost, unless nothing is.
    lost_from: Option<u64>,
    /// The damage behind which nothing can be read.
    damage: Option<String>,
    /// The position at which the repaired log goes on.
    goes_on_at: u64,
    rows: usize,
    digest: String,
}

/// What was saved, to be written.
struct Salvaged {
    table: Table,
    salvage: repair::Salvage,
    saved: Saved,
}

impl Repair {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        let storage = self.folder.storage()?;
        let _lock = self.apply.then(|| storage.lock()).transpose()?;
        let report = verify(&*storage)?;
        let mut found = Found {
            sound: report.is_sound(),
            flaws: flaws(&report),
            saved: None,
            applied: false,
            original: None,
        };
        if report.log.is_none() && report.segments.is_empty() && report.flaw.is_none() {
            let path = self.folder.path().to_owned();
            return Err(Error::NoLog { path });
        }
        if found.sound {
            output.print(&found)?;
            return Ok(Status::Good);
        }
        let last = report.segments.last();
        let end = last.map_or(Position::ZERO, |last| last.end);
        let salvaged = fold(repair::salvage(storage)?, end)?;
        if self.apply {
            found.original = Some(self.replace(&salvaged)?.display().to_string());
            found.applied = true;
        }
        found.saved = Some(salvaged.saved);
        output.print(&found)?;
        Ok(if found.applied {
            Status::Good
        } else {
            Status::False
        })
    }

    /// Puts the new log in the place of the damaged one; says where that is now.
    ///
    /// A crash leaves the damaged log in its place, or both under names that say what they are.
    fn replace(&self, salvaged: &Salvaged) -> Result<PathBuf, Error> {
        // Who names the folder by a link, or from within, means the folder.
        let dir = &resolve(self.folder.path())?;
        let repaired = NewFolder::create(&beside(dir, "repaired"))?;
        let next = Position::new(salvaged.saved.goes_on_at);
        let facts = salvaged.table.facts();
        let log = salvaged.salvage.log();
        let sink = repair::found_log(repaired.storage()?, log, next, facts.epoch)?;
        let mut writer = Writer::begin(sink, next, facts, BLOCK_BYTES)?;
        for (bundle, row) in salvaged.table.rows() {
            writer.write_row(bundle, row)?;
        }
        writer.seal()?.commit()?;
        repaired.give_name()?;
        let mut originals = (1..).map(|number: u32| beside(dir, &format!("damaged-{number}")));
        let is_free = |path: &PathBuf| !path.exists();
        let original = originals.find(is_free).unwrap_or_else(|| dir.to_owned());
        rename(dir, &original)?;
        rename(&beside(dir, "repaired"), dir)?;
        sync_parent(dir)?;
        Ok(original)
    }
}

/// Everything that is wrong, a line each.
fn flaws(report: &inspect::Report) -> Vec<String> {
    let segments = report.segments.iter();
    let segments = segments.filter_map(|segment| segment.flaw.as_ref().map(ToString::to_string));
    let snapshots = report.snapshots.iter();
    let snapshots =
        snapshots.filter_map(|snapshot| snapshot.flaw.as_ref().map(ToString::to_string));
    let whole = report.flaw.iter().map(ToString::to_string);
    let mut flaws: Vec<_> = segments.chain(snapshots).chain(whole).collect();
    flaws.dedup();
    flaws
}

/// Reads what can be read.
fn fold(mut salvage: repair::Salvage, end: Position) -> Result<Salvaged, Error> {
    let mut table = Table::default();
    if let Some(source) = salvage.snapshot()? {
        table = Table::load(Snapshot::open(source)?)?;
    }
    let snapshot = table.next();
    let watch = Watch::records(end.get());
    let mut records = 0;
    let damage = loop {
        match salvage.read() {
            Ok(None) => break None,
            Ok(Some((position, payload))) => {
                watch.at(position.get())?;
                records += 1;
                match payload {
                    Payload::Entry(entry) => _ = table.apply(position, &entry)?,
                    Payload::Member(_) => table.skip(position),
                }
            }
            Err(damage) => break Some(damage.to_string()),
        }
    };
    let beyond = salvage.beyond()?;
    let lost_from = (table.next() < beyond).then(|| table.next().get());
    let saved = Saved {
        snapshot: if snapshot > Position::ZERO.next() {
            snapshot.get()
        } else {
            0
        },
        records,
        lost_from,
        damage,
        goes_on_at: beyond.get(),
        rows: table.row_count(),
        digest: table.digest().to_string(),
    };
    Ok(Salvaged {
        table,
        salvage,
        saved,
    })
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sound {
            return writeln!(f, "nothing to repair: everything is as it was written");
        }
        self.flaws
            .iter()
            .try_for_each(|flaw| writeln!(f, "flaw: {flaw}"))?;
        if let Some(saved) = &self.saved {
            let base = match saved.snapshot {
                0 => "from the beginning".to_owned(),
                horizon => format!("from the snapshot of horizon {horizon}"),
            };
            writeln!(
                f,
                "can be saved: {} with {} {base}; ownership {}",
                count(saved.rows, "bundle"),
                count(saved.records, "record"),
                saved.digest,
            )?;
            match saved.lost_from {
                Some(first) => writeln!(f, "LOST: every record from position {first} on")?,
                None => writeln!(f, "lost: nothing but history")?,
            }
            writeln!(
                f,
                "the repaired log goes on at position {}",
                saved.goes_on_at
            )?;
        }
        match &self.original {
            Some(original) => writeln!(f, "done; the damaged log is kept as {original}"),
            None => writeln!(
                f,
                "nothing was changed; --apply does it and keeps the original aside"
            ),
        }
    }
}
