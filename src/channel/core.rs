//! The thread that steps the protocol and has done what it wants done.

use super::balancing::{Desk, Word};
use super::command::{
    CommandError, CommandResult, LookUpError, LookUpResult, command_result, look_up_result,
};
use super::compaction::{Compaction, Standing};
use super::events::{self, Watch};
use super::tail::TailProgress;
use super::workers::Workers;
use crate::clock::Clock;
use crate::ids::{BrokerId, BundleId, Position};
use crate::log::{Payload, TailItem};
use crate::pending::Completer;
use crate::protocol::{Answer, CloseReport, Effect, Input, Protocol, Ticket};
use crate::state::Entry;
use crate::sync::{Condvar, Mutex, RwLock};
use crate::table::{Error, RowChange};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
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
pub(super) type Listener = Box<dyn FnMut(&RowChange) -> Interest + Send>;

/// Whether a listener wants to hear more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    Goes,
    Stays,
}

/// What core, workers and handles share.
pub(super) struct Shared {
    pub(super) broker: BrokerId,
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
    /// Held by whoever waits until the broker is ready, and by the core when it may have become so;
    /// the protocol is read inside it.
    readiness: Mutex<()>,
    may_be_ready: Condvar,
    /// Guards the reason why reading stopped.
    pub(super) read_error: Mutex<Option<Error>>,
    /// Where the leader balances, if this broker does when it leads.
    pub(super) desk: Option<Arc<Desk>>,
    /// How far the log has been read.
    pub(super) tail: Arc<TailProgress>,
    /// Set when the core has panicked, and when it has ended: nothing is certain from then on.
    pub(super) poisoned: AtomicBool,
    pub(super) ended: AtomicBool,
}

#[derive(Default)]
struct Askers {
    count: u64,
    /// Whether the core has ended: nobody would answer any more.
    ended: bool,
    commands: HashMap<Ticket, Completer<CommandResult>>,
    look_ups: HashMap<Ticket, Completer<LookUpResult>>,
    /// Moves of the balancer.
    moves: HashMap<Ticket, BundleId>,
    close: Vec<Completer<CloseReport>>,
    /// Who waits until a position has been applied.
    applied: BTreeMap<Position, Vec<Completer<()>>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new(
        protocol: Protocol,
        clock: Arc<dyn Clock>,
        inbox: Sender<Mail>,
        desk: Option<Arc<Desk>>,
        tail: Arc<TailProgress>,
    ) -> Self {
        Self {
            broker: protocol.broker().clone(),
            desk,
            tail,
            protocol: RwLock::new(protocol),
            clock,
            inbox,
            askers: Mutex::default(),
            listeners: Mutex::default(),
            readiness: Mutex::default(),
            may_be_ready: Condvar::new(),
            read_error: Mutex::default(),
            poisoned: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    /// Whether the core still steps the protocol.
    pub(super) fn is_running(&self) -> bool {
        !self.poisoned.load(Ordering::Acquire) && !self.ended.load(Ordering::Acquire)
    }

    /// Keeps who waits for a command; none if the core has ended, and the answer is given.
    pub(super) fn ask_command(&self, completer: Completer<CommandResult>) -> Option<Ticket> {
        let mut askers = self.askers.lock();
        let Some(ticket) = askers.ticket() else {
            drop(askers);
            completer.complete(Err(CommandError::Closed));
            return None;
        };
        askers.commands.insert(ticket, completer);
        Some(ticket)
    }

    /// Keeps who waits for a look-up; none if the core has ended, and the answer is given.
    pub(super) fn ask_look_up(&self, completer: Completer<LookUpResult>) -> Option<Ticket> {
        let mut askers = self.askers.lock();
        let Some(ticket) = askers.ticket() else {
            drop(askers);
            completer.complete(Err(LookUpError::Closed));
            return None;
        };
        askers.look_ups.insert(ticket, completer);
        Some(ticket)
    }

    /// Keeps which bundle the balancer moves; none if the core has ended.
    pub(super) fn ask_move(&self, bundle: BundleId) -> Option<Ticket> {
        let mut askers = self.askers.lock();
        let ticket = askers.ticket()?;
        askers.moves.insert(ticket, bundle);
        Some(ticket)
    }

    /// Tells the balancer, if there is one.
    fn tell_desk(&self, word: Word) {
        if let Some(desk) = &self.desk {
            desk.tell(word);
        }
    }

    /// Keeps who waits for the end; whoever asks once the core has ended is told at once.
    pub(super) fn ask_close(&self, completer: Completer<CloseReport>) {
        let mut askers = self.askers.lock();
        if askers.ended {
            drop(askers);
            completer.complete(CloseReport::default());
        } else {
            askers.close.push(completer);
        }
    }

    /// Keeps a listener. Once the core has ended there is nothing more to hear, and whoever waits
    /// for it learns so.
    pub(super) fn listen(&self, listener: Listener) {
        let mut listeners = self.listeners.lock();
        if self.is_running() {
            listeners.push(listener);
        }
    }

    /// Who serves a bundle, if that can be said beside the core.
    pub(super) fn served_now(&self, bundle: &BundleId) -> Option<LookUpResult> {
        if !self.is_running() {
            return None;
        }
        let answer = self.protocol.read().served_now(bundle)?;
        Some(look_up_result(answer))
    }

    /// Completes once the table has what stands at a position.
    pub(super) fn ask_applied(&self, position: Position, completer: Completer<()>) {
        // Nothing is applied while this is held: between looking and waiting nothing is missed.
        let protocol = self.protocol.read();
        if protocol.table().next() > position {
            drop(protocol);
            completer.complete(());
            return;
        }
        let mut askers = self.askers.lock();
        if !askers.ended {
            askers.applied.entry(position).or_default().push(completer);
        }
    }

    /// Tells those who waited for what has been applied.
    fn tell_applied(&self) {
        let next = self.protocol.read().table().next();
        let applied = {
            let mut askers = self.askers.lock();
            let later = askers.applied.split_off(&next);
            std::mem::replace(&mut askers.applied, later)
        };
        for completer in applied.into_values().flatten() {
            completer.complete(());
        }
    }

    /// Whether commands are taken.
    pub(super) fn is_ready(&self) -> bool {
        self.is_running() && self.protocol.read().is_ready(self.clock.now())
    }

    /// Waits until commands are taken, for no longer than `limit`, or until they never will be.
    pub(super) fn wait_ready(&self, limit: Duration) -> bool {
        let mut readiness = self.readiness.lock();
        let waits = |(): &mut ()| self.is_running() && !self.is_ready();
        self.may_be_ready
            .wait_while_for(&mut readiness, waits, limit);
        self.is_ready()
    }

    fn tell_readiness(&self) {
        // Whoever has looked already waits once this is held.
        drop(self.readiness.lock());
        self.may_be_ready.notify_all();
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
            if let Some(bundle) = askers.moves.remove(&ticket) {
                drop(askers);
                return self.tell_desk(Word::Ended(bundle, answer));
            }
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

    fn tell(&self, change: &RowChange) {
        let mut listeners = std::mem::take(&mut *self.listeners.lock());
        // A listener that panics is dropped; the others hear on.
        listeners.retain_mut(|listener| {
            let told = catch_unwind(AssertUnwindSafe(|| listener(change)));
            matches!(told, Ok(Interest::Stays))
        });
        let mut added = self.listeners.lock();
        listeners.append(&mut added);
        *added = listeners;
    }

    /// The core has ended: so do all waits. Nobody is left to answer a listener's question either.
    fn end(&self, report: &CloseReport) {
        self.ended.store(true, Ordering::Release);
        let askers = {
            let mut askers = self.askers.lock();
            std::mem::replace(
                &mut *askers,
                Askers {
                    ended: true,
                    ..Askers::default()
                },
            )
        };
        for bundle in askers.moves.into_values() {
            self.tell_desk(Word::Ended(bundle, Answer::Closed));
        }
        self.tell_desk(Word::Stop);
        for close in askers.close {
            close.complete(report.clone());
        }
        for command in askers.commands.into_values() {
            command.complete(Err(CommandError::Closed));
        }
        for look_up in askers.look_ups.into_values() {
            look_up.complete(Err(LookUpError::Closed));
        }
        let listeners = std::mem::take(&mut *self.listeners.lock());
        drop(listeners);
        self.tell_readiness();
    }
}

impl Askers {
    fn ticket(&mut self) -> Option<Ticket> {
        self.count += 1;
        (!self.ended).then_some(Ticket(self.count))
    }
}

/// Runs until the broker has closed or is stopped; a panic poisons the handle.
pub(super) fn run(
    shared: &Shared,
    mail: &Receiver<Mail>,
    mut workers: Workers,
    mut compaction: Compaction,
    first: Vec<Effect>,
    balancing: Option<JoinHandle<()>>,
) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        match carry_out(shared, &mut workers, first) {
            ControlFlow::Continue(()) => turn(shared, mail, &mut workers, &mut compaction),
            ControlFlow::Break(report) => report,
        }
    }));
    if outcome.is_err() {
        shared.poisoned.store(true, Ordering::Release);
        events::panicked(&shared.broker);
    }
    shared.end(&outcome.unwrap_or_default());
    workers.stop();
    if let Some(balancing) = balancing {
        let _ = balancing.join();
    }
}

/// Works the mail off until the broker has closed, with a report, or was stopped, without one.
fn turn(
    shared: &Shared,
    mail: &Receiver<Mail>,
    workers: &mut Workers,
    compaction: &mut Compaction,
) -> CloseReport {
    let mut was_ready = false;
    let mut watch = Watch::new(shared.broker.clone());
    let mut led = None;
    loop {
        let wake = shared.protocol.read().next_wake();
        let wait = wake.map_or(IDLE_WAIT, |wake| wake.since(shared.clock.now()));
        let input = match mail.recv_timeout(wait) {
            Ok(Mail::Input(input)) => input,
            Ok(Mail::ReadFailed(error)) => {
                events::read_failed(&error);
                *shared.read_error.lock() = Some(error);
                Input::ReadFailed
            }
            Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) => return CloseReport::default(),
            Err(RecvTimeoutError::Timeout) => Input::Wake,
        };
        events::of_input(&input);
        let from_tail = matches!(input, Input::Tail(_) | Input::Jumped(_));
        let entry = shared.desk.as_ref().and_then(|_| entry_of(&input));
        let effects = shared.protocol.write().step(shared.clock.now(), input);
        if let (Some(desk), Some((position, entry))) = (&shared.desk, entry) {
            desk.note(shared, position, &entry);
        }
        if from_tail {
            workers.tail_item_done();
            shared.tell_applied();
        }
        if let ControlFlow::Break(report) = carry_out(shared, workers, effects) {
            return report;
        }
        let ready = shared.is_ready();
        if events::TOLD {
            watch.look(events::Standing::of(&shared.protocol.read(), ready));
        }
        if ready != std::mem::replace(&mut was_ready, ready) {
            shared.tell_readiness();
        }
        let leads = shared.protocol.read().acting_epoch();
        if leads != std::mem::replace(&mut led, leads) {
            shared.tell_desk(Word::Look);
        }
        compaction.check(shared.clock.now(), shared.standing());
    }
}

/// The entry that was read, if that is what happened.
fn entry_of(input: &Input) -> Option<(Position, Arc<Entry>)> {
    match input {
        Input::Tail(TailItem::Payload {
            position,
            payload: Payload::Entry(entry),
        }) => Some((*position, Arc::clone(entry))),
        _ => None,
    }
}

/// Has the effects done, in order, until the broker has ended.
fn carry_out(
    shared: &Shared,
    workers: &mut Workers,
    effects: Vec<Effect>,
) -> ControlFlow<CloseReport> {
    for effect in effects {
        events::of_effect(&effect);
        match effect {
            Effect::Append { entry, guard } => workers.append(entry, guard),
            Effect::RunHook { id, hook } => workers.run_hook(id, hook),
            Effect::Answer { ticket, answer } => shared.answer(ticket, answer),
            Effect::Applied(applied) => {
                for change in applied.outcome.iter().flatten() {
                    shared.tell(change);
                }
            }
            Effect::Jumped { changes, .. } => {
                for change in &changes {
                    shared.tell(change);
                }
            }
            Effect::Closed(report) => {
                workers.finish_registry();
                return ControlFlow::Break(report);
            }
            registry => workers.registry(registry),
        }
    }
    ControlFlow::Continue(())
}
