//! What a cluster is built from.

use super::Failure;
use super::cluster::Cluster;
use super::dice::Span;
use super::faults::Faults;
use super::handlers::MakeHandler;
use super::network::Delays;
use super::workload::Workload;
use crate::channel::OwnershipHandler;
use crate::clock::{Clock, ManualClock};
use crate::ids::{BrokerId, LogId};
use crate::log::{MemberLog, MemoryLog};
use crate::protocol::Config;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Whether the log itself refuses appends whose session or epoch is over. The fold must do without:
/// not every engine can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guards {
    /// The log checks them.
    #[default]
    Checked,
    /// The log takes everything.
    Ignored,
}

type MakeLog = Box<dyn FnOnce(Arc<dyn Clock>) -> Arc<dyn MemberLog>>;

/// Builds a [`Cluster`].
#[must_use]
pub struct Builder {
    pub(super) seed: u64,
    pub(super) brokers: Vec<BrokerId>,
    pub(super) config: Config,
    pub(super) delays: Delays,
    pub(super) guards: Guards,
    pub(super) workload: Option<Workload>,
    pub(super) faults: Option<Faults>,
    pub(super) compactions: Option<Span>,
    pub(super) repeat: Option<String>,
    pub(super) handlers: BTreeMap<BrokerId, MakeHandler>,
    log: Option<MakeLog>,
}

impl Builder {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            brokers: Vec::new(),
            config: Config::default(),
            delays: Delays::default(),
            guards: Guards::default(),
            workload: None,
            faults: None,
            compactions: None,
            repeat: None,
            handlers: BTreeMap::new(),
            log: None,
        }
    }

    /// Adds a broker that starts with the cluster.
    pub fn broker(mut self, broker: BrokerId) -> Self {
        self.brokers.push(broker);
        self
    }

    /// Adds a broker whose hooks are an embedder's, made anew for each process of that name. What
    /// they complete counts after the time that hooks take. So that a run repeats, they complete
    /// where they are called, or where the test does it for them; not on threads of their own.
    pub fn handled_by<H: OwnershipHandler>(
        mut self,
        broker: BrokerId,
        mut make: impl FnMut() -> H + Send + 'static,
    ) -> Self {
        let make = move || Arc::new(make()) as Arc<dyn OwnershipHandler>;
        self.handlers.insert(broker.clone(), Box::new(make));
        self.broker(broker)
    }

    /// The times and limits of all brokers. Default: [`Config::default`].
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// How long messages and hooks take. Default: [`Delays::default`].
    pub fn delays(mut self, delays: Delays) -> Self {
        self.delays = delays;
        self
    }

    /// Whether the log checks sessions and epochs. Default: it does.
    pub fn guards(mut self, guards: Guards) -> Self {
        self.guards = guards;
        self
    }

    /// The log, made with the cluster's clock and empty. Default: one in memory.
    pub fn log(
        mut self,
        make: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn MemberLog> + 'static,
    ) -> Self {
        self.log = Some(Box::new(make));
        self
    }

    /// An operator who keeps the cluster busy. Default: none.
    pub fn workload(mut self, workload: Workload) -> Self {
        self.workload = Some(workload);
        self
    }

    /// What goes wrong by chance. Default: nothing.
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = Some(faults);
        self
    }

    /// How often the leader compacts. Default: never.
    pub fn compactions(mut self, every: Span) -> Self {
        self.compactions = Some(every);
        self
    }

    /// The command that repeats this run, to be shown with a failure.
    pub fn repeat_with(mut self, command: impl Into<String>) -> Self {
        self.repeat = Some(command.into());
        self
    }

    /// Starts the cluster at time zero.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the log is not empty or cannot be read.
    pub fn build(mut self) -> Result<Cluster, Box<Failure>> {
        let clock = ManualClock::default();
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let log = match self.log.take() {
            Some(make) => make(shared),
            None => Arc::new(MemoryLog::new(LogId::new(self.seed.into()), shared)),
        };
        Cluster::start(self, clock, log)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Builder");
        text.field("seed", &self.seed)
            .field("brokers", &self.brokers);
        text.finish_non_exhaustive()
    }
}
