//! What an embedder does when ownership changes.

use super::core::Mail;
use crate::ids::{BrokerId, BundleId, Fence};
use crate::protocol::{HookId, HookResult, Input};
use std::sync::mpsc::Sender;

/// What an embedder does when ownership changes.
///
/// The hooks of one bundle run one at a time. All are called on one thread of the channel and
/// should return at once: hand longer work to a thread or a task of your own, with the
/// [`Completion`], which says on any thread that the work has ended. A hook that panics or drops
/// its completion has failed; one whose completion takes longer than
/// [`Config::hook_limit`](crate::protocol::Config::hook_limit) ends the broker's session.
pub trait OwnershipHandler: Send + Sync + 'static {
    /// Begin to serve a bundle. Hand the fence to storage with every write: storage keeps the
    /// highest that it saw and refuses lower ones. If it fails, the bundle is given up.
    fn acquire(&self, bundle: &BundleId, fence: Fence, done: Completion);

    /// Stop serving a bundle; `destination` serves it next, if that is known, so that clients can
    /// be sent there.
    fn release(
        &self,
        bundle: &BundleId,
        fence: Fence,
        destination: Option<&BrokerId>,
        done: Completion,
    );

    /// Prepare what a bundle holds to be divided into `children`. It is served on until they are
    /// acquired. If it fails, it is called again.
    fn split(&self, bundle: &BundleId, fence: Fence, children: &[BundleId], done: Completion) {
        let _ = (bundle, fence, children);
        done.done();
    }
}

/// A handler for brokers that have nothing to do when ownership changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl OwnershipHandler for Ignore {
    fn acquire(&self, _: &BundleId, _: Fence, done: Completion) {
        done.done();
    }

    fn release(&self, _: &BundleId, _: Fence, _: Option<&BrokerId>, done: Completion) {
        done.done();
    }
}

/// Says that a hook has ended. Dropped without a word, the hook has failed.
#[derive(Debug)]
#[must_use = "a completion that is dropped says that the hook failed"]
pub struct Completion {
    id: HookId,
    inbox: Option<Sender<Mail>>,
}

impl Completion {
    pub(super) fn new(id: HookId, inbox: Sender<Mail>) -> Self {
        Self {
            id,
            inbox: Some(inbox),
        }
    }

    /// The hook did what it was to do.
    pub fn done(mut self) {
        self.end(HookResult::Done);
    }

    /// The hook could not do it.
    pub fn failed(mut self) {
        self.end(HookResult::Failed);
    }

    fn end(&mut self, result: HookResult) {
        if let Some(inbox) = self.inbox.take() {
            // A channel that has ended does not care any more.
            let _ = inbox.send(Mail::Input(Input::HookDone {
                id: self.id,
                result,
            }));
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.end(HookResult::Failed);
    }
}
