//! What can be set about the global planner.

use crate::planner::{Error, avg};
use serde::{Deserialize, Serialize};

/// How the global planner decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// When to act, and what to be no worse than: the avg strategy with these settings, in its safe
    /// mode whatever they say. Default: its defaults.
    pub avg: avg::Config,
    /// Most moves of one round. Default: 1000.
    pub moves_max: usize,
    /// A broker whose score is within so many points of the level at which all brokers would be
    /// equally loaded is left as it is. Default: 5.
    pub tolerance_points: f64,
    /// How long to think, in steps; a step is to look at what one move would bring. Default:
    /// 500,000.
    pub steps_max: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            avg: avg::Config::default(),
            moves_max: 1000,
            tolerance_points: 5.0,
            steps_max: 500_000,
        }
    }
}

impl Config {
    /// Looks for numbers that the planner cannot work with.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for the first number that is negative or not finite.
    pub fn check(&self) -> Result<(), Error> {
        self.avg.check()?;
        Error::unless_usable([("tolerance_points", self.tolerance_points)])
    }
}
