//! `deedbook log generate`, and `log compact` and `log digest` on what it makes.

use crate::deedbook;
use crate::keys::{documented, keys};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const CHANGES: u64 = 3_000;

fn log(command: &str, dir: &Path, more: &[&str]) -> Value {
    let run = deedbook()
        .args(["log", command, "--json"])
        .arg(dir)
        .args(more)
        .assert()
        .code(0);
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

fn generate(dir: &Path, seed: &str) -> Value {
    let shape = ["--bundles", "1500", "--changes", "3000", "--brokers", "7"];
    let rest = ["--invalid", "30%", "--seed", seed];
    log("generate", dir, &[&shape[..], &rest[..]].concat())
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap()
}

/// The writer's own table, a reader of the whole log, and one of compacted output agree; and what
/// was made wrong on purpose is what readers reject.
#[test]
fn a_made_up_log_is_read_alike_before_and_after_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let made = generate(folder.path(), "7");
    let whole = log("digest", folder.path(), &[]);
    for key in [
        "digest",
        "next",
        "rows",
        "namespaces",
        "accepted",
        "rejected",
    ] {
        assert_eq!(made[key], whole[key], "{key}");
    }
    assert_eq!(number(&made, "namespaces"), 2);
    assert_eq!(
        number(&made, "accepted") + number(&made, "rejected"),
        1 + 2 + CHANGES,
        "the leader's first word, two namespaces, and the changes"
    );
    // A binomial of 3,000 at 30 %: six standard deviations are 151.
    assert!(
        number(&made, "rejected").abs_diff(CHANGES * 3 / 10) < 151,
        "{made}"
    );

    let compacted = log("compact", folder.path(), &[]);
    assert_eq!(compacted["rows_after"], made["rows"]);
    let after = log("digest", folder.path(), &[]);
    assert_eq!(after["digest"], made["digest"]);
    assert_eq!(after["from"], compacted["horizon_after"]);
}

#[test]
fn equal_seeds_make_equal_logs_and_others_do_not() {
    let digest = |seed| {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), seed)["digest"].clone()
    };
    assert_eq!(digest("1"), digest("1"));
    assert_ne!(digest("1"), digest("2"));
}

#[test]
fn a_folder_in_use_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path(), "1");
    let again = deedbook().args(["log", "generate"]).arg(folder.path());
    again.assert().code(2).stdout_eq("");
    let wrong = ["log", "generate", "--invalid", "101%", "somewhere"];
    deedbook().args(wrong).assert().code(2).stdout_eq("");
}

#[test]
fn every_key_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let mut printed = BTreeSet::new();
    keys(&generate(folder.path(), "1"), "", &mut printed);
    assert_eq!(printed, documented("log generate"));
}
