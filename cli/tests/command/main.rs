//! The command `deedbook`, run as a user does.
#![cfg(test)]

mod conventions;
mod generate;
mod imports;
mod keys;
mod log;
mod plan_form;
mod plan_rules;
mod plan_samples;
mod plan_strategies;
mod queue;
mod simulate;
mod splits;

use serde_json::Value;
use snapbox::cmd::Command;
use std::path::{Path, PathBuf};

pub(crate) const SAMPLES: [&str; 4] = ["scale-out", "six-brokers", "hot-bundle", "simple-shape"];

/// Reports of brokers on a bad day.
pub(crate) const MESSY: &str = "cli/tests/command/data/messy";

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The command, from the root of the repository.
pub(crate) fn deedbook() -> Command {
    Command::new(env!("CARGO_BIN_EXE_deedbook")).current_dir(root())
}

pub(crate) fn sample(name: &str) -> String {
    format!("scenarios/reports/{name}")
}

/// What `plan` finds, as JSON.
pub(crate) fn plan(folder: &str, flags: &[&str]) -> Value {
    let run = deedbook()
        .args(["plan", folder, "--json"])
        .args(flags)
        .assert()
        .code(0);
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// The bundles that move, in order.
pub(crate) fn moved(plan: &Value) -> Vec<String> {
    let moves = plan["moves"].as_array().unwrap().iter();
    moves
        .map(|m| m["bundle"].as_str().unwrap().to_owned())
        .collect()
}

/// The broker's part of the plan.
pub(crate) fn of_broker<'a>(plan: &'a Value, broker: &str) -> &'a Value {
    let mut brokers = plan["brokers"].as_array().unwrap().iter();
    brokers.find(|found| found["broker"] == broker).unwrap()
}
