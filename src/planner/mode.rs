//! Whose decisions a strategy makes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Whose decisions the strategy makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Moves only what makes the cluster more even, and is quiet once it is; each strategy says
    /// what that means for it.
    #[default]
    Safe,
    /// Decision for decision what Apache Pulsar does, single-precision percentages included.
    Reference,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safe => "safe",
            Self::Reference => "reference",
        })
    }
}
