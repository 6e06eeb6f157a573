//! Which bundles are too big, where `plan` says that they would be split, and what `simulate` makes
//! of it.

use crate::{deedbook, number, plan, sample};
use serde_json::{Value, json};

const HOT: &str = "acme/clicks/0x00000000_0x20000000";

fn splits(flags: &[&str]) -> Value {
    plan(&sample("hot-bundle"), flags)["splits"].clone()
}

/// 55 000 messages a second are more than the 30 000 that a bundle may have. It has 40 topics.
#[test]
fn a_bundle_that_is_too_big_is_cut_in_the_middle() {
    let found = splits(&[]);
    assert_eq!(found["rounds"], 4);
    assert_eq!(found["whole"], json!([]));
    let planned = found["planned"].as_array().unwrap();
    let bundles: Vec<_> = planned.iter().map(|split| &split["bundle"]).collect();
    assert_eq!(bundles, [HOT]);
    assert_eq!(planned[0]["broker"], "broker-1:8080");
    assert_eq!(planned[0]["cuts"], json!(["0x10000000"]));
    assert_eq!(planned[0]["rule"], "message_rate");
}

#[test]
fn each_setting_of_splits_can_be_set() {
    let at = |positions: &str| {
        let set = format!("positions={positions}");
        let by = "algorithm=specified_positions_divide";
        splits(&["--set-split", by, "--set-split", &set])
    };
    // Positions are keys: 0x08000000, 0x18000000 and one that is not inside.
    let found = at("[134217728, 402653184, 4026531840]");
    let cuts = json!(["0x08000000", "0x18000000"]);
    assert_eq!(found["planned"][0]["cuts"], cuts);
    let found = at("[4026531840]");
    assert_eq!(found["whole"][0]["rule"], "no_cut");
    let found = splits(&["--set-split", "namespace_bundles_max=1"]);
    assert_eq!(found["planned"], json!([]));
    assert_eq!(found["whole"][0]["bundle"], HOT);
    assert_eq!(found["whole"][0]["rule"], "namespace_full");
    let found = splits(&[
        "--set-split",
        "message_rate_max=55000",
        "--set-split",
        "hits=0",
    ]);
    assert_eq!(found, json!({"rounds": 1, "planned": [], "whole": []}));
    for wrong in ["topics=1", "topics_max=many", "message_rate_max=-1"] {
        let flags = ["plan", &sample("hot-bundle"), "--set-split", wrong];
        deedbook().args(flags).assert().code(2);
    }
}

#[test]
fn simulated_the_halves_find_room() {
    let play = |scenario: &str| -> Value {
        let run = deedbook().args(["simulate", scenario, "--json"]);
        serde_json::from_slice(&run.assert().code(0).get_output().stdout).unwrap()
    };
    let (whole, split) = (
        play("scenarios/hot-bundle.toml"),
        play("scenarios/split.toml"),
    );
    assert_eq!(whole["splits"], 0);
    // 55 000, then twice 27 500, then four times 13 750: the limit here is 20 000.
    assert_eq!(split["splits"], 3);
    let rounds = split["rounds"].as_array().unwrap().iter();
    let made: Vec<_> = rounds
        .flat_map(|round| {
            round["splits"]
                .as_array()
                .unwrap()
                .iter()
                .map(move |one| (round, one))
        })
        .collect();
    let (round, made) = made[0];
    assert_eq!(round["round"], 4);
    assert_eq!(
        (&made["bundle"], &made["done"]),
        (&json!(HOT), &json!(true))
    );
    let (before, after) = (
        number(&whole["end"]["spread"]),
        number(&split["end"]["spread"]),
    );
    assert!(after < before, "{after} {before}");
    assert_eq!(split["end"]["agree"], true);
}
