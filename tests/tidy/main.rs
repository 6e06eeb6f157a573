//! The style as a test: what reviewers would otherwise have to say again and again.
//!
//! Each rule is a function from one file to findings; each finding names file and line and says
//! what to do. The rules themselves are tested in `broken`, on small files that break them.
#![cfg(test)]

mod broken;
mod layers;
mod rules;
mod source;

use source::Source;
use std::fmt;
use std::fs;
use std::path::Path;

/// Files that need not keep a rule: the rule's name, the file, and why.
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

/// Folders that hold no sources: what git, builds and fuzzing leave, and data that is kept byte
/// for byte.
const SKIPPED: [&str; 6] = [
    ".git",
    "target",
    "fuzz/artifacts",
    "fuzz/corpus",
    "tests/data",
    "tests/golden",
];

/// A rule that a file breaks.
#[derive(Debug)]
struct Finding {
    path: String,
    line: usize,
    advice: String,
}

impl Finding {
    fn new(path: &str, line: usize, advice: String) -> Self {
        let path = path.to_owned();
        Self { path, line, advice }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.advice)
    }
}

/// All text files below a folder, in order of their paths, which are relative to the root.
fn texts(root: &Path, folder: &str, found: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> = fs::read_dir(root.join(folder))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().unwrap();
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        if SKIPPED.contains(&path.as_str()) || name == "target" || name == "Cargo.lock" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            // A target folder under another name carries this mark.
            if !entry.path().join("CACHEDIR.TAG").exists() {
                texts(root, &path, found);
            }
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            found.push((path, text));
        }
    }
}

fn repository() -> Vec<(String, String)> {
    let mut found = Vec::new();
    texts(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut found);
    assert!(
        found.iter().any(|(path, _)| path == "src/lib.rs"),
        "the sources are missing"
    );
    found
}

/// Runs a rule over the whole repository.
fn check(rule: &str, find: impl Fn(&str, &str) -> Vec<Finding>) {
    let mut findings: Vec<_> = repository()
        .iter()
        .flat_map(|(path, text)| find(path, text))
        .collect();
    for (_, path, reason) in EXCEPTIONS.iter().filter(|(name, ..)| *name == rule) {
        let before = findings.len();
        findings.retain(|finding| finding.path != *path);
        assert!(
            findings.len() < before,
            "{path} keeps {rule} now; remove it ({reason})"
        );
    }
    let lines: Vec<_> = findings.iter().map(Finding::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

/// Runs a rule over all Rust files.
fn check_rust(rule: &str, find: impl Fn(&Source) -> Vec<Finding>) {
    check(rule, |path, text| {
        if path.ends_with(".rs") {
            find(&Source::new(path, text))
        } else {
            Vec::new()
        }
    });
}

#[test]
fn imports_go_down() {
    check_rust("imports_go_down", layers::imports_go_down);
}

#[test]
fn files_are_short() {
    for (path, text) in repository()
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
    {
        let lines = rules::file_lines(&Source::new(path, text));
        if lines > rules::FILE_LINES_SOFT {
            println!(
                "{path}: {lines} lines, more than {}",
                rules::FILE_LINES_SOFT
            );
        }
    }
    check_rust("files_are_short", rules::files_are_short);
}

#[test]
fn functions_are_short() {
    check_rust("functions_are_short", rules::functions_are_short);
}

#[test]
fn files_say_their_job() {
    check_rust("files_say_their_job", rules::files_say_their_job);
}

#[test]
fn doors_are_kept() {
    check_rust("doors_are_kept", rules::doors_are_kept);
}

#[test]
fn nothing_is_unwrapped() {
    check_rust("nothing_is_unwrapped", rules::nothing_is_unwrapped);
}

#[test]
fn lines_are_narrow() {
    check("lines_are_narrow", rules::lines_are_narrow);
}

#[test]
fn words_are_clean() {
    check("words_are_clean", rules::words_are_clean);
}
