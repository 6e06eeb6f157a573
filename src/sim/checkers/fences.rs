//! I4: the fences of a key's successive owners grow, so that storage can refuse former owners.

use super::Violation;
use crate::ids::{BrokerId, BundleId, Fence, Holder, KeyRange, Namespace};
use crate::state::State;
use crate::table::Applied;
use std::collections::BTreeMap;

/// The last owner that each part of a key space had.
#[derive(Debug, Default)]
pub(in crate::sim) struct Fences {
    owners: BTreeMap<Namespace, Vec<(KeyRange, Fence, Holder)>>,
}

impl Fences {
    /// Notes an entry of the history: whoever owns keys has a higher fence than whoever did before.
    pub(in crate::sim) fn note(&mut self, applied: &Applied) -> Result<(), Violation> {
        for change in applied.outcome.iter().flatten() {
            let Some(row) = &change.after else { continue };
            let serves = matches!(row.record.state(), State::Owned | State::Splitting);
            if let Some(holder) = row.record.holder().filter(|_| serves) {
                self.own(&change.bundle, holder, row.fence)?;
            }
        }
        Ok(())
    }

    fn own(&mut self, bundle: &BundleId, holder: &Holder, fence: Fence) -> Result<(), Violation> {
        let owners = self.owners.entry(bundle.namespace().clone()).or_default();
        let range = bundle.range();
        if owners.contains(&(range, fence, holder.clone())) {
            // It owns it still.
            return Ok(());
        }
        let mut before = owners.iter().filter(|(other, _, _)| other.overlaps(range));
        if let Some((_, earlier, before)) = before.find(|(_, earlier, _)| *earlier >= fence) {
            return Err(Violation::FenceNotAbove {
                holder: holder.clone(),
                bundle: bundle.clone(),
                fence,
                before: before.clone(),
                earlier: *earlier,
            });
        }
        let inside =
            |other: KeyRange| other.lower() >= range.lower() && other.upper() <= range.upper();
        owners.retain(|(other, _, _)| !inside(*other));
        owners.push((range, fence, holder.clone()));
        Ok(())
    }

    /// Whether somebody owned the key with a higher fence.
    fn is_former(&self, namespace: &Namespace, key: u32, fence: Fence) -> bool {
        let owners = self.owners.get(namespace).into_iter().flatten();
        owners
            .filter(|(range, _, _)| range.contains(key))
            .any(|(_, newer, _)| *newer > fence)
    }
}

/// A write of an owner on its way to storage.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Write {
    pub(in crate::sim) broker: BrokerId,
    pub(in crate::sim) bundle: BundleId,
    pub(in crate::sim) key: u32,
    pub(in crate::sim) fence: Fence,
}

/// Storage that all brokers share: it keeps the highest fence that it saw for a key, and refuses
/// lower ones.
#[derive(Debug, Default)]
pub(in crate::sim) struct Store {
    highest: BTreeMap<(Namespace, u32), Fence>,
    pub(in crate::sim) written: u64,
    pub(in crate::sim) refused: u64,
}

impl Store {
    /// Takes a write, however late it comes. Only a former owner's may be refused.
    pub(in crate::sim) fn write(&mut self, write: Write, fences: &Fences) -> Result<(), Violation> {
        let namespace = write.bundle.namespace();
        let key = (namespace.clone(), write.key);
        let highest = self.highest.entry(key).or_default();
        if write.fence >= *highest {
            *highest = write.fence;
            self.written += 1;
            return Ok(());
        }
        self.refused += 1;
        if fences.is_former(namespace, write.key, write.fence) {
            return Ok(());
        }
        Err(Violation::OwnerRefused {
            highest: *highest,
            broker: write.broker,
            bundle: write.bundle,
            fence: write.fence,
        })
    }
}
