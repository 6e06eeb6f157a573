//! A reader that takes no part: it follows the log and answers who owns what.

use super::cluster::Cluster;
use super::subscription::{Feeder, Subscription, SubscriptionConfig};
use super::tail::{STOP_CHECK, is_passing};
use crate::ids::{BundleId, Position, Topic};
use crate::log::{EventLog, Payload, TailItem};
use crate::state::Row;
use crate::sync::{Condvar, Mutex, RwLock};
use crate::table::{Error, Feed, FeedItem, RowChange, Table};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Follows a log without being a member: for proxies, tools and tests.
///
/// What it knows may lag behind the log, never contradict it.
///
/// # Examples
///
/// ```
/// use deedbook::channel::{Cluster, Follower};
/// use deedbook::ids::Position;
/// use std::time::Duration;
///
/// let follower = Follower::open(&Cluster::memory())?;
/// assert!(follower.wait_for(Position::ZERO, Duration::from_secs(1)));
/// assert_eq!(follower.read(|table| table.row_count()), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Follower {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Guards the table. Written by the follower's thread alone, for one entry at a time.
    table: RwLock<Table>,
    /// Guards how far the table has been read and why it goes no further; taken after the table was
    /// changed, never inside its lock.
    progress: Mutex<Progress>,
    moved: Condvar,
    /// Guards who subscribed. Taken out while they are told, so that nobody is woken inside.
    feeders: Mutex<Vec<Feeder>>,
    stop: AtomicBool,
}

#[derive(Debug)]
struct Progress {
    next: Position,
    error: Option<Error>,
}

impl Follower {
    /// Begins to follow the cluster's log.
    ///
    /// # Errors
    ///
    /// The operating system's, if it gives no thread. What goes wrong later is told by
    /// [`error`](Follower::error).
    pub fn open(cluster: &Cluster) -> std::io::Result<Self> {
        Self::follow(Arc::clone(cluster.log()))
    }

    /// Begins to follow a log.
    ///
    /// # Errors
    ///
    /// As [`Follower::open`].
    pub fn follow(log: Arc<dyn EventLog>) -> std::io::Result<Self> {
        let table = Table::default();
        let shared = Arc::new(Shared {
            progress: Mutex::new(Progress {
                next: table.next(),
                error: None,
            }),
            table: RwLock::new(table),
            moved: Condvar::new(),
            feeders: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let worker = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("deedbook-follower".to_owned())
            .spawn(move || worker.run(log))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Reads several things of one table: no entry is applied meanwhile. Be brief.
    pub fn read<T>(&self, read: impl FnOnce(&Table) -> T) -> T {
        read(&self.shared.table.read())
    }

    /// What the book says of a bundle, as far as it has been read.
    #[must_use]
    pub fn row(&self, bundle: &BundleId) -> Option<Row> {
        self.read(|table| table.get(bundle).cloned())
    }

    /// The bundle that holds a topic, and its row, as far as the book has been read.
    #[must_use]
    pub fn row_of(&self, topic: &Topic) -> Option<(BundleId, Row)> {
        self.read(|table| {
            let found = table.at_key(topic.namespace(), topic.key());
            found.map(|(bundle, row)| (bundle.clone(), row.clone()))
        })
    }

    /// The changes of the table from now on, for whoever reads them at its own pace: however slow
    /// that is, the follower goes on. Ends with the follower.
    #[must_use = "dropped, it ends"]
    pub fn subscribe(&self, config: &SubscriptionConfig) -> Subscription {
        let (subscription, feeder) = Subscription::new(config);
        self.shared.feeders.lock().push(feeder);
        subscription
    }

    /// Waits until everything up to `position` is in the table. Says whether that came in time.
    #[must_use]
    pub fn wait_for(&self, position: Position, limit: Duration) -> bool {
        let mut progress = self.shared.progress.lock();
        let waits = |progress: &mut Progress| progress.next <= position && progress.error.is_none();
        self.shared
            .moved
            .wait_while_for(&mut progress, waits, limit);
        progress.next > position
    }

    /// Why it goes no further, if so.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.shared.progress.lock().error.clone()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, log: Arc<dyn EventLog>) {
        let mut feed = Feed::new(log, Position::ZERO.next());
        while !self.stop.load(Ordering::Acquire) {
            let applied = match feed.wait(STOP_CHECK) {
                Ok(None) => continue,
                Ok(Some(item)) => self.apply(item),
                Err(error) if is_passing(&error) => {
                    thread::park_timeout(STOP_CHECK);
                    continue;
                }
                Err(error) => Err(error),
            };
            let next = self.table.read().next();
            let mut progress = self.progress.lock();
            progress.next = next;
            progress.error = applied.err();
            let failed = progress.error.is_some();
            drop(progress);
            self.moved.notify_all();
            if failed {
                break;
            }
        }
        // Nothing more will be told, even if nobody drops the follower yet.
        let feeders = std::mem::take(&mut *self.feeders.lock());
        drop(feeders);
    }

    /// Applies what was read, and then tells of it. Who subscribes in between is told what a
    /// snapshot shows already; nobody misses anything.
    fn apply(&self, item: FeedItem) -> Result<(), Error> {
        match item {
            FeedItem::Jump(newer) => {
                let before = std::mem::replace(&mut *self.table.write(), *newer);
                self.tell(|| before.difference(&self.table.read()));
            }
            FeedItem::Tail(TailItem::Payload {
                position,
                payload: Payload::Entry(entry),
            }) => {
                let applied = self.table.write().apply(position, &entry)?;
                let outcome = applied.and_then(|applied| applied.outcome.ok());
                self.tell(|| outcome.unwrap_or_default());
            }
            FeedItem::Tail(TailItem::Payload {
                position,
                payload: Payload::Member(_),
            }) => {
                self.table.write().skip(position);
            }
            FeedItem::Tail(TailItem::CaughtUp { .. }) => {}
        }
        Ok(())
    }

    fn tell(&self, changes: impl FnOnce() -> Vec<RowChange>) {
        let mut feeders = std::mem::take(&mut *self.feeders.lock());
        if feeders.is_empty() {
            return;
        }
        for change in changes() {
            feeders.retain_mut(|feeder| feeder.tell(&change));
        }
        let mut added = self.feeders.lock();
        feeders.append(&mut added);
        *added = feeders;
    }
}
