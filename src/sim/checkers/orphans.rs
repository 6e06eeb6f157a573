//! I11: what a dead broker held, or what is stuck on its way, finds a living owner in bounded time.

use super::Violation;
use crate::clock::Tick;
use crate::ids::BundleId;
use crate::log::Members;
use crate::protocol::Config;
use crate::state::{Record, Row};
use crate::table::Table;
use std::collections::BTreeMap;
use std::time::Duration;

/// Since when each bundle has been without a living owner.
#[derive(Debug, Default)]
pub(in crate::sim) struct Orphans {
    since: BTreeMap<BundleId, Tick>,
    /// The last time that a member came or went, the lead changed, or a fault was there.
    disturbed: Tick,
}

impl Orphans {
    /// Something happened after which the leader may begin its work again.
    pub(in crate::sim) fn disturb(&mut self, now: Tick) {
        self.disturbed = now;
    }

    /// Looks at all bundles.
    pub(in crate::sim) fn check(
        &mut self,
        now: Tick,
        whole: &Table,
        members: &Members,
        config: &Config,
    ) -> Result<(), Violation> {
        let allowed = Self::bound(config);
        let lost = whole
            .holders()
            .filter(|holder| !members.is_alive(holder.session))
            .flat_map(|holder| whole.held_by(holder))
            .chain(whole.in_flight().filter(|(_, row)| is_promised(row)));
        let mut since = BTreeMap::new();
        for (bundle, row) in lost {
            let first = self.since.get(bundle).copied().unwrap_or(now);
            since.insert(bundle.clone(), first);
            let waited = now.since(first.max(self.disturbed));
            if waited > allowed {
                return Err(Violation::OrphanLeft {
                    bundle: bundle.clone(),
                    row: row.clone(),
                    waited,
                    allowed,
                });
            }
        }
        self.since = since;
        Ok(())
    }

    /// The bound of the design, by a slow clock, and the way there and back.
    pub(in crate::sim) fn bound(config: &Config) -> Duration {
        let bound = config.session_ttl
            + config.takeover_delay()
            + config.reclaim_grace
            + config.monitor_interval
            + config.in_flight_limit;
        bound.mul_f64(1.0 + config.drift) + Duration::from_secs(5)
    }
}

/// Whether nobody holds the bundle, and somebody is to.
fn is_promised(row: &Row) -> bool {
    matches!(
        row.record,
        Record::Assigning { .. } | Record::Splitting { source: None, .. }
    )
}
