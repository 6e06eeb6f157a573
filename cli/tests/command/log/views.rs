//! Looking: `stat`, `dump`, `history`, `at`, beside the writer.

use super::book::{LOWER, UPPER};
use super::{Book, json, refused};
use crate::deedbook;
use crate::keys::{documented, keys};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Command, Stdio};

fn has_documented_keys(command: &str, found: &Value) {
    let mut printed = BTreeSet::new();
    keys(found, "", &mut printed);
    assert_eq!(printed, documented(command), "{command}");
}

#[test]
fn history_shows_what_was_accepted_and_why_the_rest_was_not() {
    let mut book = Book::new();
    book.quarrel();
    let found = json(&["log", "history", &book.dir(), LOWER], 0);
    assert_eq!(
        (&found["from"], &found["at_first"]),
        (&1.into(), &Value::Null)
    );
    let events = found["events"].as_array().unwrap();
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            let text = |key: &str| event[key].as_str().unwrap_or("-").to_owned();
            let position = event["position"].as_u64().unwrap();
            (position, text("reason"), text("before"), text("after"))
        })
        .collect();
    let expected = [
        (5, "-", "-", "Free"),
        (6, "-", "Free", "Assigning -> a:1"),
        (7, "-", "Assigning -> a:1", "Owned by a:1#2"),
        (8, "stale_version", "Owned by a:1#2", "Owned by a:1#2"),
        (10, "-", "Owned by a:1#2", "Releasing from a:1#2 -> b:1"),
    ];
    let expected = expected.map(|(position, reason, before, after)| {
        (
            position,
            reason.to_owned(),
            before.to_owned(),
            after.to_owned(),
        )
    });
    assert_eq!(told, expected);
    let stale = events[3]["says"].as_str().unwrap();
    assert!(stale.contains("was last changed at 7, not at 5"), "{stale}");

    let upper = json(&["log", "history", &book.dir(), UPPER], 0);
    let last = upper["events"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["position"], &last["reason"]),
        (&11.into(), &"wrong_author".into())
    );
    has_documented_keys("log history", &found);

    let text = deedbook().args(["log", "history", &book.dir(), LOWER]);
    let text = text
        .assert()
        .code(0)
        .stderr_eq("")
        .get_output()
        .stdout
        .clone();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("       8 REJECTED, stale_version\n"),
        "{text}"
    );
    let stranger = refused(&["log", "history", &book.place("nowhere"), LOWER]);
    assert!(stranger.contains("does not exist"), "{stranger}");
}

#[test]
fn stat_counts_what_is_there_and_names_the_oldest_in_flight() {
    let mut book = Book::new();
    book.quarrel();
    let found = json(&["log", "stat", &book.dir()], 0);
    let number = |key: &str| found[key].as_u64().unwrap();
    assert_eq!(
        (number("first"), number("end"), number("horizon")),
        (1, 12, 0)
    );
    assert_eq!(
        (number("rows"), number("rejected"), number("in_flight")),
        (2, 2, 2)
    );
    // Eleven records for two rows.
    assert_eq!(number("records_behind_snapshot"), 11);
    assert_eq!(found["dead_percent"].as_f64(), Some(81.8));
    let oldest = &found["oldest_in_flight"];
    assert_eq!(
        (&oldest["bundle"], &oldest["since"]),
        (&UPPER.into(), &9.into())
    );
    assert_eq!(oldest["records_ago"], 2);
    assert_eq!(number("told_from"), 1);
    let files = found["segments"].as_array().unwrap();
    assert!(
        files.iter().all(|file| file["bytes"].as_u64() >= Some(512)),
        "{files:?}"
    );

    book.compact();
    let found = json(&["log", "stat", &book.dir()], 0);
    has_documented_keys("log stat", &found);
    assert_eq!(
        (&found["horizon"], &found["records_behind_snapshot"]),
        (&12.into(), &0.into())
    );
    assert_eq!(found["dead_percent"].as_f64(), Some(0.0));
}

/// Against a fold of our own, at every position that can still be told.
#[test]
fn at_shows_ownership_as_it_was_or_says_that_it_cannot() {
    let book = Book::trimmed();
    let digests = book.digests();
    let (oldest, last) = (digests[0].0, digests.last().unwrap().0);
    assert!(oldest > 5 && last - oldest > 30, "{oldest} to {last}");
    for (position, digest) in digests.iter().step_by(7).chain(digests.last()) {
        let found = json(&["log", "at", &book.dir(), &position.to_string()], 0);
        assert_eq!(found["digest"], digest.as_str(), "{position}");
        assert_eq!(found["rows"].as_array().unwrap().len(), 2);
        has_documented_keys("log at", &found);
    }
    let trimmed = refused(&["log", "at", &book.dir(), &(oldest - 1).to_string()]);
    let expected = format!("ownership can be told from position {oldest} on");
    assert!(trimmed.contains(&expected), "{trimmed}");
    let beyond = refused(&["log", "at", &book.dir(), &(last + 1).to_string()]);
    assert!(
        beyond.contains(&format!("ends with position {last}")),
        "{beyond}"
    );
    let stat = json(&["log", "stat", &book.dir()], 0);
    assert_eq!(stat["told_from"], oldest);
}

#[test]
fn a_dump_begins_where_it_is_told_and_is_a_line_for_each_record() {
    let mut book = Book::new();
    book.quarrel();
    let text = deedbook().args(["log", "dump", &book.dir(), "--from", "10"]);
    let expected = "      10 changes          a:1#2 t/n/0x00000000_0x80000000 @7: Releasing from \
                    a:1#2 -> b:1\n      11 changes          a:1#2 t/n/0x80000000_0xffffffff @9: \
                    Owned by b:1#3\n";
    text.assert().code(0).stderr_eq("").stdout_eq(expected);
    // The next one to be written is not there yet, and that is no mistake.
    let next = deedbook().args(["log", "dump", &book.dir(), "--from", "12"]);
    next.assert().code(0).stdout_eq("");
    let beyond = refused(&["log", "dump", &book.dir(), "--from", "13"]);
    assert!(beyond.contains("the log ends with position 11"), "{beyond}");
    let trimmed = Book::trimmed();
    let first = json(&["log", "stat", &trimmed.dir()], 0)["first"].as_u64();
    let first = first.unwrap();
    let all = json(&["log", "dump", &trimmed.dir()], 0);
    assert_eq!(all["records"][0]["position"], first);
    let before = (first - 1).to_string();
    let gone = refused(&["log", "dump", &trimmed.dir(), "--from", &before]);
    assert!(
        gone.contains(&format!("the log begins with position {first}")),
        "{gone}"
    );
    // From the middle of a frame, of a segment, of the log: the same records.
    let all = all["records"].as_array().unwrap();
    for (index, record) in all.iter().enumerate().step_by(5) {
        let from = record["position"].to_string();
        let found = json(&["log", "dump", &trimmed.dir(), "--from", &from], 0);
        assert_eq!(found["records"].as_array().unwrap()[..], all[index..]);
    }
}

/// Stopped once it has begun to write, each of them leaves everything as it was, or is done.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (dir, copy) = (place("log"), place("copy"));
    let made = json(&["log", "generate", &dir, "--changes", "5000"], 0);
    let commands = [
        (vec!["backup", &dir, &copy], place("copy.part")),
        (vec!["restore", &dir, &copy], place("copy.part")),
        (vec!["compact", &dir], place("log/LOCK")),
    ];
    for (args, begun) in commands {
        let mut child = Command::new(env!("CARGO_BIN_EXE_deedbook"))
            .arg("log")
            .args(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !std::path::Path::new(&begun).exists() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let kill = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(kill.is_ok());
        let status = child.wait().unwrap();
        let is_done = status.success();
        // A compaction may not have begun yet.
        assert!(is_done || status.code() == Some(130) || args[0] == "compact");
        assert!(!std::path::Path::new(&place("copy.part")).exists());
        assert_eq!(
            std::path::Path::new(&copy).exists(),
            is_done && args[0] != "compact"
        );
        if args[0] != "compact" && is_done {
            std::fs::remove_dir_all(&copy).unwrap();
        }
        assert_eq!(json(&["log", "verify", &dir], 0)["digest"], made["digest"]);
    }
}

/// A dump into a pipe that nobody empties is told to stop, until it does.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_command_with_130() {
    let mut book = Book::new();
    let version = book.change('b', LOWER, 5, book.assigning('a'));
    let mut version = book.change('a', LOWER, version, book.owned('a'));
    // More than a pipe holds.
    for _ in 0..200 {
        version = book.transfer('a', version);
        version = book.transfer('b', version);
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_deedbook"))
        .args(["log", "dump", &book.dir()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let mut first = [0; 1];
    pipe.read_exact(&mut first).unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let kill = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(kill.is_ok());
    };
    assert_eq!(status.code(), Some(130));
}
