//! Any blocks, and damaged ones, into the reader of snapshots.
#![no_main]
#![allow(clippy::indexing_slicing, reason = "a broken property is a panic")]

#[path = "../../tests/entries/blocks.rs"]
mod blocks;
#[path = "../../tests/entries/bytes.rs"]
mod bytes;
#[path = "../../tests/entries/snapshot.rs"]
mod snapshot;

libfuzzer_sys::fuzz_target!(|data: &[u8]| snapshot::check(data));
