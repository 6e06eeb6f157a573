//! What no command can work on, and how each says so.

use super::{Book, json, refused};
use std::fs;

const READING: [&str; 4] = ["stat", "dump", "digest", "verify"];

#[test]
fn a_log_that_is_open_can_be_read_and_not_written() {
    let mut book = Book::new();
    book.quarrel();
    for command in READING {
        json(&["log", command, &book.dir()], 0);
    }
    let dir = book.dir();
    for args in [
        &["log", "compact", &dir][..],
        &["log", "repair", &dir, "--apply"],
    ] {
        let said = refused(args);
        assert!(said.contains("is open for writing elsewhere"), "{said}");
    }
}

#[test]
fn what_is_no_log_is_said_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(place("empty")).unwrap();
    fs::write(place("file"), "x").unwrap();
    let (empty, missing, file, target) = (
        place("empty"),
        place("missing"),
        place("file"),
        place("target"),
    );
    let bundle = super::book::LOWER;
    let further: [(&str, &[&str]); 10] = [
        ("stat", &[]),
        ("dump", &[]),
        ("digest", &[]),
        ("verify", &[]),
        ("compact", &[]),
        ("repair", &[]),
        ("history", &[bundle]),
        ("at", &["3"]),
        ("backup", &[&target]),
        ("restore", &[&target]),
    ];
    for (command, further) in further {
        let said = |dir: &str| refused(&[&["log", command, dir], further].concat());
        assert!(
            said(&empty).contains("holds no log"),
            "{command}: {}",
            said(&empty)
        );
        assert!(
            said(&missing).contains("does not exist"),
            "{command}: {}",
            said(&missing)
        );
        assert!(
            said(&file).contains("not a directory"),
            "{command}: {}",
            said(&file)
        );
    }
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing was made"
    );
}

#[test]
fn a_newer_format_is_told_from_damage_and_not_repaired() {
    let folder = Book::trimmed().close();
    let dir = folder.path().join("log");
    let segment = &super::damage::segments(&dir)[0];
    let mut bytes = fs::read(segment).unwrap();
    bytes[8] = 2;
    fs::write(segment, bytes).unwrap();
    let dir = dir.to_str().unwrap();
    for command in ["stat", "dump", "digest", "compact"] {
        let said = refused(&["log", command, dir]);
        assert!(said.contains("is newer (version 2)"), "{command}: {said}");
        assert!(said.contains("upgrade before opening"), "{said}");
    }
    let said = refused(&["log", "repair", dir, "--apply"]);
    assert!(said.contains("is newer"), "{said}");
    assert_eq!(json(&["log", "verify", dir], 1)["sound"], false);
}
