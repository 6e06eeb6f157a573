//! `deedbook log backup` and `restore`: a copy of a log, and a log of its own from a copy.

use super::Folder;
use crate::folder::NewFolder;
use crate::output::{self, Output, count};
use crate::watch::Watch;
use crate::{Error, Status};
use clap::Args;
use deedbook::log::file::{Copied, Copying, Identity};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// Copies a log, which a broker may be writing meanwhile
#[derive(Debug, Args)]
pub(super) struct Backup {
    #[command(flatten)]
    folder: Folder,
    /// Where the copy goes: a folder that is empty or not there
    target: PathBuf,
}

/// Makes a log of its own from a copy: with a new id, so that nobody takes it for the original
#[derive(Debug, Args)]
pub(super) struct Restore {
    #[command(flatten)]
    folder: Folder,
    /// Where the new log goes: a folder that is empty or not there
    target: PathBuf,
}

#[derive(Debug, Serialize)]
struct Found {
    target: String,
    log: String,
    first: u64,
    end: u64,
    horizon: u64,
    files: usize,
    bytes: u64,
}

impl Backup {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        copy(&self.folder, &self.target, Identity::Same, output)
    }
}

impl Restore {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        copy(&self.folder, &self.target, Identity::New, output)
    }
}

fn copy(
    folder: &Folder,
    target: &Path,
    identity: Identity,
    output: &mut Output<'_>,
) -> Result<Status, Error> {
    let source = folder.storage()?;
    let new = NewFolder::create(target)?;
    let mut copying = Copying::begin(source, new.storage()?, identity)?;
    let watch = Watch::bytes(copying.bytes());
    let copied = loop {
        watch.at(copying.bytes_done())?;
        if let Some(copied) = copying.step()? {
            break copied;
        }
    };
    drop(copying);
    new.give_name()?;
    output.print(&Found::new(target, &copied))?;
    Ok(Status::Good)
}

impl Found {
    fn new(target: &Path, copied: &Copied) -> Self {
        Self {
            target: target.display().to_string(),
            log: copied.log.to_string(),
            first: copied.first.get(),
            end: copied.end.get(),
            horizon: copied.horizon.get(),
            files: copied.files,
            bytes: copied.bytes,
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: log {}, positions {} to {}, horizon {}; {} in {}",
            self.target,
            self.log,
            self.first,
            self.end.saturating_sub(1),
            self.horizon,
            output::bytes(self.bytes),
            count(self.files, "file"),
        )
    }
}
