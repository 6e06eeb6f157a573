//! Placement in turn.

use super::Placement;
use crate::ids::{BrokerId, BundleId};

/// The last turn before they begin anew.
const TURN_MAX: u32 = i32::MAX as u32;

/// One candidate after the other, whatever they bear.
///
/// The order is that of the candidates when they were last looked at: as long as their number stays
/// and the one whose turn it is still is a candidate, nothing else is noticed. Like Apache Pulsar's
/// `RoundRobinBrokerSelector`.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    turn: u32,
    order: Vec<BrokerId>,
}

impl RoundRobin {
    /// One that begins with the first candidate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that had so many turns already.
    #[must_use]
    pub const fn after(turns: u32) -> Self {
        Self {
            turn: turns,
            order: Vec::new(),
        }
    }

    /// How many turns it had; after 2147483647 it begins anew.
    #[must_use]
    pub const fn turns(&self) -> u32 {
        self.turn
    }
}

impl Placement for RoundRobin {
    fn place(&mut self, _: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        let count = u32::try_from(candidates.len()).ok()?;
        let index = usize::try_from(self.turn.checked_rem(count)?).ok()?;
        self.turn = if self.turn < TURN_MAX {
            self.turn + 1
        } else {
            0
        };
        let known = self
            .order
            .get(index)
            .filter(|next| candidates.contains(next));
        if self.order.len() != candidates.len() || known.is_none() {
            self.order = candidates.to_vec();
        }
        self.order.get(index).cloned()
    }
}

/// One candidate after the other by name, whatever they bear: whose turn it is goes by the last
/// one, so who comes or goes is noticed at once.
#[derive(Clone, Debug, Default)]
pub struct InTurn {
    last: Option<BrokerId>,
}

impl InTurn {
    /// One that begins with the first candidate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Placement for InTurn {
    fn place(&mut self, _: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        let next = candidates
            .iter()
            .find(|one| Some(*one) > self.last.as_ref());
        self.last = Some(next.or(candidates.first())?.clone());
        self.last.clone()
    }
}
