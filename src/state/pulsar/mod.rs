//! The rules by which Apache Pulsar's brokers accept or drop ownership records, as data.
//!
//! Beside the [native rules](super::rules), for reading logs of others: importing and auditing. A
//! foreign [`PulsarRecord`] names up to two brokers in any state and counts its own versions, so it
//! is judged one at a time, by [`Rules::judge`], and never as part of an entry. Pure, like
//! everything in [`state`](super).

mod record;
mod rules;
mod verdict;

pub use record::{PulsarRecord, state_named};
pub use rules::{
    Allowed, PIP_192, PIP_192_FIRST_DRAFT, PIP_192_SECOND_DRAFT, PULSAR_METADATA_STORE,
    PULSAR_SYSTEM_TOPIC, Rules, Term, Versions,
};
pub use verdict::{Brokers, Refusal};

#[cfg(test)]
mod tests;
