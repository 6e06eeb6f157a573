//! Why a broker is to give something away.

use super::Measure;
use crate::ids::BrokerId;
use crate::planner::transfer::Uneven;
use std::fmt;

/// Why something is to leave a broker, for strategies that do not compare pairs of brokers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trigger {
    /// Its load is far above the average.
    AboveAverage {
        /// Its load with its history, in points.
        smoothed: f64,
        /// Its load without, in points.
        current: f64,
        /// The average of all brokers with their history, in points.
        average: f64,
        /// How many points above the average are too much.
        threshold: f64,
    },
    /// Another broker is far below the average, and this one bears the most.
    MostLoaded {
        /// Its load with its history, in points.
        smoothed: f64,
        /// The average of all brokers with their history, in points.
        average: f64,
    },
    /// Its load is above what a broker may bear.
    AboveLimit {
        /// Its load, in points.
        points: f64,
        /// From how many points on it is too much.
        limit: f64,
    },
    /// It has the most traffic, by far more than another broker.
    Busiest {
        /// By what traffic is measured.
        measure: Measure,
        /// How much it has, a second.
        most: f64,
        /// How much the idlest has, a second; one if that is nothing.
        least: f64,
    },
    /// It is the most loaded one that had not given yet.
    Uneven(Uneven),
    /// What it got did not fit without something in return.
    InReturn {
        /// Who gave it.
        to: BrokerId,
    },
}

impl Trigger {
    /// Whether it is what a broker bore before, not what it bears now.
    #[must_use]
    pub fn is_history(&self) -> bool {
        matches!(self, Self::AboveAverage { current, average, threshold, .. }
            if *current < average + threshold)
    }

    /// A short word for the rule, the same in every release, such as `above_average`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::AboveAverage { .. } => "above_average",
            Self::MostLoaded { .. } => "most_loaded",
            Self::AboveLimit { .. } => "above_limit",
            Self::Busiest { .. } => "busiest",
            Self::Uneven(Uneven::Deviation) => "deviation",
            Self::Uneven(Uneven::Underloaded) => "underloaded",
            Self::Uneven(Uneven::Overloaded) => "overloaded",
            Self::InReturn { .. } => "in_return",
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AboveAverage {
                smoothed,
                current,
                average,
                threshold,
            } => {
                write!(
                    f,
                    "{smoothed:.1} points with history ({current:.1} without) are {threshold} and \
                     more above the average of {average:.1}"
                )?;
                if self.is_history() {
                    f.write_str("; its history alone makes it so")?;
                }
                Ok(())
            }
            Self::MostLoaded { smoothed, average } => write!(
                f,
                "{smoothed:.1} points with history are the most, and a broker is far below the \
                 average of {average:.1}"
            ),
            Self::AboveLimit { points, limit } => {
                write!(f, "{points:.1} points reach the limit of {limit}")
            }
            Self::Busiest {
                measure,
                most,
                least,
            } => write!(
                f,
                "has the most {measure}: {most:.1} {unit}, and the idlest {least:.1} {unit}",
                unit = measure.unit()
            ),
            Self::Uneven(Uneven::Deviation) => {
                f.write_str("is the most loaded, and the loads deviate too much")
            }
            Self::Uneven(Uneven::Underloaded) => {
                f.write_str("is the most loaded, and another broker bears hardly anything")
            }
            Self::Uneven(Uneven::Overloaded) => {
                f.write_str("bears too much, and far more than the average")
            }
            Self::InReturn { to } => write!(f, "gives in return for what {to} gives"),
        }
    }
}
