//! A run that found something: what, where, how it came to it, and how to see it again.

use super::checkers::Violation;
use crate::clock::Tick;
use std::fmt;
use std::time::Duration;

/// A run that broke an invariant.
#[derive(Clone)]
pub struct Failure {
    /// The seed of the run.
    pub seed: u64,
    /// When it was noticed, in virtual time.
    pub at: Tick,
    /// What does not hold.
    pub violation: Violation,
    /// The command that repeats the run, if whoever built the cluster named one.
    pub repeat: Option<String>,
    /// The last lines of the trace.
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        let at = Duration::from_nanos(self.at.nanos());
        write!(f, "seed {} after {at:?}: {}", self.seed, self.violation)?;
        match &self.repeat {
            Some(repeat) => write!(f, "\nto see it again: {repeat}"),
            None => Ok(()),
        }
    }
}

/// As [`fmt::Display`], so that a test that unwraps shows it readably.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}
