//! What the strategy remembers: the load of each broker, mixed with what it was before.

use crate::ids::BrokerId;
use std::collections::BTreeMap;

/// The smoothed load of each broker that took part in the last round.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    usage: BTreeMap<BrokerId, f64>,
}

impl History {
    /// As ratios.
    pub(super) const fn usage(&self) -> &BTreeMap<BrokerId, f64> {
        &self.usage
    }

    /// Takes in the present load of each broker, as a ratio, of which `history` is the share that
    /// history keeps; the average of all. A broker that is seen for the first
    /// time has its present load for a history; one that is not listed is forgotten.
    pub(super) fn smooth<'a>(
        &mut self,
        brokers: impl Iterator<Item = (&'a BrokerId, f64)>,
        history: f64,
    ) -> f64 {
        let before = std::mem::take(&mut self.usage);
        let (mut sum, mut count) = (0.0, 0.0);
        for (broker, now) in brokers {
            let usage = before
                .get(broker)
                .map_or(now, |before| before * history + (1.0 - history) * now);
            sum += usage;
            count += 1.0;
            self.usage.insert(broker.clone(), usage);
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }
}
