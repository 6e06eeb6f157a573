//! `plan` with every strategy: what it decides, beside the others, about one bundle or broker, and
//! on a made-up cluster.

use crate::keys::{documented, keys};
use crate::{deedbook, moved, number, of_broker, plan, sample};
use deedbook::planner::Strategy;
use serde_json::{Value, json};
use snapbox::file;
use std::collections::BTreeSet;
use std::fs;

fn array<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

#[test]
fn a_strategy_is_chosen_by_its_name() {
    for strategy in Strategy::ALL {
        let found = plan(&sample("scale-out"), &["--strategy", strategy.name()]);
        assert_eq!(found["strategy"], strategy.name());
        assert_eq!(found["mode"], "safe");
        assert!(!moved(&found).is_empty(), "{strategy}");
        assert_eq!(found["unloads"], json!([]), "{strategy}");
        assert_eq!(found["search"].is_object(), strategy == Strategy::Global);
    }
    // 90 points reach the limit of 85: down by 10, which the biggest bundle of 20.8 points is. The
    // average of 50 allows for 40.
    let overload = plan(&sample("scale-out"), &["--strategy", "overload"]);
    let hot = of_broker(&overload, "broker-1:8080");
    assert_eq!(hot["triggered"]["rule"], "above_limit");
    assert_eq!(moved(&overload), ["acme/orders/0x00000000_0x10000000"]);
    let wanted = number(&hot["amount"]["wanted"]);
    let share = wanted / number(&hot["throughput"]);
    assert!((share - 40.0 / 90.0).abs() < 1e-6, "{share}");
}

#[test]
fn the_reference_leaves_destinations_open_where_apache_pulsar_does() {
    for name in ["threshold", "overload", "uniform"] {
        let flags = ["--strategy", name, "--mode", "reference"];
        let found = plan(&sample("scale-out"), &flags);
        assert_eq!(found["moves"], json!([]), "{name}");
        assert!(!array(&found, "unloads").is_empty(), "{name}");
        let after = &of_broker(&found, "broker-1:8080")["score_after"];
        assert_eq!(*after, Value::Null, "{name}");
    }
}

#[test]
fn all_strategies_stand_side_by_side() {
    let flags = ["plan", &sample("six-brokers"), "--compare"];
    let run = deedbook().args(flags).assert().code(0).stderr_eq("");
    run.stdout_eq(file!["snapshots/compare.txt"]);
    let mut found = BTreeSet::new();
    for name in ["six-brokers", "hot-bundle"] {
        let compared = plan(&sample(name), &["--compare"]);
        keys(&compared, "", &mut found);
        let all = array(&compared, "compared");
        let names: Vec<_> = all
            .iter()
            .map(|of| of["strategy"].as_str().unwrap())
            .collect();
        assert_eq!(names, Strategy::ALL.map(Strategy::name));
        // Whatever one alone decides.
        for of in all {
            let alone = plan(
                &sample(name),
                &["--strategy", of["strategy"].as_str().unwrap()],
            );
            assert_eq!(of["moves"], array(&alone, "moves").len());
            assert_eq!(of["rounds"], alone["rounds"]);
            assert_eq!(of["stopped"].is_null(), of["moves"] != 0);
        }
    }
    assert_eq!(found, documented("plan --compare"));
}

#[test]
fn one_bundle_or_broker_is_explained() {
    let explain = |subject: &str| {
        let run = deedbook().args(["plan", &sample("six-brokers"), "--explain", subject]);
        run.assert().code(0).stderr_eq("")
    };
    explain("broker-6:8080").stdout_eq(file!["snapshots/explain-broker.txt"]);
    let planned = plan(&sample("six-brokers"), &[]);
    let moving = &planned["moves"][0];
    let bundle = moving["bundle"].as_str().unwrap();
    explain(bundle).stdout_eq(file!["snapshots/explain-bundle.txt"]);
    let (mut found, mut expected) = (BTreeSet::new(), documented("plan --explain"));
    for subject in [
        bundle,
        moving["from"].as_str().unwrap(),
        moving["to"].as_str().unwrap(),
    ] {
        let flags = ["--explain", subject, "--compare"];
        let explained = plan(&sample("six-brokers"), &flags);
        assert_eq!(array(&explained, "explained").len(), Strategy::ALL.len());
        keys(&explained, "", &mut found);
    }
    // What stands below has the keys of a plan.
    let parts = ["verdict", "pairs[]", "gives[]", "gets[]", "unloads[]"];
    let below = parts.map(|part| format!("explained[].broker.{part}."));
    found.retain(|key| !below.iter().any(|below| key.starts_with(below)));
    expected.retain(|key| !below.iter().any(|below| key.starts_with(below)));
    assert_eq!(found, expected);
}

#[test]
fn every_bundle_of_the_samples_has_an_explanation_by_every_strategy() {
    for name in crate::SAMPLES {
        for mode in ["safe", "reference"] {
            let avg = plan(&sample(name), &["--mode", mode]);
            let stays = array(&avg, "brokers")
                .iter()
                .flat_map(|of| array(of, "kept"));
            let moves = array(&avg, "moves").iter().chain(stays);
            for bundle in moves.map(|one| one["bundle"].as_str().unwrap()) {
                let flags = ["--mode", mode, "--compare", "--explain", bundle];
                for of in array(&plan(&sample(name), &flags), "explained") {
                    assert_ne!(of["bundle"]["rule"], "unknown", "{name} {bundle}");
                    assert!(!of["bundle"]["text"].as_str().unwrap().is_empty());
                }
            }
        }
    }
}

#[test]
fn what_no_report_has_cannot_be_explained() {
    for (name, expected) in [
        (
            "broker-9:8080",
            "error: no report has broker-9:8080; --explain takes[..]\n",
        ),
        (
            "acme/x/0x00000000_0xffffffff",
            "error: no report has acme/x/0x00000000_0xffffffff; --explain takes[..]\n",
        ),
        ("acme/x", "error: [..]--explain[..]\n...\n"),
    ] {
        let run = deedbook().args(["plan", &sample("scale-out"), "--explain", name]);
        run.assert().code(2).stdout_eq("").stderr_eq(expected);
    }
}

#[test]
fn strategies_are_measured_on_a_made_up_cluster() {
    let measure = |flags: &[&str]| {
        let run = deedbook().args(["plan", "--generate", "20x2000", "--json"]);
        let run = run.args(flags).assert().code(0);
        serde_json::from_slice::<Value>(&run.get_output().stdout).unwrap()
    };
    let measured = measure(&["--seed", "7"]);
    let mut found = BTreeSet::new();
    keys(&measured, "", &mut found);
    assert_eq!(found, documented("plan --generate"));
    assert_eq!(array(&measured, "measured").len(), Strategy::ALL.len());
    assert_eq!(
        (&measured["brokers"], &measured["bundles"]),
        (&json!(20), &json!(2000))
    );
    let again = measure(&["--seed", "7"]);
    for (of, again) in array(&measured, "measured")
        .iter()
        .zip(array(&again, "measured"))
    {
        assert_eq!(of["moves"], again["moves"]);
        assert!(number(&of["plan_ms"]) > 0.0);
        if cfg!(target_os = "linux") {
            assert!(number(&of["peak_bytes"]) > 1e6);
        }
    }
    let one = measure(&["--strategy", "uniform"]);
    assert_eq!(array(&one, "measured").len(), 1);
    for wrong in ["20", "20x", "x20", "0x20", "20x99999999"] {
        let run = deedbook().args(["plan", "--generate", wrong]);
        run.assert()
            .code(2)
            .stderr_eq("error: [..]--generate[..]expected[..]\n...\n");
    }
}

#[test]
fn settings_and_constraints_are_read_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("constraints.toml");
    let file = path.to_str().unwrap();
    let scale_out = sample("scale-out");
    let with = |text: &str, flags: &[&str]| {
        fs::write(&path, text).unwrap();
        let flags = [flags, &["--constraints", file]].concat();
        plan(&scale_out, &flags)
    };
    let allowed = "[allowed.\"acme/orders\"]\nprimary = [\"broker-1:8080\"]\n";
    for strategy in Strategy::ALL {
        let found = with(allowed, &["--strategy", strategy.name()]);
        assert!(moved(&found).is_empty(), "{strategy}");
        let hot = of_broker(&found, "broker-1:8080");
        let kept = array(hot, "kept").iter().map(|kept| &kept["rule"]);
        let barred = kept.filter(|rule| **rule == "no_legal_destination").count();
        assert!(barred > 0, "{strategy}: {hot}");
    }
    let pinned = "pinned = [\"acme/orders/0x00000000_0x10000000\"]\n";
    assert!(!moved(&with(pinned, &[])).contains(&"acme/orders/0x00000000_0x10000000".to_owned()));
    // Ninety points are not 45 above the average of 50.
    let flags = ["--strategy", "threshold", "--set", "threshold_points=45"];
    assert!(moved(&plan(&scale_out, &flags)).is_empty());
    fs::write(&path, "allow = 1\n").unwrap();
    for (flags, expected) in [
        (
            ["--constraints", file],
            "error: [..] holds no constraints: unknown field[..]\n",
        ),
        (
            ["--set", "fast=1"],
            "error: --set fast=1: there is no such setting (avg)[..]\n",
        ),
        (
            ["--set", "low_hits=no"],
            "error: --set low_hits=no: invalid type[..]\n",
        ),
        (
            ["--set", "low_hits"],
            "error: [..]--set[..]expected KEY=VALUE\n...\n",
        ),
        (
            ["--strategy", "fast"],
            "error: [..]no such strategy: fast; there is avg[..]\n...\n",
        ),
    ] {
        let run = deedbook().args(["plan", &scale_out]).args(flags);
        run.assert().code(2).stdout_eq("").stderr_eq(expected);
    }
}

#[test]
fn flags_that_are_not_heeded_are_warned_about() {
    let flags = ["--strategy", "threshold", "--low-hits", "1"];
    let run = deedbook().args(["plan", &sample("scale-out")]).args(flags);
    run.assert()
        .code(0)
        .stderr_eq("warning: thresholds, hits, [..]\n");
    let flags = ["--strategy", "global", "--mode", "reference"];
    let run = deedbook().args(["plan", &sample("scale-out")]).args(flags);
    run.assert()
        .code(0)
        .stderr_eq("warning: global decides in mode safe only\n");
}
