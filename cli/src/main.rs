//! The command `deedbook`.

fn main() {}
