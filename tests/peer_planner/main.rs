//! Goal: the scenarios of Apache Pulsar's own tests of its shedding strategies end as they do
//! there. Method: their set-ups and outcomes as data, played in the reference mode; one test each,
//! called after it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod avg;
mod transfer;
mod transfer_setups;
mod unloads;
#[path = "../support/vectors/mod.rs"]
mod vectors;

use serde::de::DeserializeOwned;
use std::path::Path;

fn read<T: DeserializeOwned>(file: &str) -> T {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/peer");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}
