//! What can be compared.

mod log;

use super::Section;

/// All sections, in the order in which they run.
pub(super) const ALL: [&Section; 1] = [&log::SECTION];
