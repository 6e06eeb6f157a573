//! `plan` over small clusters that are made for one rule or one flag each.

use crate::{deedbook, moved, of_broker, plan, sample};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// A cluster of one report a broker: its cpu in percent, and bundles by the messages that they get
/// and send in a second, of 100 bytes each.
fn cluster(brokers: &[(f64, &[f64])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (number, (cpu, rates)) in (1..).zip(brokers) {
        let name = |index: usize| format!("acme/b{number}/0x0000000{index}_0x0000000{}", index + 1);
        let load = |rate: f64| {
            json!({
                "msgRateIn": rate / 2.0, "msgRateOut": rate / 2.0,
                "msgThroughputIn": rate * 50.0, "msgThroughputOut": rate * 50.0,
            })
        };
        let mut report = load(rates.iter().sum());
        report["webServiceUrl"] = json!(format!("http://broker-{number}:8080"));
        report["cpu"] = json!({"usage": cpu, "limit": 100});
        report["lastStats"] = json!({});
        for (index, rate) in rates.iter().enumerate() {
            report["lastStats"][name(index)] = load(*rate);
        }
        let text = serde_json::to_string(&report).unwrap();
        fs::write(folder.path().join(format!("{number}.json")), text).unwrap();
    }
    folder
}

fn plan_of(cluster: &TempDir, flags: &[&str]) -> Value {
    plan(cluster.path().to_str().unwrap(), flags)
}

#[test]
fn what_is_not_worth_a_move_is_said_with_both_minimums() {
    // Half of 600 - 0 messages a second are 300, of 60,000 bytes 30,000: below 1,000 and 1 MiB.
    let cluster = cluster(&[(90.0, &[300.0, 300.0]), (10.0, &[])]);
    let stopped = &of_broker(&plan_of(&cluster, &[]), "broker-1:8080")["stopped"].clone();
    assert_eq!(stopped["rule"], "below_minimum");
    let text = stopped["text"].as_str().unwrap();
    assert!(
        text.contains("wanted 300.0 msg/s, below the minimum of 1000"),
        "{text}"
    );
    assert!(
        text.contains("wanted 30000.0 B/s, below the minimum of 1048576"),
        "{text}"
    );
    // By messages once they are worth it, else by bytes.
    for (flag, measure) in [
        (["--min-message-rate", "299"], "messages"),
        (["--min-throughput", "29999"], "bytes"),
    ] {
        let plan = plan_of(&cluster, &flag);
        assert_eq!(plan["pairs"][0]["amount"]["measure"], measure);
        assert_eq!(moved(&plan).len(), 1);
    }
}

#[test]
fn a_rule_that_stopped_a_pair_is_not_hidden_by_the_next_wait() {
    // In the reference a pair that was stopped by a minimum starts waiting anew. The first pair is
    // due in rounds 3 and 6, the other one in round 5: what is told is not "too few hits".
    let busy: &[f64] = &[9000.0, 9000.0, 9000.0, 9000.0];
    let cluster = cluster(&[
        (90.0, &[300.0, 300.0]),
        (60.0, busy),
        (40.0, &[]),
        (10.0, &[]),
    ]);
    let flags = ["--mode", "reference", "--high-hits", "3", "--low-hits", "5"];
    let plan = plan_of(&cluster, &flags);
    assert_eq!(plan["rounds"], 5);
    assert_eq!(
        of_broker(&plan, "broker-1:8080")["stopped"]["rule"],
        "below_minimum"
    );
    assert_eq!(
        plan["pairs"][0]["high_hits"],
        json!({"count": 3, "needed": 3})
    );
    assert_eq!(of_broker(&plan, "broker-2:8080")["stopped"], Value::Null);
}

#[test]
fn a_difference_below_the_threshold_is_said_with_both_numbers() {
    let cluster = cluster(&[(50.0, &[5000.0, 5000.0]), (40.0, &[])]);
    let plan = plan_of(&cluster, &[]);
    let stopped = &of_broker(&plan, "broker-1:8080")["stopped"];
    assert_eq!(stopped["rule"], "below_threshold");
    let text = stopped["text"].as_str().unwrap();
    assert!(
        text.contains("10.0 points") && text.contains("15"),
        "{text}"
    );
    // Equality counts as reaching it.
    assert_eq!(plan_of(&cluster, &["--low-threshold", "10"])["rounds"], 8);
    assert_eq!(
        plan_of(
            &cluster,
            &["--low-threshold", "9", "--high-threshold", "10"]
        )["rounds"],
        2
    );
}

#[test]
fn constraints_and_weights_are_heeded() {
    let cluster = cluster(&[(90.0, &[4000.0, 3000.0, 2000.0]), (10.0, &[]), (50.0, &[])]);
    let lead = "acme/b1/0x00000000_0x00000001";
    assert_eq!(moved(&plan_of(&cluster, &[]))[0], lead);
    let pinned = plan_of(&cluster, &["--pin", lead]);
    assert!(!moved(&pinned).contains(&lead.to_owned()));
    let kept = of_broker(&pinned, "broker-1:8080")["kept"]
        .as_array()
        .unwrap();
    assert!(
        kept.iter()
            .any(|kept| kept["bundle"] == lead && kept["rule"] == "pinned")
    );
    let excluded = plan_of(&cluster, &["--exclude-namespace", "acme/b1"]);
    assert_eq!(
        of_broker(&excluded, "broker-1:8080")["kept"][0]["rule"],
        "excluded_namespace"
    );
    let drained = plan_of(&cluster, &["--drain", "broker-2:8080"]);
    assert_eq!(
        of_broker(&drained, "broker-2:8080")["stopped"]["rule"],
        "drained"
    );
    assert_eq!(drained["moves"][0]["to"], "broker-3:8080");
    let half = plan_of(&cluster, &["--cpu-weight", "0.5"]);
    assert_eq!(of_broker(&half, "broker-1:8080")["score"], 45.0);
    // A share of 0.1 of 9,000 messages: nothing of 900 and less is there.
    let little = ["--max-unload-ratio", "0.1", "--min-message-rate", "0"];
    assert_eq!(moved(&plan_of(&cluster, &little)), [""; 0]);
}

#[test]
fn a_heartbeat_stays_and_what_is_missing_is_said() {
    // Half of 10,000 messages should move. The heartbeat's 4,000 would fit, but stay with their
    // broker; of the rest 3,000 fit into 5,000, which leaves 2,000 that the others do not fit into.
    let cluster = cluster(&[(90.0, &[4000.0, 3000.0, 3000.0]), (10.0, &[])]);
    let path = cluster.path().join("1.json");
    let text = fs::read_to_string(&path).unwrap();
    let heartbeat = "pulsar/broker-1:8080/0x00000000_0x00000001";
    fs::write(
        &path,
        text.replace("acme/b1/0x00000000_0x00000001", heartbeat),
    )
    .unwrap();
    let plan = plan_of(&cluster, &["--mode", "reference"]);
    assert_eq!(moved(&plan).len(), 1);
    let amount = json!({"measure": "messages", "wanted": 5000.0, "reached": 3000.0});
    assert_eq!(plan["pairs"][0]["amount"], amount);
    let kept = of_broker(&plan, "broker-1:8080")["kept"]
        .as_array()
        .unwrap();
    assert!(
        kept.iter()
            .any(|kept| kept["bundle"] == heartbeat && kept["rule"] == "excluded_namespace")
    );
}

#[test]
fn names_that_no_report_has_are_warned_about() {
    let expected = "\
warning: --drain broker-9:8080: no report has it
warning: --pin acme/x/0x00000000_0xffffffff: no report has it
warning: --exclude-namespace acme/x: no report has it
";
    let flags = [
        ["--drain", "broker-9:8080"],
        ["--pin", "acme/x/0x00000000_0xffffffff"],
        ["--exclude-namespace", "acme/x"],
    ];
    let run = deedbook()
        .args(["plan", &sample("scale-out")])
        .args(flags.concat());
    run.assert().code(0).stderr_eq(expected);
}

#[test]
fn numbers_and_names_of_flags_are_checked() {
    for (flag, value, expected) in [
        (
            "--low-threshold",
            "-1",
            "expected a finite number that is not negative",
        ),
        (
            "--cpu-weight",
            "NaN",
            "expected a finite number that is not negative",
        ),
        (
            "--min-throughput",
            "1MB",
            "expected a finite number that is not negative",
        ),
        ("--low-hits", "1001", "1001 is not in 0..=1000"),
        ("--mode", "fast", "\n  [possible values: safe, reference]"),
        (
            "--pin",
            "acme/x/0x0_0xffffffff",
            "expected 0xLLLLLLLL_0xUUUUUUUU[..]",
        ),
        ("--exclude-namespace", "acme", "expected tenant/namespace"),
        ("--drain", "", "is empty[..]"),
        ("--max-age", "soon", "expected number[..]"),
    ] {
        let run = deedbook()
            .args(["plan", &sample("scale-out"), flag, value])
            .assert()
            .code(2);
        run.stdout_eq("")
            .stderr_eq(format!("error: [..]{flag}[..]{expected}\n...\n"));
    }
}

#[test]
fn old_reports_are_left_out_when_asked() {
    let cluster = cluster(&[(90.0, &[4000.0, 3000.0]), (10.0, &[])]);
    let path = cluster.path().join("2.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('{', "{\"lastUpdate\": 1,", 1)).unwrap();
    let path = cluster.path().join("1.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('{', "{\"lastUpdate\": 60002,", 1)).unwrap();
    assert_eq!(
        plan_of(&cluster, &["--max-age", "61s"])["brokers"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let plan = plan_of(&cluster, &["--max-age", "1m"]);
    assert_eq!(plan["brokers"].as_array().unwrap().len(), 1);
    let kinds: Vec<_> = plan["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| &n["kind"])
        .collect();
    assert!(kinds.contains(&&json!("stale")));
}
