//! What the fuzz targets check: one function a target, of any bytes, which panics where a property
//! does not hold.
//!
//! The targets under fuzz/ take these files in one by one; `tests/corpus.rs` takes them all and
//! replays what fuzzing left.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken property is a panic"
)]

mod blocks;
mod bytes;
pub(crate) mod entry;
pub(crate) mod frame;
pub(crate) mod import;
pub(crate) mod load_report;
pub(crate) mod plan;
pub(crate) mod snapshot;
pub(crate) mod table_apply;
