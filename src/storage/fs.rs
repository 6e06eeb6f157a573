//! Real files. The only file of the library that names the file system.

use super::{Access, Error, File, Lock, Storage};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file whose lock is the writer's. It stays behind, empty.
const LOCK: &str = "LOCK";

/// A directory of the file system.
///
/// # Examples
///
/// ```
/// use deedbook::storage::{FsStorage, Storage};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path();
/// let storage = FsStorage::create(dir)?;
/// let file = storage.create("a")?;
/// file.write_at(0, b"deed")?;
/// file.sync()?; // the bytes
/// storage.sync()?; // the name
/// assert_eq!(storage.list()?, ["a"]);
/// # Ok::<(), deedbook::storage::Error>(())
/// ```
#[derive(Debug)]
pub struct FsStorage {
    dir: PathBuf,
}

impl FsStorage {
    /// The directory at `dir`, which is created durably, with its parents, if it does not exist.
    ///
    /// # Errors
    ///
    /// [`Error`] if it cannot be created.
    pub fn create(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let storage = Self { dir: dir.into() };
        let parents = unsynced_parents(&storage.dir);
        storage.told(fs::create_dir_all(&storage.dir))?;
        for parent in parents {
            match sync_directory(parent) {
                // Who may not look into it did not create anything there.
                Err(Error::Permission { .. }) => {}
                synced => synced?,
            }
        }
        Ok(storage)
    }

    /// The directory at `dir`, which is left as it is.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if it does not exist.
    pub fn existing(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let storage = Self { dir: dir.into() };
        storage.told(fs::read_dir(&storage.dir))?;
        Ok(storage)
    }

    fn told<T>(&self, result: io::Result<T>) -> Result<T, Error> {
        result.map_err(|error| Error::of(&self.dir, &error))
    }
}

/// The directories that hold a name which may not be durable: that of `dir`, which an earlier
/// process may have created just before a crash, and those of its parents that do not exist yet.
fn unsynced_parents(dir: &Path) -> Vec<&Path> {
    let mut parents: Vec<_> = dir
        .ancestors()
        .take_while(|dir| !dir.is_dir())
        .filter_map(Path::parent)
        .collect();
    if parents.is_empty() {
        parents.extend(dir.parent());
    }
    parents
}

fn sync_directory(dir: &Path) -> Result<(), Error> {
    // The parent of a relative name of one part is the empty path.
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    fs::File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|error| Error::of(dir, &error))
}

impl Storage for FsStorage {
    fn path(&self) -> &Path {
        &self.dir
    }

    fn list(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for entry in self.told(fs::read_dir(&self.dir))? {
            // A name that is no UTF-8 is none of ours.
            if let Ok(name) = self.told(entry)?.file_name().into_string()
                && name != LOCK
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn open(&self, name: &str, access: Access) -> Result<Arc<dyn File>, Error> {
        let path = self.dir.join(name);
        let file = fs::OpenOptions::new()
            .read(true)
            .write(access == Access::Write)
            .open(&path);
        FsFile::opened(file, path)
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, Error> {
        let path = self.dir.join(name);
        FsFile::opened(fs::File::create_new(&path), path)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let (from, to) = (self.dir.join(from), self.dir.join(to));
        fs::rename(&from, to).map_err(|error| Error::of(&from, &error))
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        fs::remove_file(&path).map_err(|error| Error::of(&path, &error))
    }

    fn sync(&self) -> Result<(), Error> {
        sync_directory(&self.dir)
    }

    fn lock(&self) -> Result<Box<dyn Lock>, Error> {
        let path = self.dir.join(LOCK);
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| Error::of(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(FsLock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Err(Error::Locked {
                path: self.dir.clone(),
            }),
            Err(fs::TryLockError::Error(error)) => Err(Error::of(&path, &error)),
        }
    }
}

/// Closing the file gives the lock back, and so does the end of the process.
#[derive(Debug)]
struct FsLock {
    _file: fs::File,
}

impl Lock for FsLock {}

#[derive(Debug)]
struct FsFile {
    file: fs::File,
    /// As it was opened; a rename does not change it.
    path: PathBuf,
}

impl FsFile {
    fn opened(file: io::Result<fs::File>, path: PathBuf) -> Result<Arc<dyn File>, Error> {
        match file {
            Ok(file) => Ok(Arc::new(Self { file, path })),
            Err(error) => Err(Error::of(&path, &error)),
        }
    }

    fn told<T>(&self, result: io::Result<T>) -> Result<T, Error> {
        result.map_err(|error| Error::of(&self.path, &error))
    }
}

impl File for FsFile {
    fn size(&self) -> Result<u64, Error> {
        Ok(self.told(self.file.metadata())?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut count = 0;
        while let Some(rest) = buffer.get_mut(count..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset + count as u64) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::of(&self.path, &error)),
            }
        }
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        // It goes on after a short write and after an interruption.
        self.told(self.file.write_all_at(bytes, offset))
    }

    fn set_size(&self, bytes: u64) -> Result<(), Error> {
        self.told(self.file.set_len(bytes))
    }

    fn sync(&self) -> Result<(), Error> {
        self.told(self.file.sync_data())
    }

    fn check_name(&self) -> Result<(), Error> {
        if self.told(names_of(&self.file))? > 0 {
            return Ok(());
        }
        let path = self.path.clone();
        Err(Error::NotFound { path })
    }
}

/// How many names a file has. It is not asked for its times: once somebody has seen these, the
/// next write must show another one, and Linux then syncs the file's metadata along with its bytes,
/// which makes a durable append half as long again.
#[cfg(target_os = "linux")]
fn names_of(file: &fs::File) -> io::Result<u64> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK)?;
    Ok(u64::from(found.stx_nlink))
}

#[cfg(not(target_os = "linux"))]
fn names_of(file: &fs::File) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_and_where() {
        let dir = tempfile::tempdir().unwrap();
        let storage = FsStorage::create(dir.path()).unwrap();
        let path = dir.path().join("a");
        let missing = Error::NotFound { path: path.clone() };
        assert_eq!(storage.open("a", Access::Read).unwrap_err(), missing);
        assert_eq!(storage.remove("a").unwrap_err(), missing);
        storage.create("a").unwrap();
        assert_eq!(
            storage.create("a").unwrap_err(),
            Error::AlreadyExists { path }
        );
        let absent = FsStorage::existing(dir.path().join("b"));
        assert!(matches!(absent, Err(Error::NotFound { .. })));
    }

    #[test]
    fn a_directory_is_created_with_its_parents() {
        let dir = tempfile::tempdir().unwrap();
        let storage = FsStorage::create(dir.path().join("a/b")).unwrap();
        assert_eq!(storage.list().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn each_name_on_the_way_to_a_directory_becomes_durable() {
        let dir = tempfile::tempdir().unwrap();
        let (dir, below) = (dir.path(), dir.path().join("a/b/c"));
        let a = dir.join("a");
        assert_eq!(unsynced_parents(&below), [&a.join("b"), &a, dir]);
        FsStorage::create(&below).unwrap();
        // Whoever created it may have been killed before it was synced.
        assert_eq!(unsynced_parents(&below), [a.join("b")]);
        assert_eq!(unsynced_parents(Path::new("one-part")), [Path::new("")]);
    }

    #[test]
    fn a_full_disk_has_a_name() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let Ok(file) = full else { return };
        let path = PathBuf::from("/dev/full");
        let file = FsFile { file, path };
        assert!(matches!(file.write_at(0, b"x"), Err(Error::Full { .. })));
    }
}
