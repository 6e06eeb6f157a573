//! I10: the horizon never moves back, and nothing at or above it is trimmed.

use super::Violation;
use crate::ids::Position;

/// The highest horizon seen.
#[derive(Debug, Default)]
pub(in crate::sim) struct Horizon {
    highest: Position,
    /// The horizon whose snapshot was looked at last.
    looked_at: Position,
}

impl Horizon {
    /// Looks at the committed horizon and at the first position that can still be read.
    pub(in crate::sim) fn check(
        &mut self,
        horizon: Position,
        first: Position,
    ) -> Result<(), Violation> {
        let before = self.highest;
        self.highest = before.max(horizon);
        if horizon < before || first > horizon {
            return Err(Violation::Horizon {
                before,
                found: horizon,
                first,
            });
        }
        Ok(())
    }

    /// Whether the snapshot of this horizon was not looked at before; from now on it was.
    pub(in crate::sim) fn is_new(&mut self, horizon: Position) -> bool {
        std::mem::replace(&mut self.looked_at, horizon) != horizon
    }
}
