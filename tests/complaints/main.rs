//! Goal: what operators complained of in the strategies of Apache Pulsar happens in the reference
//! mode, where it is the fault of its rules, and not in the safe one; and a plan that does nothing
//! says why. Method: the clusters of the complaints, with figures worked out by hand; the ids are
//! those of `docs/testing.md`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod bundles;
mod history;
#[path = "../support/load.rs"]
mod load;
mod measures;
#[path = "../support/shedding.rs"]
mod shedding;
mod transfers;

use deedbook::planner::Mode;

const BOTH: [Mode; 2] = [Mode::Reference, Mode::Safe];
