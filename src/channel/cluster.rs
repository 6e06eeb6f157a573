//! What the brokers of a cluster share: a log, a registry, and reports of load.

use crate::balance::{LoadStore, MemoryLoadStore};
use crate::clock::{BootClock, Clock};
use crate::ids::LogId;
use crate::log::file::{FileLog, OpenError};
use crate::log::{EventLog, MemberLog, MemoryLog};
use crate::protocol::Config;
use crate::registry::{LogRegistry, Registry};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the brokers of a cluster share: a log, a registry, and reports of load. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(super) log: Arc<dyn EventLog>,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) loads: Arc<dyn LoadStore>,
}

impl Cluster {
    /// A cluster that lives and dies with this process: its log is in memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use deedbook::channel::Cluster;
    ///
    /// let cluster = Cluster::memory();
    /// ```
    #[must_use]
    pub fn memory() -> Self {
        let clock = Arc::new(BootClock);
        let log = Arc::new(MemoryLog::new(LogId::new(1), clock.clone()));
        Self::embedded(log, clock, Config::default().session_ttl)
    }

    /// A cluster within this process whose log is in the files of a directory, which is made if it
    /// is not there. Nobody else can open it for writing meanwhile; followers can read it.
    ///
    /// # Errors
    ///
    /// [`OpenError`](crate::log::file::OpenError): the log is open elsewhere, damaged, or newer
    /// than this library.
    ///
    /// # Examples
    ///
    /// ```
    /// use deedbook::channel::Cluster;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let dir = dir.path();
    /// let cluster = Cluster::file(dir)?;
    /// # Ok::<(), deedbook::log::file::OpenError>(())
    /// ```
    #[cfg(unix)]
    pub fn file(dir: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let clock = Arc::new(BootClock);
        let log = FileLog::builder(dir).clock(clock.clone()).open()?;
        Ok(Self::embedded(
            Arc::new(log),
            clock,
            Config::default().session_ttl,
        ))
    }

    /// A cluster within this process over a log that was just opened for writing, whose sessions
    /// live for `ttl` without a renewal.
    #[must_use]
    pub fn embedded<L: MemberLog + 'static>(
        log: Arc<L>,
        clock: Arc<dyn Clock>,
        ttl: Duration,
    ) -> Self {
        let members: Arc<dyn MemberLog> = log.clone();
        let registry = Arc::new(LogRegistry::new(members, Arc::clone(&clock), ttl));
        Self {
            log,
            registry,
            loads: Arc::new(MemoryLoadStore::new(Arc::clone(&clock))),
            clock,
        }
    }

    /// A cluster on an engine of its own. Loads are reported within this process, unless
    /// [`loads_in`](Self::loads_in) names a store that all its processes share.
    #[must_use]
    pub fn on(log: Arc<dyn EventLog>, registry: Arc<dyn Registry>, clock: Arc<dyn Clock>) -> Self {
        Self {
            log,
            registry,
            loads: Arc::new(MemoryLoadStore::new(Arc::clone(&clock))),
            clock,
        }
    }

    /// The same cluster, whose brokers report their load in another store.
    #[must_use]
    pub fn loads_in(mut self, store: Arc<dyn LoadStore>) -> Self {
        self.loads = store;
        self
    }

    /// Where the brokers report their load.
    #[must_use]
    pub fn loads(&self) -> &Arc<dyn LoadStore> {
        &self.loads
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> &Arc<dyn EventLog> {
        &self.log
    }

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Arc<dyn Registry> {
        &self.registry
    }
}
