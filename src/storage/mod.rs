//! Where bytes live: one directory of files, on a real disk or in memory.
//!
//! Bottom layer; the log in files stands on it. What is written is visible at once and durable only
//! once it was synced: a file's bytes by [`File::sync`], its name by [`Storage::sync`]. The storage
//! in memory keeps the two apart, so that a crash can be tried at every operation.

mod error;
#[cfg(unix)]
mod fs;
mod memory;

pub use error::Error;
pub(crate) use error::advice;
#[cfg(unix)]
pub use fs::FsStorage;
pub use memory::{MemoryStorage, Unsynced};

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// How many zeroes are written at a time.
static ZEROES: [u8; 64 * 1024] = [0; 64 * 1024];

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read.
    Read,
    /// To read and write.
    Write,
}

/// A directory of files.
///
/// An implementation must:
///
/// - let a rename replace its target in one step, so that a crash leaves the old file or the new;
/// - make the names as they are now durable with [`sync`](Storage::sync);
/// - keep a file that is open readable after it was renamed or removed;
/// - lock out all but one holder, across processes, and take the lock back when that one dies.
pub trait Storage: Send + Sync + Debug {
    /// Where it is, for messages.
    fn path(&self) -> &Path;

    /// The names of all files, sorted.
    ///
    /// # Errors
    ///
    /// [`Error`] if the directory cannot be read.
    fn list(&self) -> Result<Vec<String>, Error>;

    /// Opens a file that exists.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Permission`] and what else the operating system reports.
    fn open(&self, name: &str, access: Access) -> Result<Arc<dyn File>, Error>;

    /// Creates an empty file to read and write.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyExists`] if there is one of that name; [`Error::Full`],
    /// [`Error::Permission`], [`Error::ReadOnly`].
    fn create(&self, name: &str) -> Result<Arc<dyn File>, Error>;

    /// Gives a file another name; a file that has it already is replaced.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is nothing to rename.
    fn rename(&self, from: &str, to: &str) -> Result<(), Error>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if it is not there.
    fn remove(&self, name: &str) -> Result<(), Error>;

    /// Makes the names durable.
    ///
    /// # Errors
    ///
    /// [`Error`]; it is unknown then which of the changes are durable.
    fn sync(&self) -> Result<(), Error>;

    /// Takes the lock of the one writer, until what is returned is dropped.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if somebody else has it.
    fn lock(&self) -> Result<Box<dyn Lock>, Error>;
}

/// A file that is open.
///
/// An implementation must write all of what it is given or fail, resume what was interrupted, and
/// promise nothing about bytes that were not synced.
pub trait File: Send + Sync + Debug {
    /// Its size in bytes.
    ///
    /// # Errors
    ///
    /// [`Error`] if the operating system does not tell.
    fn size(&self) -> Result<u64, Error>;

    /// Fills the buffer from `offset` on, as far as the file goes; says how many bytes it got.
    ///
    /// # Errors
    ///
    /// [`Error`] if the operating system cannot read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error>;

    /// Writes all bytes at `offset`; a file that is shorter grows.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and others; a part of the bytes may have been written then.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error>;

    /// Cuts the file, or lets it grow by a hole.
    ///
    /// # Errors
    ///
    /// [`Error`] if the operating system cannot.
    fn set_size(&self, bytes: u64) -> Result<(), Error>;

    /// Makes its bytes and its size durable.
    ///
    /// # Errors
    ///
    /// [`Error`]; it is unknown then what is durable, and syncing again proves nothing.
    fn sync(&self) -> Result<(), Error>;

    /// Makes sure that a name leads to it: a file that was removed takes bytes and syncs them as
    /// any other, and nothing is left of it once it is closed.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if it was removed, or replaced by a rename. One that was moved, alone or
    /// with its directory, has a name.
    fn check_name(&self) -> Result<(), Error>;
}

/// The lock of the one writer; dropping it gives it back.
pub trait Lock: Send + Sync + Debug {}

/// Writes zeroes over `[start, end)`, so that the disk holds room for these bytes and later writes
/// change no metadata.
///
/// # Errors
///
/// As [`File::write_at`].
pub fn write_zeroes(file: &dyn File, start: u64, end: u64) -> Result<(), Error> {
    let mut offset = start;
    while offset < end {
        let left = usize::try_from(end - offset).unwrap_or(usize::MAX);
        let chunk = ZEROES.get(..left.min(ZEROES.len())).unwrap_or(&ZEROES);
        file.write_at(offset, chunk)?;
        offset += chunk.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both kinds of storage owe, on a directory that is empty.
    fn conforms(storage: &dyn Storage) {
        let file = storage.create("b").unwrap();
        assert!(matches!(
            storage.create("b"),
            Err(Error::AlreadyExists { .. })
        ));
        file.write_at(3, b"deed").unwrap();
        assert_eq!(file.size().unwrap(), 7);
        let mut found = [9; 9];
        assert_eq!(file.read_at(1, &mut found).unwrap(), 6);
        assert_eq!(found, *b"\0\0deed\x09\x09\x09");
        assert_eq!(file.read_at(8, &mut found).unwrap(), 0);
        file.set_size(5).unwrap();
        file.sync().unwrap();

        let replaced = storage.create("a").unwrap();
        assert_eq!(storage.list().unwrap(), ["a", "b"]);
        storage.rename("b", "a").unwrap();
        assert!(matches!(replaced.check_name(), Err(Error::NotFound { .. })));
        storage.sync().unwrap();
        assert_eq!(storage.list().unwrap(), ["a"]);
        let reader = storage.open("a", Access::Read).unwrap();
        assert_eq!(reader.size().unwrap(), 5);
        assert!(reader.write_at(0, b"x").is_err());
        reader.check_name().unwrap();
        file.check_name().unwrap();
        storage.remove("a").unwrap();
        assert!(matches!(reader.check_name(), Err(Error::NotFound { .. })));
        assert!(matches!(file.check_name(), Err(Error::NotFound { .. })));
        assert_eq!(
            reader.read_at(3, &mut found).unwrap(),
            2,
            "still open, still there"
        );
        assert!(matches!(
            storage.rename("a", "c"),
            Err(Error::NotFound { .. })
        ));

        let lock = storage.lock().unwrap();
        assert!(matches!(storage.lock(), Err(Error::Locked { .. })));
        drop(lock);
        storage.lock().unwrap();
        assert!(storage.list().unwrap().is_empty(), "the lock is no file");
    }

    #[test]
    fn memory_conforms() {
        conforms(&MemoryStorage::new());
    }

    #[cfg(unix)]
    #[test]
    fn real_files_conform() {
        let dir = tempfile::tempdir().unwrap();
        conforms(&FsStorage::create(dir.path()).unwrap());
    }
}
