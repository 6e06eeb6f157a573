//! Any load into the planner.
#![no_main]
#![allow(clippy::indexing_slicing, reason = "a broken property is a panic")]

#[path = "../../tests/entries/bytes.rs"]
mod bytes;
#[path = "../../tests/entries/plan.rs"]
mod plan;

libfuzzer_sys::fuzz_target!(|data: &[u8]| plan::check(data));
