//! The thread that follows the log for the core.

use super::core::Mail;
use crate::clock::Tick;
use crate::ids::Position;
use crate::log::{EventLog, TailItem};
use crate::protocol::Input;
use crate::table::{Error, Feed, FeedItem};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender};
use std::thread;
use std::time::Duration;

/// How long a follower waits before it looks whether it is to stop, or tries again.
pub(super) const STOP_CHECK: Duration = Duration::from_millis(100);

/// How far the log has been read, which may be further than what the table has.
#[derive(Debug, Default)]
pub(super) struct TailProgress {
    /// The next position to read.
    next: AtomicU64,
    /// When the tail had last read everything that was there, in nanoseconds of the log's clock; 0
    /// before the first time.
    at_end: AtomicU64,
}

impl TailProgress {
    /// The next position to read.
    pub(super) fn next(&self) -> Position {
        Position::new(self.next.load(Ordering::Acquire))
    }

    /// When the tail had last read everything that was there.
    pub(super) fn at_end(&self) -> Option<Tick> {
        let nanos = self.at_end.load(Ordering::Acquire);
        (nanos > 0).then(|| Tick::from_nanos(nanos))
    }

    fn read(&self, next: Position) {
        self.next.fetch_max(next.get(), Ordering::AcqRel);
    }

    fn reached_end(&self, at: Option<Tick>) {
        let nanos = at.map_or(0, Tick::nanos);
        self.at_end.fetch_max(nanos, Ordering::AcqRel);
    }
}

/// Follows the log and hands each item to the core, never too many ahead of it.
pub(super) struct TailWorker {
    log: Arc<dyn EventLog>,
    inbox: Sender<Mail>,
    /// Taken back by the core as it works items off.
    token: SyncSender<()>,
    stop: Arc<AtomicBool>,
    progress: Arc<TailProgress>,
}

impl TailWorker {
    pub(super) fn new(
        log: Arc<dyn EventLog>,
        inbox: Sender<Mail>,
        token: SyncSender<()>,
        stop: Arc<AtomicBool>,
        progress: Arc<TailProgress>,
    ) -> Self {
        Self {
            log,
            inbox,
            token,
            stop,
            progress,
        }
    }

    pub(super) fn run(self) {
        let mut feed = Feed::new(Arc::clone(&self.log), Position::ZERO.next());
        let mut at_end = false;
        while !self.stop.load(Ordering::Acquire) {
            let mail = match feed.wait(STOP_CHECK) {
                Ok(None) => {
                    if at_end {
                        self.progress.reached_end(feed.live_at());
                    }
                    continue;
                }
                Ok(Some(FeedItem::Tail(item))) => {
                    self.progress.read(item.next());
                    at_end = matches!(item, TailItem::CaughtUp { .. });
                    if at_end {
                        self.progress.reached_end(feed.live_at());
                    }
                    Mail::Input(Input::Tail(item))
                }
                Ok(Some(FeedItem::Jump(table))) => {
                    self.progress.read(table.next());
                    at_end = false;
                    Mail::Input(Input::Jumped(table))
                }
                Err(error) if is_passing(&error) => {
                    // What was read stays read; the feed goes on where it stopped.
                    thread::park_timeout(STOP_CHECK);
                    continue;
                }
                Err(error) => {
                    let _ = self.inbox.send(Mail::ReadFailed(error));
                    return;
                }
            };
            if self.token.send(()).is_err() || self.inbox.send(mail).is_err() {
                return;
            }
        }
    }
}

/// Whether the same read may succeed later.
pub(super) fn is_passing(error: &Error) -> bool {
    use crate::log::{ReadError, SnapshotError};
    use crate::snapshot::Error as Snapshot;
    matches!(
        error,
        Error::Log(ReadError::Unavailable { .. })
            | Error::Snapshot(Snapshot::Log(SnapshotError::Unavailable { .. }))
    )
}
