//! Goal: in its reference mode the planner decides like Apache Pulsar. Method: decisions recorded
//! there, a sample of which is in `tests/data/vectors`, and the scenarios of its own tests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/vectors/mod.rs"]
mod vectors;

use deedbook::ids::{BrokerId, BundleId, KeyRange, Namespace};
use deedbook::planner::avg::{AvgShedder, Config, Mode};
use deedbook::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, Constraints, Placement, Resource, Shedder, Sticky, Traffic,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sample, and where the full set stands beside the repository, that too.
fn folders() -> Vec<PathBuf> {
    let full = repository().join("../shared/oracle");
    let mut folders = vec![repository().join("tests/data/vectors")];
    if full.is_dir() {
        println!("the full set is there: {}", full.display());
        folders.push(full);
    } else {
        println!("the full set is not there, the sample alone is judged");
    }
    folders
}

#[test]
fn recorded_decisions_are_ours_too() {
    let mut judged = 0;
    for folder in folders() {
        for file in vectors::known_files(&folder).unwrap() {
            let summary = vectors::judge_file(&file).unwrap();
            println!("{}: {summary}", file.display());
            assert_eq!(summary.different, 0, "{:?}", summary.first_difference);
            assert!(summary.exact > 4 * summary.not_comparable, "{summary}");
            judged += 1;
        }
    }
    assert!(judged >= 2, "no files to judge");
}

#[test]
fn a_decision_changed_by_hand_is_found() {
    let file = repository().join("tests/data/vectors/avg_shedder.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sheds = |line: &Value| {
        let first = line["expected"][0].as_object().unwrap();
        line.get("order_dependent_from").is_none()
            && !first["unload"].as_object().unwrap().is_empty()
    };
    let line = lines.find(sheds).unwrap();
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 3] = [
        ("unload", |first| first["unload"] = serde_json::json!({})),
        ("hits_low", |first| first["hits_low"]["nobody"] = 3.into()),
        ("score", |first| {
            let scores = first["scores"].as_object_mut().unwrap();
            let score = scores.values_mut().next().unwrap();
            *score = (score.as_f64().unwrap() * (1.0 + 1e-8) + 1e-8).into();
        }),
    ];
    let folder = tempfile::tempdir().unwrap();
    // The name says nothing here: the content must do.
    let path = folder.path().join("changed.jsonl");
    let judge = |line: &Value| {
        std::fs::write(&path, line.to_string()).unwrap();
        vectors::judge_file(&path).unwrap()
    };
    assert_eq!(judge(&line).different, 0);
    for (what, change) in changes {
        let mut changed = line.clone();
        change(&mut changed["expected"][0]);
        let difference = judge(&changed).first_difference.unwrap_or_default();
        assert!(difference.contains(what), "{what}: {difference}");
    }
}

#[test]
fn what_is_no_recording_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.jsonl");
    for text in [
        "",
        "no JSON",
        r#"{"name": "x", "config": {}, "rounds": [], "expected": []}"#,
    ] {
        std::fs::write(&path, text).unwrap();
        let judged = vectors::judge_file(&path);
        assert!(
            matches!(judged, Err(vectors::Failure::UnknownForm { .. })),
            "{text}: {judged:?}"
        );
    }
    let missing = vectors::judge_file(&folder.path().join("missing.jsonl"));
    assert!(matches!(missing, Err(vectors::Failure::Io { .. })));
}

/// The load that a scenario of Apache Pulsar's own tests sets up.
fn peer_load(setup: &Value) -> ClusterLoad {
    let namespace = Namespace::new("public/default").unwrap();
    let number = |of: &Value, key: &str| of[key].as_f64().unwrap();
    let rates = |of: &Value| Traffic {
        message_rate_in: number(of, "rate_in"),
        message_rate_out: number(of, "rate_out"),
        ..Traffic::default()
    };
    let mut load = ClusterLoad::default();
    let mut count = 0;
    for broker in setup["brokers"].as_array().unwrap() {
        let mut bundles = BTreeMap::new();
        for bundle in broker["bundles"].as_array().unwrap() {
            let id = BundleId::new(namespace.clone(), KeyRange::new(count, count + 1).unwrap());
            let bundle_load = BundleLoad {
                short_term: rates(bundle),
                ..BundleLoad::default()
            };
            bundles.insert(id, Some(bundle_load));
            count += 1;
        }
        let broker_load = BrokerLoad {
            cpu: Some(Resource {
                usage: broker["cpu"][0].as_f64().unwrap(),
                limit: broker["cpu"][1].as_f64().unwrap(),
            }),
            traffic: rates(broker),
            bundles,
            ..BrokerLoad::default()
        };
        let id = BrokerId::new(broker["broker"].as_str().unwrap()).unwrap();
        load.brokers.insert(id, broker_load);
    }
    load
}

/// AV-01 and AV-02: after how many runs how many bundles are shed, and where they go.
#[test]
fn scenarios_of_the_original_tests_end_as_they_do_there() {
    let text = std::fs::read_to_string(repository().join("tests/data/peer/avg_shedder.json"));
    let scenarios: Value = serde_json::from_str(&text.unwrap()).unwrap();
    let scenarios = scenarios.as_array().unwrap();
    assert_eq!(scenarios.len(), 2);
    for scenario in scenarios {
        let setup = &scenario["setup"];
        let number = |key: &str| setup["config"][key].as_f64().unwrap();
        let count = |key: &str| setup["config"][key].as_u64().unwrap().try_into().unwrap();
        let config = Config {
            mode: Mode::Reference,
            low_threshold_points: number("low_threshold"),
            high_threshold_points: number("high_threshold"),
            low_hits: count("hit_count_low"),
            high_hits: count("hit_count_high"),
            unload_ratio_max: number("max_unload_ratio"),
            message_rate_min: number("min_unload_messages"),
            throughput_min: number("min_unload_throughput"),
            ..Config::default()
        };
        let mut shedder = AvgShedder::new(config).unwrap();
        let load = peer_load(setup);
        let candidates: Vec<_> = load.brokers.keys().cloned().collect();
        for run in scenario["expected"]["runs"].as_array().unwrap() {
            let plan = shedder.plan(&load, &Constraints::default());
            let mut counts = BTreeMap::new();
            for planned in &plan.moves {
                *counts.entry(planned.from.to_string()).or_insert(0) += 1;
            }
            let unloaded = serde_json::to_value(counts).unwrap();
            assert_eq!(unloaded, run["unload_count"], "{}", scenario["id"]);
            let mut placement = Sticky::new(0);
            placement.adopt(&plan);
            for planned in &plan.moves {
                let placed = placement.place(&planned.bundle, &candidates).unwrap();
                assert_eq!(placed.as_str(), run["placement"].as_str().unwrap());
            }
        }
    }
}
