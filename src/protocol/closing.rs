//! Leaving in order: hand over, give up the lead, end the session.

use super::answer::Answer;
use super::brain::Protocol;
use super::io::{CloseReport, Effect, Input, RegistryAnswer};
use super::ownership::releasing;
use super::timers::Timer;
use crate::clock::Tick;
use crate::ids::BundleId;
use crate::state::{Phase, Row, State};

/// A broker that is leaving.
#[derive(Debug)]
pub(super) struct Closing {
    /// The first member list that was asked for after the broker began to leave. Nothing is handed
    /// over before it has come: whoever left meanwhile must not get a bundle.
    listed_from: u64,
    /// Whether that list has come.
    hands_over: bool,
    /// Whether it has ended.
    done: bool,
}

impl Protocol {
    pub(super) fn is_closed(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.done)
    }

    pub(super) fn on_close(&mut self, deadline: Tick) {
        if self.closing.is_some() {
            return;
        }
        let listed_from = self.members.next_request();
        self.closing = Some(Closing {
            listed_from,
            hands_over: false,
            done: false,
        });
        let left = deadline
            .since(self.now)
            .saturating_sub(self.config.close_reserve);
        self.timers.set(self.now.after(left), Timer::CloseReserve);
        if let Some(session) = self.session.token() {
            self.effects.push(Effect::Drain(session));
            self.list_members();
        }
    }

    /// Whether this broker gets no bundles any more.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_emptied || self.closing.is_some()
    }

    /// Whether bundles are handed over now.
    pub(super) fn hands_over(&self) -> bool {
        let closing = self.closing.as_ref();
        closing.map_or(self.is_emptied, |closing| closing.hands_over)
    }

    /// A member list has come: from the first one that was asked for since, bundles are handed
    /// over.
    pub(super) fn begin_to_hand_over(&mut self, request: u64) {
        let Some(closing) = &mut self.closing else {
            return;
        };
        if closing.hands_over || request < closing.listed_from {
            return;
        }
        closing.hands_over = true;
        self.touch_all();
    }

    /// Hands an owned bundle to somebody else, or frees it if nobody else may take it.
    pub(super) fn push_out(&mut self, bundle: &BundleId, row: &Row) {
        let live = self.table.facts().namespaces.get(bundle.namespace()) == Some(&Phase::Live);
        let destination = if live {
            self.place(bundle, Some(&self.me.clone()))
        } else {
            None
        };
        self.append_owed(bundle, row, releasing(row, destination));
    }

    /// Ends once nothing is left to hand over and no hook runs.
    pub(super) fn close_if_drained(&mut self) {
        if self.closing.is_none() || self.is_closed() || !self.ownership.is_idle() {
            return;
        }
        let Some(session) = self.session() else {
            return self.close_now();
        };
        let mut promised = self.table.destined_to(&self.me);
        let is_promised = promised.any(|(_, row)| row.record.state() == State::Assigning);
        drop(promised);
        if self.table.held_by(&session).next().is_none() && !is_promised {
            self.close_now();
        }
    }

    /// Ends, whatever is left.
    pub(super) fn close_now(&mut self) {
        let Some(closing) = &mut self.closing else {
            return;
        };
        if closing.done {
            return;
        }
        closing.done = true;
        let left = self.held().map(|(bundle, _)| bundle.clone()).collect();
        if let Some(leadership) = self.leadership.take() {
            self.effects.push(Effect::Resign(leadership.epoch));
        }
        if let Some(session) = self.session.token() {
            self.effects.push(Effect::Leave(session));
        }
        let commands = self
            .operations
            .drain()
            .into_iter()
            .map(|(ticket, _)| ticket);
        let look_ups = self.look_ups.drain().into_iter().map(|(ticket, _)| ticket);
        for ticket in commands.chain(look_ups).collect::<Vec<_>>() {
            self.answer(ticket, Answer::Closed);
        }
        self.effects.push(Effect::Closed(CloseReport { left }));
    }

    /// What still arrives after the end gets an end too.
    pub(super) fn refuse_when_closed(&mut self, input: Input) {
        match input {
            Input::Ask { ticket, .. } => self.answer(ticket, Answer::Closed),
            // A registration that was under way would otherwise outlive its broker.
            Input::Registry(RegistryAnswer::Registered {
                result: Ok(token), ..
            }) => {
                self.effects.push(Effect::Leave(token));
            }
            _ => {}
        }
    }
}
