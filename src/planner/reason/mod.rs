//! The rules that stop a move, in words an operator can act on.

mod barred;
mod kept;
mod measure;
mod stopped;
mod trigger;

pub use barred::Barred;
pub use kept::Kept;
pub use measure::{Hits, Measure, Wanted};
pub use stopped::Stopped;
pub use trigger::Trigger;
