//! Ownership logs of Apache Pulsar: read, judged by a choice of rules, and written.
//!
//! Below it: the rule sets of [`state::pulsar`](crate::state::pulsar) and the native rules, and the
//! [`table`](crate::table) for what is written out. Above it nothing of the library: an
//! [`Event`] is read from any self-describing format by the caller, an [`Audit`] replays events
//! and says what was dropped and what is left, [`Founding`] turns that into entries of a new log,
//! and an [`Exporter`] writes a log of ours as events. It knows no files and no JSON.

mod audit;
mod coverage;
mod event;
mod export;
mod founding;
mod native;
mod rule_set;

pub use audit::{Audit, Dropped, Held};
pub use coverage::{Coverage, Overlap};
pub use event::{Event, EventError, Note, Observed, ReadError, read};
pub use export::Exporter;
pub use founding::{Founding, FoundingError};
pub use native::NotNative;
pub use rule_set::{RuleSet, UnknownRuleSet};

#[cfg(test)]
mod tests;
