//! What a broker has counted since it started: the numbers behind its metrics.

use super::answer::Answer;
use super::brain::Protocol;
use super::io::Ticket;
use crate::state::{Rejection, Row, State};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a broker has counted since it started. Plain numbers: an embedder hands them to whatever
/// collects its metrics. docs/observability.md says what each means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Look-ups that have ended, by outcome.
    pub look_ups: BTreeMap<&'static str, u64>,
    /// Look-ups that could not be answered at once.
    pub look_ups_deferred: u64,
    /// Commands that have ended, by outcome.
    pub commands: BTreeMap<&'static str, u64>,
    /// Entries of anybody that were read and did not count, by reason.
    pub conflicts: BTreeMap<&'static str, u64>,
    /// Forced changes of this broker, as leader, that count.
    pub overrides: u64,
    /// Rows that this broker, as leader, took out of the table.
    pub clean_ups: u64,
    /// Hooks that have ended, by kind: acquire, release, split.
    pub hooks: BTreeMap<&'static str, HookTimes>,
}

/// How long hooks of one kind took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookTimes {
    /// How many have ended.
    pub count: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How long all of them took together.
    pub total: Duration,
    /// How long the longest took.
    pub longest: Duration,
}

/// The counters, and which of those who wait asked for a look-up.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) counters: Counters,
    look_ups: BTreeSet<Ticket>,
}

impl Ledger {
    pub(super) fn begin_look_up(&mut self, ticket: Ticket) {
        self.look_ups.insert(ticket);
    }

    /// The look-up was not answered at once, unless it was.
    pub(super) fn count_if_deferred(&mut self, ticket: Ticket) {
        if self.look_ups.contains(&ticket) {
            self.counters.look_ups_deferred += 1;
        }
    }

    pub(super) fn count_answer(&mut self, ticket: Ticket, answer: &Answer) {
        let ended = if self.look_ups.remove(&ticket) {
            &mut self.counters.look_ups
        } else {
            &mut self.counters.commands
        };
        *ended.entry(answer.outcome()).or_default() += 1;
    }

    pub(super) fn count_rejection(&mut self, rejection: &Rejection) {
        *self.counters.conflicts.entry(rejection.name()).or_default() += 1;
    }

    /// A forced change counts; `row` is what it left.
    pub(super) fn count_override(&mut self, row: Option<&Row>) {
        match row {
            Some(_) => self.counters.overrides += 1,
            None => self.counters.clean_ups += 1,
        }
    }

    pub(super) fn count_hook(&mut self, kind: &'static str, took: Duration, done: bool) {
        let times = self.counters.hooks.entry(kind).or_default();
        times.count += 1;
        times.failed += u64::from(!done);
        times.total += took;
        times.longest = times.longest.max(took);
    }
}

impl Protocol {
    /// What this broker has counted since it started.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.ledger.counters
    }

    /// How many bundles of the whole cluster are in each state that none should stay in.
    #[must_use]
    pub fn in_flight(&self) -> BTreeMap<State, usize> {
        let mut counts = BTreeMap::new();
        for (_, row) in self.table.in_flight() {
            *counts.entry(row.record.state()).or_default() += 1;
        }
        counts
    }
}
