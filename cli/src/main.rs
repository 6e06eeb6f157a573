//! The command `deedbook`.

use std::io::{stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    deedbook_cli::run(std::env::args_os(), &mut stdout(), &mut stderr()).into()
}
