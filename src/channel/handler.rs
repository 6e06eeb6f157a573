//! What an embedder does when ownership changes.

use crate::ids::{BrokerId, BundleId, Fence};
use crate::protocol::{Hook, HookResult};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// Calls what the protocol wants called. A hook that panics drops its completion, which says that
/// it failed.
pub(crate) fn call_hook(handler: &dyn OwnershipHandler, hook: &Hook, done: Completion) {
    let _ = catch_unwind(AssertUnwindSafe(|| match hook {
        Hook::Acquire { bundle, fence } => handler.acquire(bundle, *fence, done),
        Hook::Release {
            bundle,
            fence,
            destination,
        } => {
            handler.release(bundle, *fence, destination.as_ref(), done);
        }
        Hook::Split {
            bundle,
            fence,
            children,
        } => {
            handler.split(bundle, *fence, children, done);
        }
    }));
}

type End = Box<dyn FnOnce(HookResult) + Send + Sync>;

/// Says that a hook has ended. Dropped without a word, the hook has failed.
#[must_use = "a completion that is dropped says that the hook failed"]
pub struct Completion {
    end: Option<End>,
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion").finish_non_exhaustive()
    }
}

impl Completion {
    /// `end` hears how the hook ended, once.
    pub(crate) fn new(end: impl FnOnce(HookResult) + Send + Sync + 'static) -> Self {
        Self {
            end: Some(Box::new(end)),
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
        if let Some(end) = self.end.take() {
            end(result);
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.end(HookResult::Failed);
    }
}
