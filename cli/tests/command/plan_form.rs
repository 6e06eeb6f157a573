//! The form in which `plan` prints, and the document that describes it.

use crate::keys::{documented, keys};
use crate::{MESSY, SAMPLES, deedbook, plan, root, sample};
use snapbox::file;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn the_form_of_what_is_printed() {
    let printed = |args: &[&str]| {
        deedbook()
            .arg("plan")
            .args(args)
            .assert()
            .code(0)
            .stderr_eq("")
    };
    let text = |name: &str| printed(&[&sample(name)]);
    text("scale-out").stdout_eq(file!["snapshots/scale-out.txt"]);
    text("six-brokers").stdout_eq(file!["snapshots/six-brokers.txt"]);
    text("hot-bundle").stdout_eq(file!["snapshots/hot-bundle.txt"]);
    text("simple-shape").stdout_eq(file!["snapshots/simple-shape.txt"]);
    printed(&[MESSY]).stdout_eq(file!["snapshots/messy.txt"]);
    let json = printed(&[&sample("simple-shape"), "--json"]);
    json.stdout_eq(file!["snapshots/simple-shape.json"]);
    printed(&["--help"]).stdout_eq(file!["snapshots/help.txt"]);
}

#[test]
fn text_fits_into_a_hundred_columns() {
    for folder in SAMPLES.map(sample).iter().chain([&MESSY.to_owned()]) {
        let run = deedbook().args(["plan", folder]).assert().code(0);
        let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
}

#[test]
fn the_keys_of_the_json_are_those_of_the_document() {
    let mut found = BTreeSet::new();
    let mut add = |name: &str, flags: &[&str]| {
        let plan = plan(&sample(name), flags);
        assert_eq!(plan["schema"], 1);
        keys(&plan, "", &mut found);
    };
    for name in SAMPLES {
        add(name, &[]);
        for strategy in deedbook::planner::Strategy::ALL {
            add(name, &["--strategy", strategy.name()]);
        }
        add(name, &["--strategy", "overload", "--mode", "reference"]);
        add(name, &["--set-split", "namespace_bundles_max=1"]);
    }
    assert_eq!(found, documented("plan"));
}

#[test]
fn the_numbers_of_the_document_are_those_of_the_code() {
    let document = fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let config = deedbook::planner::avg::Config::default();
    for expected in [
        format!("`--low-threshold`, {}", config.low_threshold_points),
        format!("`--high-threshold`, {}", config.high_threshold_points),
        format!("`--low-hits` ({})", config.low_hits),
        format!("`--high-hits` ({})", config.high_hits),
        format!("`--max-unload-ratio`, {}", config.unload_ratio_max),
        format!("{} MiB", deedbook_cli::REPORT_BYTES_MAX >> 20),
    ] {
        assert!(document.contains(&expected), "docs/cli.md lacks {expected}");
    }
}
