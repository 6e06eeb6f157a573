//! What the benchmarks share: the program `compare` and its sections.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a measurement may stop at the first surprise"
)]

pub mod compare;
