//! What can be compared.

mod log;
mod planner;
mod queue;

use super::Section;

/// All sections, in the order in which they run.
pub(super) const ALL: [&Section; 3] = [&log::SECTION, &queue::SECTION, &planner::SECTION];
