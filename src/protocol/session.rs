//! The broker's session: registering, renewing, being certain, and losing it.

use super::brain::Protocol;
use super::io::Effect;
use super::timers::Timer;
use crate::clock::Tick;
use crate::ids::{BrokerId, Holder, SessionToken};
use crate::log::Members;
use crate::registry::Error;
use std::collections::BTreeSet;
use std::time::Duration;

/// The sessions that this process has, had, or is about to have.
#[derive(Debug, Default)]
pub(super) struct Session {
    alive: Option<Alive>,
    /// When to ask for a session again if none has come. Timers before that are leftovers.
    register_at: Tick,
    /// This process's own earlier sessions: what they held it has let go of itself, so that it need
    /// not wait.
    past: BTreeSet<SessionToken>,
    /// The member list that says whether another process has this broker's name by now.
    asks_for_name: Option<u64>,
}

#[derive(Debug)]
struct Alive {
    token: SessionToken,
    /// When it was reported; earlier sessions of this broker were over by then.
    since: Tick,
    /// When to renew it next. Timers before that are leftovers of sessions before.
    renew_at: Tick,
    /// Until when it is certain to live, however slow this clock is.
    valid_until: Tick,
    /// The first member list that was asked for after it began: it must be in that one.
    listed_from: u64,
    /// Counts the entries written in it.
    counter: u64,
}

impl Session {
    pub(super) fn token(&self) -> Option<SessionToken> {
        self.alive.as_ref().map(|alive| alive.token)
    }

    pub(super) fn holder(&self, me: &BrokerId) -> Option<Holder> {
        self.token().map(|token| Holder::new(me.clone(), token))
    }

    pub(super) fn is_certain(&self, now: Tick) -> bool {
        self.alive
            .as_ref()
            .is_some_and(|alive| now < alive.valid_until)
    }

    /// Whether a list asked for as `request` says that the session is over.
    pub(super) fn is_over_by(&self, list: &Members, request: u64) -> bool {
        let alive = self.alive.as_ref();
        alive.is_some_and(|own| request >= own.listed_from && !list.is_alive(own.token))
    }

    /// When the session began, as this process knows it.
    pub(super) fn since(&self) -> Tick {
        self.alive.as_ref().map_or(Tick::ZERO, |alive| alive.since)
    }

    /// Whether it was a session of this very process.
    pub(super) fn was_mine(&self, token: SessionToken) -> bool {
        self.past.contains(&token)
    }

    pub(super) fn next_counter(&mut self) -> u64 {
        self.alive.as_mut().map_or(0, |alive| {
            alive.counter += 1;
            alive.counter
        })
    }
}

impl Protocol {
    pub(super) fn register(&mut self) {
        if self.session.token().is_none() && self.reads() {
            if self.name_is_taken() {
                return self.ask_for_name(self.config.renew_interval());
            }
            self.effects.push(Effect::Register);
            // If no answer comes at all, ask again once a session begun by this request would be
            // over.
            self.register_after(self.config.session_ttl);
        }
    }

    /// Whether another process has begun a session under this broker's name since this one lost its
    /// own. To register would end that one, which would then end this one's, without end. A process
    /// that starts takes the name over; one that lost it stands by until it is free again.
    fn name_is_taken(&self) -> bool {
        let present = self
            .members
            .list()
            .and_then(|list| list.session_of(&self.me));
        let own = self.session.past.last();
        present.is_some_and(|present| own.is_some_and(|own| present > *own))
    }

    /// Looks whether the name is free, and registers when that is answered, or after a while.
    fn ask_for_name(&mut self, wait: Duration) {
        self.session.asks_for_name = Some(self.members.next_request());
        self.list_members();
        self.register_after(wait);
    }

    /// A list has come that was asked for as `request`: it may say that the name is free.
    pub(super) fn register_if_free(&mut self, request: u64) {
        let asked = self.session.asks_for_name;
        if asked.is_some_and(|asked| request >= asked) {
            self.session.asks_for_name = None;
            if !self.name_is_taken() {
                self.register();
            }
        }
    }

    /// Has a session asked for after a while, and not before, whatever else was planned.
    fn register_after(&mut self, wait: Duration) {
        self.session.register_at = self.now.after(wait);
        self.timers.set(self.session.register_at, Timer::Register);
    }

    pub(super) fn register_if_due(&mut self) {
        if self.session.register_at <= self.now {
            self.register();
        }
    }

    pub(super) fn on_registered(&mut self, sent_at: Tick, result: Result<SessionToken, Error>) {
        let Ok(token) = result else {
            return self.register_after(self.config.retry_interval);
        };
        if self.session.token().is_some_and(|present| present >= token) {
            return;
        }
        // A late answer to a repeated request: the newer session has ended the older one.
        self.lose_session();
        let valid_until = sent_at.after(self.config.certain_for());
        let listed_from = self.members.next_request();
        self.session.alive = Some(Alive {
            token,
            since: self.now,
            renew_at: sent_at,
            valid_until,
            listed_from,
            counter: 0,
        });
        self.renew_after(sent_at);
        self.list_members_in_turn();
        self.touch_all();
    }

    pub(super) fn renew_if_due(&mut self) {
        let due = (self.session.alive.as_ref()).filter(|alive| alive.renew_at <= self.now);
        if let Some(token) = due.map(|alive| alive.token) {
            self.effects.push(Effect::Renew(token));
            // In turn, whatever becomes of this one: a request without answer must not be the last.
            self.renew_after(self.now);
        }
    }

    fn renew_after(&mut self, begin: Tick) {
        let at = begin.after(self.config.renew_interval());
        if let Some(alive) = &mut self.session.alive {
            alive.renew_at = at;
            self.timers.set(at, Timer::Renew);
        }
    }

    pub(super) fn on_renewed(
        &mut self,
        sent_at: Tick,
        session: SessionToken,
        result: Result<(), Error>,
    ) {
        if self.session.token() != Some(session) {
            return;
        }
        match result {
            Ok(()) => {
                let valid_until = sent_at.after(self.config.certain_for());
                if let Some(alive) = &mut self.session.alive {
                    alive.valid_until = alive.valid_until.max(valid_until);
                }
            }
            Err(Error::SessionLost { .. }) => self.on_session_lost(),
            Err(_) => {}
        }
    }

    /// The session is known to be over: let go of everything, then begin anew, unless another
    /// process has the name.
    pub(super) fn on_session_lost(&mut self) {
        self.lose_session();
        self.ask_for_name(self.config.retry_interval);
    }

    /// Ends the session on this broker's own word.
    pub(super) fn end_session(&mut self) {
        if let Some(token) = self.session.token() {
            self.effects.push(Effect::Leave(token));
            self.on_session_lost();
        }
    }

    pub(super) fn lose_session(&mut self) {
        let Some(alive) = self.session.alive.take() else {
            return;
        };
        self.session.past.insert(alive.token);
        self.leadership = None;
        self.fail_waiters();
        self.appends.forget();
        self.touch_all();
    }
}
