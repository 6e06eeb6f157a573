//! Knowing the members, and leading.

use super::answer::Refused;
use super::appends::{Purpose, Resolution};
use super::brain::Protocol;
use super::io::Effect;
use super::lookups::is_destination;
use super::timers::Timer;
use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Epoch, Holder, Position, SessionToken};
use crate::log::Members;
use crate::registry::Error;
use crate::state::{Body, Row, State};
use std::collections::BTreeMap;

/// The members as last listed, and the lists asked for.
#[derive(Debug, Default)]
pub(super) struct MemberList {
    list: Option<Members>,
    /// The newest request that was answered.
    answered: u64,
    requests: u64,
    /// When to ask in turn again. Timers before that are leftovers of sessions before.
    ask_at: Tick,
    /// The list asked for because a member came or went, until it comes.
    hurried: Option<u64>,
    /// Whether another one came or went since that was asked.
    again: bool,
    /// How far the table had read when each open request was sent.
    read_at: BTreeMap<u64, Position>,
}

impl MemberList {
    /// The number that the next request will have.
    pub(super) fn next_request(&self) -> u64 {
        self.requests + 1
    }

    pub(super) fn list(&self) -> Option<&Members> {
        self.list.as_ref()
    }
}

/// What a leader knows.
#[derive(Debug)]
pub(super) struct Leadership {
    pub(super) epoch: Epoch,
    /// The first member list that was asked for after its first entry was read: it acts once that
    /// has come.
    acts_from: Option<u64>,
    pub(super) acts: bool,
    /// When it first saw the present version of each bundle that is in flight or deleted.
    pub(super) first_seen: BTreeMap<BundleId, (Position, Tick)>,
    /// When it first saw each holder dead.
    pub(super) dead_since: BTreeMap<Holder, Tick>,
    pub(super) next_monitor: Tick,
    /// When it looks at namespaces that are being deleted, if that is still to come.
    pub(super) next_ending: Tick,
}

impl Protocol {
    /// Asks for the members now and then in turn.
    pub(super) fn list_members_in_turn(&mut self) {
        if self.session.token().is_some() {
            // Should the answer to a hurried one have been lost, this one stands for it.
            (self.members.hurried, self.members.again) = (None, false);
            self.list_members();
            self.members.ask_at = self.now.after(self.config.renew_interval());
            self.timers.set(self.members.ask_at, Timer::Members);
        }
    }

    pub(super) fn list_members_if_due(&mut self) {
        if self.members.ask_at <= self.now {
            self.list_members_in_turn();
        }
    }

    /// Asks for the members at once, since one came or went. Of those that come and go before the
    /// answer is there, only one more question is asked: a backlog must not flood the registry.
    pub(super) fn list_members_in_a_hurry(&mut self) {
        if self.members.hurried.is_some() {
            self.members.again = true;
            return;
        }
        self.list_members();
        self.members.hurried = Some(self.members.requests);
    }

    pub(super) fn list_members(&mut self) {
        self.members.requests += 1;
        let request = self.members.requests;
        self.members.read_at.insert(request, self.table.next());
        self.effects.push(Effect::ListMembers { request });
    }

    pub(super) fn on_members(&mut self, request: u64, result: Result<Members, Error>) {
        let read_at = self.members.read_at.remove(&request);
        if self.members.hurried == Some(request) {
            self.members.hurried = None;
            if std::mem::take(&mut self.members.again) {
                self.list_members_in_a_hurry();
            }
        }
        let (Ok(list), Some(read_at)) = (result, read_at) else {
            return;
        };
        if request < self.members.answered {
            return;
        }
        // Older requests that were never answered are of no use any more.
        self.members.read_at.retain(|open, _| *open > request);
        self.members.answered = request;
        let changed = self.members.list.as_ref() != Some(&list);
        let lost = self.session.is_over_by(&list, request);
        self.note_dead(&list, read_at);
        self.members.list = Some(list);
        if lost {
            return self.on_session_lost();
        }
        self.follow_drain();
        self.ask_for_drains();
        if changed {
            self.on_members_changed();
            self.monitor_soon();
        }
        self.register_if_free(request);
        self.follow_leadership();
        self.begin_to_hand_over(request);
    }

    /// Notes which holders the list lacks, of those that the table knew when the list was asked
    /// for.
    fn note_dead(&mut self, list: &Members, read_at: Position) {
        let Some(leadership) = &mut self.leadership else {
            return;
        };
        leadership
            .dead_since
            .retain(|holder, _| !list.is_alive(holder.session));
        for holder in self.table.holders() {
            if list.is_alive(holder.session) || leadership.dead_since.contains_key(holder) {
                continue;
            }
            let known = self
                .table
                .held_by(holder)
                .any(|(_, row)| row.version < read_at);
            if known {
                leadership.dead_since.insert(holder.clone(), self.now);
                let due = self.now.after(self.config.takeover_delay());
                self.timers.set(due, Timer::Monitor);
            }
        }
        let gone: Vec<Holder> = (leadership.dead_since.keys())
            .filter(|holder| self.table.held_by(holder).next().is_none())
            .cloned()
            .collect();
        for holder in gone {
            leadership.dead_since.remove(&holder);
        }
    }

    /// Loses, keeps or tries for the lead, as the list says.
    pub(super) fn follow_leadership(&mut self) {
        let request = self.members.answered;
        let Some(list) = &self.members.list else {
            return;
        };
        let leader = list.leader();
        if let Some(leadership) = &mut self.leadership {
            if leader.is_some_and(|leader| leader.epoch > leadership.epoch) {
                return self.lose_leadership();
            }
            if leadership.acts_from.is_some_and(|from| request >= from) && !leadership.acts {
                leadership.acts = true;
                self.monitor_now();
            }
            return;
        }
        let Some(token) = self.session.token() else {
            return;
        };
        if self.closing.is_some() || !self.is_ready(self.now) {
            return;
        }
        match leader {
            None => self.effects.push(Effect::Campaign(token)),
            // It was elected, and the answer was lost on the way, or its first word was.
            Some(leader) if leader.session == token => self.begin_leading(leader.epoch),
            Some(_) => {}
        }
    }

    pub(super) fn on_campaigned(
        &mut self,
        session: SessionToken,
        result: Result<Option<Epoch>, Error>,
    ) {
        if let Ok(Some(epoch)) = result
            && self.session.token() == Some(session)
        {
            self.begin_leading(epoch);
        }
    }

    fn begin_leading(&mut self, epoch: Epoch) {
        if self
            .leadership
            .as_ref()
            .is_some_and(|leadership| leadership.epoch >= epoch)
        {
            return;
        }
        self.leadership = Some(Leadership {
            epoch,
            acts_from: None,
            acts: false,
            first_seen: BTreeMap::new(),
            dead_since: BTreeMap::new(),
            next_monitor: self.now,
            next_ending: self.now,
        });
        let aging: Vec<BundleId> = self
            .table
            .in_flight()
            .chain(self.table.deleted())
            .map(|(b, _)| b.clone())
            .collect();
        for bundle in aging {
            self.watch_age(&bundle);
        }
        self.append(Body::LeaderStarted, Some(epoch), Purpose::LeaderStarted);
    }

    /// The first word stands in the log: from the next member list on the leader acts.
    pub(super) fn on_leader_started(&mut self, resolution: &Resolution) {
        if !matches!(resolution, Resolution::Accepted { .. }) {
            return self.lose_leadership();
        }
        self.list_members();
        if let Some(leadership) = &mut self.leadership {
            leadership.acts_from = Some(self.members.requests);
        }
    }

    pub(super) fn lose_leadership(&mut self) {
        self.leadership = None;
    }

    /// Notes when this leader first saw the present version of a bundle that must not stay as it
    /// is.
    pub(super) fn watch_age(&mut self, bundle: &BundleId) {
        let Some(leadership) = &mut self.leadership else {
            return;
        };
        let row = self.table.get(bundle);
        let state = Row::state_of(row);
        let version = Row::version_of(row);
        let destination = row.filter(|_| state == State::Assigning);
        let destination = destination.and_then(|row| row.record.destination());
        let list = self.members.list();
        if let (Some(destination), Some(list)) = (destination, list)
            && !is_destination(list, destination)
        {
            // By somebody who did not know that it is gone.
            self.timers
                .set(self.now.after(self.config.retry_interval), Timer::Monitor);
        }
        if !state.is_in_flight() && state != State::Deleted {
            leadership.first_seen.remove(bundle);
        } else if leadership
            .first_seen
            .get(bundle)
            .is_none_or(|(seen, _)| *seen != version)
        {
            leadership
                .first_seen
                .insert(bundle.clone(), (version, self.now));
        }
    }

    /// The brokers that may get bundles, by name.
    fn candidates(&self, without: Option<&BrokerId>) -> Vec<BrokerId> {
        let Some(list) = self.members.list() else {
            return Vec::new();
        };
        let mut brokers: Vec<BrokerId> = (list.sessions().values())
            .filter(|info| !info.draining && Some(&info.broker) != without)
            .filter(|info| !self.is_leaving() || info.broker != self.me)
            .map(|info| info.broker.clone())
            .collect();
        brokers.sort();
        brokers
    }

    /// A broker for the bundle, other than `without`; none if nobody may take it.
    pub(super) fn place(
        &mut self,
        bundle: &BundleId,
        without: Option<&BrokerId>,
    ) -> Option<BrokerId> {
        let candidates = self.candidates(without);
        let placed = self.placement.place(bundle, &candidates);
        placed.filter(|broker| candidates.contains(broker))
    }

    /// Refuses a destination before anything is written.
    pub(super) fn check_destination(&self, broker: BrokerId) -> Result<BrokerId, Refused> {
        if self.is_destination(&broker) {
            Ok(broker)
        } else {
            Err(Refused::NotADestination { broker })
        }
    }
}
