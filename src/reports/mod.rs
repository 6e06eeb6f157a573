//! The load that brokers report about themselves, as data.
//!
//! Reads what Apache Pulsar brokers publish, `LocalBrokerData` and the older `LoadReport`, from any
//! self-describing format: [`read`] takes a deserializer, and this library names no format. Reports
//! of real brokers lack fields, have others, hold `"NaN"` as text and name bundles that moved away.
//! None of that is an error and none of it is passed over silently: whatever was left out or
//! repaired is a [`Note`]. [`merge`] makes one picture of a cluster's reports; the planner, one
//! layer up, takes its load from there.
//!
//! Numbers that come out of here are finite and not negative.

mod cluster;
mod error;
mod load_report;
mod note;
mod number;
mod raw;
mod read;
mod spelling;
#[cfg(test)]
mod tests;
mod traffic;

pub use cluster::{BROKERS_MAX, Cluster, merge};
pub use error::{Error, ReadError};
pub use load_report::{BundleStats, LoadReport, Resources, Usage};
pub use note::{Field, Note, What};
pub use raw::REPORT_BUNDLES_MAX;
pub use read::{Reading, read};
pub use traffic::Traffic;
