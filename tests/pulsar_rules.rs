//! Goal: under the rule sets of Apache Pulsar the library judges ownership records as Apache Pulsar
//! does. Method: its recorded decisions, a sample of which is in `tests/data`, and the scenarios of
//! its own tests (`tests/data/peer`), named as there. What the native rules make of the same
//! situations stands in `tests/transitions.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/vectors/mod.rs"]
mod vectors;

use deedbook::state::State;
use deedbook::state::pulsar::{
    Brokers, PIP_192, PIP_192_FIRST_DRAFT, PIP_192_SECOND_DRAFT, PULSAR_METADATA_STORE,
    PULSAR_SYSTEM_TOPIC, PulsarRecord, Rules, state_named,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use vectors::ownership::{CONFLICTS, STATES, judge_conflict, judge_file};
use vectors::summary::Agreement;

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// All recordings, which stand beside the repository or do not.
fn full_set() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle");
    let there = folder.is_dir();
    let is = if there { "there" } else { "not there" };
    println!("the full set of recordings is {is}: {}", folder.display());
    there.then_some(folder)
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn recorded_conflicts_and_tables_are_decided_alike() {
    for (file, least) in [
        (format!("{CONFLICTS}.jsonl"), 1_500),
        (format!("{STATES}.json"), 250),
    ] {
        for folder in [Some(sample()), full_set()].into_iter().flatten() {
            let summary = judge_file(&folder.join(&file)).unwrap().unwrap();
            println!("{}: {summary}", folder.join(&file).display());
            assert_eq!(summary.different, 0, "{:?}", summary.differences);
            assert!(summary.exact > least, "{summary}");
        }
    }
}

/// The judge of this test misses nothing: turned around, each recorded decision differs.
#[test]
fn a_recording_turned_around_differs() {
    let text = read(&sample(), &format!("{CONFLICTS}.jsonl"));
    for line in text.lines() {
        let mut row: Vec<Value> = serde_json::from_str(line).unwrap();
        let last = row.last_mut().unwrap();
        *last = Value::Bool(*last != Value::Bool(true));
        let turned = Value::from(row).to_string();
        let agreement = judge_conflict(&turned).unwrap();
        assert!(matches!(agreement, Agreement::Different(_)), "{turned}");
    }
}

#[test]
fn the_sample_is_part_of_the_full_set_and_lacks_no_kind() {
    let Some(full) = full_set() else { return };
    let file = format!("{CONFLICTS}.jsonl");
    let (sample, full) = (read(&sample(), &file), read(&full, &file));
    let all: BTreeSet<&str> = full.lines().collect();
    assert!(sample.lines().all(|line| all.contains(line)));
    // The table, the storage or state, the two states, what happened.
    let kind = |line: &str| -> String {
        let row: Vec<Value> = serde_json::from_str(line).unwrap();
        let kept = match row[0].as_str().unwrap() {
            "version_rules" => &[0, 1, 2, 4, 6, 9][..],
            "broker_rules" => &[0, 1, 2, 5, 8],
            _ => &[0, 1, 4, 7],
        };
        kept.iter().map(|&i| format!("{} ", row[i])).collect()
    };
    let kinds = |text: &str| text.lines().map(kind).collect::<BTreeSet<_>>();
    assert_eq!(kinds(&sample), kinds(&full));
}

/// The rows of a scenario, which may have several.
fn scenario(file: &str, id: &str) -> Vec<Value> {
    let rows: Vec<Value> = serde_json::from_str(&read(&sample().join("peer"), file)).unwrap();
    let rows: Vec<_> = rows.into_iter().filter(|row| row["id"] == id).collect();
    assert!(!rows.is_empty(), "{file} has no {id}");
    rows
}

fn rules(storage: &Value) -> &'static Rules {
    match storage.as_str().unwrap() {
        "log" => &PULSAR_SYSTEM_TOPIC,
        "metadata" => &PULSAR_METADATA_STORE,
        storage => panic!("{storage}"),
    }
}

fn state(name: &Value) -> State {
    state_named(name.as_str().unwrap()).unwrap()
}

/// A scenario of the state machine: what a state is, or whether a transition is allowed.
fn state_machine(id: &str) {
    for row in scenario("state_machine.json", id) {
        let (setup, expected) = (&row["setup"], &row["expected"]);
        let ours = if let Some(recorded) = expected.get("in_flight") {
            (state(&setup["state"]).is_in_flight(), recorded)
        } else if let Some(recorded) = expected.get("active") {
            (state(&setup["state"]).is_active(), recorded)
        } else {
            let rules = rules(&setup["storage"]);
            let allowed = rules.find(state(&setup["from"]), state(&setup["to"]));
            (allowed.is_some(), &expected["valid"])
        };
        assert_eq!(&Value::from(ours.0), ours.1, "{row}");
    }
}

fn record(value: &Value) -> Option<PulsarRecord> {
    let name = |key: &str| value[key].as_str().map(Into::into);
    value.is_object().then(|| PulsarRecord {
        state: state(&value["state"]),
        destination: name("dst"),
        source: name("src"),
        version: value["version"].as_i64().unwrap(),
        forced: value["force"].as_bool().unwrap(),
    })
}

/// A scenario of conflicts: whether the incoming record replaces the current one.
fn conflict(id: &str) {
    for row in scenario("conflict_resolver.json", id) {
        let setup = &row["setup"];
        let checked = match setup["check_brokers"].as_bool().unwrap() {
            true => Brokers::Checked,
            false => Brokers::Unchecked,
        };
        let (kept, next) = (record(&setup["current"]), record(&setup["incoming"]));
        let verdict = rules(&setup["storage"]).judge(kept.as_ref(), next.as_ref(), checked);
        let accepts = Value::from(verdict.is_ok());
        assert_eq!(accepts, row["expected"]["accept"], "{row}: {verdict:?}");
    }
}

/// One test a scenario, by the scenario's name.
macro_rules! scenarios {
    ($play:ident: $($name:ident = $id:literal, $about:literal;)*) => {$(
        #[doc = concat!($id, ": ", $about)]
        #[test]
        fn $name() {
            $play($id);
        }
    )*};
}

scenarios! { state_machine:
    sm_01_in_flight = "SM-01", "somebody has a step to finish in Assigning, Releasing, Splitting.";
    sm_02_active = "SM-02", "those and Owned are active.";
    sm_04_free_over_the_log = "SM-04", "from Free to Init and Assigning.";
    sm_05_assigning_over_the_log = "SM-05", "from Assigning to Owned alone.";
    sm_07_releasing_over_the_log = "SM-07", "from Releasing to Free and Assigning.";
    sm_08_splitting_over_the_log = "SM-08", "from Splitting to Deleted alone.";
    sm_10_init_over_the_store = "SM-10", "from Init to Assigning alone.";
    sm_11_free_over_the_store = "SM-11", "from Free to Assigning alone.";
    sm_13_owned_over_the_store = "SM-13", "from Owned to Releasing and Splitting.";
    sm_14_releasing_over_the_store = "SM-14", "from Releasing to Free and Assigning.";
    sm_16_deleted_over_the_store = "SM-16", "from Deleted to Init alone.";
}

scenarios! { conflict:
    cr_01_the_same_version = "CR-01", "versions must grow.";
    cr_02_the_next_version_of_a_wrong_transition = "CR-02", "the table decides then.";
    cr_04_versions_wrap_around = "CR-04", "the lowest version follows the highest.";
    cr_05_after_the_wrap = "CR-05", "and they go on from there.";
    cr_07_a_gap_passes = "CR-07", "a gap means that compaction removed what was between.";
    cr_08_no_record_and_a_gap = "CR-08", "over the log anything may come first.";
    cr_10_force = "CR-10", "force skips the table.";
    cr_11_force_on_an_old_version = "CR-11", "force does not skip versions.";
    cr_13_from_init = "CR-13", "everything but Init follows Init.";
    cr_14_from_assigning = "CR-14", "what does not follow Assigning.";
    cr_16_a_source_appears = "CR-16", "Owned repeats the source of Assigning.";
    cr_17_owned_by_the_destination = "CR-17", "Owned repeats the destination.";
    cr_19_an_assignment_is_not_released = "CR-19", "Releasing does not follow Assigning.";
    cr_20_from_owned = "CR-20", "what does not follow Owned.";
    cr_22_a_split_names_the_owner = "CR-22", "Splitting names the owner as source, nobody else.";
    cr_23_free_repeats_the_brokers = "CR-23", "Free repeats both brokers of Releasing.";
    cr_25_from_releasing = "CR-25", "what does not follow Releasing.";
    cr_26_from_splitting = "CR-26", "what does not follow Splitting.";
    cr_28_from_deleted = "CR-28", "Init alone follows Deleted.";
    cr_29_from_free = "CR-29", "Init and an assignment without source follow Free.";
}

/// SM-19, SM-20: an owned bundle names a broker; an empty name names nobody.
#[test]
fn sm_19_sm_20_a_record_names_a_broker() {
    for name in [None, Some("")] {
        let name: Option<Box<str>> = name.map(Into::into);
        let nobody = PulsarRecord {
            state: State::Owned,
            destination: name.clone(),
            source: name,
            version: 1,
            forced: false,
        };
        assert!(!nobody.is_well_formed());
        let state = State::Free;
        assert!(PulsarRecord { state, ..nobody }.is_well_formed());
    }
}

/// Every row of the two files is played by a test above: a new scenario needs a new test.
#[test]
fn every_scenario_has_its_test() {
    let source = include_str!("pulsar_rules.rs");
    for file in ["state_machine.json", "conflict_resolver.json"] {
        let rows: Vec<Value> = serde_json::from_str(&read(&sample().join("peer"), file)).unwrap();
        for row in rows {
            let id = &row["id"];
            assert!(source.contains(&format!("= {id}, ")), "{file}: {id}");
        }
    }
}

/// The page on importing shows each table as it is.
#[test]
fn the_page_on_importing_shows_the_tables() {
    let page = read(Path::new(env!("CARGO_MANIFEST_DIR")), "docs/import.md");
    for rules in [
        PULSAR_SYSTEM_TOPIC,
        PULSAR_METADATA_STORE,
        PIP_192,
        PIP_192_SECOND_DRAFT,
        PIP_192_FIRST_DRAFT,
    ] {
        let table = rules.to_markdown();
        assert!(page.contains(&table), "{} is to be:\n{table}", rules.name);
    }
}
