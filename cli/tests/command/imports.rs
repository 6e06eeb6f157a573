//! `deedbook import pulsar` and `deedbook export pulsar`, on events made by hand and on logs.

use crate::keys::{documented, keys};
use crate::{deedbook, root};
use serde_json::{Value, json};
use snapbox::file;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn events(name: &str) -> String {
    format!("scenarios/ownership/{name}.jsonl")
}

fn import(file: &str, flags: &[&str], code: i32) -> Value {
    let run = deedbook()
        .args(["import", "pulsar", file, "--json"])
        .args(flags)
        .assert()
        .code(code);
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

/// Bundle, state, holder and destination of all that is there.
fn owners(found: &Value) -> Vec<[Value; 4]> {
    let keys = ["bundle", "state", "holder", "destination"];
    let bundles = found["bundles"].as_array().unwrap().iter();
    bundles
        .map(|bundle| keys.map(|key| bundle[key].clone()))
        .collect()
}

fn folder() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").to_str().unwrap().to_owned();
    (folder, log)
}

/// A file with these bytes in a folder of its own.
fn file_with(content: &[u8]) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    fs::write(&path, content).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// The texts were read line by line against the events.
#[test]
fn the_text_tells_owners_and_drops_and_what_other_rules_would_do() {
    deedbook()
        .args(["import", "pulsar", &events("today"), "--compare", "native"])
        .assert()
        .code(0)
        .stderr_eq("")
        .stdout_eq(file!["snapshots/import-today.txt"]);
    deedbook()
        .args([
            "import",
            "pulsar",
            &events("revived"),
            "--compare",
            "native",
        ])
        .assert()
        .code(1)
        .stderr_eq("")
        .stdout_eq(file!["snapshots/import-revived.txt"]);
}

#[test]
fn all_keys_are_documented() {
    let (_folder, log) = folder();
    let mut found = BTreeSet::new();
    let flags = ["--compare", "native", "--compare", "pip-192"];
    keys(&import(&events("revived"), &flags, 1), "", &mut found);
    keys(&import(&events("first-form"), &flags, 0), "", &mut found);
    let flags = [&flags[..], &["--out", &log]].concat();
    keys(&import(&events("today"), &flags, 0), "", &mut found);
    assert_eq!(found, documented("import pulsar"));

    let out = format!("{log}.jsonl");
    let run = deedbook()
        .args(["export", "pulsar", &log, "--json", "--out", &out])
        .assert()
        .code(0);
    let mut found = BTreeSet::new();
    let exported: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    keys(&exported, "", &mut found);
    assert_eq!(found, documented("export pulsar"));
}

/// The first form is understood by its own rules alone.
#[test]
fn the_first_form_under_its_own_rules() {
    let found = import(&events("first-form"), &["--rules", "pip-192"], 0);
    assert_eq!(found["dropped"]["first"], json!([]));
    let holders: Vec<_> = owners(&found)
        .into_iter()
        .map(|[_, _, holder, _]| holder)
        .collect();
    assert_eq!(
        holders,
        ["broker-2:8080".into(), Value::Null, "broker-3:8080".into()]
    );
    let notes = found["notes"].as_array().unwrap();
    assert_eq!(notes[0], json!({"name": "respelt", "count": 2}));
    let found = import(&events("first-form"), &[], 0);
    assert_eq!(
        found["reasons"],
        json!([{"name": "stale_version", "count": 8}])
    );
}

/// What is imported, founded, exported and imported again is the same.
#[test]
fn a_log_can_be_founded_and_written_out_again() {
    let (_folder, log) = folder();
    let found = import(&events("today"), &["--out", &log], 0);
    let digest = deedbook()
        .args(["log", "digest", &log, "--json"])
        .assert()
        .code(0);
    let digest: Value = serde_json::from_slice(&digest.get_output().stdout).unwrap();
    assert_eq!(digest["digest"], found["log"]["digest"]);
    assert_eq!(digest["rejected"], 0);

    let lines = deedbook().args(["export", "pulsar", &log]).assert().code(0);
    let (_other, exported) = file_with(&lines.get_output().stdout);
    for rules in ["native", "pulsar-system-topic", "pulsar-metadata-store"] {
        let again = import(&exported, &["--rules", rules], 0);
        assert_eq!(again["dropped"]["first"], json!([]), "{rules}");
        assert_eq!(owners(&again), owners(&found), "{rules}");
    }
    // Compacted, the log begins with a snapshot, and says the same.
    deedbook().args(["log", "compact", &log]).assert().code(0);
    let out = format!("{exported}.compacted");
    deedbook()
        .args(["export", "pulsar", &log, "--out", &out])
        .assert()
        .code(0)
        .stderr_eq("");
    assert!(fs::read(&out).unwrap().len() < fs::read(&exported).unwrap().len());
    assert_eq!(owners(&import(&out, &[], 0)), owners(&found));
}

/// The log of a simulated cluster, with losses, transfers and a compaction in it.
#[test]
fn the_log_of_a_cluster_is_written_out_and_read_back() {
    let (_folder, log) = folder();
    deedbook()
        .args(["simulate", "scenarios/broker-loss.toml", "--log", &log])
        .assert()
        .code(0);
    let lines = deedbook().args(["export", "pulsar", &log]).assert().code(0);
    let (_other, exported) = file_with(&lines.get_output().stdout);
    let found = import(&exported, &["--compare", "native"], 0);
    assert_eq!(found["dropped"]["first"], json!([]));
    assert_eq!(found["compared"][0]["dropped"], 0);
    let digest = deedbook()
        .args(["log", "digest", &log, "--json"])
        .assert()
        .code(0);
    let digest: Value = serde_json::from_slice(&digest.get_output().stdout).unwrap();
    assert_eq!(
        owners(&found).len() as u64,
        digest["rows"].as_u64().unwrap()
    );
}

#[test]
fn two_owners_found_no_log() {
    let (_folder, log) = folder();
    deedbook()
        .args(["import", "pulsar", &events("revived"), "--out", &log])
        .assert()
        .code(2)
        .stdout_eq("")
        .stderr_eq("error: no log can begin with what is there: [..] hold the same keys; [..]\n");
    assert!(!Path::new(&log).exists());
    // Under the native rules the parent does not come back.
    let found = import(&events("revived"), &["--rules", "native", "--out", &log], 1);
    assert_eq!(found["log"]["bundles"], 2);
}

#[test]
fn what_cannot_be_used_is_one_line() {
    let (folder, log) = folder();
    let used = folder.path().to_str().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (args, says) in [
        (
            vec!["import", "pulsar", "nowhere"],
            "cannot read nowhere: [..]",
        ),
        (
            vec!["import", "pulsar", "scenarios"],
            "cannot read scenarios: is a directory",
        ),
        (
            vec!["import", "pulsar", "README.md", "--out", used],
            "[..] is not empty; name a folder that is, or that is not there",
        ),
        (vec!["export", "pulsar", &log], "[..]"),
    ] {
        let line = format!("error: {says}\n");
        deedbook()
            .args(&args)
            .assert()
            .code(2)
            .stdout_eq("")
            .stderr_eq(line);
    }
    deedbook()
        .args(["import", "pulsar", "README.md", "--rules", "pip"])
        .assert()
        .code(2)
        .stderr_eq(
            "error: invalid value 'pip' for '--rules <SET>': there are no rules [..]\n...\n",
        );
    // An export overwrites nothing.
    let (_folder, log) = self::folder();
    import(&events("today"), &["--out", &log], 0);
    deedbook()
        .args(["export", "pulsar", &log, "--out", "README.md"])
        .assert()
        .code(2)
        .stderr_eq("error: cannot write README.md: File exists (os error 17)\n");
}

/// Bytes that are no text, lines without an end, lines beyond the limit: told, counted, passed
/// over.
#[test]
fn any_bytes_are_read_line_by_line() {
    let owned = r#"{"key": "a/b/0x00000000_0xffffffff", "value": {"state": "Free"}}"#;
    let mut content = format!("\u{feff}{owned}\r\n\n  \n").into_bytes();
    content.extend([0xff, 0xfe, b'\n', b'[', b'\n']);
    content.resize(content.len() + deedbook_cli::LINE_BYTES_MAX + 1, b'x');
    content.extend(format!("\n{owned} {owned}\n{{\"key\"").bytes());
    let (_folder, path) = file_with(&content);
    let found = import(&path, &[], 1);
    assert_eq!((&found["lines"], &found["events"]), (&json!(8), &json!(1)));
    let lines: Vec<_> = found["unreadable"]["first"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    let numbers: Vec<_> = lines
        .iter()
        .map(|line| line["line"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [4, 5, 6, 7, 8]);
    assert_eq!(lines[2]["text"], "it is longer than 4 MiB");
    assert_eq!(lines[3]["text"], "trailing characters at column 66");
}

#[test]
fn standard_input_is_a_file_too() {
    let text = fs::read(root().join(events("today"))).unwrap();
    let run = deedbook()
        .args(["import", "pulsar", "-", "--json"])
        .stdin(text)
        .assert()
        .code(0);
    let found: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!(owners(&found), owners(&import(&events("today"), &[], 0)));
}

/// Clients print what they receive with the value as a text.
#[test]
fn a_value_may_be_a_text_that_holds_json() {
    let text = fs::read_to_string(root().join(events("today"))).unwrap();
    let quoted: String = text
        .lines()
        .map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            let value = event["value"].take();
            event["value"] = value.to_string().into();
            format!("{event}\n")
        })
        .collect();
    let (_folder, path) = file_with(quoted.as_bytes());
    assert_eq!(
        owners(&import(&path, &[], 0)),
        owners(&import(&events("today"), &[], 0))
    );

    let half = r#"{"key": "a/b/0x00000000_0xffffffff", "value": "{\"state\": \"Ow"}"#;
    let (_folder, path) = file_with(half.as_bytes());
    let found = import(&path, &[], 1);
    let text = found["unreadable"]["first"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("invalid type: string"), "{text}");
}

#[test]
fn long_lists_end_with_what_is_left() {
    let run = deedbook()
        .args(["import", "pulsar", &events("today"), "--list", "2"])
        .assert()
        .code(0);
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert!(text.contains("  and 4 more\n"), "{text}");
    // Six bundles, three brokers, two in flight, two dropped.
    assert_eq!(text.matches(" more\n").count(), 2, "{text}");
}

#[test]
fn the_pages_tell_the_limits() {
    let page = fs::read_to_string(root().join("docs/import.md")).unwrap();
    let line = format!("more than {} MiB", deedbook_cli::LINE_BYTES_MAX >> 20);
    assert!(page.contains(&line), "{line}");
    assert_eq!(deedbook_cli::LISTED_MAX, 100_000);
    assert!(page.contains("the first 100,000"));
}
