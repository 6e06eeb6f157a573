//! Moves that were planned and do not show in the reports yet.

use super::{ClusterLoad, Move};
use crate::ids::{BrokerId, BundleId};
use std::collections::BTreeSet;

/// For so many rounds at most a broker is left alone because a move has not shown in its report.
const UNREPORTED_ROUNDS_MAX: u32 = 3;

/// What a strategy remembers of its moves until reports show them: to plan with the old figures
/// would be to move twice what is too much.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreportedMoves {
    moves: Vec<Unreported>,
}

/// A move that was planned and did not show in the reports yet.
#[derive(Clone, Debug)]
struct Unreported {
    bundle: BundleId,
    from: BrokerId,
    to: BrokerId,
    rounds: u32,
}

impl UnreportedMoves {
    /// The brokers that have lost or will get a bundle which their reports do not show yet.
    pub(super) fn unsettled(&mut self, load: &ClusterLoad) -> BTreeSet<BrokerId> {
        let mut unsettled = BTreeSet::new();
        self.moves.retain_mut(|awaited| {
            let owns = |broker: &BrokerId| {
                let of = load.brokers.get(broker);
                of.map(|of| of.bundles.contains_key(&awaited.bundle))
            };
            let has_left = owns(&awaited.from) == Some(true);
            let missing = owns(&awaited.to) == Some(false);
            if awaited.rounds == 0 || !(has_left || missing) {
                return false;
            }
            awaited.rounds -= 1;
            if has_left {
                unsettled.insert(awaited.from.clone());
            }
            if missing {
                unsettled.insert(awaited.to.clone());
            }
            true
        });
        unsettled
    }

    /// Remembers moves.
    pub(super) fn add(&mut self, moves: &[Move]) {
        self.moves.extend(moves.iter().map(|planned| Unreported {
            bundle: planned.bundle.clone(),
            from: planned.from.clone(),
            to: planned.to.clone(),
            rounds: UNREPORTED_ROUNDS_MAX,
        }));
    }
}
