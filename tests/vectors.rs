//! Goal: in its reference mode the planner decides like Apache Pulsar, and the judge of that misses
//! nothing. Method: decisions recorded there, a sample of which is in `tests/data`; the same
//! recordings with one fact changed, which the judge must find.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/vectors/mod.rs"]
mod vectors;

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use vectors::cluster::{Cluster, Shown};
use vectors::summary::Summary;

const FLAGS: [&str; 3] = [
    "order_dependent_from",
    "list_order_dependent_from",
    "float_sensitive_from",
];
const FILES: [&str; 10] = [
    "avg_shedder.jsonl",
    "placement_avg_select.jsonl",
    "threshold_shedder.jsonl",
    "overload_shedder.jsonl",
    "uniform_shedder.jsonl",
    "transfer_shedder.jsonl",
    "placement_long_term_rate.jsonl",
    "placement_resource_usage.jsonl",
    "placement_resource_usage_ext.jsonl",
    "placement_round_robin.jsonl",
];

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

fn scenarios(folder: &Path, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let parse = |line| serde_json::from_str(line).unwrap();
    text.lines().map(parse).collect()
}

fn judge(scenario: &Value) -> Summary {
    // The name says nothing here: the content must do.
    vectors::judge(Path::new("one scenario"), scenario.to_string().as_bytes()).unwrap()
}

#[test]
fn recorded_decisions_are_ours_too() {
    let mut judged = 0;
    for folder in [Some(sample()), full_set()].into_iter().flatten() {
        for file in vectors::known_files(&folder).unwrap() {
            let summary = vectors::judge_file(&file).unwrap();
            println!("{}: {summary}", file.display());
            assert_eq!(summary.different, 0, "{:?}", summary.differences);
            assert!(summary.exact > 0, "{}: {summary}", file.display());
            judged += 1;
        }
    }
    assert!(judged >= FILES.len(), "no files to judge");
}

/// The words of a name, numbers apart, say what kind of scenario it is.
fn kind(scenario: &Value) -> String {
    let name = scenario["name"].as_str().unwrap();
    let is_word = |part: &&str| !part.starts_with(|first: char| first.is_ascii_digit());
    let words: Vec<_> = name.split('-').filter(is_word).collect();
    words.join("-")
}

#[test]
fn the_sample_holds_every_kind_of_scenario_and_every_flag() {
    let flags = |of: &[Value]| -> BTreeSet<&str> {
        let carried = |flag: &&str| of.iter().any(|line| line.get(*flag).is_some());
        FLAGS.into_iter().filter(carried).collect()
    };
    let shed = scenarios(&sample(), FILES[0]);
    assert_eq!(flags(&shed).len(), FLAGS.len());
    let Some(full) = full_set() else {
        return;
    };
    for file in FILES {
        let (sample, full) = (scenarios(&sample(), file), scenarios(&full, file));
        assert!(sample.iter().all(|line| full.contains(line)), "{file}");
        let kinds = |of: &[Value]| -> BTreeSet<_> { of.iter().map(kind).collect() };
        assert_eq!(kinds(&sample), kinds(&full), "{file}");
        assert_eq!(flags(&sample), flags(&full), "{file}");
    }
}

/// What a flag of a scenario allows from some round on.
fn from(scenario: &Value, flag: &str) -> usize {
    let from = scenario.get(flag).and_then(Value::as_u64);
    from.map_or(usize::MAX, |from| from.try_into().unwrap())
}

/// Changes one recorded fact; the name of what was changed, and none if there is nothing to change.
type Change = (&'static str, fn(&mut Value) -> Option<()>);

fn add(result: &mut Value, map: &str, entry: Value) -> Option<()> {
    let map = result.get_mut(map)?.as_object_mut()?;
    map.insert("nobody".to_owned(), entry);
    Some(())
}

/// What stays comparable after decisions have diverged.
const FIGURES: [&str; 4] = ["score", "usage", "avg", "std"];

/// A number that is off by more than the tolerance, also if it was zero.
fn off(number: &Value) -> Option<Value> {
    Some((number.as_f64()? * (1.0 + 2e-9) + 1e-300).into())
}

const CHANGES: [Change; 15] = [
    ("unload", |result| add(result, "unload", json!(["u0"]))),
    ("placement", |result| add(result, "placement", json!("b0"))),
    ("hits_high", |result| add(result, "hits_high", json!(1))),
    ("hits_low", |result| add(result, "hits_low", json!(1))),
    ("score", |result| add(result, "scores", json!(1.0))),
    ("score", |result| {
        let scores = result.get_mut("scores")?.as_object_mut()?;
        let score = scores.values_mut().next_back()?;
        *score = off(score)?;
        Some(())
    }),
    ("usage", |result| add(result, "usage", json!(1.0))),
    ("usage", |result| {
        let usage = result.get_mut("usage")?.as_object_mut()?;
        let usage = usage.values_mut().next_back()?;
        *usage = off(usage)?;
        Some(())
    }),
    ("decisions", |result| {
        let decisions = result.get_mut("decisions")?.as_array_mut()?;
        decisions.push(json!(["b0", "u0", "b1", "Unknown"]));
        Some(())
    }),
    ("reason", |result| {
        result.get("decisions")?;
        result["reason"] = "Unknown".into();
        Some(())
    }),
    ("hit_count", |result| {
        let count = result.get_mut("hit_count")?;
        *count = (count.as_u64()? + 1).into();
        Some(())
    }),
    ("avg", |result| {
        let average = result.get_mut("avg")?;
        *average = off(average)?;
        Some(())
    }),
    ("std", |result| {
        let deviation = result.get_mut("std")?;
        *deviation = off(deviation)?;
        Some(())
    }),
    ("best", |result| {
        let best = result.get_mut("best")?.as_array_mut()?;
        best.push("nobody".into());
        Some(())
    }),
    ("goes to", |result| {
        let words = ["pick", "random", "sticky_or_random"];
        words.iter().find_map(|word| result.get(word))?;
        *result = json!({"pick": "nobody"});
        Some(())
    }),
];

#[test]
fn a_recorded_fact_that_is_changed_is_found_wherever_it_can_be_compared() {
    let mut found = BTreeSet::new();
    for file in FILES {
        for scenario in scenarios(&sample(), file) {
            let before = judge(&scenario);
            let diverges = from(&scenario, "order_dependent_from");
            for round in 0..scenario["rounds"].as_array().unwrap().len() {
                for (what, change) in CHANGES {
                    let mut changed = scenario.clone();
                    if change(&mut changed["expected"][round]).is_none() {
                        continue;
                    }
                    let after = judge(&changed);
                    let context = format!("{}, round {round}, {what}", scenario["name"]);
                    if round < diverges || FIGURES.contains(&what) {
                        assert_eq!(after.different, 1, "{context}");
                        let difference = after.differences.concat();
                        assert!(difference.contains(what), "{context}: {difference}");
                        found.insert(what);
                    } else if round > diverges {
                        assert_eq!(after, before, "{context}");
                    } else {
                        // The recorded decision is among the alternatives once more.
                        assert_eq!(after.different, 0, "{context}");
                    }
                }
            }
        }
    }
    let all: BTreeSet<_> = CHANGES.iter().map(|(what, _)| *what).collect();
    assert_eq!(found, all);
}

#[test]
fn the_order_of_a_list_counts_unless_it_is_said_to_be_open() {
    let (mut counted, mut open) = (0, 0);
    for scenario in scenarios(&sample(), FILES[0]) {
        let before = judge(&scenario);
        let diverges = from(&scenario, "order_dependent_from");
        let any_order = from(&scenario, "list_order_dependent_from");
        for round in 0..scenario["rounds"].as_array().unwrap().len() {
            let mut changed = scenario.clone();
            let unload = changed["expected"][round]["unload"].as_object_mut();
            let mut lists = unload.unwrap().values_mut().filter_map(Value::as_array_mut);
            let Some(list) = lists.find(|list| list.len() > 1) else {
                continue;
            };
            list.reverse();
            let after = judge(&changed);
            let context = format!("{}, round {round}", scenario["name"]);
            if round < diverges && round < any_order {
                assert_eq!(after.different, 1, "{context}");
                counted += 1;
            } else {
                let exact_to_alternative = before.exact - after.exact;
                assert!(exact_to_alternative <= 1, "{context}");
                assert_eq!(after.different, 0, "{context}");
                open += 1;
            }
        }
    }
    assert!(counted > 0 && open > 0);
}

#[test]
fn a_decision_that_is_no_alternative_passes_only_where_not_all_of_them_are_known() {
    let scenario = scenarios(&sample(), FILES[0]).into_iter().find(|line| {
        let listed = line.get("alternatives").and_then(Value::as_array);
        listed.is_some_and(|listed| listed.len() == 2)
    });
    let mut scenario = scenario.unwrap();
    let round = from(&scenario, "order_dependent_from");
    let nothing_of_ours = json!({"unload": {"nobody": ["u0"]}});
    scenario["alternatives"] = json!([nothing_of_ours, nothing_of_ours]);
    scenario["expected"][round]["unload"] = nothing_of_ours["unload"].clone();
    let different = judge(&scenario);
    assert_eq!(different.different, 1, "{different}");
    scenario["alternatives_seen"] = 17.into();
    let unknown = judge(&scenario);
    assert_eq!(unknown.different, 0, "{unknown}");
    assert_eq!(unknown.not_comparable, different.not_comparable + 1);
}

/// Three questions: the last is about the first one's bundle, and `earlier` says what answers it.
fn asked_again(earlier: usize) -> Value {
    json!({
        "name": "asked again",
        "config": {"loadBalancerAvgShedderLowThreshold": 15},
        "rounds": [
            {"select": "u0", "candidates": ["a"]},
            {"select": "u1", "candidates": ["b"]},
            {"select": "u0", "candidates": ["b", "a"]},
        ],
        "expected": [{"random": true}, {"random": true}, {"sticky_or_random": earlier}],
    })
}

#[test]
fn a_choice_must_be_the_one_that_was_made_in_the_round_named() {
    assert_eq!(judge(&asked_again(0)).exact, 3);
    let other = judge(&asked_again(1));
    assert_eq!(other.different, 1);
    assert_eq!(
        other.differences,
        ["asked again, round 2: u0 goes to a, recorded StickyOrRandom(1)"]
    );
}

#[test]
fn a_round_shows_all_brokers_and_what_is_new_about_bundles() {
    let mut cluster = Cluster::default();
    let mut show = |round: Value| {
        cluster.show(Shown::deserialize(round).unwrap());
        let brokers = cluster.brokers.iter();
        let owned: Vec<_> = brokers
            .map(|(name, broker)| format!("{name} {:?}", broker.bundles))
            .collect();
        let known: Vec<_> = cluster.bundles.keys().cloned().collect();
        (
            owned.join(", "),
            known.join(", "),
            cluster.recent.join(", "),
        )
    };
    let text = |owned: &str, known: &str, recent: &str| {
        (owned.to_owned(), known.to_owned(), recent.to_owned())
    };
    let rates = [1, 2, 3, 4];
    let first = json!({
        "brokers": {"a": {"bundles": ["x", "y"]}, "b": {"bundles": []}},
        "bundles": {"x": rates, "y": rates},
        "recent": ["x"],
    });
    let both = r#"a Some(["x", "y"]), b Some([])"#;
    assert_eq!(show(first), text(both, "x, y", "x"));
    let gone = json!({"brokers": {"a": {}, "b": {}}, "bundles": {"x": null}});
    assert_eq!(show(gone), text(both, "y", ""));
    let alone = json!({"brokers": {"b": {"bundles": ["y"]}}});
    assert_eq!(show(alone), text(r#"b Some(["y"])"#, "y", ""));
    let back = json!({"brokers": {"a": {}, "b": {}}});
    assert_eq!(show(back), text(r#"a None, b Some(["y"])"#, "y", ""));
}

#[test]
fn where_the_order_is_open_a_list_still_falls() {
    let mut cluster = Cluster::default();
    let rates = [
        ("big", [2.0, 2.0, 1.0, 0.0]),
        ("small", [1.0, 2.0, 0.5, 0.5]),
        ("tiny", [1.0, 1.0, 0.0, 5.0]),
    ];
    let rates = rates.map(|(name, rates)| (name.to_owned(), rates));
    cluster.bundles.extend(rates);
    let falls = |names: [&str; 3]| cluster.falls(&names.map(str::to_owned));
    assert!(falls(["big", "small", "tiny"]), "by messages");
    assert!(falls(["tiny", "big", "small"]), "by bytes");
    assert!(falls(["tiny", "small", "big"]), "two that tie by bytes");
    assert!(!falls(["small", "big", "tiny"]));
}

/// What the command prints, what it complains of, and its exit status.
fn run(arguments: &[&Path]) -> (String, String, u8) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let arguments = arguments.iter().map(OsString::from);
    let status = vectors::command::run(arguments, &mut out, &mut errors).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(errors), status)
}

#[test]
fn the_command_ends_each_file_with_its_counts() {
    let (out, errors, status) = run(&[]);
    assert_eq!((errors.as_str(), status), ("", 0));
    // And the two that are about ownership, which `tests/pulsar_rules.rs` looks at.
    let counts = out.lines().filter(|line| line.contains(": exact "));
    assert_eq!(counts.count(), FILES.len() + 2);
    let named: BTreeSet<_> = out
        .lines()
        .filter(|line| !line.contains(": exact "))
        .collect();
    let reasons = ["alternative", "not comparable"];
    let is_reason = |line: &&str| reasons.iter().any(|what| line.starts_with(what));
    assert!(named.iter().all(is_reason), "{named:?}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("changed");
    let mut scenario = scenarios(&sample(), FILES[1]).remove(0);
    let rounds = scenario["rounds"].as_array().unwrap().len();
    scenario["expected"][1] = json!({"pick": "nobody"});
    fs::write(&file, scenario.to_string()).unwrap();
    let (out, errors, status) = run(&[&file]);
    assert_eq!((errors.as_str(), status), ("", 1));
    let last = format!(
        "{}: exact {}, alternative 0, not comparable 0, different 1",
        file.display(),
        rounds - 1
    );
    assert_eq!(out.lines().last(), Some(last.as_str()));
    assert!(out.starts_with("different: avg-select-000, round 1: u6 goes to b"));
}

/// Whatever a file is called, what stands in it says how to judge it; and each round is counted
/// once, and each that is not exact for a reason.
#[test]
fn files_are_known_by_what_stands_in_them_and_every_round_is_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let unknown = folder.path().join("decisions");
    for known in [Some(sample()), full_set()].into_iter().flatten() {
        for file in vectors::known_files(&known).unwrap() {
            fs::copy(&file, &unknown).unwrap();
            let summary = vectors::judge_file(&unknown).unwrap();
            assert_eq!(summary, vectors::judge_file(&file).unwrap(), "{file:?}");
            let reasons: usize = summary.reasons.values().sum();
            let inexact = summary.alternative + summary.not_comparable;
            assert_eq!(reasons, inexact, "{file:?}");
            assert_eq!(summary.differences.len(), summary.different);
            if file.file_stem().is_some_and(|stem| stem == "state_matrix") {
                continue;
            }
            let lines = fs::read_to_string(&file).unwrap();
            let rounds = lines.lines().map(|line| {
                let line: Value = serde_json::from_str(line).unwrap();
                line.get("rounds")
                    .map_or(1, |rounds| rounds.as_array().unwrap().len())
            });
            let counted = summary.exact + inexact + summary.different;
            assert_eq!(counted, rounds.sum::<usize>(), "{file:?}");
        }
    }
}

#[test]
fn what_cannot_be_judged_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let unknown = "no scenarios of a known form (avg_shedder, placement_avg_select, ";
    let cases = [
        ("other.jsonl", "", "holds no scenario"),
        ("other.jsonl", "no JSON", unknown),
        (
            "other.jsonl",
            r#"{"name": "x", "config": {}, "rounds": [], "expected": []}"#,
            unknown,
        ),
        (
            "avg_shedder.jsonl",
            "\n{\n",
            "line 2: EOF while parsing an object",
        ),
        (
            "avg_shedder.jsonl",
            r#"{"name": "x", "config": {}, "rounds": [{}], "expected": []}"#,
            "line 1: 1 rounds, 0 decisions",
        ),
        (
            "avg_shedder.jsonl",
            r#"{"name": "x", "config": {}, "rounds": [{}], "expected": [{}]}"#,
            "line 1: round 0: missing field `brokers`",
        ),
    ];
    for (name, text, said) in cases {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let (out, errors, status) = run(&[&file]);
        assert_eq!((out.as_str(), status), ("", 2), "{text}");
        assert!(errors.contains(said), "{text}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    for argument in ["--fast", "missing.jsonl"] {
        let (out, errors, status) = run(&[Path::new(argument)]);
        assert_eq!((out.as_str(), status), ("", 2));
        assert!(errors.contains(argument), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}
