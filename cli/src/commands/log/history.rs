//! `deedbook log history`: everything that was said of one bundle, and what became of it.

use super::replay::replay;
use super::{Book, dump};
use crate::output::{Output, count};
use crate::{Error, Status};
use clap::Args;
use deedbook::ids::{BundleId, Position};
use deedbook::log::EventLog;
use deedbook::log::file::{ReadOnlyFileLog, inspect};
use deedbook::state::{Body, Entry, Row};
use deedbook::table::{Applied, ReaderEvent};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Shows every retained change of one bundle, rejected ones with the reason
#[derive(Debug, Args)]
pub(super) struct History {
    #[command(flatten)]
    book: Book,
    /// The bundle, such as `acme/orders/0x00000000_0x80000000`
    bundle: BundleId,
}

#[derive(Debug, Serialize)]
struct Found {
    bundle: String,
    /// Where reading began: the horizon of a snapshot, or the first position.
    from: u64,
    /// What it was there; none if it was absent.
    at_first: Option<String>,
    events: Vec<Event>,
}

#[derive(Debug, Serialize)]
struct Event {
    position: u64,
    kind: &'static str,
    author: String,
    epoch: Option<u64>,
    accepted: bool,
    /// Why it was rejected, by a name that stays the same.
    reason: Option<&'static str>,
    /// What it asked for, and why it was rejected if it was.
    says: String,
    before: Option<String>,
    after: Option<String>,
    fence: Option<u64>,
}

impl History {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        let stat = inspect::stat(&*self.book.storage()?)?;
        let log = oldest(&self.book.open_read_only()?, &stat)?;
        let mut at_first = None;
        let mut events = Vec::new();
        let read = replay(Arc::new(log), stat.end, |event, table| match event {
            ReaderEvent::Jumped { .. } => {
                at_first = table.get(&self.bundle).map(record);
                events.clear();
            }
            ReaderEvent::Applied { entry, applied } => {
                let now = table.get(&self.bundle);
                events.extend(self.event(entry, applied, now));
            }
            ReaderEvent::Member { .. } | ReaderEvent::CaughtUp { .. } => {}
        })?;
        output.print(&Found {
            bundle: self.bundle.to_string(),
            from: read.from.get(),
            at_first,
            events,
        })?;
        Ok(Status::Good)
    }

    /// What an entry has to do with the bundle, if anything.
    fn event(&self, entry: &Entry, applied: &Applied, now: Option<&Row>) -> Option<Event> {
        let changes = applied.outcome.as_deref().unwrap_or_default();
        let changed = changes.iter().find(|change| change.bundle == self.bundle);
        if changed.is_none() && !self.is_about(entry) {
            return None;
        }
        let (before, after) = match changed {
            Some(change) => (change.before.as_ref(), change.after.as_ref()),
            None => (now, now),
        };
        let rejection = applied.outcome.as_ref().err();
        let asked = entry
            .changes()
            .iter()
            .find(|change| change.bundle == self.bundle);
        let mut says = match asked {
            Some(change) => match &change.next {
                Some(next) => format!("{next}, if unchanged since {}", change.expected),
                None => format!("to be removed, if unchanged since {}", change.expected),
            },
            None => dump::says(entry).join("; "),
        };
        if let Some(rejection) = rejection {
            says = format!("{says}: {rejection}");
        }
        Some(Event {
            position: applied.position.get(),
            kind: dump::kind(&entry.body),
            author: entry.author.to_string(),
            epoch: entry.epoch.map(|epoch| epoch.get()),
            accepted: rejection.is_none(),
            reason: rejection.map(|rejection| rejection.name()),
            says,
            before: before.map(record),
            after: after.map(record),
            fence: after.map(|row| row.fence.get()),
        })
    }

    /// Whether an entry asks for something that concerns the bundle.
    fn is_about(&self, entry: &Entry) -> bool {
        match &entry.body {
            Body::Changes(changes) => changes.iter().any(|change| change.bundle == self.bundle),
            Body::CreateNamespace { namespace, .. }
            | Body::DeleteNamespace { namespace, .. }
            | Body::EndNamespace { namespace } => namespace == self.bundle.namespace(),
            Body::LeaderStarted | Body::RaiseRules { .. } => false,
        }
    }
}

fn record(row: &Row) -> String {
    row.record.to_string()
}

/// The log from as far back as it can be judged: from the beginning, or from the oldest snapshot
/// whose entries are all there.
fn oldest(log: &ReadOnlyFileLog, stat: &inspect::Stat) -> Result<ReadOnlyFileLog, Error> {
    if stat.first() <= Position::ZERO.next() {
        return Ok(log.with_snapshots_up_to(Position::ZERO));
    }
    let horizons = stat.snapshots.iter().map(|snapshot| snapshot.horizon);
    for horizon in horizons.filter(|horizon| *horizon >= stat.first()) {
        let log = log.with_snapshots_up_to(horizon);
        if log.snapshot()?.is_some() {
            return Ok(log);
        }
    }
    Ok(log.clone())
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let absent = || "absent".to_owned();
        let first = self.at_first.clone().unwrap_or_else(absent);
        writeln!(f, "{:>8} {first}", self.from)?;
        for event in &self.events {
            let verdict = match event.reason {
                None => event.after.clone().unwrap_or_else(absent),
                Some(reason) => format!("REJECTED, {reason}"),
            };
            writeln!(f, "{:>8} {verdict}", event.position)?;
            write!(f, "{:9}{} {}", "", event.kind, event.author)?;
            if let Some(epoch) = event.epoch {
                write!(f, " epoch {epoch}")?;
            }
            writeln!(f, ": {}", event.says)?;
        }
        let rejected = self.events.iter().filter(|event| !event.accepted).count();
        writeln!(
            f,
            "{}: {} since position {}, {rejected} rejected",
            self.bundle,
            count(self.events.len(), "event"),
            self.from,
        )
    }
}
