//! The thread that balances while this broker leads.

use super::core::{Mail, Shared};
use super::events;
use crate::balance::{
    LoadStore, MoveReport, Order, Picture, Recent, Round, Rounds, SplitReport, Switch, Transfer,
};
use crate::ids::{BundleId, Position};
use crate::log::Members;
use crate::planner::Plan;
use crate::protocol::{Answer, Input};
use crate::state::Entry;
use crate::sync::Mutex;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How long the thread sleeps if no round is due.
const IDLE_WAIT: Duration = Duration::from_secs(3600);

/// What balancing has come to, in one value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Balancing {
    /// Whether it is on.
    pub switch: Switch,
    /// Whether the strategy has panicked: this broker balances no more.
    pub failed: bool,
    /// The round that was planned last, with the reason for everything.
    pub last: Option<Round>,
    /// The moves that were asked for and have not ended.
    pub under_way: Vec<Transfer>,
    /// How many moves are planned and not asked for yet.
    pub planned: usize,
    /// What became of the moves, the oldest first, as far as reports are kept.
    pub reports: Vec<MoveReport>,
    /// What became of the splits, likewise.
    pub split_reports: Vec<SplitReport>,
    /// How many moves have ended, by outcome.
    pub moves: BTreeMap<&'static str, u64>,
}

impl Balancing {
    fn of(rounds: &Rounds, failed: bool) -> Self {
        Self {
            switch: rounds.switched(),
            failed,
            last: rounds.last().cloned(),
            under_way: rounds.under_way().cloned().collect(),
            planned: rounds.planned(),
            reports: rounds.reports().cloned().collect(),
            split_reports: rounds.split_reports().cloned().collect(),
            moves: rounds.moves().clone(),
        }
    }
}

/// What reaches the thread.
#[derive(Debug)]
pub(super) enum Word {
    /// Who leads, or whether balancing is wanted, may have changed.
    Look,
    /// A move or a split ended.
    Ended(BundleId, Answer),
    /// Stop.
    Stop,
}

/// What the thread and the handles share.
#[derive(Debug)]
pub(super) struct Desk {
    /// Guards the loop. Held while a round is planned, by the thread and by whoever asks; the
    /// protocol is read inside it. The core never takes it.
    rounds: Mutex<Rounds>,
    /// Guards what has moved lately; held for as long as it takes to note an entry, or to copy it.
    /// The protocol may be locked for reading outside it, never inside.
    recent: Mutex<Recent>,
    loads: Arc<dyn LoadStore>,
    inbox: Sender<Word>,
    failed: AtomicBool,
    /// Guards what the loop had come to before the round that is being planned, for those who ask
    /// meanwhile. Taken inside the lock of the rounds, for as long as a pointer takes to copy.
    shown: Mutex<Arc<Balancing>>,
}

impl Desk {
    pub(super) fn new(rounds: Rounds, loads: Arc<dyn LoadStore>, inbox: Sender<Word>) -> Self {
        let shown = Balancing::of(&rounds, false);
        Self {
            recent: Mutex::new(Recent::new(rounds.cool_down())),
            rounds: Mutex::new(rounds),
            loads,
            inbox,
            failed: AtomicBool::new(false),
            shown: Mutex::new(Arc::new(shown)),
        }
    }

    pub(super) fn tell(&self, word: Word) {
        let _ = self.inbox.send(word);
    }

    /// An entry was read and applied: perhaps a leader has moved something.
    pub(super) fn note(&self, shared: &Shared, position: Position, entry: &Entry) {
        let now = shared.clock.now();
        let protocol = shared.protocol.read();
        let leader = protocol.members().and_then(Members::leader);
        let leader = leader.map(|leader| leader.session);
        let table = protocol.table();
        let mut recent = self.recent.lock();
        recent.note(now, leader, position, entry, table);
    }

    pub(super) fn switch(&self, switch: Switch) {
        self.rounds.lock().switch(switch);
        self.tell(Word::Look);
    }

    pub(super) fn rehearse(&self, shared: &Shared) -> Plan {
        let reports = self.loads.collect();
        let mut rounds = self.rounds.lock();
        self.show(&rounds);
        rounds.note_moved(&self.recent.lock());
        let picture = {
            let protocol = shared.protocol.read();
            let now = shared.clock.now();
            let is_candidate = |broker: &_| protocol.is_destination(broker);
            rounds.look(now, protocol.table(), reports, is_candidate)
        };
        rounds.rehearse(&picture)
    }

    /// What it has come to; while a round is planned, what it had come to before. Never waits for
    /// a plan.
    pub(super) fn state(&self) -> Balancing {
        if let Some(rounds) = self.rounds.try_lock() {
            return Balancing::of(&rounds, self.failed.load(Ordering::Acquire));
        }
        let shown = Arc::clone(&self.shown.lock());
        Balancing::clone(&shown)
    }

    fn show(&self, rounds: &Rounds) {
        let now = Balancing::of(rounds, self.failed.load(Ordering::Acquire));
        *self.shown.lock() = Arc::new(now);
    }

    /// Takes in who leads, plans if a round is due, and says what to ask for.
    fn turn(&self, shared: &Shared) -> Vec<Order> {
        let now = shared.clock.now();
        let epoch = shared.protocol.read().acting_epoch();
        let due = {
            let mut rounds = self.rounds.lock();
            rounds.lead(now, epoch);
            rounds.is_due(now)
        };
        let reports = if due {
            self.loads.collect()
        } else {
            Vec::new()
        };
        let mut rounds = self.rounds.lock();
        let mut planned = None;
        if rounds.is_due(now) {
            self.show(&rounds);
            rounds.note_moved(&self.recent.lock());
            let picture: Picture = {
                let protocol = shared.protocol.read();
                let is_candidate = |broker: &_| protocol.is_destination(broker);
                rounds.look(now, protocol.table(), reports, is_candidate)
            };
            let plan = rounds.plan(&picture);
            planned = Some(plan.moves.len() + plan.unloads.len());
            rounds.begin(now, shared.protocol.read().table(), picture, plan);
        }
        let due = rounds.due();
        drop(rounds);
        if let (Some(epoch), Some(moves)) = (epoch, planned) {
            events::planned(epoch, moves);
        }
        due
    }

    /// Has moves and splits made.
    fn ask(&self, shared: &Shared, due: Vec<Order>) {
        for order in due {
            let Some(ticket) = shared.ask_move(order.bundle().clone()) else {
                // The core has ended: it gets no other answer.
                let now = shared.clock.now();
                let mut rounds = self.rounds.lock();
                rounds.on_answer(now, order.bundle(), Answer::Closed);
                continue;
            };
            let request = order.request();
            let ask = Input::Ask {
                ticket,
                request,
                deadline: None,
            };
            let _ = shared.inbox.send(Mail::Input(ask));
        }
    }

    /// The strategy has panicked: it is not asked again.
    fn fail(&self, shared: &Shared) {
        let mut rounds = self.rounds.lock();
        rounds.switch(Switch::Off);
        // Not before it is off: whoever sees the one sees the other.
        self.failed.store(true, Ordering::Release);
        self.show(&rounds);
        drop(rounds);
        events::strategy_panicked(&shared.broker);
    }

    /// How long nothing is due.
    fn wait(&self, shared: &Shared) -> Duration {
        if self.failed.load(Ordering::Acquire) {
            return IDLE_WAIT;
        }
        let wake = self.rounds.lock().next_wake();
        wake.map_or(IDLE_WAIT, |wake| wake.since(shared.clock.now()))
    }
}

/// Runs until the core has ended. A strategy that panics ends balancing by this broker, and nothing
/// else: moves under way still get their reports.
pub(super) fn run(shared: &Shared, desk: &Desk, words: &Receiver<Word>) {
    loop {
        match words.recv_timeout(desk.wait(shared)) {
            Ok(Word::Look) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Word::Ended(bundle, answer)) => {
                events::moved(&bundle, &answer);
                let now = shared.clock.now();
                desk.rounds.lock().on_answer(now, &bundle, answer);
            }
            Ok(Word::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
        if desk.failed.load(Ordering::Acquire) {
            continue;
        }
        match catch_unwind(AssertUnwindSafe(|| desk.turn(shared))) {
            Ok(due) => desk.ask(shared, due),
            Err(_) => desk.fail(shared),
        }
    }
}
