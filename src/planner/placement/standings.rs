//! What each broker bears, and what was placed on it since it said so.

use crate::ids::BrokerId;
use std::collections::BTreeMap;

/// The reported loads of brokers, in any unit, and the bundles placed since.
#[derive(Clone, Debug, Default)]
pub(super) struct Standings {
    brokers: BTreeMap<BrokerId, Standing>,
    /// What an average bundle adds to a load.
    bundle_load: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    /// None: it is unknown.
    load: Option<f64>,
    /// Bundles placed on it since the last report.
    placed: u32,
}

impl Standings {
    /// Takes over what all brokers report: the load and the number of bundles of each.
    pub(super) fn renew(
        &mut self,
        reports: impl IntoIterator<Item = (BrokerId, Option<f64>, usize)>,
    ) {
        self.brokers.clear();
        let (mut load_all, mut bundles_all) = (0.0, 0.0);
        for (broker, load, bundles) in reports {
            let finite = load.filter(|load| load.is_finite());
            if let (Some(load), Ok(bundles)) = (finite, u32::try_from(bundles)) {
                load_all += load;
                bundles_all += f64::from(bundles);
            }
            self.brokers.insert(broker, Standing { load, placed: 0 });
        }
        self.bundle_load = if bundles_all > 0.0 {
            load_all / bundles_all
        } else {
            0.0
        };
    }

    /// The load of a broker as it was reported.
    pub(super) fn reported(&self, broker: &BrokerId) -> Option<f64> {
        self.brokers.get(broker).and_then(|known| known.load)
    }

    /// The least loaded of some candidates: a bundle placed since the last report counts as an
    /// average one, who is unknown comes last, ties go by name.
    pub(super) fn least<'a>(
        &self,
        candidates: impl Iterator<Item = &'a BrokerId>,
    ) -> Option<&'a BrokerId> {
        candidates.min_by(|a, b| {
            let (a_load, a_placed) = self.expected(a);
            let (b_load, b_placed) = self.expected(b);
            // The count decides where loads do not: on an idle cluster, or on an unknown one.
            let by_load = a_load.total_cmp(&b_load);
            by_load.then(a_placed.cmp(&b_placed)).then(a.cmp(b))
        })
    }

    /// Takes note that a broker got a bundle.
    pub(super) fn place(&mut self, broker: &BrokerId) {
        let standing = self.brokers.entry(broker.clone()).or_default();
        standing.placed = standing.placed.saturating_add(1);
    }

    /// The load to be expected, and how many bundles of it were placed since it was reported.
    fn expected(&self, broker: &BrokerId) -> (f64, u32) {
        let Standing { load, placed } = self.brokers.get(broker).copied().unwrap_or_default();
        let added = f64::from(placed) * self.bundle_load;
        (load.map_or(f64::INFINITY, |load| load + added), placed)
    }
}
