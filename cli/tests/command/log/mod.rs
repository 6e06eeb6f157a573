//! `deedbook log` on real files, beside a process that writes them.

mod book;
mod copies;
mod damage;
#[cfg(target_os = "linux")]
mod disks;
mod refusals;
mod views;

pub(crate) use book::Book;

use crate::deedbook;
use serde_json::Value;

/// What a command prints as JSON, with this exit status.
pub(crate) fn json(args: &[&str], code: i32) -> Value {
    let run = deedbook().args(args).arg("--json").assert().code(code);
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

/// The one line that a command says instead of doing its work.
pub(crate) fn refused(args: &[&str]) -> String {
    let run = deedbook().args(args).assert().code(2).stdout_eq("");
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
    assert!(text.starts_with("error: "), "{text}");
    text
}
