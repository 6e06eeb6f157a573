//! I2: of conflicting changes the first valid one stands, for every reader.

use super::Violation;
use crate::ids::{BrokerId, BundleId, Position};
use crate::log::Payload;
use crate::table::Applied;
use std::collections::BTreeMap;

/// Judgements kept for so many positions.
const KEPT: usize = 1 << 16;

/// What counted in the history.
#[derive(Debug, Default)]
pub(in crate::sim) struct FirstValid {
    accepted: BTreeMap<Position, bool>,
    /// The newest version of each bundle that somebody has changed.
    changed: BTreeMap<BundleId, Position>,
}

impl FirstValid {
    /// Notes an entry of the history: no version of a bundle is changed twice.
    pub(in crate::sim) fn note(
        &mut self,
        payload: &Payload,
        applied: &Applied,
    ) -> Result<(), Violation> {
        let position = applied.position;
        if self.accepted.len() >= KEPT {
            self.accepted.pop_first();
        }
        self.accepted.insert(position, applied.outcome.is_ok());
        let Payload::Entry(entry) = payload else {
            return Ok(());
        };
        if applied.outcome.is_err() {
            return Ok(());
        }
        for change in entry.changes() {
            let version = change.expected;
            let before = self.changed.insert(change.bundle.clone(), version);
            if before.is_some_and(|before| before >= version) {
                return Err(Violation::ChangedTwice {
                    bundle: change.bundle.clone(),
                    version,
                    position,
                });
            }
        }
        Ok(())
    }

    /// Compares a reader's judgement.
    pub(in crate::sim) fn check(
        &self,
        broker: &BrokerId,
        applied: &Applied,
    ) -> Result<(), Violation> {
        match self.accepted.get(&applied.position) {
            Some(accepted) if *accepted != applied.outcome.is_ok() => {
                Err(Violation::JudgedOtherwise {
                    broker: broker.clone(),
                    position: applied.position,
                })
            }
            _ => Ok(()),
        }
    }
}
