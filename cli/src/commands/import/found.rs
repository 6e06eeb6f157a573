//! What an import found, as JSON and as text.

use super::replay::{Beside, Decision, DroppedEvent, Listed, Replay, Unreadable};
use super::write_log::Written;
use crate::output::{Column, count, table};
use deedbook::foreign::{Audit, Held};
use deedbook::ids::{BundleId, Namespace};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// What an import found. It borrows the bundles, of which there may be many.
#[derive(Serialize)]
pub(super) struct Found<'a> {
    file: String,
    rules: String,
    interrupted: bool,
    lines: u64,
    events: u64,
    removals: u64,
    accepted: u64,
    dropped: &'a Listed<DroppedEvent>,
    reasons: Vec<Counted>,
    unreadable: &'a Listed<Unreadable>,
    notes: Vec<Counted>,
    brokers: Vec<BrokerFound<'a>>,
    namespaces: Vec<NamespaceFound>,
    bundles: Bundles<'a>,
    in_flight: Vec<InFlight>,
    compared: Vec<Compared<'a>>,
    log: Option<Written>,
}

#[derive(Serialize)]
struct Counted {
    name: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct BrokerFound<'a> {
    broker: &'a str,
    /// Bundles that it serves, or still holds.
    holds: u64,
    /// Bundles that are to become its.
    to_come: u64,
}

#[derive(Serialize)]
struct NamespaceFound {
    namespace: String,
    bundles: u64,
    whole: bool,
    overlaps: Vec<[String; 2]>,
    gaps: Vec<String>,
}

#[derive(Serialize)]
struct BundleFound<'a> {
    bundle: String,
    state: String,
    holder: Option<&'a str>,
    destination: Option<&'a str>,
    version: i64,
    line: u64,
}

#[derive(Serialize)]
struct InFlight {
    bundle: String,
    standing: String,
    /// From its last event to the latest one of all, by their authors' clocks.
    for_ms: Option<i64>,
    line: u64,
}

#[derive(Serialize)]
struct Compared<'a> {
    rules: String,
    dropped: u64,
    decisions: &'a Listed<Decision>,
    bundles: Vec<Otherwise>,
}

/// A bundle that stands in two ways.
#[derive(Serialize)]
struct Otherwise {
    bundle: String,
    here: Option<String>,
    there: Option<String>,
}

/// All bundles of an audit, written one after another.
struct Bundles<'a>(&'a Audit);

impl Serialize for Bundles<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            self.0
                .rows()
                .map(|(bundle, held)| BundleFound::new(&bundle, held)),
        )
    }
}

/// What is printed: lists in text are cut at a length, and say so.
pub(super) struct Show<'a> {
    pub(super) found: &'a Found<'a>,
    pub(super) list: usize,
}

impl Serialize for Show<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.found.serialize(to)
    }
}

impl<'a> Found<'a> {
    pub(super) fn new(file: String, replay: &'a Replay, log: Option<Written>) -> Self {
        let audit = replay.audit();
        let counted = |(name, count)| Counted { name, count };
        Self {
            file,
            rules: audit.rules().to_string(),
            interrupted: replay.interrupted,
            lines: replay.lines,
            events: replay.events,
            removals: replay.removals,
            accepted: replay.accepted,
            dropped: &replay.dropped,
            reasons: replay
                .reasons
                .iter()
                .map(|(n, c)| counted((*n, *c)))
                .collect(),
            unreadable: &replay.unreadable,
            notes: replay
                .notes
                .iter()
                .map(|(n, c)| counted((n.name(), *c)))
                .collect(),
            brokers: brokers(audit),
            namespaces: audit
                .namespaces()
                .map(|n| NamespaceFound::new(audit, n))
                .collect(),
            bundles: Bundles(audit),
            in_flight: in_flight(audit, replay.latest_ms),
            compared: replay
                .beside
                .iter()
                .map(|beside| Compared::new(audit, beside))
                .collect(),
            log,
        }
    }

    /// Whether every line was read and no key belongs to two bundles.
    pub(super) fn is_sound(&self) -> bool {
        let overlaps = |namespace: &NamespaceFound| !namespace.overlaps.is_empty();
        self.unreadable.count() == 0 && !self.namespaces.iter().any(overlaps)
    }
}

fn brokers(audit: &Audit) -> Vec<BrokerFound<'_>> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (_, held) in audit.rows() {
        let record = &held.observed.record;
        if let Some(holder) = record.holder() {
            counts.entry(holder).or_default().0 += 1;
        }
        if let Some(successor) = record.successor() {
            counts.entry(successor).or_default().1 += 1;
        }
    }
    let found = counts
        .into_iter()
        .map(|(broker, (holds, to_come))| BrokerFound {
            broker,
            holds,
            to_come,
        });
    found.collect()
}

fn in_flight(audit: &Audit, latest_ms: i64) -> Vec<InFlight> {
    let rows = audit.rows();
    let rows = rows.filter(|(_, held)| held.observed.record.state.is_in_flight());
    let found = rows.map(|(bundle, held)| InFlight {
        bundle: bundle.to_string(),
        standing: standing(held),
        for_ms: (held.observed.timestamp_ms != 0)
            .then(|| latest_ms.saturating_sub(held.observed.timestamp_ms)),
        line: held.number,
    });
    found.collect()
}

/// A record in a few words, as the library shows its own.
fn standing(held: &Held) -> String {
    let record = &held.observed.record;
    let mut text = record.state.to_string();
    if let Some(holder) = record.holder() {
        text += &format!(" by {holder}");
    }
    if let Some(successor) = record.successor() {
        text += &format!(" -> {successor}");
    }
    text
}

impl NamespaceFound {
    fn new(audit: &Audit, namespace: &Namespace) -> Self {
        let coverage = audit.coverage(namespace);
        let overlaps = coverage.overlaps.iter();
        Self {
            namespace: namespace.to_string(),
            bundles: audit.bundle_count(namespace) as u64,
            whole: coverage.is_whole(),
            overlaps: overlaps
                .map(|overlap| [overlap.first.to_string(), overlap.second.to_string()])
                .collect(),
            gaps: coverage.gaps.iter().map(ToString::to_string).collect(),
        }
    }
}

impl<'a> BundleFound<'a> {
    fn new(bundle: &BundleId, held: &'a Held) -> Self {
        let record = &held.observed.record;
        Self {
            bundle: bundle.to_string(),
            state: record.state.to_string(),
            holder: record.holder(),
            destination: record.successor(),
            version: record.version,
            line: held.number,
        }
    }
}

impl<'a> Compared<'a> {
    fn new(audit: &Audit, beside: &'a Beside) -> Self {
        let differences = audit.differences(&beside.audit);
        Self {
            rules: beside.audit.rules().to_string(),
            dropped: beside.dropped,
            decisions: &beside.decisions,
            bundles: differences
                .map(|(bundle, here, there)| Otherwise {
                    bundle: bundle.to_string(),
                    here: here.map(standing),
                    there: there.map(standing),
                })
                .collect(),
        }
    }
}

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found {
            file,
            rules,
            lines,
            events,
            removals,
            accepted,
            ..
        } = self.found;
        writeln!(
            f,
            "{file} under {rules}: {}, {} ({}), {accepted} accepted, {} dropped, {} unreadable",
            count(*lines, "line"),
            count(*events, "event"),
            count(*removals, "removal"),
            self.found.dropped.count(),
            self.found.unreadable.count(),
        )?;
        self.write_owners(f)?;
        self.write_namespaces(f)?;
        self.write_events(f)?;
        self.found
            .compared
            .iter()
            .try_for_each(|compared| self.write_compared(f, compared))?;
        self.write_log(f)
    }
}

impl Show<'_> {
    fn write_owners(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let brokers = self.found.brokers.iter().map(|found| {
            vec![
                found.broker.to_owned(),
                found.holds.to_string(),
                found.to_come.to_string(),
            ]
        });
        let columns = [
            Column::Left("broker"),
            Column::Right("holds"),
            Column::Right("to come"),
        ];
        self.section(f, "Brokers", &columns, brokers, 0)?;
        let audit = self.found.bundles.0;
        let bundles = audit.rows().map(|(bundle, held)| {
            vec![
                bundle.to_string(),
                standing(held),
                held.observed.record.version.to_string(),
                held.number.to_string(),
            ]
        });
        let columns = [
            Column::Left("bundle"),
            Column::Left("is"),
            Column::Right("version"),
            Column::Right("line"),
        ];
        self.section(f, "Bundles", &columns, bundles, 0)?;
        let in_flight = self.found.in_flight.iter().map(|found| {
            let since = found
                .for_ms
                .map_or("-".to_owned(), |ms| format!("{} s", ms / 1000));
            vec![
                found.bundle.clone(),
                found.standing.clone(),
                since,
                found.line.to_string(),
            ]
        });
        let columns = [
            Column::Left("bundle"),
            Column::Left("is"),
            Column::Right("for"),
            Column::Right("line"),
        ];
        self.section(f, "In flight", &columns, in_flight, 0)
    }

    fn write_namespaces(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespaces = &self.found.namespaces;
        let overlaps = namespaces.iter().flat_map(|found| {
            let name = &found.namespace;
            let pairs = found.overlaps.iter();
            pairs.map(move |[first, second]| vec![name.clone(), first.clone(), second.clone()])
        });
        let columns = [
            Column::Left("namespace"),
            Column::Left("one"),
            Column::Left("other"),
        ];
        self.section(f, "Keys with two owners", &columns, overlaps, 0)?;
        let gaps = namespaces.iter().flat_map(|found| {
            let name = &found.namespace;
            found
                .gaps
                .iter()
                .map(move |gap| vec![name.clone(), gap.clone()])
        });
        let columns = [Column::Left("namespace"), Column::Left("keys")];
        self.section(f, "Keys that no bundle holds", &columns, gaps, 0)
    }

    fn write_events(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found {
            dropped,
            unreadable,
            notes,
            ..
        } = self.found;
        let rows = dropped.first.iter().map(|event| {
            vec![
                event.line.to_string(),
                event.bundle.clone(),
                event.text.clone(),
            ]
        });
        let columns = [
            Column::Right("line"),
            Column::Left("bundle"),
            Column::Left("dropped, since"),
        ];
        self.section(f, "Dropped events", &columns, rows, dropped.left)?;
        let rows = unreadable.first.iter();
        let rows = rows.map(|line| vec![line.line.to_string(), line.text.clone()]);
        let columns = [Column::Right("line"), Column::Left("is no event")];
        self.section(f, "Unreadable lines", &columns, rows, unreadable.left)?;
        if !notes.is_empty() {
            let notes = notes
                .iter()
                .map(|note| format!("{} {}", note.name, note.count));
            writeln!(f, "\nNotes: {}", notes.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }

    fn write_compared(&self, f: &mut fmt::Formatter<'_>, compared: &Compared<'_>) -> fmt::Result {
        let Compared {
            rules,
            dropped,
            decisions,
            bundles,
        } = compared;
        let heading = format!(
            "Under {rules} {dropped} would be dropped; {} decided otherwise, {} otherwise in the end",
            count(decisions.count(), "event"),
            count(bundles.len(), "bundle"),
        );
        if decisions.first.is_empty() && bundles.is_empty() {
            return writeln!(f, "\n{heading}");
        }
        let words = |why: &Option<String>| why.clone().unwrap_or_else(|| "accepted".to_owned());
        let rows = decisions.first.iter().map(|decision| {
            vec![
                decision.line.to_string(),
                decision.bundle.clone(),
                words(&decision.here),
                words(&decision.there),
            ]
        });
        let columns = [
            Column::Right("line"),
            Column::Left("bundle"),
            Column::Left("here"),
            Column::Left("there"),
        ];
        self.section(f, &heading, &columns, rows, decisions.left)?;
        let words = |why: &Option<String>| why.clone().unwrap_or_else(|| "not there".to_owned());
        let rows = bundles.iter();
        let rows = rows.map(|b| vec![b.bundle.clone(), words(&b.here), words(&b.there)]);
        let columns = [
            Column::Left("bundle"),
            Column::Left("here"),
            Column::Left("there"),
        ];
        self.section(f, &format!("In the end under {rules}"), &columns, rows, 0)
    }

    fn write_log(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(written) = &self.found.log else {
            return Ok(());
        };
        writeln!(
            f,
            "\nWritten to {}: {} in {}, {}; digest {}",
            written.log,
            count(written.bundles, "bundle"),
            count(written.namespaces, "namespace"),
            count(written.entries, "entry").replace("entrys", "entries"),
            written.digest,
        )?;
        let filled = written.filled.iter().map(|bundle| vec![bundle.clone()]);
        let columns = [Column::Left("free where no bundle was")];
        self.section(f, "Filled", &columns, filled, 0)
    }

    /// A list under a heading, if there is anything in it: the first of its rows, and the number of
    /// what is left.
    fn section(
        &self,
        f: &mut fmt::Formatter<'_>,
        heading: &str,
        columns: &[Column],
        rows: impl Iterator<Item = Vec<String>>,
        uncounted: u64,
    ) -> fmt::Result {
        let mut rows = rows.fuse();
        let shown: Vec<_> = rows.by_ref().take(self.list).collect();
        let left = rows.count() as u64 + uncounted;
        if shown.is_empty() && left == 0 {
            return Ok(());
        }
        write!(f, "\n{heading}\n{}", table(columns, shown))?;
        if left > 0 {
            writeln!(f, "  and {left} more")?;
        }
        Ok(())
    }
}
