//! Any bytes into the codec.
#![no_main]
#![allow(clippy::indexing_slicing, reason = "a broken property is a panic")]

#[path = "../../tests/entries/bytes.rs"]
mod bytes;
#[path = "../../tests/entries/entry.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entry::check(data));
