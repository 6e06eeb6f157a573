//! Judges the rules of ownership: rows of recorded conflicts, and tables of transitions.

use super::summary::{Agreement, Summary};
use super::{Failure, Wrong};
use deedbook::state::State;
use deedbook::state::pulsar::{
    Brokers, PIP_192, PIP_192_FIRST_DRAFT, PIP_192_SECOND_DRAFT, PULSAR_METADATA_STORE,
    PULSAR_SYSTEM_TOPIC, PulsarRecord, Refusal, Rules, state_named,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// How the name of a file of conflicts begins.
pub(crate) const CONFLICTS: &str = "conflict_matrix";

/// How the name of a file of tables begins.
pub(crate) const STATES: &str = "state_matrix";

/// The names of the tables that rows of conflicts belong to.
const TABLES: [&str; 3] = ["version_rules", "broker_rules", "older_broker_rules"];

/// Whether a file is known by its name to hold conflicts or tables.
pub(crate) fn is_known(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(CONFLICTS) || name.starts_with(STATES))
}

/// Judges a file of conflicts or of tables, whatever it is called; none if it is neither.
pub(crate) fn judge_file(path: &Path) -> Option<Result<Summary, Failure>> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim_start();
    let begins = |table: &&str| text.starts_with(&format!("[\"{table}\""));
    if TABLES.iter().any(begins) {
        return Some(judge_conflicts(path, text));
    }
    let is_table = text.starts_with('{') && text.contains("\"valid_transition\"");
    let malformed = |wrong| Failure::Malformed {
        path: path.to_owned(),
        line: 1,
        wrong,
    };
    is_table.then(|| judge_states(text).map_err(malformed))
}

/// Judges the rows of a file.
pub(crate) fn judge_conflicts(path: &Path, text: &str) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    for (line, row) in (1..).zip(text.lines()) {
        let malformed = |wrong| Failure::Malformed {
            path: path.to_owned(),
            line,
            wrong,
        };
        summary.add(row, vec![judge_conflict(row).map_err(malformed)?]);
    }
    Ok(summary)
}

/// A broker as recorded: missing, or a name that may be empty.
type Name = Option<String>;

/// What was recorded of two records: what happened to the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Accepted,
    Dropped,
    /// The judge there failed.
    Failed,
}

/// Judges one row of a file of conflicts.
pub(crate) fn judge_conflict(text: &str) -> Result<Agreement, Wrong> {
    let row: Value = serde_json::from_str(text)?;
    let table = row.get(0).and_then(Value::as_str).unwrap_or_default();
    let (ours, recorded) = match table {
        "version_rules" => by_versions(Deserialize::deserialize(&row)?)?,
        "broker_rules" => by_brokers(Deserialize::deserialize(&row)?)?,
        "older_broker_rules" => by_older_brokers(Deserialize::deserialize(&row)?)?,
        table => return Err(format!("a table that is not known: {table:?}").into()),
    };
    let recorded = match recorded {
        Value::Bool(true) => Outcome::Dropped,
        Value::Bool(false) => Outcome::Accepted,
        _ => Outcome::Failed,
    };
    Ok(if ours == recorded {
        Agreement::Exact
    } else {
        Agreement::Different(format!("{ours:?}, recorded {recorded:?}"))
    })
}

type VersionRow = (
    String,
    String,
    Option<String>,
    Option<i64>,
    Option<String>,
    Option<i64>,
    String,
    bool,
    bool,
    Value,
);

/// Brokers are not recorded in these rows: they were chosen to be legal.
fn by_versions(row: VersionRow) -> Result<(Outcome, Value), Wrong> {
    let (_, storage, from, version, to, next, _, forced, checked, recorded) = row;
    let named = |name: &str| Some(name.to_owned());
    let chosen = match (from.as_deref(), to.as_deref()) {
        (Some("Owned"), Some("Splitting")) => (None, named("A")),
        (Some("Owned"), Some("Releasing")) => (named("B"), named("A")),
        (Some("Free"), Some("Assigning")) | (None | Some("Init"), _) => (named("B"), None),
        (Some(from), _) => standing(from),
    };
    let kept = match (&from, version) {
        (Some(from), Some(version)) => Some(record(from, standing(from), version, false)?),
        _ => None,
    };
    let next = match (&to, next) {
        (Some(to), Some(next)) => Some(record(to, chosen, next, forced)?),
        _ => None,
    };
    let checked = if checked {
        Brokers::Checked
    } else {
        Brokers::Unchecked
    };
    let rules = storage_rules(&storage)?;
    Ok((
        judge(rules, kept.as_ref(), next.as_ref(), checked),
        recorded,
    ))
}

/// The brokers of a record that is there.
fn standing(state: &str) -> (Name, Name) {
    let named = |name: &str| Some(name.to_owned());
    match state {
        "Owned" => (named("A"), None),
        "Free" | "Splitting" | "Deleted" => (None, named("A")),
        _ => (named("B"), named("A")),
    }
}

type BrokerRow = (
    String,
    String,
    Option<String>,
    Name,
    Name,
    String,
    Name,
    Name,
    Value,
);

/// Versions are not recorded in these rows: each new one follows.
fn by_brokers(row: BrokerRow) -> Result<(Outcome, Value), Wrong> {
    let (_, storage, from, dst, src, to, next_dst, next_src, recorded) = row;
    let rules = storage_rules(&storage)?;
    let kept = from
        .map(|from| record(&from, (dst, src), 10, false))
        .transpose()?;
    let version = if kept.is_some() { 11 } else { 1 };
    let next = record(&to, (next_dst, next_src), version, false)?;
    Ok((
        judge(rules, kept.as_ref(), Some(&next), Brokers::Checked),
        recorded,
    ))
}

type OlderBrokerRow = (
    String,
    Option<String>,
    Name,
    Name,
    String,
    Name,
    Name,
    Value,
);

fn by_older_brokers(row: OlderBrokerRow) -> Result<(Outcome, Value), Wrong> {
    let (_, from, dst, src, to, next_dst, next_src, recorded) = row;
    let kept = from
        .map(|from| record(&from, (dst, src), 0, false))
        .transpose()?;
    let next = record(&to, (next_dst, next_src), 0, false)?;
    Ok((
        judge(&PIP_192, kept.as_ref(), Some(&next), Brokers::Checked),
        recorded,
    ))
}

fn judge(
    rules: &Rules,
    kept: Option<&PulsarRecord>,
    next: Option<&PulsarRecord>,
    brokers: Brokers,
) -> Outcome {
    match rules.judge(kept, next, brokers) {
        Ok(()) => Outcome::Accepted,
        Err(Refusal::OwnerMissing) => Outcome::Failed,
        Err(_) => Outcome::Dropped,
    }
}

fn record(
    state: &str,
    (destination, source): (Name, Name),
    version: i64,
    forced: bool,
) -> Result<PulsarRecord, Wrong> {
    Ok(PulsarRecord {
        state: state_of(state)?,
        destination: destination.map(String::into_boxed_str),
        source: source.map(String::into_boxed_str),
        version,
        forced,
    })
}

fn state_of(name: &str) -> Result<State, Wrong> {
    state_named(name).ok_or_else(|| format!("a state that is not known: {name:?}").into())
}

fn storage_rules(storage: &str) -> Result<&'static Rules, Wrong> {
    match storage {
        "system_topic" | "log" => Ok(&PULSAR_SYSTEM_TOPIC),
        "metadata_store" | "metadata" => Ok(&PULSAR_METADATA_STORE),
        storage => Err(format!("a storage that is not known: {storage:?}").into()),
    }
}

type Transitions = BTreeMap<String, BTreeMap<String, bool>>;

#[derive(Deserialize)]
struct States {
    valid_transition: BTreeMap<String, Transitions>,
    in_flight: BTreeMap<String, bool>,
    active: BTreeMap<String, bool>,
    state_of_missing_data: String,
    constructor_accepts: BTreeMap<String, bool>,
    older: BTreeMap<String, Older>,
}

#[derive(Deserialize)]
struct Older {
    valid_transition: Transitions,
    #[serde(default)]
    in_flight: BTreeMap<String, bool>,
}

/// Judges a file of tables: each cell counts.
pub(crate) fn judge_states(text: &str) -> Result<Summary, Wrong> {
    let states: States = serde_json::from_str(text)?;
    let mut cells = Cells::default();
    let missing = state_of(&states.state_of_missing_data)?;
    for (storage, table) in &states.valid_transition {
        let rules = storage_rules(storage)?;
        cells.judge("missing data", rules.missing == missing, true);
        cells.transitions(rules, table)?;
    }
    for (name, older) in &states.older {
        let rules = match name.as_str() {
            "seven_states_single_table" => &PIP_192,
            "five_states_second_draft" => &PIP_192_SECOND_DRAFT,
            "five_states_first_draft" => &PIP_192_FIRST_DRAFT,
            name => return Err(format!("a table that is not known: {name:?}").into()),
        };
        cells.transitions(rules, &older.valid_transition)?;
        cells.states("in flight", State::is_in_flight, &older.in_flight)?;
    }
    cells.states("in flight", State::is_in_flight, &states.in_flight)?;
    cells.states("active", State::is_active, &states.active)?;
    for (form, recorded) in &states.constructor_accepts {
        let mut parts = form.split('|');
        let mut part = |key: &str| -> Result<String, Wrong> {
            let part = parts.next().and_then(|part| part.strip_prefix(key));
            Ok(part
                .ok_or_else(|| format!("no {key:?} in {form:?}"))?
                .to_owned())
        };
        let name = |name: String| (name != "null").then_some(name);
        let (state, dst, src) = (part("")?, part("dst=")?, part("src=")?);
        let record = record(&state, (name(dst), name(src)), 1, false)?;
        cells.judge(form, record.is_well_formed(), *recorded);
    }
    Ok(cells.0)
}

#[derive(Default)]
struct Cells(Summary);

impl Cells {
    fn judge(&mut self, cell: &str, ours: bool, recorded: bool) {
        let agreement = if ours == recorded {
            Agreement::Exact
        } else {
            Agreement::Different(format!("{ours}, recorded {recorded}"))
        };
        self.0.add(cell, vec![agreement]);
    }

    fn transitions(&mut self, rules: &Rules, table: &Transitions) -> Result<(), Wrong> {
        for (from, row) in table {
            for (to, &recorded) in row {
                let ours = rules.find(state_of(from)?, state_of(to)?).is_some();
                let cell = format!("{}: {from} -> {to}", rules.name);
                self.judge(&cell, ours, recorded);
            }
        }
        Ok(())
    }

    fn states(
        &mut self,
        what: &str,
        is: fn(State) -> bool,
        recorded: &BTreeMap<String, bool>,
    ) -> Result<(), Wrong> {
        for (state, &recorded) in recorded {
            self.judge(&format!("{state}: {what}"), is(state_of(state)?), recorded);
        }
        Ok(())
    }
}
