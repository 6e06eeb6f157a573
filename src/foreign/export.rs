//! Writes a log of ours as events of Apache Pulsar.

use super::event::{Event, Observed};
use crate::ids::BundleId;
use crate::state::pulsar::{Brokers, PULSAR_SYSTEM_TOPIC, PulsarRecord};
use crate::state::{Record, State};
use crate::table::RowChange;
use std::collections::BTreeMap;

/// Turns the changes of a table into events that today's rules of Apache Pulsar accept.
///
/// - A record repeats the brokers that the one before it names, where those rules ask for it.
/// - What those rules do not allow, such as a take-over by a newer session, is written with force.
/// - The children of a split come before their parent's end, each with an event of its own.
/// - A split that nobody lives to finish names the broker that began it: a record names a broker.
/// - Versions count a bundle's events from 1. Times are 0: the log knows none.
///
/// It needs memory for the bundles that are there.
#[derive(Clone, Debug, Default)]
pub struct Exporter {
    /// What was last written of each bundle.
    written: BTreeMap<BundleId, PulsarRecord>,
}

impl Exporter {
    /// Nothing written yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The events of an entry, or of a jump to a snapshot, in order.
    pub fn events<'a>(&'a mut self, changes: &'a [RowChange]) -> impl Iterator<Item = Event> + 'a {
        let (births, others): (Vec<_>, Vec<_>) =
            changes.iter().partition(|change| change.before.is_none());
        let in_order = births.into_iter().chain(others);
        in_order.map(|change| self.event(change))
    }

    fn event(&mut self, change: &RowChange) -> Event {
        let bundle = change.bundle.clone();
        let Some(row) = &change.after else {
            self.written.remove(&bundle);
            let observed = None;
            return Event { bundle, observed };
        };
        let kept = self.written.get(&bundle);
        let record = follow(kept, &row.record);
        let children = match &row.record {
            Record::Splitting { cuts, .. } => cuts
                .parts(bundle.range())
                .map(|part| (part, None))
                .collect(),
            _ => BTreeMap::new(),
        };
        self.written.insert(bundle.clone(), record.clone());
        let observed = Observed {
            record,
            children,
            timestamp_ms: 0,
        };
        Event {
            bundle,
            observed: Some(observed),
        }
    }
}

/// The record that follows what was written before.
fn follow(kept: Option<&PulsarRecord>, next: &Record) -> PulsarRecord {
    let own = |name: &str| Some(name.into());
    let holder = next.holder().and_then(|holder| own(holder.broker.as_str()));
    let destination = next.destination().and_then(|broker| own(broker.as_str()));
    let state = next.state();
    let from = kept.map_or(State::Init, |kept| kept.state);
    let before = |kept: &PulsarRecord| (kept.destination.clone(), kept.source.clone());
    let brokers = match (from, state, kept) {
        // These repeat who let go of it.
        (State::Releasing, State::Free, Some(kept)) => before(kept),
        (State::Splitting, State::Deleted, Some(kept)) => before(kept),
        (State::Releasing, State::Assigning, Some(kept)) => (destination, kept.source.clone()),
        (State::Assigning, State::Owned, Some(kept)) => (holder, kept.source.clone()),
        (State::Splitting, State::Splitting, Some(kept)) => {
            (None, holder.or_else(|| kept.source.clone()))
        }
        (_, State::Owned, _) => (holder, None),
        (_, State::Releasing | State::Splitting, _) => (destination, holder),
        _ => (destination, None),
    };
    named(state, brokers, kept)
}

/// Gives the record a broker if it needs one, its number, and force if nothing less lets it pass.
fn named(
    state: State,
    (destination, source): (Option<Box<str>>, Option<Box<str>>),
    kept: Option<&PulsarRecord>,
) -> PulsarRecord {
    let mut record = PulsarRecord {
        state,
        destination,
        source,
        version: kept.map_or(1, |kept| kept.version.wrapping_add(1)),
        forced: false,
    };
    if !record.is_well_formed() {
        // Out of a snapshot comes a parent after its split, or a split without a source, of which
        // nobody says any more whose it was.
        record.source = Some(UNKNOWN.into());
    }
    let refused = PULSAR_SYSTEM_TOPIC.judge(kept, Some(&record), Brokers::Checked);
    // A destination that goes away empty-handed is a leader's doing, or the end of a namespace.
    let waits = kept.is_some_and(|kept| kept.successor().is_some());
    record.forced = refused.is_err() || (waits && state == State::Free);
    record
}

/// Stands for a broker that nobody knows any more.
const UNKNOWN: &str = "unknown";
