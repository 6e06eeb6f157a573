//! Placements by their names, and how to make one.

use super::{
    AtRandom, ByPlan, InTurn, LeastLoaded, LeastLongTermMessageRate, LeastReportedUsage,
    LeastResourceUsage, Placement, RoundRobin, Sticky, UsageConfig,
};
use crate::planner::{Error, Mode, Weights};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A way to choose a broker for a bundle. Each has a safe mode and that of Apache Pulsar.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PlacementKind {
    /// The planned destination; else the least loaded ([`ByPlan`]), or any ([`Sticky`]).
    #[default]
    Avg,
    /// Evenly by a hash: [`AtRandom`] in both modes.
    Random,
    /// The least messages over a long time: [`LeastLoaded`] or [`LeastLongTermMessageRate`].
    LeastLongTermMessageRate,
    /// By the fullest resource: [`LeastLoaded`] or [`LeastResourceUsage`].
    LeastResourceUsage,
    /// The same by what brokers smooth: [`LeastLoaded`] or [`LeastReportedUsage`].
    LeastResourceUsageReported,
    /// One after the other: [`InTurn`] or [`RoundRobin`].
    RoundRobin,
}

impl PlacementKind {
    /// All of them, the default one first.
    pub const ALL: [Self; 6] = [
        Self::Avg,
        Self::Random,
        Self::LeastLongTermMessageRate,
        Self::LeastResourceUsage,
        Self::LeastResourceUsageReported,
        Self::RoundRobin,
    ];

    /// The name by which it is asked for, the same in every release.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avg => "avg",
            Self::Random => "random",
            Self::LeastLongTermMessageRate => "least-long-term-message-rate",
            Self::LeastResourceUsage => "least-resource-usage",
            Self::LeastResourceUsageReported => "least-resource-usage-reported",
            Self::RoundRobin => "round-robin",
        }
    }

    /// One with default settings that knows nothing yet. The seed decides what is left to chance.
    ///
    /// # Errors
    ///
    /// None with default settings.
    pub fn build(self, mode: Mode, seed: u64) -> Result<Box<dyn Placement>, Error> {
        let usage = UsageConfig::default();
        let limit = LeastLongTermMessageRate::OVERLOADED_POINTS;
        Ok(match (self, mode) {
            (Self::Avg, Mode::Safe) => Box::new(ByPlan::new()),
            (Self::Avg, Mode::Reference) => Box::new(Sticky::new(seed)),
            (Self::Random, _) => Box::new(AtRandom::new(seed)),
            (Self::LeastLongTermMessageRate, Mode::Safe) => {
                Box::new(LeastLoaded::by_messages(limit, Weights::default()))
            }
            (Self::LeastLongTermMessageRate, Mode::Reference) => {
                Box::new(LeastLongTermMessageRate::new(seed))
            }
            (Self::LeastResourceUsage, Mode::Safe) => Box::new(LeastLoaded::by_usage(usage)?),
            (Self::LeastResourceUsage, Mode::Reference) => {
                Box::new(LeastResourceUsage::new(seed, usage)?)
            }
            (Self::LeastResourceUsageReported, Mode::Safe) => {
                Box::new(LeastLoaded::by_reported_usage(usage)?)
            }
            (Self::LeastResourceUsageReported, Mode::Reference) => {
                Box::new(LeastReportedUsage::new(seed, usage)?)
            }
            (Self::RoundRobin, Mode::Safe) => Box::new(InTurn::new()),
            (Self::RoundRobin, Mode::Reference) => Box::new(RoundRobin::new()),
        })
    }
}

impl fmt::Display for PlacementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PlacementKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| Error::UnknownPlacement {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BrokerId;

    #[test]
    fn each_kind_is_found_by_its_name_and_places_on_a_candidate() {
        let brokers = ["a", "b"].map(|name| BrokerId::new(name).unwrap());
        let bundle = "t/n/0x00000000_0xffffffff".parse().unwrap();
        for kind in PlacementKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            for mode in [Mode::Safe, Mode::Reference] {
                let mut placement = kind.build(mode, 1).unwrap();
                assert_eq!(placement.place(&bundle, &[]), None, "{kind}");
                let placed = placement.place(&bundle, &brokers).unwrap();
                assert!(brokers.contains(&placed), "{kind}");
            }
        }
        assert!("dice".parse::<PlacementKind>().is_err());
    }
}
