//! A storage between whose operations something happens, or of which one fails.
#![allow(dead_code, reason = "not every test uses every one")]

use deedbook::storage::{Access, Error, File, Lock, Storage};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happens between two operations; it may let the one that follows fail.
pub(crate) type Event = Box<dyn FnMut() -> Option<ErrorKind> + Send>;

/// The sizes of the reads of each file, by name, in their order.
pub(crate) type Reads = BTreeMap<String, Vec<usize>>;

/// A storage that counts what is asked of it, and lets something happen before one operation.
#[derive(Clone)]
pub(crate) struct Watched {
    inner: Arc<dyn Storage>,
    count: Arc<AtomicU64>,
    reads: Arc<Mutex<Reads>>,
    event: Arc<Mutex<Option<(u64, Event)>>>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

impl Watched {
    pub(crate) fn new(inner: Arc<dyn Storage>) -> Self {
        Self {
            inner,
            count: Arc::default(),
            reads: Arc::default(),
            event: Arc::default(),
        }
    }

    pub(crate) fn before(&self, operation: u64, event: Event) {
        *self.event.lock() = Some((operation, event));
    }

    /// What has not happened yet does not happen any more.
    pub(crate) fn calm(&self) {
        *self.event.lock() = None;
    }

    fn file(&self, file: Arc<dyn File>, name: &str) -> Arc<dyn File> {
        Arc::new(WatchedFile {
            file,
            path: self.path().join(name),
            name: name.to_owned(),
            storage: self.clone(),
        })
    }

    /// What was read since this was asked last.
    pub(crate) fn take_reads(&self) -> Reads {
        std::mem::take(&mut *self.reads.lock())
    }

    /// How many operations there were.
    pub(crate) fn operations(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn tick(&self, path: &Path) -> Result<(), Error> {
        let operation = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        // What happens may use this storage, too.
        let event = self.event.lock().take_if(|(at, _)| *at == operation);
        match event.and_then(|(_, mut happen)| happen()) {
            Some(kind) => Err(Error::of(path, &kind.into())),
            None => Ok(()),
        }
    }
}

impl Storage for Watched {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn list(&self) -> Result<Vec<String>, Error> {
        self.tick(self.path())?;
        self.inner.list()
    }

    fn open(&self, name: &str, access: Access) -> Result<Arc<dyn File>, Error> {
        self.tick(&self.path().join(name))?;
        Ok(self.file(self.inner.open(name, access)?, name))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, Error> {
        self.tick(&self.path().join(name))?;
        Ok(self.file(self.inner.create(name)?, name))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.tick(&self.path().join(from))?;
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        self.tick(&self.path().join(name))?;
        self.inner.remove(name)
    }

    fn sync(&self) -> Result<(), Error> {
        self.tick(self.path())?;
        self.inner.sync()
    }

    fn lock(&self) -> Result<Box<dyn Lock>, Error> {
        self.inner.lock()
    }
}

#[derive(Debug)]
struct WatchedFile {
    file: Arc<dyn File>,
    path: PathBuf,
    name: String,
    storage: Watched,
}

impl File for WatchedFile {
    fn size(&self) -> Result<u64, Error> {
        self.storage.tick(&self.path)?;
        self.file.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        self.storage.tick(&self.path)?;
        let count = self.file.read_at(offset, buffer)?;
        let mut reads = self.storage.reads.lock();
        reads.entry(self.name.clone()).or_default().push(count);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.storage.tick(&self.path)?;
        self.file.write_at(offset, bytes)
    }

    fn set_size(&self, bytes: u64) -> Result<(), Error> {
        self.storage.tick(&self.path)?;
        self.file.set_size(bytes)
    }

    fn sync(&self) -> Result<(), Error> {
        self.storage.tick(&self.path)?;
        self.file.sync()
    }

    fn check_name(&self) -> Result<(), Error> {
        self.storage.tick(&self.path)?;
        self.file.check_name()
    }
}
