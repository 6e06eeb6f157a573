//! The bundles of one broker that may move.

use crate::ids::BundleId;
use crate::planner::guard::{Cargo, Guard};
use crate::planner::outlook::Machine;
use crate::planner::{BrokerLoad, Kept, Traffic};

/// One bundle that may move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) cargo: Cargo<'a>,
    /// How many points it is of its broker's score.
    pub(super) size: f64,
    /// Which share it is of the cluster's traffic: of messages and of bytes, on average.
    pub(super) weight: f64,
    /// Whether it moves.
    pub(super) gone: bool,
}

/// What a broker may give, biggest first, ties by name; and what it must keep.
#[derive(Debug)]
pub(super) struct Stock<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) kept: Vec<(BundleId, Kept)>,
}

impl<'a> Stock<'a> {
    /// Looks at every bundle of a broker once.
    pub(super) fn new(
        broker: &'a BrokerLoad,
        reported: &Machine,
        guard: &Guard<'a>,
        cluster: &Traffic,
    ) -> Self {
        let mut items = Vec::with_capacity(broker.bundles.len());
        let mut kept = Vec::new();
        for (bundle, load) in &broker.bundles {
            match guard.admit(bundle, load.as_ref()) {
                Ok(load) => {
                    let burden = reported.burden_of(&load.short_term);
                    items.push(Item {
                        cargo: Cargo {
                            bundle,
                            load,
                            burden,
                        },
                        size: reported.points_of(&burden),
                        weight: weight(&load.short_term, cluster),
                        gone: false,
                    });
                }
                Err(rule) => kept.push((bundle.clone(), rule)),
            }
        }
        // The sort is stable, and the bundles come in the order of their names.
        items.sort_by(|a, b| b.size.total_cmp(&a.size));
        Self { items, kept }
    }
}

fn weight(traffic: &Traffic, cluster: &Traffic) -> f64 {
    let share = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
    let messages = share(traffic.messages(), cluster.messages());
    let bytes = share(traffic.bytes(), cluster.bytes());
    f64::midpoint(messages, bytes)
}
