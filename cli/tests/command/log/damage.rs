//! What damage does to the commands, and what `repair` makes of it.

use super::book::LOWER;
use super::{Book, json, refused};
use crate::deedbook;
use crate::keys::{documented, keys};
use deedbook::ids::Position;
use deedbook::log::file::FileLog;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn with_extension(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let mut found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    found
}

pub(super) fn segments(dir: &Path) -> Vec<PathBuf> {
    with_extension(dir, "log")
}

pub(super) fn flip(path: &Path, offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap());
    files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, fs::read(file.path()).unwrap())
        })
        .collect()
}

/// A closed log, its folder, and the digest after each record.
struct Closed {
    _folder: tempfile::TempDir,
    dir: PathBuf,
    digests: BTreeMap<u64, String>,
    end: u64,
}

impl Closed {
    fn new() -> Self {
        let book = Book::trimmed();
        let digests = book.digests().into_iter().collect();
        let end = book.log.end().get();
        let folder = book.close();
        let dir = folder.path().join("log");
        Self {
            _folder: folder,
            dir,
            digests,
            end,
        }
    }

    fn dir(&self) -> &str {
        self.dir.to_str().unwrap()
    }

    /// Repairs, and checks everything but what was saved: that is given back.
    fn repair(&self) -> serde_json::Value {
        let before = files(&self.dir);
        let planned = json(&["log", "repair", self.dir()], 1);
        assert_eq!(planned["applied"], false);
        assert!(files(&self.dir) == before, "it only looked");
        let done = json(&["log", "repair", self.dir(), "--apply"], 0);
        assert_eq!(planned["saved"], done["saved"], "it did what it had said");
        let mut printed = BTreeSet::new();
        keys(&done, "", &mut printed);
        assert_eq!(printed, documented("log repair"));
        let original = PathBuf::from(done["original"].as_str().unwrap());
        let mut kept = files(&original);
        kept.remove("LOCK");
        let mut before = before;
        before.remove("LOCK");
        assert!(kept == before, "the original is kept, byte for byte");

        assert_eq!(json(&["log", "verify", self.dir()], 0)["sound"], true);
        let digest = json(&["log", "digest", self.dir()], 0);
        assert_eq!(digest["digest"], done["saved"]["digest"]);
        let log = FileLog::open(&self.dir).unwrap();
        let next = done["saved"]["goes_on_at"].as_u64().unwrap();
        assert_eq!(log.end(), Position::new(next + 1), "its opening");
        assert!(next >= self.end, "no position is given out twice");
        done["saved"].clone()
    }
}

#[test]
fn damage_before_the_end_costs_what_follows_and_is_repaired_only_on_demand() {
    let log = Closed::new();
    let last = segments(&log.dir).pop().unwrap();
    // In the first frame of the last segment, with good ones behind it.
    flip(&last, 80);
    let first: u64 = last.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    for command in ["digest", "stat", "dump", "compact"] {
        let run = deedbook()
            .args(["log", command, log.dir()])
            .assert()
            .code(2);
        let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(said.contains("is damaged at byte 64"), "{command}: {said}");
    }
    // Nobody knows what ownership would be.
    let found = json(&["log", "verify", log.dir()], 1);
    assert_eq!(found["digest"], serde_json::Value::Null);
    let saved = log.repair();
    assert_eq!(saved["lost_from"], first);
    assert_eq!(saved["digest"], log.digests[&(first - 1)].as_str());
}

#[test]
fn damage_that_a_snapshot_covers_costs_only_history() {
    let log = Closed::new();
    flip(&segments(&log.dir)[0], 100);
    let saved = log.repair();
    assert_eq!(saved["lost_from"], serde_json::Value::Null);
    assert_eq!(saved["goes_on_at"], log.end);
    assert_eq!(saved["digest"], log.digests[&(log.end - 1)].as_str());
}

#[test]
fn a_missing_segment_costs_what_follows() {
    let log = Closed::new();
    let segments = segments(&log.dir);
    let missing = &segments[segments.len() - 2];
    fs::remove_file(missing).unwrap();
    let first: u64 = missing
        .file_stem()
        .unwrap()
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let saved = log.repair();
    assert_eq!(saved["lost_from"], first);
    assert_eq!(saved["digest"], log.digests[&(first - 1)].as_str());
}

#[test]
fn a_damaged_newest_snapshot_is_named_and_the_older_one_serves_on_demand() {
    let log = Closed::new();
    let digest = log.digests[&(log.end - 1)].as_str();
    let snapshots = with_extension(&log.dir, "snapshot");
    let newest = snapshots.last().unwrap();
    assert_eq!(snapshots.len(), 2);
    flip(newest, 100);
    let name = newest.file_name().unwrap().to_str().unwrap();
    for command in ["digest", "stat", "compact"] {
        let said = refused(&["log", command, log.dir()]);
        assert!(said.contains(name) && said.contains("is damaged"), "{said}");
        if command != "compact" {
            json(&["log", command, log.dir(), "--skip-damaged-snapshots"], 0);
        }
    }
    let skipping =
        |command: &str| json(&["log", command, log.dir(), "--skip-damaged-snapshots"], 0);
    assert_eq!(skipping("digest")["digest"], digest);
    let found = json(
        &[
            "log",
            "history",
            log.dir(),
            LOWER,
            "--skip-damaged-snapshots",
        ],
        0,
    );
    assert!(found["events"].as_array().unwrap().len() > 30);

    // A compaction on the operator's word sets it aside and takes a new one.
    let run = deedbook().args(["log", "compact", log.dir(), "--skip-damaged-snapshots"]);
    let run = run.assert().code(0);
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(said.contains(&format!("{name}.damaged")), "{said}");
    assert_eq!(json(&["log", "verify", log.dir()], 0)["sound"], true);
    assert_eq!(json(&["log", "digest", log.dir()], 0)["rows"], 2);
}

/// Not even its header is there.
#[test]
fn a_snapshot_that_was_cut_short_is_passed_over_on_demand_too() {
    let log = Closed::new();
    let digest = log.digests[&(log.end - 1)].as_str();
    let newest = with_extension(&log.dir, "snapshot").pop().unwrap();
    let bytes = fs::read(&newest).unwrap();
    fs::write(&newest, &bytes[..50]).unwrap();
    let said = refused(&["log", "stat", log.dir()]);
    assert!(said.contains("ends within its header"), "{said}");
    for command in ["stat", "digest", "compact"] {
        let found = json(&["log", command, log.dir(), "--skip-damaged-snapshots"], 0);
        assert!(command != "digest" || found["digest"] == digest, "{found}");
    }
    assert_eq!(json(&["log", "digest", log.dir()], 0)["digest"], digest);
}

#[test]
fn a_damaged_newest_snapshot_is_repaired_without_loss() {
    let log = Closed::new();
    flip(with_extension(&log.dir, "snapshot").last().unwrap(), 100);
    let saved = log.repair();
    assert_eq!(saved["lost_from"], serde_json::Value::Null);
    assert_eq!(saved["digest"], log.digests[&(log.end - 1)].as_str());
}

#[cfg(unix)]
#[test]
fn a_folder_is_repaired_by_whatever_name_it_goes() {
    for named in ["link", "."] {
        let log = Closed::new();
        flip(with_extension(&log.dir, "snapshot").last().unwrap(), 100);
        let before = files(&log.dir);
        std::os::unix::fs::symlink(&log.dir, log.dir.with_file_name("link")).unwrap();
        let inside = if named == "." {
            log.dir.clone()
        } else {
            log.dir.parent().unwrap().to_owned()
        };
        let run = deedbook().args(["log", "repair", named, "--apply"]);
        run.current_dir(inside).assert().code(0);
        assert_eq!(json(&["log", "verify", log.dir()], 0)["sound"], true);
        let mut kept = files(&log.dir.with_file_name("log.damaged-1"));
        kept.remove("LOCK");
        assert!(
            before
                .iter()
                .all(|(name, bytes)| name == "LOCK" || kept[name] == *bytes)
        );
        assert_eq!(fs::read_dir(log.dir.parent().unwrap()).unwrap().count(), 3);
    }
}

#[test]
fn what_is_sound_is_not_repaired_and_what_is_lost_is_said() {
    let log = Closed::new();
    let before = files(&log.dir);
    let found = json(&["log", "repair", log.dir(), "--apply"], 0);
    assert_eq!(
        (&found["sound"], &found["applied"]),
        (&true.into(), &false.into())
    );
    assert!(files(&log.dir) == before);
    // Without a sound snapshot nobody knows what was before the first segment.
    for snapshot in with_extension(&log.dir, "snapshot") {
        flip(&snapshot, 100);
    }
    let said = refused(&["log", "repair", log.dir(), "--apply"]);
    assert!(said.contains("position 1 is missing"), "{said}");
    assert_eq!(files(&log.dir).len(), before.len());
}
