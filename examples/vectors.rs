//! Compares the planner with recorded decisions of Apache Pulsar, file by file.
//!
//! `cargo run --release --example vectors [-- FILE...]`; without a file it takes those in
//! `tests/data/vectors`. The exit status is 1 if any decision differs, 2 if a file cannot be read
//! or is of a form that is not known.

#[path = "../tests/support/vectors/mod.rs"]
mod vectors;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vectors");
        match vectors::known_files(&folder) {
            Ok(found) => files = found,
            Err(error) => {
                eprintln!("{}: {error}", folder.display());
                return ExitCode::from(2);
            }
        }
    }
    let mut status = 0;
    for file in files {
        status = status.max(judge(&file));
    }
    ExitCode::from(status)
}

/// Prints what was found about a file; the exit status that it deserves.
fn judge(file: &Path) -> u8 {
    match vectors::judge_file(file) {
        Ok(summary) => {
            if let Some(difference) = &summary.first_difference {
                println!("first difference: {difference}");
            }
            println!("{}: {summary}", file.display());
            u8::from(summary.different > 0)
        }
        Err(failure) => {
            eprintln!("{failure}");
            2
        }
    }
}
