//! I5: the bundles of a namespace, but deleted ones, neither overlap nor leave a gap.

use super::Violation;
use crate::table::{Applied, Table};

/// Looks after each entry that brought rows into being or removed some.
pub(in crate::sim) fn check_whole(whole: &Table, applied: &Applied) -> Result<(), Violation> {
    let mut changes = applied.outcome.iter().flatten();
    if !changes.any(|change| change.before.is_none() || change.after.is_none()) {
        return Ok(());
    }
    whole.check_whole().map_err(|error| Violation::NotWhole {
        position: applied.position,
        error,
    })
}
