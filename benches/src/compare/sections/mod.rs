//! What can be compared.

mod log;
mod queue;

use super::Section;

/// All sections, in the order in which they run.
pub(super) const ALL: [&Section; 2] = [&log::SECTION, &queue::SECTION];
