//! Where brokers report their load, and the leader finds it.

use crate::clock::{Clock, Tick};
use crate::ids::BrokerId;
use crate::planner::BrokerLoad;
use crate::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// The newest report of one broker.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// Whose.
    pub broker: BrokerId,
    /// What it bears.
    pub load: BrokerLoad,
    /// When it came, by the clock of whoever reads.
    pub at: Tick,
}

/// Where the brokers of a cluster report their load.
///
/// An implementation must
///
/// - keep the newest report of each broker, and no other;
/// - say of each when it came by the clock of whoever reads it, never by that of whoever wrote it;
/// - answer at once or soon: whoever asks waits.
pub trait LoadStore: Debug + Send + Sync {
    /// Takes in the report of a broker, in place of its last one.
    fn publish(&self, broker: &BrokerId, load: BrokerLoad);

    /// The newest report of each broker, however old.
    fn collect(&self) -> Vec<Reported>;
}

/// The load store of a cluster within one process.
///
/// # Examples
///
/// ```
/// use deedbook::balance::{LoadStore, MemoryLoadStore};
/// use deedbook::clock::BootClock;
/// use deedbook::planner::BrokerLoad;
/// use std::sync::Arc;
///
/// let store = MemoryLoadStore::new(Arc::new(BootClock));
/// store.publish(&"broker-1:8080".parse()?, BrokerLoad::default());
/// store.publish(&"broker-1:8080".parse()?, BrokerLoad::default());
/// assert_eq!(store.collect().len(), 1);
/// # Ok::<(), deedbook::ids::Error>(())
/// ```
#[derive(Debug)]
pub struct MemoryLoadStore {
    clock: Arc<dyn Clock>,
    /// Guards the reports, for as long as it takes to copy them.
    reports: Mutex<BTreeMap<BrokerId, (BrokerLoad, Tick)>>,
}

impl MemoryLoadStore {
    /// An empty one.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            reports: Mutex::default(),
        }
    }
}

impl LoadStore for MemoryLoadStore {
    fn publish(&self, broker: &BrokerId, load: BrokerLoad) {
        let at = self.clock.now();
        self.reports.lock().insert(broker.clone(), (load, at));
    }

    fn collect(&self) -> Vec<Reported> {
        let reports = self.reports.lock();
        let reports = reports.iter().map(|(broker, (load, at))| Reported {
            broker: broker.clone(),
            load: load.clone(),
            at: *at,
        });
        reports.collect()
    }
}
