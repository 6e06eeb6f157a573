//! What is due when.

use super::io::{HookId, Ticket};
use crate::clock::Tick;
use crate::ids::{BundleId, EntryId};
use std::collections::BTreeSet;

/// Something that becomes due. Nobody takes a timer back: whoever is woken looks whether it still
/// matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Register,
    Renew,
    Members,
    Monitor,
    Deadline(Ticket),
    Hook(HookId),
    Resend(EntryId),
    React(BundleId),
    CloseReserve,
}

/// The timers in the order in which they become due.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Tick, Timer)>);

impl Timers {
    pub(super) fn set(&mut self, at: Tick, timer: Timer) {
        self.0.insert((at, timer));
    }

    /// When the next one becomes due.
    pub(super) fn next(&self) -> Option<Tick> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes out the next one that is due.
    pub(super) fn pop_due(&mut self, now: Tick) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first().map(|(_, timer)| timer)
    }
}
