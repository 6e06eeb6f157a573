//! A folder that is filled under another name and gets its own in one step, once it is whole.

use crate::Error;
use deedbook::storage::FsStorage;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder that is being filled. Unless it is given its name, it is removed again.
pub(crate) struct NewFolder {
    target: PathBuf,
    part: PathBuf,
    is_named: bool,
}

impl NewFolder {
    /// Begins the folder `target`, which may be there if it is empty.
    pub(crate) fn create(target: &Path) -> Result<Self, Error> {
        let is_free = match fs::read_dir(target) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if !is_free {
            let path = target.to_owned();
            return Err(Error::FolderInUse { path });
        }
        let part = beside(target, "part");
        if part.exists() {
            return Err(Error::InTheWay { path: part });
        }
        FsStorage::create(&part)?;
        Ok(Self {
            target: target.to_owned(),
            part,
            is_named: false,
        })
    }

    /// The folder as it is now.
    pub(crate) fn storage(&self) -> Result<Arc<FsStorage>, Error> {
        Ok(Arc::new(FsStorage::existing(&self.part)?))
    }

    /// Gives it its name, durably; its files have been synced before.
    pub(crate) fn give_name(mut self) -> Result<(), Error> {
        rename(&self.part, &self.target)?;
        self.is_named = true;
        sync_parent(&self.target)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.is_named {
            // If it stays, the next run says that it is in the way.
            let _ = fs::remove_dir_all(&self.part);
        }
    }
}

/// A folder that is there, by a path without links.
pub(crate) fn resolve(folder: &Path) -> Result<PathBuf, Error> {
    fs::canonicalize(folder).map_err(|source| Error::Unreadable {
        path: folder.to_owned(),
        source,
    })
}

/// The name of a folder with something behind it; it may be the folder that this process is in.
pub(crate) fn beside(folder: &Path, extension: &str) -> PathBuf {
    let named = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut name = named.components().as_path().as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(|source| Error::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
        source,
    })
}

/// Makes the names beside `folder` durable.
pub(crate) fn sync_parent(folder: &Path) -> Result<(), Error> {
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let synced = File::open(parent).and_then(|parent| parent.sync_all());
    synced.map_err(|source| Error::Unreadable {
        path: parent.to_owned(),
        source,
    })
}
