//! The leader's round: orphans find an owner, tombstones go, namespaces end.
//!
//! Only a dead holder permits taking over; a living one that is slow is left alone. Each override
//! is one bundle an entry, with the version that was seen: write, see who won, read again, write
//! again.

use super::appends::{Purpose, Resolution};
use super::brain::Protocol;
use super::ownership::releasing;
use super::timers::Timer;
use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Holder, Namespace};
use crate::state::{Body, Change, Phase, Record, Rejection, Row, State, View};
use std::time::Duration;

/// What the leader would change about one bundle.
struct Override {
    bundle: BundleId,
    row: Row,
    next: Option<Record>,
}

impl Protocol {
    /// The round in turn, and whatever was put off until now.
    pub(super) fn monitor_if_due(&mut self) {
        if self.leadership.is_some() {
            self.monitor();
        }
    }

    /// A round at once.
    pub(super) fn monitor_now(&mut self) {
        self.timers.set(self.now, Timer::Monitor);
    }

    /// A round a little later: a member came or went, and what was promised to one that is gone
    /// need not wait for the next round.
    pub(super) fn monitor_soon(&mut self) {
        if self.leadership.is_some() {
            self.timers
                .set(self.now.after(self.config.retry_interval), Timer::Monitor);
        }
    }

    /// One of the leader's changes is through: there may be more to do, or again.
    pub(super) fn on_override(&mut self, resolution: &Resolution) {
        match resolution {
            Resolution::Rejected(Rejection::StaleEpoch { .. }) => self.lose_leadership(),
            Resolution::Accepted { .. }
            | Resolution::Passed
            | Resolution::Rejected(Rejection::StaleVersion { .. }) => self.monitor_now(),
            // Asking again at once would be answered alike.
            Resolution::Rejected(_) | Resolution::Refused(_) => {
                self.timers
                    .set(self.now.after(self.config.retry_interval), Timer::Monitor);
            }
        }
    }

    /// Something happened to a namespace that is being deleted.
    pub(super) fn touch_namespaces(&mut self) {
        if self.leadership.is_some() {
            self.monitor_now();
        }
    }

    /// A bundle of a namespace that is being deleted changed: perhaps the next step can be done.
    /// Many change together, so that it is looked at a little later, once for all of them.
    pub(super) fn watch_ending(&mut self, bundle: &BundleId) {
        let phase = self.table.facts().namespaces.get(bundle.namespace());
        let Some(leadership) = &mut self.leadership else {
            return;
        };
        if phase == Some(&Phase::BeingDeleted) && leadership.next_ending <= self.now {
            leadership.next_ending = self.now.after(self.config.retry_interval);
            self.timers.set(leadership.next_ending, Timer::Monitor);
        }
    }

    fn monitor(&mut self) {
        let Some(leadership) = &mut self.leadership else {
            return;
        };
        if leadership.next_monitor <= self.now {
            leadership.next_monitor = self.now.after(self.config.monitor_interval);
            self.timers.set(leadership.next_monitor, Timer::Monitor);
        }
        if !leadership.acts || !self.is_ready(self.now) {
            return;
        }
        let room = self
            .config
            .overrides_max
            .saturating_sub(self.appends.override_count());
        let mut overrides = self.orphans(room);
        overrides.extend(self.stuck(room.saturating_sub(overrides.len())));
        overrides.extend(self.tombstones(room.saturating_sub(overrides.len())));
        // What finds no room is looked at again when one of these is through.
        for Override { bundle, row, next } in overrides {
            self.append_override(bundle, &row, next);
        }
        self.end_namespaces();
    }

    fn append_override(&mut self, bundle: BundleId, row: &Row, next: Option<Record>) {
        let Some(leadership) = &self.leadership else {
            return;
        };
        let epoch = leadership.epoch;
        let change = Change {
            bundle: bundle.clone(),
            expected: row.version,
            next,
        };
        self.append(
            Body::Changes(vec![change]),
            Some(epoch),
            Purpose::Override(bundle),
        );
    }

    /// Bundles whose holder has been dead for long enough, at most `room` of them.
    fn orphans(&mut self, room: usize) -> Vec<Override> {
        let Some(leadership) = &self.leadership else {
            return Vec::new();
        };
        let delay = self.config.takeover_delay();
        let grace = self.config.reclaim_grace;
        let mut due = Vec::new();
        for (holder, since) in &leadership.dead_since {
            for (bundle, row) in self.table.held_by(holder) {
                if due.len() == room {
                    break;
                }
                let may_return = row.record.state() == State::Owned;
                let wait = delay + if may_return { grace } else { Duration::ZERO };
                if self.now.since(*since) < wait {
                    self.timers.set(since.after(wait), Timer::Monitor);
                } else if !self.appends.overrides(bundle) {
                    due.push((bundle.clone(), row.clone()));
                }
            }
        }
        let due = due.into_iter();
        due.map(|(bundle, row)| {
            let next = Some(self.without_holder(&bundle, &row));
            Override { bundle, row, next }
        })
        .collect()
    }

    /// What becomes of a bundle whose holder is gone.
    fn without_holder(&mut self, bundle: &BundleId, row: &Row) -> Record {
        match &row.record {
            Record::Splitting { cuts, .. } => {
                let source = self.new_source(bundle);
                Record::Splitting {
                    source,
                    cuts: cuts.clone(),
                }
            }
            Record::Releasing {
                destination: None, ..
            } => Record::Free,
            record => {
                let chosen = record.destination().cloned();
                let alive = chosen.and_then(|broker| self.check_destination(broker).ok());
                self.assigning(bundle, alive)
            }
        }
    }

    /// Promises a bundle to `chosen` or to whom placement says; free if nobody may take it.
    fn assigning(&mut self, bundle: &BundleId, chosen: Option<BrokerId>) -> Record {
        let live = self.table.facts().namespaces.get(bundle.namespace()) == Some(&Phase::Live);
        let destination = match chosen {
            _ if !live => None,
            None => self.place(bundle, None),
            chosen => chosen,
        };
        destination.map_or(Record::Free, |destination| Record::Assigning {
            destination,
        })
    }

    /// A living session that is to finish a split.
    fn new_source(&mut self, bundle: &BundleId) -> Option<Holder> {
        let broker = self.place(bundle, None)?;
        let session = self.members.list()?.session_of(&broker)?;
        Some(Holder::new(broker, session))
    }

    /// Promises that are not kept or must not be, and splits that nobody drives: at most `room`.
    fn stuck(&mut self, room: usize) -> Vec<Override> {
        let loose = self.table.in_flight().filter(|(bundle, row)| {
            row.record.holder().is_none() && !self.appends.overrides(bundle)
        });
        let loose: Vec<_> = loose.map(|(b, row)| (b.clone(), row.clone())).collect();
        let mut overrides = Vec::new();
        for (bundle, row) in loose {
            if overrides.len() == room {
                break;
            }
            let next = match &row.record {
                Record::Assigning { destination } => self.instead_of(&bundle, destination),
                Record::Splitting { cuts, .. } => {
                    let source = self.new_source(&bundle);
                    let cuts = cuts.clone();
                    source.map(|source| Record::Splitting {
                        source: Some(source),
                        cuts,
                    })
                }
                _ => None,
            };
            if let Some(next) = next {
                overrides.push(Override {
                    bundle,
                    row,
                    next: Some(next),
                });
            }
        }
        overrides
    }

    /// What a promise to `destination` becomes, if it is not to stand.
    fn instead_of(&mut self, bundle: &BundleId, destination: &BrokerId) -> Option<Record> {
        if self.table.facts().namespaces.get(bundle.namespace()) != Some(&Phase::Live) {
            return Some(Record::Free);
        }
        let dead = self.check_destination(destination.clone()).is_err();
        if !dead && !self.is_older(bundle, self.config.in_flight_limit) {
            return None;
        }
        match self.place(bundle, Some(destination)) {
            Some(destination) => Some(Record::Assigning { destination }),
            None if dead => Some(Record::Free),
            // Nobody else lives: it stays promised to the only one.
            None => None,
        }
    }

    /// Whether this leader has seen the bundle's present version for longer than `limit`; if not
    /// yet, a round is due when it will have.
    fn is_older(&mut self, bundle: &BundleId, limit: Duration) -> bool {
        let Some(leadership) = &self.leadership else {
            return false;
        };
        let Some((_, since)) = leadership.first_seen.get(bundle) else {
            return false;
        };
        if self.now.since(*since) >= limit {
            return true;
        }
        self.timers.set(since.after(limit), Timer::Monitor);
        false
    }

    /// Parents that have stood long enough after their split, at most `room` of them.
    fn tombstones(&mut self, room: usize) -> Vec<Override> {
        let Some(leadership) = &self.leadership else {
            return Vec::new();
        };
        let mut overrides = Vec::new();
        let mut next_due: Option<Tick> = None;
        for (bundle, row) in self.table.deleted() {
            if overrides.len() == room {
                break;
            }
            let Some((_, since)) = leadership.first_seen.get(bundle) else {
                continue;
            };
            let due = since.after(self.config.tombstone_delay);
            if self.now < due {
                next_due = Some(next_due.map_or(due, |earlier| earlier.min(due)));
            } else if !self.appends.overrides(bundle) {
                let (bundle, row) = (bundle.clone(), row.clone());
                overrides.push(Override {
                    bundle,
                    row,
                    next: None,
                });
            }
        }
        if let Some(due) = next_due {
            self.timers.set(due, Timer::Monitor);
        }
        overrides
    }

    fn ending(&self) -> Vec<Namespace> {
        let all = self.table.facts().namespaces.iter();
        let ending = all.filter(|(_, phase)| **phase == Phase::BeingDeleted);
        ending.map(|(namespace, _)| namespace.clone()).collect()
    }

    /// Unloads what living brokers own in namespaces being deleted, and ends those in which nobody
    /// holds anything.
    fn end_namespaces(&mut self) {
        let Some(epoch) = self.epoch() else { return };
        for namespace in self.ending() {
            let mut rows = self.table.rows_of(&namespace);
            let idle =
                rows.all(|(_, row)| matches!(row.record.state(), State::Free | State::Deleted));
            drop(rows);
            if idle {
                if !self.appends.ends_namespace() {
                    let body = Body::EndNamespace { namespace };
                    self.append(body, Some(epoch), Purpose::Namespace);
                }
                continue;
            }
            let owned = self.table.rows_of(&namespace);
            let owned = owned.filter(|(_, row)| row.record.state() == State::Owned);
            let owned: Vec<_> = owned.map(|(b, row)| (b.clone(), row.clone())).collect();
            for (bundle, row) in owned {
                self.append_owed(&bundle, &row, releasing(&row, None));
            }
        }
    }
}
