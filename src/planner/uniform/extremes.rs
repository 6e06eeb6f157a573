//! The busiest and the idlest broker by one measure.

use crate::ids::BrokerId;
use crate::planner::{BrokerLoad, Measure};

/// The reference begins its search for the least here: who has more is never found.
const LEAST_START: f64 = i32::MAX as f64;
/// What is this near to nothing counts as one.
const NEARLY_NOTHING: f64 = 1e-6;

/// The brokers with the most and with the least traffic; the first of several by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes<'a> {
    pub(super) measure: Measure,
    pub(super) busiest: Option<(&'a BrokerId, &'a BrokerLoad)>,
    /// A second.
    pub(super) most: f64,
    /// A second; never nothing.
    pub(super) least: f64,
}

impl<'a> Extremes<'a> {
    pub(super) fn of(
        brokers: impl Iterator<Item = (&'a BrokerId, &'a BrokerLoad)>,
        measure: Measure,
    ) -> Self {
        let mut extremes = Self {
            measure,
            busiest: None,
            most: -1.0,
            least: LEAST_START,
        };
        for broker in brokers {
            let traffic = measure.of(&broker.1.traffic);
            if traffic > extremes.most {
                extremes.most = traffic;
                extremes.busiest = Some(broker);
            }
            if traffic < extremes.least {
                extremes.least = traffic;
            }
        }
        if extremes.least.abs() <= NEARLY_NOTHING {
            extremes.least = 1.0;
        }
        extremes
    }

    /// By how many percent of the least the most is more.
    pub(super) fn percent(&self) -> f64 {
        (self.most - self.least) * 100.0 / self.least
    }

    /// How many times the least the most is.
    pub(super) fn factor(&self) -> f64 {
        self.most / self.least
    }

    /// A share of the difference. The reference keeps it in 32 bits.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the reference cuts it to a whole number, saturating"
    )]
    pub(super) fn share(&self, ratio: f64) -> i32 {
        ((self.most - self.least) * ratio) as i32
    }
}
