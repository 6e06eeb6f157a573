//! `deedbook log generate`: a log to try things on, as large as wanted.

use crate::history::{Shape, write_log};
use crate::output::{Output, count};
use crate::watch::Watch;
use crate::{Error, Status};
use clap::Args;
use deedbook::log::file::{Durability, FileLog};
use serde::Serialize;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// Writes a log of made-up changes, some of them wrong, for tests and measurements.
///
/// The same arguments give the same changes and the same digest. Nothing is synced before the end.
#[derive(Debug, Args)]
pub(super) struct Generate {
    /// The folder to write it into, which must be empty or not there
    dir: PathBuf,
    /// How many bundles there are in the beginning
    #[arg(long, value_name = "N", default_value_t = 1_000,
        value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    bundles: u64,
    /// How many changes are written
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    changes: u64,
    /// How many of a hundred changes are wrong, such as 30%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = percent)]
    invalid: u8,
    /// How many brokers write them
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(2..=100_000))]
    brokers: u32,
    /// Equal seeds give equal changes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

#[derive(Debug, Serialize)]
struct Found {
    digest: String,
    next: u64,
    rows: usize,
    namespaces: usize,
    accepted: u64,
    rejected: u64,
    seed: u64,
}

fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.parse() {
        Ok(percent) if percent <= 100 => Ok(percent),
        _ => Err("not a whole number of percent from 0% to 100%".to_owned()),
    }
}

impl Generate {
    pub(super) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        self.check_folder()?;
        let log = FileLog::builder(&self.dir).durability(Durability::Never);
        let log = log.open()?;
        let watch = Watch::records(self.changes);
        let history = write_log(&log, self.shape(), |left| {
            watch.at(self.changes.saturating_sub(left)).is_ok()
        })?;
        drop(watch);
        log.close();
        let left = history.left();
        if left > 0 {
            let _ = writeln!(err, "interrupted: {} not written", count(left, "change"));
        }
        let table = history.table();
        output.print(&Found {
            digest: table.digest().to_string(),
            next: table.next().get(),
            rows: table.row_count(),
            namespaces: table.facts().namespaces.len(),
            accepted: history.accepted(),
            rejected: history.rejected(),
            seed: self.seed,
        })?;
        Ok(if left > 0 {
            Status::Interrupted
        } else {
            Status::Good
        })
    }

    fn shape(&self) -> Shape {
        Shape {
            bundles: self.bundles,
            changes: self.changes,
            invalid_percent: self.invalid,
            brokers: self.brokers,
            seed: self.seed,
        }
    }

    fn check_folder(&self) -> Result<(), Error> {
        let is_used = fs::read_dir(&self.dir).is_ok_and(|mut inside| inside.next().is_some());
        if is_used {
            let path = self.dir.clone();
            return Err(Error::FolderInUse { path });
        }
        Ok(())
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.digest)?;
        writeln!(
            f,
            "{} in {}, next position {}; {} accepted, {} rejected; seed {}",
            count(self.rows, "bundle"),
            count(self.namespaces, "namespace"),
            self.next,
            count(self.accepted, "change"),
            self.rejected,
            self.seed,
        )
    }
}
