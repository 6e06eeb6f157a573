//! The thread that follows the log for the core.

use super::core::Mail;
use crate::ids::Position;
use crate::log::EventLog;
use crate::protocol::Input;
use crate::table::{Error, Feed, FeedItem};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, SyncSender};
use std::thread;
use std::time::Duration;

/// How long a follower waits before it looks whether it is to stop, or tries again.
pub(super) const STOP_CHECK: Duration = Duration::from_millis(100);

/// Follows the log and hands each item to the core, never too many ahead of it.
pub(super) struct TailWorker {
    log: Arc<dyn EventLog>,
    inbox: Sender<Mail>,
    /// Taken back by the core as it works items off.
    token: SyncSender<()>,
    stop: Arc<AtomicBool>,
}

impl TailWorker {
    pub(super) fn new(
        log: Arc<dyn EventLog>,
        inbox: Sender<Mail>,
        token: SyncSender<()>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            log,
            inbox,
            token,
            stop,
        }
    }

    pub(super) fn run(self) {
        let mut feed = Feed::new(Arc::clone(&self.log), Position::ZERO.next());
        while !self.stop.load(Ordering::Acquire) {
            let mail = match feed.wait(STOP_CHECK) {
                Ok(None) => continue,
                Ok(Some(FeedItem::Tail(item))) => Mail::Input(Input::Tail(item)),
                Ok(Some(FeedItem::Jump(table))) => Mail::Input(Input::Jumped(table)),
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
