//! Strategies by their names, and how to make one.

use super::avg::{self, AvgShedder};
use super::global::{self, GlobalPlanner};
use super::overload::{self, OverloadShedder};
use super::threshold::{self, ThresholdShedder};
use super::transfer::{self, TransferShedder};
use super::uniform::{self, UniformShedder};
use super::{Error, Mode, Shedder};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A strategy that chooses what should move.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// Pairs the most loaded broker with the least loaded one: [`AvgShedder`].
    #[default]
    Avg,
    /// Sheds from who is far above the average: [`ThresholdShedder`].
    Threshold,
    /// Sheds from who is above a fixed limit: [`OverloadShedder`].
    Overload,
    /// Sheds from the busiest: [`UniformShedder`].
    Uniform,
    /// Moves from the most loaded to the least loaded: [`TransferShedder`].
    Transfer,
    /// Looks for the lightest moves over the whole cluster: [`GlobalPlanner`].
    Global,
}

impl Strategy {
    /// All of them, the default one first.
    pub const ALL: [Self; 6] = [
        Self::Avg,
        Self::Threshold,
        Self::Overload,
        Self::Uniform,
        Self::Transfer,
        Self::Global,
    ];

    /// The name by which it is asked for, the same in every release.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avg => "avg",
            Self::Threshold => "threshold",
            Self::Overload => "overload",
            Self::Uniform => "uniform",
            Self::Transfer => "transfer",
            Self::Global => "global",
        }
    }

    /// Its settings, all but the mode at their defaults. One that has a single mode keeps to that:
    /// see [`Settings::mode`].
    #[must_use]
    pub fn settings(self, mode: Mode) -> Settings {
        match self {
            Self::Avg => Settings::Avg(avg::Config {
                mode,
                ..avg::Config::default()
            }),
            Self::Threshold => Settings::Threshold(threshold::Config {
                mode,
                ..threshold::Config::default()
            }),
            Self::Overload => Settings::Overload(overload::Config {
                mode,
                ..overload::Config::default()
            }),
            Self::Uniform => Settings::Uniform(uniform::Config {
                mode,
                ..uniform::Config::default()
            }),
            Self::Transfer => Settings::Transfer(transfer::Config {
                mode,
                ..transfer::Config::default()
            }),
            Self::Global => Settings::Global(global::Config::default()),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL
            .into_iter()
            .find(|strategy| strategy.name() == name);
        found.ok_or_else(|| Error::UnknownStrategy {
            name: name.to_owned(),
        })
    }
}

/// A strategy and how it decides; `strategy` names it where settings are read from text.
///
/// ```
/// use deedbook::planner::{Mode, Settings, Strategy};
///
/// let strategy: Strategy = "avg".parse()?;
/// let settings = strategy.settings(Mode::Reference);
/// assert_eq!(settings.strategy(), Strategy::Avg);
/// let shedder = settings.build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "strategy", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Settings {
    /// Of [`Strategy::Avg`].
    Avg(avg::Config),
    /// Of [`Strategy::Threshold`].
    Threshold(threshold::Config),
    /// Of [`Strategy::Overload`].
    Overload(overload::Config),
    /// Of [`Strategy::Uniform`].
    Uniform(uniform::Config),
    /// Of [`Strategy::Transfer`].
    Transfer(transfer::Config),
    /// Of [`Strategy::Global`].
    Global(global::Config),
}

impl Settings {
    /// Whose they are.
    #[must_use]
    pub const fn strategy(&self) -> Strategy {
        match self {
            Self::Avg(_) => Strategy::Avg,
            Self::Threshold(_) => Strategy::Threshold,
            Self::Overload(_) => Strategy::Overload,
            Self::Uniform(_) => Strategy::Uniform,
            Self::Transfer(_) => Strategy::Transfer,
            Self::Global(_) => Strategy::Global,
        }
    }

    /// Whose decisions it makes.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        match self {
            Self::Avg(config) => config.mode,
            Self::Threshold(config) => config.mode,
            Self::Overload(config) => config.mode,
            Self::Uniform(config) => config.mode,
            Self::Transfer(config) => config.mode,
            Self::Global(_) => Mode::Safe,
        }
    }

    /// After how many rounds of the same load it acts at the latest, if it ever does.
    pub(super) fn rounds_waited(&self) -> u32 {
        match self {
            Self::Avg(config) => config.low_hits.max(config.high_hits),
            Self::Global(config) => config.avg.low_hits.max(config.avg.high_hits),
            Self::Transfer(config) => config.rounds_exceeded.saturating_add(1),
            Self::Threshold(_) | Self::Overload(_) | Self::Uniform(_) => 1,
        }
    }

    /// A strategy that decides like this and remembers nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if they hold a number that it cannot work with.
    pub fn build(self) -> Result<Box<dyn Shedder>, Error> {
        Ok(match self {
            Self::Avg(config) => Box::new(AvgShedder::new(config)?),
            Self::Threshold(config) => Box::new(ThresholdShedder::new(config)?),
            Self::Overload(config) => Box::new(OverloadShedder::new(config)?),
            Self::Uniform(config) => Box::new(UniformShedder::new(config)?),
            Self::Transfer(config) => Box::new(TransferShedder::new(config)?),
            Self::Global(config) => Box::new(GlobalPlanner::new(config)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strategy_is_found_by_its_name_and_built_from_its_settings() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
            for mode in [Mode::Safe, Mode::Reference] {
                let settings = strategy.settings(mode);
                assert_eq!(settings.strategy(), strategy);
                let text = serde_json::to_value(&settings).unwrap();
                assert_eq!(text["strategy"], strategy.name());
                assert_eq!(serde_json::from_value::<Settings>(text).unwrap(), settings);
                settings.build().unwrap();
            }
        }
        let unknown = "fastest".parse::<Strategy>().unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "no such strategy: fastest; there is avg, threshold, overload, uniform, transfer, \
             global"
        );
    }
}
