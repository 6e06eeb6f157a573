//! `deedbook simulate --queue`: short runs, in which queues have no time to find their sizes under
//! load; what is found of longer ones is in docs/evidence.md.

use crate::deedbook;
use crate::keys::{documented, keys};
use serde_json::Value;
use std::collections::BTreeSet;

fn play() -> Value {
    let args = ["simulate", "--queue", "--seconds", "2", "--json"];
    let run = deedbook().args(args).assert();
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

#[test]
fn sizes_follow_the_rate_and_every_key_is_documented() {
    let found = play();
    let one = &found["rates"].as_array().unwrap()[..5];
    let size = |run: &Value| run["own"]["size"].as_u64().unwrap();
    let sizes: Vec<_> = one.iter().map(size).collect();
    assert!(sizes.is_sorted() && sizes[4] > sizes[0], "{sizes:?}");
    assert!(
        sizes[4] <= 10_000,
        "far below the maximum of a million: {sizes:?}"
    );
    let mut printed = BTreeSet::new();
    keys(&found, "", &mut printed);
    assert_eq!(printed, documented("simulate --queue"));
}

#[test]
fn it_is_either_a_scenario_or_queues() {
    for args in [
        &["simulate"][..],
        &["simulate", "--queue", "scenarios/scale-out.toml"],
        &["simulate", "scenarios/scale-out.toml", "--seconds", "3"],
        &["simulate", "--queue", "--rounds", "3"],
    ] {
        deedbook().args(args).assert().code(2);
    }
}
