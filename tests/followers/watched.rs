//! A storage between whose operations something happens.

use deedbook::storage::{Access, Error, File, Lock, Storage};
use parking_lot::Mutex;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happens between two operations.
pub(crate) type Event = Box<dyn FnMut() + Send>;

/// A storage that counts what a reader does, and lets something happen before one operation.
#[derive(Clone)]
pub(crate) struct Watched {
    inner: Arc<dyn Storage>,
    count: Arc<AtomicU64>,
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
            event: Arc::default(),
        }
    }

    pub(crate) fn before(&self, operation: u64, event: Event) {
        *self.event.lock() = Some((operation, event));
    }

    fn tick(&self) {
        let operation = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut event = self.event.lock();
        if let Some((at, happen)) = event.as_mut()
            && *at == operation
        {
            happen();
        }
    }
}

impl Storage for Watched {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn list(&self) -> Result<Vec<String>, Error> {
        self.tick();
        self.inner.list()
    }

    fn open(&self, name: &str, access: Access) -> Result<Arc<dyn File>, Error> {
        self.tick();
        let (file, storage) = (self.inner.open(name, access)?, self.clone());
        Ok(Arc::new(WatchedFile { file, storage }))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, Error> {
        self.inner.create(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        self.inner.remove(name)
    }

    fn sync(&self) -> Result<(), Error> {
        self.inner.sync()
    }

    fn lock(&self) -> Result<Box<dyn Lock>, Error> {
        self.inner.lock()
    }
}

#[derive(Debug)]
struct WatchedFile {
    file: Arc<dyn File>,
    storage: Watched,
}

impl File for WatchedFile {
    fn size(&self) -> Result<u64, Error> {
        self.storage.tick();
        self.file.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        self.storage.tick();
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_at(offset, bytes)
    }

    fn set_size(&self, bytes: u64) -> Result<(), Error> {
        self.file.set_size(bytes)
    }

    fn sync(&self) -> Result<(), Error> {
        self.file.sync()
    }
}
