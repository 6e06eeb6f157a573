//! From planned splits to requests.

use crate::planner::split::{Split, SplitPlan};
use crate::protocol::{Action, Request};
use crate::state::Record;
use crate::table::Table;

/// What to ask of the protocol for each planned split, with the version that the table shows now:
/// a bundle that changes before is left alone. One that its broker does not own any more is left
/// out.
#[must_use]
pub fn split_requests(plan: &SplitPlan, table: &Table) -> Vec<Request> {
    let request = |split: &Split| {
        let row = table.get(&split.bundle)?;
        let owns = matches!(
            &row.record,
            Record::Owned { owner } if owner.broker == split.broker
        );
        owns.then(|| Request::Bundle {
            bundle: split.bundle.clone(),
            expected: Some(row.version),
            action: Action::Split {
                cuts: split.cuts.clone(),
            },
        })
    };
    plan.splits.iter().filter_map(request).collect()
}
