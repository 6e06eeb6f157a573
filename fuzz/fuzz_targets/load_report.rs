//! Any text into the reader of load reports.
#![no_main]
#![allow(clippy::indexing_slicing, reason = "a broken property is a panic")]

#[path = "../../tests/entries/load_report.rs"]
mod load_report;

libfuzzer_sys::fuzz_target!(|data: &[u8]| load_report::check(data));
