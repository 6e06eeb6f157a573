//! The thread that steps the protocol and has done what it wants done.

use super::command::{CommandResult, LookUpResult, command_result, look_up_result};
use super::compaction::{Compaction, Standing};
use super::workers::Workers;
use crate::clock::Clock;
use crate::ids::BundleId;
use crate::pending::Completer;
use crate::protocol::{Answer, CloseReport, Effect, Input, Protocol, Ticket};
use crate::state::Row;
use crate::sync::{Mutex, RwLock};
use crate::table::Error;
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How long the core sleeps if the protocol wants to be woken by nothing.
const IDLE_WAIT: Duration = Duration::from_secs(3600);

/// What reaches the core.
#[derive(Debug)]
pub(super) enum Mail {
    /// Something happened.
    Input(Input),
    /// Reading stopped for good.
    ReadFailed(Error),
    /// Stop at once, as if the process had died.
    Stop,
}

/// Called with each change of a row, in log order, after the table has it and outside all locks.
pub(super) type Listener = Box<dyn FnMut(&BundleId, Option<&Row>) -> Interest + Send>;

/// Whether a listener wants to hear more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    Goes,
    Stays,
}

/// What core, workers and handles share.
pub(super) struct Shared {
    /// Guards the protocol, its table included. Written by the core alone, for one step at a time;
    /// nothing else is locked and nothing is called while it is held.
    pub(super) protocol: RwLock<Protocol>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) inbox: Sender<Mail>,
    /// Guards who waits for which answer; nobody is answered while it is held.
    askers: Mutex<Askers>,
    /// Guards who listens. Taken out while they are called, so that a listener may add another. The
    /// protocol may be locked for reading outside it, never inside.
    listeners: Mutex<Vec<Listener>>,
    /// Guards the reason why reading stopped.
    pub(super) read_error: Mutex<Option<Error>>,
    /// Set when the core has panicked, and when it has ended: nothing is certain from then on.
    pub(super) poisoned: AtomicBool,
    pub(super) ended: AtomicBool,
}

#[derive(Default)]
struct Askers {
    count: u64,
    commands: HashMap<Ticket, Completer<CommandResult>>,
    look_ups: HashMap<Ticket, Completer<LookUpResult>>,
    close: Option<Completer<CloseReport>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new(protocol: Protocol, clock: Arc<dyn Clock>, inbox: Sender<Mail>) -> Self {
        Self {
            protocol: RwLock::new(protocol),
            clock,
            inbox,
            askers: Mutex::default(),
            listeners: Mutex::default(),
            read_error: Mutex::default(),
            poisoned: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    /// Whether the core still steps the protocol.
    pub(super) fn is_running(&self) -> bool {
        !self.poisoned.load(Ordering::Acquire) && !self.ended.load(Ordering::Acquire)
    }

    pub(super) fn ask_command(&self, completer: Completer<CommandResult>) -> Ticket {
        let mut askers = self.askers.lock();
        let ticket = askers.ticket();
        askers.commands.insert(ticket, completer);
        ticket
    }

    pub(super) fn ask_look_up(&self, completer: Completer<LookUpResult>) -> Ticket {
        let mut askers = self.askers.lock();
        let ticket = askers.ticket();
        askers.look_ups.insert(ticket, completer);
        ticket
    }

    pub(super) fn ask_close(&self, completer: Completer<CloseReport>) {
        self.askers.lock().close = Some(completer);
    }

    pub(super) fn listen(&self, listener: Listener) {
        self.listeners.lock().push(listener);
    }

    fn standing(&self) -> Standing {
        let protocol = self.protocol.read();
        let table = protocol.table();
        Standing {
            epoch: protocol.epoch(),
            next: table.next(),
            rows: u64::try_from(table.row_count()).unwrap_or(u64::MAX),
        }
    }

    fn answer(&self, ticket: Ticket, answer: Answer) {
        let (command, look_up) = {
            let mut askers = self.askers.lock();
            (
                askers.commands.remove(&ticket),
                askers.look_ups.remove(&ticket),
            )
        };
        match (command, look_up) {
            (Some(command), _) => command.complete(command_result(answer)),
            (None, Some(look_up)) => look_up.complete(look_up_result(answer)),
            (None, None) => {}
        }
    }

    fn tell(&self, bundle: &BundleId, row: Option<&Row>) {
        let mut listeners = std::mem::take(&mut *self.listeners.lock());
        // A listener that panics is dropped; the others hear on.
        listeners.retain_mut(|listener| {
            let told = catch_unwind(AssertUnwindSafe(|| listener(bundle, row)));
            matches!(told, Ok(Interest::Stays))
        });
        let mut added = self.listeners.lock();
        listeners.append(&mut added);
        *added = listeners;
    }

    /// Ends all waits: dropped completers say that the outcome is unknown.
    fn abandon(&self) {
        let askers = std::mem::take(&mut *self.askers.lock());
        let listeners = std::mem::take(&mut *self.listeners.lock());
        drop((askers, listeners));
    }
}

impl Askers {
    fn ticket(&mut self) -> Ticket {
        self.count += 1;
        Ticket(self.count)
    }
}

/// Runs until the broker has closed or is stopped; a panic poisons the handle.
pub(super) fn run(
    shared: &Shared,
    mail: &Receiver<Mail>,
    mut workers: Workers,
    mut compaction: Compaction,
    first: Vec<Effect>,
) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if !carry_out(shared, &mut workers, first) {
            turn(shared, mail, &mut workers, &mut compaction);
        }
    }));
    if outcome.is_err() {
        shared.poisoned.store(true, Ordering::Release);
    }
    shared.ended.store(true, Ordering::Release);
    workers.stop();
    shared.abandon();
}

fn turn(
    shared: &Shared,
    mail: &Receiver<Mail>,
    workers: &mut Workers,
    compaction: &mut Compaction,
) {
    loop {
        let wake = shared.protocol.read().next_wake();
        let wait = wake.map_or(IDLE_WAIT, |wake| wake.since(shared.clock.now()));
        let input = match mail.recv_timeout(wait) {
            Ok(Mail::Input(input)) => input,
            Ok(Mail::ReadFailed(error)) => {
                *shared.read_error.lock() = Some(error);
                Input::ReadFailed
            }
            Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => Input::Wake,
        };
        let from_tail = matches!(input, Input::Tail(_) | Input::Jumped(_));
        let effects = shared.protocol.write().step(shared.clock.now(), input);
        if from_tail {
            workers.tail_item_done();
        }
        if carry_out(shared, workers, effects) {
            return;
        }
        let standing = shared.standing();
        compaction.check(shared.clock.now(), standing);
    }
}

/// Has the effects done, in order; says whether the broker has ended.
fn carry_out(shared: &Shared, workers: &mut Workers, effects: Vec<Effect>) -> bool {
    for effect in effects {
        match effect {
            Effect::Append { entry, guard } => workers.append(entry, guard),
            Effect::RunHook { id, hook } => workers.run_hook(id, hook),
            Effect::Answer { ticket, answer } => shared.answer(ticket, answer),
            Effect::Applied(applied) => {
                for change in applied.outcome.iter().flatten() {
                    shared.tell(&change.bundle, change.after.as_ref());
                }
            }
            Effect::Jumped { changes, .. } => {
                for change in &changes {
                    shared.tell(&change.bundle, change.after.as_ref());
                }
            }
            Effect::Closed(report) => {
                workers.finish_registry();
                let close = shared.askers.lock().close.take();
                if let Some(close) = close {
                    close.complete(report);
                }
                return true;
            }
            registry => workers.registry(registry),
        }
    }
    false
}
