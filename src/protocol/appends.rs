//! Entries under way: sent, perhaps acknowledged, not yet read.

use super::brain::Protocol;
use super::io::Effect;
use super::operations::OperationId;
use super::timers::Timer;
use crate::ids::{BundleId, EntryId, Epoch, Position};
use crate::log::{AppendError, AppendResult, Guard, Refusal};
use crate::state::{Body, Change, Entry, Record, Rejection, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Entries under way, by id.
#[derive(Debug, Default)]
pub(super) struct Appends {
    under_way: BTreeMap<EntryId, UnderWay>,
    /// The change that this broker owes a bundle and has sent: not to be sent again for the same
    /// version.
    owed: BTreeMap<BundleId, (Position, EntryId)>,
    /// The bundles that one of the leader's changes is under way for: one each.
    overridden: BTreeSet<BundleId>,
}

#[derive(Debug)]
struct UnderWay {
    entry: Arc<Entry>,
    guard: Guard,
    purpose: Purpose,
    /// Where it stands, once that was acknowledged.
    position: Option<Position>,
}

/// Why an entry was sent, and so who is told what became of it.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    /// This broker's next step with a bundle.
    Owed(BundleId),
    /// Somebody's request.
    Operation(OperationId),
    /// The leader's change of a bundle.
    Override(BundleId),
    /// The leader's first word.
    LeaderStarted,
    /// The leader's work on a namespace being deleted.
    Namespace,
}

/// What became of an entry.
#[derive(Clone, Debug)]
pub(super) enum Resolution {
    /// It counts.
    Accepted { position: Position },
    /// It stands in the log and does not count.
    Rejected(Rejection),
    /// It lies below a snapshot that was jumped to, and whether it counted is not known.
    Passed,
    /// It is certainly not in the log.
    Refused(Refusal),
}

impl Appends {
    /// Forgets everything under way; it may still come by.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// How many of the leader's changes are under way.
    pub(super) fn override_count(&self) -> usize {
        self.overridden.len()
    }

    /// Whether one of the leader's changes of the bundle is under way.
    pub(super) fn overrides(&self, bundle: &BundleId) -> bool {
        self.overridden.contains(bundle)
    }

    /// Whether the leader's work on a namespace is under way.
    pub(super) fn ends_namespace(&self) -> bool {
        self.under_way
            .values()
            .any(|entry| matches!(entry.purpose, Purpose::Namespace))
    }
}

impl Protocol {
    /// Sends an entry in the name of the living session; none without one.
    pub(super) fn append(
        &mut self,
        body: Body,
        epoch: Option<Epoch>,
        purpose: Purpose,
    ) -> Option<EntryId> {
        let author = self.session()?;
        let guard = epoch.map_or(Guard::Session(author.session), Guard::Epoch);
        let counter = self.session.next_counter();
        let entry = Arc::new(Entry {
            author,
            counter,
            epoch,
            body,
        });
        let id = entry.id();
        self.effects.push(Effect::Append {
            entry: Arc::clone(&entry),
            guard,
        });
        if let Purpose::Override(bundle) = &purpose {
            self.appends.overridden.insert(bundle.clone());
        }
        let under_way = UnderWay {
            entry,
            guard,
            purpose,
            position: None,
        };
        self.appends.under_way.insert(id, under_way);
        Some(id)
    }

    /// Sends the next step that this broker owes a bundle, once for each version of its row.
    pub(super) fn append_owed(&mut self, bundle: &BundleId, row: &Row, next: Record) {
        if self
            .appends
            .owed
            .get(bundle)
            .is_some_and(|(version, _)| *version == row.version)
        {
            return;
        }
        let body = Body::Changes(vec![Change {
            bundle: bundle.clone(),
            expected: row.version,
            next: Some(next),
        }]);
        if let Some(id) = self.append(body, None, Purpose::Owed(bundle.clone())) {
            self.appends.owed.insert(bundle.clone(), (row.version, id));
        }
    }

    pub(super) fn resend(&mut self, id: EntryId) {
        if let Some(UnderWay { entry, guard, .. }) = self.appends.under_way.get(&id) {
            self.effects.push(Effect::Append {
                entry: Arc::clone(entry),
                guard: *guard,
            });
        }
    }

    pub(super) fn on_appended(&mut self, id: EntryId, result: AppendResult) {
        let Some(under_way) = self.appends.under_way.get_mut(&id) else {
            return;
        };
        match result {
            Ok(appended) => {
                under_way.position = Some(appended.position);
                // It may lie below a snapshot that was jumped to: then it does not come by any
                // more.
                if appended.position < self.table.next() {
                    self.resolve_passed(id, appended.position);
                }
            }
            Err(AppendError::Unknown(_)) => {
                self.timers.set(
                    self.now.after(self.config.retry_interval),
                    Timer::Resend(id),
                );
            }
            Err(AppendError::Refused(Refusal::Fenced)) => match under_way.guard {
                Guard::Epoch(_) => {
                    self.lose_leadership();
                    self.on_resolved(id, Resolution::Refused(Refusal::Fenced));
                }
                Guard::Session(_) | Guard::None => self.on_session_lost(),
            },
            Err(AppendError::Refused(refusal)) => {
                self.on_resolved(id, Resolution::Refused(refusal));
            }
        }
    }

    /// Ends the wait for entries that a jump has passed over.
    pub(super) fn resolve_below_horizon(&mut self) {
        let next = self.table.next();
        let passed: Vec<(EntryId, Position)> = (self.appends.under_way.iter())
            .filter_map(|(id, entry)| Some((*id, entry.position?)))
            .filter(|(_, position)| *position < next)
            .collect();
        for (id, position) in passed {
            self.resolve_passed(id, position);
        }
    }

    /// Ends the wait for an entry that a jump has passed over: it counted if a row says so.
    fn resolve_passed(&mut self, id: EntryId, position: Position) {
        // The version of a row is the position of the last entry that changed it.
        let counted = self.appends.under_way.get(&id).is_some_and(|under_way| {
            let mut changes = under_way.entry.changes().iter();
            changes.any(|c| Row::version_of(self.table.get(&c.bundle)) == position)
        });
        let resolution = if counted {
            Resolution::Accepted { position }
        } else {
            Resolution::Passed
        };
        self.on_resolved(id, resolution);
    }

    /// Tells whoever sent an entry what became of it.
    pub(super) fn on_resolved(&mut self, id: EntryId, resolution: Resolution) {
        let Some(under_way) = self.appends.under_way.remove(&id) else {
            return;
        };
        match under_way.purpose {
            Purpose::Owed(bundle) => {
                self.appends.owed.remove(&bundle);
                match resolution {
                    Resolution::Accepted { .. } | Resolution::Passed => {
                        self.ownership.touch(&bundle);
                    }
                    // If the row has changed, that was reacted to; if not, asking again at once
                    // would be answered alike.
                    Resolution::Rejected(_) | Resolution::Refused(_) => {
                        let again = self.now.after(self.config.retry_interval);
                        self.timers.set(again, Timer::React(bundle));
                    }
                }
            }
            Purpose::Operation(operation) => self.on_operation(operation, resolution),
            Purpose::Override(bundle) => {
                self.appends.overridden.remove(&bundle);
                if matches!(resolution, Resolution::Accepted { .. }) {
                    self.ledger.count_override(self.table.get(&bundle));
                }
                self.on_override(&resolution);
            }
            Purpose::Namespace => self.on_override(&resolution),
            Purpose::LeaderStarted => self.on_leader_started(&resolution),
        }
    }
}
