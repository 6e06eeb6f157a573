//! From planned splits to requests.

use crate::ids::{BundleId, Cuts, Position};
use crate::planner::split::{Split, SplitPlan, SplitStrategy, TopicLoad};
use crate::protocol::{Action, Refused, Request};
use crate::state::{Record, Row, State, View};
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

/// Where the strategy cuts one bundle that somebody wants to have split at once, by what is known
/// of its topics; and the version of the row by which this was decided.
///
/// # Errors
///
/// [`Refused`], if nobody owns the bundle or it stays whole.
///
/// # Examples
///
/// ```
/// use deedbook::balance::find_cuts;
/// use deedbook::planner::split::{Config, SplitStrategy};
/// use deedbook::protocol::Refused;
/// use deedbook::table::Table;
///
/// let strategy = SplitStrategy::new(Config::default()).unwrap();
/// let bundle = "acme/orders/0x00000000_0xffffffff".parse().unwrap();
/// let refused = find_cuts(&strategy, &bundle, &[], &Table::default()).unwrap_err();
/// assert!(matches!(refused, Refused::Absent { .. }));
/// ```
pub fn find_cuts(
    strategy: &SplitStrategy,
    bundle: &BundleId,
    topics: &[TopicLoad],
    table: &Table,
) -> Result<(Position, Cuts), Refused> {
    let bundle = bundle.clone();
    let Some(row) = table.get(&bundle) else {
        let covering = table.covering(&bundle);
        return Err(Refused::Absent { bundle, covering });
    };
    let state = row.record.state();
    if state != State::Owned {
        return Err(Refused::WrongState { bundle, state });
    }
    let is_part = |(_, row): &(&BundleId, &Row)| row.record != Record::Deleted;
    let count = table.rows_of(bundle.namespace()).filter(is_part).count();
    match strategy.cut(&bundle, topics, count) {
        Ok(cuts) => Ok((row.version, cuts)),
        Err(why) => Err(Refused::StaysWhole { bundle, why }),
    }
}
