//! Files in memory: what was written and what would survive a crash, kept apart; and faults on
//! demand.
//!
//! What can go wrong, and only when it is asked for: the n-th operation fails, or the process
//! "dies" there ([`halt_at`](MemoryStorage::halt_at)); a sync fails, after which the bytes it was
//! to save may be lost unless they are written again, and may be seen no more; the disk fills up
//! in the middle of a write; a crash loses any part of what was not synced, in any order, by
//! sectors of any size, by older contents of a sector and by names
//! ([`crash`](MemoryStorage::crash)); a bit flips ([`flip`](MemoryStorage::flip)). Otherwise what
//! was synced is never lost.

mod disk;

pub use disk::Unsynced;

use super::{Access, Error, File, Lock, Storage};
use crate::sync::Mutex;
use disk::Disk;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory in memory. Clones see the same files.
///
/// # Examples
///
/// ```
/// use deedbook::storage::{Access, MemoryStorage, Storage};
///
/// let storage = MemoryStorage::new();
/// let file = storage.create("a")?;
/// storage.sync()?; // the name is durable
/// file.write_at(0, b"kept")?;
/// file.sync()?; // and so are these bytes
/// file.write_at(0, b"lost")?;
///
/// let after = storage.crash(|_| false);
/// let mut bytes = [0; 4];
/// after.open("a", Access::Read)?.read_at(0, &mut bytes)?;
/// assert_eq!(&bytes, b"kept");
/// # Ok::<(), deedbook::storage::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryStorage {
    shared: Arc<Mutex<Shared>>,
    path: PathBuf,
    /// Which of the machine's lives this handle belongs to; after a crash it is dead.
    life: u64,
}

/// Everything that handles share. Nothing else is locked while it is.
#[derive(Debug)]
struct Shared {
    disk: Disk,
    life: u64,
    is_locked: bool,
    faults: Faults,
}

/// What is to go wrong.
#[derive(Debug, Default)]
struct Faults {
    /// Operations that change something or sync, counted from 1.
    operation_count: u64,
    fail_at: Option<u64>,
    halt_at: Option<u64>,
    /// What else the operation with a number fails with.
    fail_with: Option<ErrorKind>,
    failing_syncs: u64,
    drops_pages: bool,
    capacity: Option<usize>,
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStorage {
    /// An empty directory.
    #[must_use]
    pub fn new() -> Self {
        Self::with_sector_bytes(disk::SECTOR_BYTES)
    }

    /// An empty directory on a disk that writes so many bytes in one step, at least 1: a crash
    /// tears writes between any two of them. Default = 512.
    #[must_use]
    pub fn with_sector_bytes(bytes: usize) -> Self {
        let shared = Shared {
            disk: Disk::new(bytes),
            life: 0,
            is_locked: false,
            faults: Faults::default(),
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            path: PathBuf::from("memory"),
            life: 0,
        }
    }

    /// The machine crashes and comes back: what was synced is there, and of the rest what `keep`
    /// says. Faults are over, the lock is free, and every older handle fails from now on.
    #[must_use]
    pub fn crash(&self, mut keep: impl FnMut(Unsynced<'_>) -> bool) -> Self {
        let mut shared = self.shared.lock();
        shared.disk.crash(&mut keep);
        self.begin_life(&mut shared)
    }

    /// The process is killed and another one starts while the machine goes on: nothing is lost, and
    /// nothing is synced. Faults are over, the lock is free, and every older handle fails from now
    /// on.
    #[must_use]
    pub fn restart(&self) -> Self {
        self.begin_life(&mut self.shared.lock())
    }

    fn begin_life(&self, shared: &mut Shared) -> Self {
        shared.faults = Faults {
            capacity: shared.faults.capacity,
            drops_pages: shared.faults.drops_pages,
            ..Faults::default()
        };
        shared.is_locked = false;
        shared.life += 1;
        Self {
            life: shared.life,
            ..self.clone()
        }
    }

    /// How many operations changed or synced something since the start or the last crash.
    #[must_use]
    pub fn operation_count(&self) -> u64 {
        self.shared.lock().faults.operation_count
    }

    /// Lets the operation with this number, counted from 1, fail; a write leaves half of its bytes.
    pub fn fail_at(&self, operation: u64) {
        self.fail_at_with(operation, ErrorKind::Other);
    }

    /// As [`fail_at`](Self::fail_at), with what the operating system says.
    pub fn fail_at_with(&self, operation: u64, kind: ErrorKind) {
        let faults = &mut self.shared.lock().faults;
        faults.fail_at = Some(operation);
        faults.fail_with = Some(kind);
    }

    /// Stops the process before the operation with this number, counted from 1: it and everything
    /// after it fails and does nothing, until the machine [crashes](Self::crash).
    pub fn halt_at(&self, operation: u64) {
        self.shared.lock().faults.halt_at = Some(operation);
    }

    /// Lets the next sync fail, of a file or of the names. What it was to save of a file stays
    /// visible, may be on the disk, and no later sync saves it.
    pub fn fail_next_sync(&self) {
        self.shared.lock().faults.failing_syncs += 1;
    }

    /// Whether a failed sync saves every other sector and what it did not save is seen no more, as
    /// on file systems that drop pages which they cannot write. Default = no, as on those that keep
    /// them and call them clean.
    pub fn drop_pages_of_failed_syncs(&self, drops: bool) {
        self.shared.lock().faults.drops_pages = drops;
    }

    /// Flips a bit of a file on the disk, counted from the first byte's lowest one; false if there
    /// is no such file or bit.
    pub fn flip(&self, name: &str, bit: usize) -> bool {
        self.shared.lock().disk.flip(name, bit)
    }

    /// Limits the bytes of all files together; none lifts the limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.shared.lock().faults.capacity =
            bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    fn file(&self, inode: u64, name: &str, access: Access) -> Arc<dyn File> {
        Arc::new(MemoryFile {
            storage: self.clone(),
            inode,
            path: self.path.join(name),
            access,
        })
    }

    /// Looks at the disk, if this handle's machine still lives.
    fn look<T>(&self, path: &Path, f: impl FnOnce(&Disk) -> T) -> Result<T, Error> {
        let shared = self.shared.lock();
        if shared.life != self.life || shared.faults.is_halted() {
            return Err(dead(path));
        }
        Ok(f(&shared.disk))
    }

    /// Changes the disk, unless a fault is due.
    fn change<T>(
        &self,
        path: &Path,
        f: impl FnOnce(&mut Disk, &mut Faults, Verdict) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut shared = self.shared.lock();
        let Shared {
            disk, life, faults, ..
        } = &mut *shared;
        if *life != self.life {
            return Err(dead(path));
        }
        faults.operation_count += 1;
        if faults.is_halted() {
            return Err(dead(path));
        }
        let verdict = if faults.fail_at == Some(faults.operation_count) {
            Verdict::Fail(faults.fail_with.unwrap_or(ErrorKind::Other))
        } else {
            Verdict::Go
        };
        f(disk, faults, verdict)
    }
}

/// Whether an operation succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Go,
    Fail(ErrorKind),
}

impl Verdict {
    fn check(self, path: &Path) -> Result<(), Error> {
        match self {
            Self::Go => Ok(()),
            Self::Fail(kind) => Err(Error::of(path, &kind.into())),
        }
    }
}

impl Faults {
    fn is_halted(&self) -> bool {
        self.halt_at.is_some_and(|at| self.operation_count >= at)
    }

    /// What becomes of this sync.
    fn sync(&mut self, verdict: Verdict) -> Verdict {
        if self.failing_syncs == 0 {
            return verdict;
        }
        self.failing_syncs -= 1;
        Verdict::Fail(ErrorKind::Other)
    }
}

fn dead(path: &Path) -> Error {
    Error::Io {
        path: path.to_owned(),
        kind: ErrorKind::BrokenPipe,
    }
}

impl Storage for MemoryStorage {
    fn path(&self) -> &Path {
        &self.path
    }

    fn list(&self) -> Result<Vec<String>, Error> {
        self.look(&self.path, Disk::names)
    }

    fn open(&self, name: &str, access: Access) -> Result<Arc<dyn File>, Error> {
        let path = self.path.join(name);
        let found = self.look(&path, |disk| disk.find(name))?;
        let inode = found.ok_or(Error::NotFound { path })?;
        Ok(self.file(inode, name, access))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, Error> {
        let path = self.path.join(name);
        let inode = self.change(&path, |disk, _, verdict| {
            verdict.check(&path)?;
            if disk.find(name).is_some() {
                return Err(Error::AlreadyExists { path: path.clone() });
            }
            Ok(disk.create(name))
        })?;
        Ok(self.file(inode, name, Access::Write))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let path = self.path.join(from);
        self.change(&path, |disk, _, verdict| {
            verdict.check(&path)?;
            if disk.find(from).is_none() {
                return Err(Error::NotFound { path: path.clone() });
            }
            disk.rename(from, to);
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        self.change(&path, |disk, _, verdict| {
            verdict.check(&path)?;
            if disk.find(name).is_none() {
                return Err(Error::NotFound { path: path.clone() });
            }
            disk.remove(name);
            Ok(())
        })
    }

    fn sync(&self) -> Result<(), Error> {
        self.change(&self.path, |disk, faults, verdict| {
            faults.sync(verdict).check(&self.path)?;
            disk.sync_names();
            Ok(())
        })
    }

    fn lock(&self) -> Result<Box<dyn Lock>, Error> {
        let mut shared = self.shared.lock();
        if shared.life != self.life {
            return Err(dead(&self.path));
        }
        if std::mem::replace(&mut shared.is_locked, true) {
            return Err(Error::Locked {
                path: self.path.clone(),
            });
        }
        Ok(Box::new(MemoryLock(self.clone())))
    }
}

#[derive(Debug)]
struct MemoryLock(MemoryStorage);

impl Lock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut shared = self.0.shared.lock();
        if shared.life == self.0.life {
            shared.is_locked = false;
        }
    }
}

#[derive(Debug)]
struct MemoryFile {
    storage: MemoryStorage,
    inode: u64,
    path: PathBuf,
    access: Access,
}

impl MemoryFile {
    fn change(
        &self,
        f: impl FnOnce(&mut Disk, &mut Faults, Verdict) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.access == Access::Read {
            let path = self.path.clone();
            return Err(Error::Permission { path });
        }
        self.storage.change(&self.path, f)
    }
}

impl File for MemoryFile {
    fn size(&self) -> Result<u64, Error> {
        self.storage
            .look(&self.path, |disk| disk.size(self.inode) as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        self.storage
            .look(&self.path, |disk| disk.read(self.inode, offset, buffer))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        self.change(|disk, faults, verdict| {
            let free = faults
                .capacity
                .map_or(usize::MAX, |capacity| capacity.saturating_sub(disk.used()));
            // What lies in the file already needs no more room.
            let fits = disk
                .size(self.inode)
                .saturating_sub(offset)
                .saturating_add(free);
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            match (verdict, bytes.get(..fits)) {
                (Verdict::Fail(_), _) => disk.write(self.inode, offset, half),
                (Verdict::Go, Some(part)) if part.len() < bytes.len() => {
                    disk.write(self.inode, offset, part);
                    let path = self.path.clone();
                    return Err(Error::Full { path });
                }
                (Verdict::Go, _) => disk.write(self.inode, offset, bytes),
            }
            verdict.check(&self.path)
        })
    }

    fn set_size(&self, bytes: u64) -> Result<(), Error> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.change(|disk, _, verdict| {
            verdict.check(&self.path)?;
            disk.resize(self.inode, bytes);
            Ok(())
        })
    }

    fn sync(&self) -> Result<(), Error> {
        self.change(|disk, faults, verdict| {
            let verdict = faults.sync(verdict);
            match verdict {
                Verdict::Go => disk.sync(self.inode),
                Verdict::Fail(_) => disk.fail_sync(self.inode, faults.drops_pages),
            }
            verdict.check(&self.path)
        })
    }

    fn check_name(&self) -> Result<(), Error> {
        let path = self.path.clone();
        let is_named = self.storage.look(&path, |disk| disk.is_named(self.inode))?;
        is_named.then_some(()).ok_or(Error::NotFound { path })
    }
}

#[cfg(test)]
mod tests;
