//! Starting a broker.

use super::balancing::{self, Desk, Word};
use super::cluster::Cluster;
use super::compaction::Compaction;
use super::core::{self, Mail, Shared};
use super::handle::Channel;
use super::handler::{Ignore, OwnershipHandler};
use super::tail::TailProgress;
use super::workers::{Parts, Workers};
use crate::balance::Rounds;
use crate::compactor::Policy;
use crate::ids::BrokerId;
use crate::protocol::{AtRandom, Config, Placement, Protocol};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

/// Why a broker could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The operating system gives no more threads.
    #[error("cannot start a thread for {broker}: {source}")]
    Thread {
        /// The broker.
        broker: BrokerId,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Starts a broker. Made by [`Channel::builder`].
#[must_use = "nothing runs before it is started"]
pub struct Builder {
    broker: BrokerId,
    cluster: Option<Cluster>,
    handler: Arc<dyn OwnershipHandler>,
    placement: Box<dyn Placement>,
    config: Config,
    policy: Policy,
    rounds: Option<Rounds>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("broker", &self.broker)
            .finish_non_exhaustive()
    }
}

impl Builder {
    pub(super) fn new(broker: BrokerId) -> Self {
        Self {
            broker,
            cluster: None,
            handler: Arc::new(Ignore),
            placement: Box::new(AtRandom::default()),
            config: Config::default(),
            policy: Policy::default(),
            rounds: None,
        }
    }

    /// What the broker shares with the others. Default: a cluster in memory, of its own.
    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// What to do when ownership changes. Default: [`Ignore`].
    pub fn handler(mut self, handler: impl OwnershipHandler) -> Self {
        self.handler = Arc::new(handler);
        self
    }

    /// Who gets a bundle that nobody chose a broker for. Default: [`AtRandom`].
    pub fn placement(mut self, placement: impl Placement + 'static) -> Self {
        self.placement = Box::new(placement);
        self
    }

    /// Times and limits. Default: [`Config::default`]; the time to live of sessions is the
    /// registry's.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// When the leader compacts the log. Default: [`Policy::default`].
    pub fn compaction(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How this broker balances the cluster while it leads. Default: not at all.
    pub fn balance(mut self, rounds: Rounds) -> Self {
        self.rounds = Some(rounds);
        self
    }

    /// Starts the broker: it registers, reads the log to its end, and takes commands once
    /// [`Channel::wait_ready`] says so.
    ///
    /// # Errors
    ///
    /// [`StartError`] if there are no threads for it.
    pub fn start(self) -> Result<Channel, StartError> {
        let Cluster {
            log,
            registry,
            clock,
            loads,
        } = self.cluster.unwrap_or_else(Cluster::memory);
        let mut config = self.config;
        config.session_ttl = registry.ttl();
        let broker = self.broker.clone();
        let failed = |source| StartError::Thread {
            broker: broker.clone(),
            source,
        };
        let (inbox, mail) = mpsc::channel::<Mail>();
        let now = clock.now();
        let (protocol, first) = Protocol::start(self.broker, config, self.placement, now);
        let compaction = Compaction::new(Arc::clone(&log), self.policy);
        let progress = Arc::new(TailProgress::default());
        let parts = Parts {
            broker: broker.clone(),
            log,
            registry,
            clock: Arc::clone(&clock),
            handler: self.handler,
            inbox: inbox.clone(),
            progress: Arc::clone(&progress),
        };
        let workers = Workers::start(parts).map_err(failed)?;
        let (desk, words) = match self.rounds {
            None => (None, None),
            Some(rounds) => {
                let (sender, words) = mpsc::channel();
                let desk = Desk::new(rounds, Arc::clone(&loads), sender);
                (Some(Arc::new(desk)), Some(words))
            }
        };
        let shared = Arc::new(Shared::new(protocol, clock, inbox, desk, progress));
        let balancing = spawn_balancing(&shared, words).map_err(failed)?;
        let core = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("deedbook-core".to_owned())
            .spawn(move || core::run(&core, &mail, workers, compaction, first, balancing))
            .map_err(failed)?;
        Ok(Channel::new(shared, thread, loads))
    }
}

/// The balancer's thread, if there is anything for it to do.
fn spawn_balancing(
    shared: &Arc<Shared>,
    words: Option<Receiver<Word>>,
) -> std::io::Result<Option<JoinHandle<()>>> {
    let (Some(desk), Some(words)) = (shared.desk.clone(), words) else {
        return Ok(None);
    };
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new()
        .name("deedbook-balance".to_owned())
        .spawn(move || balancing::run(&shared, &desk, &words))?;
    Ok(Some(thread))
}
