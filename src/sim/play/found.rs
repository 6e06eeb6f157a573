//! What a play tells: of each round, of the compaction in its middle, and of its end.

use crate::balance::{MoveReport, SplitReport};
use crate::ids::{BundleId, Position};
use crate::planner::split::SplitPlan;
use crate::planner::{ClusterLoad, Plan};
use crate::sim::scenario::Happening;
use crate::state::Row;
use crate::table::Digest;
use std::collections::BTreeMap;
use std::time::Duration;

/// The compaction that fell into the middle of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The bundle that was being moved.
    pub bundle: BundleId,
    /// What the book said of it.
    pub row: Row,
    /// The horizon of the snapshot.
    pub horizon: Position,
}

/// What one round came to.
#[derive(Clone, Debug)]
pub struct Round {
    /// Which, from 1.
    pub number: u32,
    /// When it began, from the start.
    pub at: Duration,
    /// What happened before it.
    pub events: Vec<Happening>,
    /// What was reported.
    pub load: ClusterLoad,
    /// What was planned, and why.
    pub plan: Plan,
    /// What became of the moves.
    pub moves: Vec<MoveReport>,
    /// What should be split after them, and why other bundles that are too big stay whole.
    pub split_plan: SplitPlan,
    /// What became of the splits.
    pub splits: Vec<SplitReport>,
    /// The compaction, if it fell into this round.
    pub compacted: Option<Compacted>,
}

/// How a scenario ended.
#[derive(Clone, Debug)]
pub struct Ending {
    /// What would be reported at the end.
    pub load: ClusterLoad,
    /// Ownership from the whole history.
    pub whole: Digest,
    /// Ownership from the newest snapshot and what follows it.
    pub compacted: Digest,
    /// The horizon of that snapshot; none if there was no compaction.
    pub horizon: Option<Position>,
    /// The next position that would be written.
    pub end: Position,
    /// Entries that did not count, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// How many events the simulator went through.
    pub events: u64,
}

impl Ending {
    /// Whether the whole history and its compacted form say the same.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.whole == self.compacted
    }
}
