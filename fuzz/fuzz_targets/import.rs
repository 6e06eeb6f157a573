//! Any lines into the reader of ownership events, and into audits and new logs.
#![no_main]
#![allow(clippy::indexing_slicing, reason = "a broken property is a panic")]

#[path = "../../tests/entries/import.rs"]
mod import;

libfuzzer_sys::fuzz_target!(|data: &[u8]| import::check(data));
