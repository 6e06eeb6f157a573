//! Any history into the table.
#![no_main]
#![allow(clippy::indexing_slicing, reason = "a broken property is a panic")]

#[path = "../../tests/entries/blocks.rs"]
mod blocks;
#[path = "../../tests/entries/bytes.rs"]
mod bytes;
#[path = "../../tests/entries/table_apply.rs"]
mod table_apply;

libfuzzer_sys::fuzz_target!(|data: &[u8]| table_apply::check(data));
