//! The command that judges files and says what it found.

use super::{judge_file, known_files};
use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

const USAGE: &str = "usage: vectors [FILE...]

Compares the planner with recorded decisions of Apache Pulsar. Without a file it takes those in
tests/data; a file of any name is known by what stands in it. Each file ends with a line of counts;
before it stand the reasons of all rounds that are not exact. Exit status: 0 all agree, 1 a decision
differs, 2 a file cannot be judged.";

/// Does what the arguments say; the exit status.
pub(crate) fn run(
    arguments: impl Iterator<Item = OsString>,
    out: &mut impl Write,
    errors: &mut impl Write,
) -> Result<u8> {
    let mut files: Vec<PathBuf> = Vec::new();
    for argument in arguments {
        let text = argument.to_string_lossy();
        if text == "--help" || text == "-h" {
            writeln!(out, "{USAGE}")?;
            return Ok(0);
        }
        if text.starts_with('-') {
            writeln!(errors, "no such option: {text}; usage: vectors [FILE...]")?;
            return Ok(2);
        }
        files.push(argument.into());
    }
    if files.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        match known_files(&folder) {
            Ok(found) => files = found,
            Err(error) => {
                writeln!(errors, "{}: {error}", folder.display())?;
                return Ok(2);
            }
        }
    }
    let mut status = 0;
    for file in files {
        status = status.max(judge(&file, out, errors)?);
    }
    Ok(status)
}

/// Says what was found about a file; the exit status that it deserves.
fn judge(file: &Path, out: &mut impl Write, errors: &mut impl Write) -> Result<u8> {
    match judge_file(file) {
        Ok(summary) => {
            for difference in &summary.differences {
                writeln!(out, "different: {difference}")?;
            }
            for ((what, why), count) in &summary.reasons {
                writeln!(out, "{what}: {count}, {why}")?;
            }
            writeln!(out, "{}: {summary}", file.display())?;
            Ok(u8::from(summary.different > 0))
        }
        Err(failure) => {
            writeln!(errors, "{failure}")?;
            Ok(2)
        }
    }
}
