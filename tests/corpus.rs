//! Replays the corpus of every fuzz target: the same functions over the same bytes, without a
//! fuzzer. A finding that was mended stays in the corpus, and so stays mended.
#![cfg(test)]

mod entries;

use std::fs;
use std::path::{Path, PathBuf};

type Target = fn(&[u8]);

/// The targets by name.
const TARGETS: [(&str, Target); 7] = [
    ("entry", entries::entry::check),
    ("frame", entries::frame::check),
    ("import", entries::import::check),
    ("load_report", entries::load_report::check),
    ("plan", entries::plan::check),
    ("snapshot", entries::snapshot::check),
    ("table_apply", entries::table_apply::check),
];

/// More than this is no corpus to commit, in bytes.
const CORPUS_BYTES_MAX: usize = 300 << 10;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The files of a folder, in order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.collect();
    files.sort();
    files
}

/// Runs a target over each of its files, and says which one it is if it fails.
fn replay(name: &str) {
    if !fuzz().is_dir() {
        println!("there is no {}: nothing to replay", fuzz().display());
        return;
    }
    let (_, check) = TARGETS
        .into_iter()
        .find(|(known, _)| *known == name)
        .unwrap();
    let files = files(&fuzz().join("corpus").join(name));
    assert!(!files.is_empty(), "the target {name} has no corpus");
    for file in files {
        let data = fs::read(&file).unwrap();
        println!("cargo fuzz run --sanitizer none {name} {}", file.display());
        check(&data);
    }
    // What every target must take.
    for data in [&b""[..], &[0; 64], &[0xff; 64]] {
        check(data);
    }
}

#[test]
fn entry() {
    replay("entry");
}

#[test]
fn frame() {
    replay("frame");
}

#[test]
fn import() {
    replay("import");
}

#[test]
fn load_report() {
    replay("load_report");
}

#[test]
fn plan() {
    replay("plan");
}

#[test]
fn snapshot() {
    replay("snapshot");
}

#[test]
fn table_apply() {
    replay("table_apply");
}

#[test]
fn every_target_is_replayed() {
    if !fuzz().is_dir() {
        println!("there is no {}: nothing to replay", fuzz().display());
        return;
    }
    let names = |folder: &str| -> Vec<String> {
        let files = files(&fuzz().join(folder)).into_iter();
        files
            .map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect()
    };
    let known: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names("fuzz_targets"), known, "targets");
    assert_eq!(names("corpus"), known, "folders of the corpus");
}

#[test]
fn the_corpus_is_small() {
    if !fuzz().is_dir() {
        println!("there is no {}: nothing to measure", fuzz().display());
        return;
    }
    let files = TARGETS
        .iter()
        .flat_map(|(name, _)| files(&fuzz().join("corpus").join(name)));
    let bytes: usize = files.map(|file| fs::read(file).unwrap().len()).sum();
    assert!(bytes <= CORPUS_BYTES_MAX, "{bytes} bytes; prune it");
}
