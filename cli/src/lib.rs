//! The parts of the command `deedbook`.
