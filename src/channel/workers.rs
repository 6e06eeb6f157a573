//! The threads that wait in the core's place: for the log, the registry, appends and hooks.

use super::core::Mail;
use super::handler::{Completion, OwnershipHandler, call_hook};
use super::tail::{TailProgress, TailWorker};
use crate::clock::Clock;
use crate::ids::{BrokerId, EntryId};
use crate::log::{Append, AppendError, AppendResult, Doubt, EventLog, Guard};
use crate::pending::Pending;
use crate::protocol::{Effect, Hook, HookId, Input, RegistryAnswer};
use crate::registry::Registry;
use crate::state::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How many items of the tail may lie in the core's inbox.
const TAIL_AHEAD_MAX: usize = 1024;

/// How long closing waits for the registry to hear of it.
const GOODBYE_WAIT: Duration = Duration::from_secs(2);

/// What the workers need of the cluster and the embedder.
pub(super) struct Parts {
    pub(super) broker: BrokerId,
    pub(super) log: Arc<dyn EventLog>,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) handler: Arc<dyn OwnershipHandler>,
    pub(super) inbox: Sender<Mail>,
    pub(super) progress: Arc<TailProgress>,
}

/// The core's hands.
pub(super) struct Workers {
    log: Arc<dyn EventLog>,
    acks: Option<Sender<(EntryId, Pending<AppendResult>)>>,
    calls: Option<Sender<Effect>>,
    hooks: Option<Sender<(HookId, Hook)>>,
    /// One token for each item of the tail in the inbox.
    tail_tokens: Receiver<()>,
    registry_done: Receiver<()>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts all of them.
    ///
    /// # Errors
    ///
    /// The operating system's, if it gives no more threads.
    pub(super) fn start(parts: Parts) -> std::io::Result<Self> {
        let Parts {
            broker,
            log,
            registry,
            clock,
            handler,
            inbox,
            progress,
        } = parts;
        let stop = Arc::new(AtomicBool::new(false));
        let (acks, ack_mail) = mpsc::channel();
        let (calls, call_mail) = mpsc::channel();
        let (hooks, hook_mail) = mpsc::channel();
        let (token, tail_tokens) = mpsc::sync_channel(TAIL_AHEAD_MAX);
        let (goodbye, registry_done) = mpsc::channel();
        let tail = TailWorker::new(
            Arc::clone(&log),
            inbox.clone(),
            token,
            Arc::clone(&stop),
            progress,
        );
        let registry = RegistryWorker {
            broker,
            registry,
            clock,
            inbox: inbox.clone(),
            goodbye,
        };
        let ack_inbox = inbox.clone();
        let threads = vec![
            spawn("deedbook-tail", move || tail.run())?,
            spawn("deedbook-registry", move || registry.run(&call_mail))?,
            spawn("deedbook-acks", move || {
                await_appends(&ack_mail, &ack_inbox)
            })?,
            spawn("deedbook-hooks", move || {
                call_hooks(&hook_mail, &*handler, &inbox)
            })?,
        ];
        Ok(Self {
            log,
            acks: Some(acks),
            calls: Some(calls),
            hooks: Some(hooks),
            tail_tokens,
            registry_done,
            stop,
            threads,
        })
    }

    pub(super) fn append(&mut self, entry: Arc<Entry>, guard: Guard) {
        let id = entry.id();
        let pending = self.log.append(Append { entry, guard });
        if let Some(acks) = &self.acks {
            // The worker ends only after this end is dropped.
            let _ = acks.send((id, pending));
        }
    }

    pub(super) fn registry(&mut self, call: Effect) {
        if let Some(calls) = &self.calls {
            let _ = calls.send(call);
        }
    }

    pub(super) fn run_hook(&mut self, id: HookId, hook: Hook) {
        if let Some(hooks) = &self.hooks {
            let _ = hooks.send((id, hook));
        }
    }

    pub(super) fn tail_item_done(&self) {
        let _ = self.tail_tokens.try_recv();
    }

    /// Lets the registry hear what was said last, for as long as it answers.
    pub(super) fn finish_registry(&mut self) {
        self.calls = None;
        let _ = self.registry_done.recv_timeout(GOODBYE_WAIT);
    }

    /// Stops and joins all threads but those that the embedder or a dead registry holds up.
    pub(super) fn stop(mut self) {
        self.stop.store(true, Ordering::Release);
        (self.acks, self.calls, self.hooks) = (None, None, None);
        // A tail that waits for a token gets none any more, and ends.
        let (_, none) = mpsc::channel();
        self.tail_tokens = none;
        for thread in self.threads {
            if thread.is_finished() || thread.thread().name() == Some("deedbook-tail") {
                let _ = thread.join();
            }
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Calls the hooks one after another, in the order in which the protocol wants them.
fn call_hooks(
    mail: &Receiver<(HookId, Hook)>,
    handler: &dyn OwnershipHandler,
    inbox: &Sender<Mail>,
) {
    for (id, hook) in mail {
        let inbox = inbox.clone();
        let done = Completion::new(move |result| {
            // A channel that has ended does not care any more.
            let _ = inbox.send(Mail::Input(Input::HookDone { id, result }));
        });
        call_hook(handler, &hook, done);
    }
}

/// Waits for appends in the order in which they were submitted.
fn await_appends(mail: &Receiver<(EntryId, Pending<AppendResult>)>, inbox: &Sender<Mail>) {
    for (id, pending) in mail {
        let result = pending
            .wait()
            .unwrap_or(Err(AppendError::Unknown(Doubt::NoAnswer)));
        if inbox
            .send(Mail::Input(Input::Appended { id, result }))
            .is_err()
        {
            return;
        }
    }
}

struct RegistryWorker {
    broker: BrokerId,
    registry: Arc<dyn Registry>,
    clock: Arc<dyn Clock>,
    inbox: Sender<Mail>,
    goodbye: Sender<()>,
}

impl RegistryWorker {
    fn run(self, calls: &Receiver<Effect>) {
        for call in calls {
            if let Some(answer) = self.call(&call)
                && self
                    .inbox
                    .send(Mail::Input(Input::Registry(answer)))
                    .is_err()
            {
                break;
            }
        }
        let _ = self.goodbye.send(());
    }

    fn call(&self, call: &Effect) -> Option<RegistryAnswer> {
        let sent_at = self.clock.now();
        match *call {
            Effect::Register => {
                let result = self.registry.register(&self.broker);
                Some(RegistryAnswer::Registered { sent_at, result })
            }
            Effect::Renew(session) => {
                let result = self.registry.renew(session);
                Some(RegistryAnswer::Renewed {
                    sent_at,
                    session,
                    result,
                })
            }
            Effect::ListMembers { request } => {
                let result = self.registry.members();
                Some(RegistryAnswer::Members { request, result })
            }
            Effect::Campaign(session) => {
                let result = self.registry.campaign(session);
                Some(RegistryAnswer::Campaigned { session, result })
            }
            // Nobody waits for these: what they do shows in the next list of members.
            Effect::Drain(session) => {
                let _ = self.registry.drain(session);
                None
            }
            Effect::Resign(epoch) => {
                let _ = self.registry.resign(epoch);
                None
            }
            Effect::Leave(session) => {
                let _ = self.registry.leave(session);
                None
            }
            _ => None,
        }
    }
}
