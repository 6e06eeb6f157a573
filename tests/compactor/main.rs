//! Compaction loses nothing that counts: whatever is appended, compacted, abandoned or trimmed in
//! between, a snapshot and what follows fold to what the whole log folds to (invariants I1, I10).
#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "../support/mod.rs"]
mod support;

mod cases;
mod cluster;
mod field_reports;
mod histories;
mod keys;
mod peer_scenarios;
mod peer_views;
mod refusals;
mod worker;
