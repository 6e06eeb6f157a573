//! What was submitted and not yet written, and who writes it: one thread at a time has the lead.
//!
//! A thread that waits for its append takes the lead itself, so that one append costs no switch of
//! threads. While it writes and syncs, others submit; then the lead goes to the first of them that
//! waits, before anybody is answered. Where nobody waits the log's worker steps in: at once if
//! somebody wants an answer who cannot do the work, else after a moment.

use super::group::Submission;
use crate::clock::{Clock, Tick};
use crate::log::Refusal;
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::Duration;

/// How many appends may wait for the writer.
pub const PENDING_APPENDS_MAX: usize = 1 << 16;

/// How long an append lies, at most, whose answer nobody waits for.
const UNASKED: Duration = Duration::from_millis(1);

/// What was submitted, and who has the lead.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Held while a waiter is called, which locks the state of its answer; nothing else is locked
    /// while it is.
    state: Mutex<State>,
    /// There is something to do for the worker, or for who closes the log.
    bell: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Submission>,
    /// Takes turns with the other, for the room that it has.
    empty: VecDeque<Submission>,
    is_led: bool,
    is_closed: bool,
    /// Somebody wants an answer who cannot lead.
    is_urgent: bool,
    /// When what was written is to be synced.
    sync_due: Option<Tick>,
    worker: Worker,
    /// Counts the groups that were taken.
    group_count: u64,
    /// How many of them the worker knows of.
    seen_count: u64,
}

/// What the log's own thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Worker {
    /// There is none, or it will look again in a moment.
    #[default]
    Away,
    /// It sleeps until the bell rings.
    Asleep,
}

/// What the worker is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Write a group; it has the lead.
    Lead,
    /// Sync what was written.
    Sync,
}

impl Queue {
    /// Puts a submission at the end.
    ///
    /// # Errors
    ///
    /// [`Refusal::Closed`] and [`Refusal::Busy`]; the submission is dropped then.
    pub(super) fn push(&self, submission: Submission) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(Refusal::Closed);
        }
        if state.waiting.len() >= PENDING_APPENDS_MAX {
            let max = PENDING_APPENDS_MAX;
            return Err(Refusal::Busy { max });
        }
        state.waiting.push_back(submission);
        let rings = !state.is_led && state.rouse();
        drop(state);
        self.ring(rings);
        Ok(())
    }

    /// Takes the lead; false if somebody has it.
    pub(super) fn try_lead(&self) -> bool {
        let is_led = &mut self.state.lock().is_led;
        !std::mem::replace(is_led, true)
    }

    /// Everything that waits, for who has the lead.
    pub(super) fn take(&self) -> VecDeque<Submission> {
        let state = &mut *self.state.lock();
        state.group_count += 1;
        state.is_urgent = false;
        let empty = std::mem::take(&mut state.empty);
        std::mem::replace(&mut state.waiting, empty)
    }

    /// Puts back what was taken and left, and gives the lead to the first that waits, if any does.
    pub(super) fn hand_on(&self, mut rest: VecDeque<Submission>) {
        let mut state = self.state.lock();
        while let Some(submission) = rest.pop_back() {
            state.waiting.push_front(submission);
        }
        state.empty = rest;
        state.is_led = state.waiting.iter().any(|next| next.answer.call());
        let is_left = !state.is_led && !state.waiting.is_empty();
        let rings = is_left && (state.is_urgent || state.rouse()) || state.is_closed;
        drop(state);
        self.ring(rings);
    }

    /// Somebody wants an answer who cannot do the work.
    pub(super) fn urge(&self) {
        let mut state = self.state.lock();
        let rings = !state.waiting.is_empty() && !state.is_urgent;
        state.is_urgent |= rings;
        let is_idle = !state.is_led;
        drop(state);
        self.ring(rings && is_idle);
    }

    /// When what was written is to be synced; nothing if all of it was, or never will be.
    pub(super) fn set_sync_due(&self, due: Option<Tick>) {
        let mut state = self.state.lock();
        let is_new = due.is_some() && state.sync_due.is_none();
        state.sync_due = due;
        let rings = is_new && state.rouse();
        drop(state);
        self.ring(rings);
    }

    /// The worker: waits for something to do; nothing once the log is closed and all is written.
    pub(super) fn next_job(&self, clock: &dyn Clock) -> Option<Job> {
        let mut state = self.state.lock();
        let mut has_lain = false;
        loop {
            let has_work = !state.waiting.is_empty();
            let wanted = state.is_urgent || state.is_closed || has_lain;
            if has_work && wanted && !state.is_led {
                state.is_led = true;
                return Some(Job::Lead);
            }
            let due = state.sync_due.map(|due| due.since(clock.now()));
            if due == Some(Duration::ZERO) {
                return Some(Job::Sync);
            }
            if state.is_closed && !has_work && !state.is_led {
                return None;
            }
            let count = state.group_count;
            if has_work && !state.is_led || count != state.seen_count {
                state.seen_count = count;
                let moment = due.map_or(UNASKED, |due| due.min(UNASKED));
                self.bell.wait_for(&mut state, moment);
                has_lain = !state.waiting.is_empty() && state.group_count == count;
                continue;
            }
            has_lain = false;
            state.worker = Worker::Asleep;
            match due {
                Some(due) => _ = self.bell.wait_for(&mut state, due),
                None => self.bell.wait(&mut state),
            }
            state.worker = Worker::Away;
        }
    }

    /// Takes no more.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.bell.notify_all();
    }

    /// Waits until nobody leads, and takes the lead if something is left to be written.
    pub(super) fn lead_rest(&self) -> bool {
        let mut state = self.state.lock();
        self.bell.wait_while(&mut state, |state| state.is_led);
        state.is_led = !state.waiting.is_empty();
        state.is_led
    }

    /// Takes no more and gives up everything that waits: who had the lead died.
    pub(super) fn abandon(&self) -> VecDeque<Submission> {
        let waiting = {
            let mut state = self.state.lock();
            state.is_closed = true;
            state.is_led = false;
            state.sync_due = None;
            std::mem::take(&mut state.waiting)
        };
        self.bell.notify_all();
        waiting
    }

    fn ring(&self, rings: bool) {
        if rings {
            self.bell.notify_all();
        }
    }
}

impl State {
    /// Whether the bell has to ring so that the worker looks.
    fn rouse(&mut self) -> bool {
        std::mem::take(&mut self.worker) == Worker::Asleep
    }
}
