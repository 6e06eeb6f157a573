//! Compares the planner with recorded decisions of Apache Pulsar, file by file.
//!
//! `cargo run --release --example vectors [-- FILE...]`; without a file it takes those in
//! `tests/data`. The exit status is 1 if a decision differs, 2 if a file cannot be judged.

#[path = "../tests/support/vectors/mod.rs"]
mod vectors;

use std::io::{stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    match vectors::command::run(arguments, &mut stdout().lock(), &mut stderr().lock()) {
        Ok(status) => ExitCode::from(status),
        // Nobody reads any more: there is nobody to tell.
        Err(_) => ExitCode::from(2),
    }
}
