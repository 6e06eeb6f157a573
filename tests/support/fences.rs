//! Invariant I4, looked at change by change.

use deedbook::ids::{BundleId, Fence, Holder};
use deedbook::table::RowChange;

/// Invariant I4: whoever held any of a key before got a lower fence.
#[derive(Default)]
pub(crate) struct Fences {
    given: Vec<(BundleId, Holder, Fence)>,
}

impl Fences {
    pub(crate) fn check(&mut self, changes: &[RowChange]) {
        for change in changes {
            let Some(row) = &change.after else { continue };
            let Some(holder) = row.record.holder() else {
                continue;
            };
            for (bundle, former, fence) in &self.given {
                let same = former == holder && *fence == row.fence;
                if bundle.overlaps(&change.bundle) && !same {
                    assert!(
                        *fence < row.fence,
                        "{former} and then {holder} on {}",
                        change.bundle
                    );
                }
            }
            self.given
                .push((change.bundle.clone(), holder.clone(), row.fence));
        }
    }
}
