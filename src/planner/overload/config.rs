//! What can be set about the overload strategy.

use crate::planner::{Error, Mode};
use serde::{Deserialize, Serialize};

/// How the overload strategy decides. The defaults are those of Apache Pulsar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whose decisions it makes. Default: safe ones.
    pub mode: Mode,
    /// A broker that stands at so many points sheds. Default: 85.
    pub limit_points: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Safe,
            limit_points: 85.0,
        }
    }
}

impl Config {
    /// Looks for numbers that no strategy can work with.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for the first number that is negative or not finite.
    pub fn check(&self) -> Result<(), Error> {
        Error::unless_usable([("limit_points", self.limit_points)])
    }
}
