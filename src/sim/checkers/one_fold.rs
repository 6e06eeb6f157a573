//! I1: whoever has read as far has the same table, from whatever snapshot it began.

use super::Violation;
use crate::ids::{BrokerId, Position};
use crate::table::{Digest, Table};
use std::collections::BTreeMap;

/// Digests of the whole history, kept for so many positions.
const KEPT: usize = 1 << 16;

/// What the fold of the whole history was at each position.
#[derive(Debug, Default)]
pub(in crate::sim) struct OneFold {
    digests: BTreeMap<Position, Digest>,
}

impl OneFold {
    /// Notes the fold of the whole history. A digest takes time in proportion to the table, so that
    /// large tables are compared less often.
    pub(in crate::sim) fn note(&mut self, whole: &Table) {
        let stride = 1 + u64::try_from(whole.row_count() / 64).unwrap_or(0);
        if !whole.next().get().is_multiple_of(stride) {
            return;
        }
        if self.digests.len() >= KEPT {
            self.digests.pop_first();
        }
        self.digests.insert(whole.next(), whole.digest());
    }

    /// Compares the table of a snapshot.
    pub(in crate::sim) fn check_snapshot(&self, table: &Table) -> Result<(), Violation> {
        let found = table.digest();
        match self.digests.get(&table.next()) {
            Some(&expected) if expected != found => Err(Violation::WrongSnapshot {
                horizon: table.next(),
                found,
                expected,
            }),
            _ => Ok(()),
        }
    }

    /// Compares a reader's table, if the history's fold up to there is known.
    pub(in crate::sim) fn check(&self, broker: &BrokerId, table: &Table) -> Result<(), Violation> {
        let Some(&expected) = self.digests.get(&table.next()) else {
            return Ok(());
        };
        let found = table.digest();
        if found == expected {
            return Ok(());
        }
        Err(Violation::TwoFolds {
            broker: broker.clone(),
            next: table.next(),
            found,
            expected,
        })
    }
}
