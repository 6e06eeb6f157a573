//! What can be compared.

mod fold;
mod log;
mod planner;
mod queue;
mod table;

use super::Section;

/// All sections, in the order in which they run.
pub(super) const ALL: [&Section; 7] = [
    &log::SECTION,
    &fold::REPLAY,
    &fold::SNAPSHOT,
    &fold::COMPACTION,
    &table::SECTION,
    &queue::SECTION,
    &planner::SECTION,
];
