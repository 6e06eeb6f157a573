//! Any bytes, and damaged ones, into the files of a log.
#![no_main]
#![allow(clippy::indexing_slicing, reason = "a broken property is a panic")]

#[path = "../../tests/entries/bytes.rs"]
mod bytes;
#[path = "../../tests/entries/frame.rs"]
mod frame;

libfuzzer_sys::fuzz_target!(|data: &[u8]| frame::check(data));
