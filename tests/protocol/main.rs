//! What a broker does, scene by scene: small clusters in virtual time, driven by hand.
//!
//! The invariants are looked at after each event of each scene; the scenes themselves show what
//! must happen, and when.
#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod assign;
mod balance;
mod closing;
mod counting;
mod drain;
mod field_reports;
mod leader;
mod look_ups;
mod move_away;
mod namespaces;
mod peer_scenarios;
mod scene;
mod sessions;
mod split;
mod splitting;
