//! Damage is loud (I9): every bit of every file of a small log is flipped, one at a time. No reader
//! takes anything for what was written that was not; damage before the end is an error that names
//! file and place, and stops opening, compaction and trimming.
#![cfg(test)]

mod files;

use deedbook::ids::Position;
use deedbook::log::file::{FileLog, OpenError, inspect};
use deedbook::log::{EventLog, Payload, ReadError, SnapshotError, TrimError};
use deedbook::storage::MemoryStorage;
use files::{append_now, entry, lead, open, put_snapshot, read_all};
use std::sync::Arc;

type Files = Vec<(String, Vec<u8>)>;
type Payloads = Vec<(Position, Payload)>;

/// A log of several segments and two snapshots, closed: its files, and what is in it.
fn small_log() -> (Files, Payloads) {
    let storage = MemoryStorage::new();
    let log = open(&storage).unwrap();
    let epoch = lead(&log).unwrap();
    for counter in 1..=24 {
        append_now(&log, &entry(2, counter)).unwrap();
        if counter % 8 == 0 && counter < 24 {
            put_snapshot(&log, log.end(), epoch).unwrap();
        }
    }
    let payloads = read_all(&log, Position::ZERO).unwrap();
    drop(log);
    let files: Files = files::files_of(&storage)
        .into_iter()
        .filter(|(name, _)| !name.starts_with("spare"))
        .collect();
    let count = |extension| {
        files
            .iter()
            .filter(|(name, _)| name.ends_with(extension))
            .count()
    };
    assert!(
        count(".log") >= 3 && count(".snapshot") == 2,
        "a log with all there is"
    );
    (files, payloads)
}

/// Calls `f` with the files in which one bit is flipped, for each bit of the file at `index`.
fn for_each_flip(files: &Files, index: usize, mut f: impl FnMut(&Files, usize)) {
    let mut flipped = files.clone();
    for bit in 0..flipped[index].1.len() * 8 {
        flipped[index].1[bit / 8] ^= 1 << (bit % 8);
        f(&flipped, bit);
        flipped[index].1[bit / 8] ^= 1 << (bit % 8);
    }
}

fn read_through(files: &Files) -> Result<Payloads, ReadError> {
    let log = files::builder(&files::storage_of(files)).open_read_only();
    let log = log.map_err(|error| match error {
        OpenError::Read(error) => error,
        other => panic!("{other}"),
    })?;
    read_all(&log, Position::ZERO)
}

fn names_file(error: &ReadError, name: &str) -> bool {
    match error {
        ReadError::Damaged { path, .. } | ReadError::NewerFormat { path, .. } => {
            path.ends_with(name)
        }
        // A name that leads to nothing, or another log's id, is seen before the checksum's place.
        _ => false,
    }
}

#[test]
fn a_flipped_bit_in_a_sealed_segment_is_damage_that_names_it() {
    let (files, payloads) = small_log();
    let segments: Vec<usize> = (0..files.len())
        .filter(|&i| files[i].0.ends_with(".log"))
        .collect();
    let (_, sealed) = segments.split_last().unwrap();
    for &index in sealed {
        let (name, bytes) = &files[index];
        let used = files::used(bytes);
        for_each_flip(&files, index, |flipped, bit| {
            let storage = files::storage_of(flipped);
            let report = inspect::verify(&storage).unwrap();
            assert!(!report.is_sound(), "{name}: bit {bit} is not found");
            match read_through(flipped) {
                Err(error) => assert!(names_file(&error, name), "{name}: bit {bit}: {error}"),
                // Behind the last frame nothing is read; what is there harms nobody.
                Ok(read) => assert!(read == payloads && bit / 8 >= used, "{name}: bit {bit}"),
            }
        });
    }
}

#[test]
fn a_flipped_bit_in_the_last_segment_is_damage_or_a_cut_that_is_reported() {
    let (files, payloads) = small_log();
    let index = files
        .iter()
        .rposition(|(name, _)| name.ends_with(".log"))
        .unwrap();
    let name = &files[index].0;
    let last = last_frame(&files::storage_of(&files));
    for_each_flip(&files, index, |flipped, bit| {
        let storage = files::storage_of(flipped);
        let offset = (bit / 8) as u64;
        match open(&storage) {
            Ok(log) => {
                let cut = log
                    .cut()
                    .unwrap_or_else(|| panic!("{name}: bit {bit} is not found"));
                assert!(
                    cut.path.ends_with(name) && offset >= last,
                    "{name}: bit {bit}"
                );
                let read = read_all(&log, Position::ZERO).unwrap();
                let (_, before) = read.split_last().unwrap();
                assert!(payloads.starts_with(before), "{name}: bit {bit}");
            }
            Err(OpenError::Read(error)) => {
                assert!(names_file(&error, name), "{name}: bit {bit}: {error}");
                assert!(
                    offset < last,
                    "{name}: bit {bit} is at the end, which may be torn"
                );
            }
            Err(error) => panic!("{name}: bit {bit}: {error}"),
        }
    });
}

/// Where in the last segment the last frame begins.
fn last_frame(storage: &MemoryStorage) -> u64 {
    let records = inspect::records(Arc::new(storage.clone())).unwrap();
    records.last().unwrap().unwrap().offset
}

#[test]
fn a_live_reader_reports_damage_before_the_end_and_waits_at_it() {
    let (files, payloads) = small_log();
    let index = files
        .iter()
        .rposition(|(name, _)| name.ends_with(".log"))
        .unwrap();
    let last = last_frame(&files::storage_of(&files));
    for_each_flip(&files, index, |flipped, bit| match read_through(flipped) {
        Ok(read) => {
            assert!(payloads.starts_with(&read), "bit {bit}");
            assert!(
                (bit / 8) as u64 >= last,
                "bit {bit}: taken for something half written"
            );
        }
        Err(error) => assert!(names_file(&error, &files[index].0), "bit {bit}: {error}"),
    });
}

#[test]
fn a_flipped_bit_in_a_snapshot_is_found_and_nothing_is_trimmed_by_it() {
    let (files, _) = small_log();
    let index = files
        .iter()
        .rposition(|(name, _)| name.ends_with(".snapshot"))
        .unwrap();
    let name = files[index].0.clone();
    for_each_flip(&files, index, |flipped, bit| {
        let storage = files::storage_of(flipped);
        assert!(
            !inspect::verify(&storage).unwrap().is_sound(),
            "{name}: bit {bit}"
        );
        let log = open(&storage).unwrap();
        let error = read_snapshot(&log).unwrap_err();
        let named = match &error {
            SnapshotError::Damaged { path, .. } | SnapshotError::NewerFormat { path, .. } => path,
            other => panic!("{name}: bit {bit}: {other}"),
        };
        assert!(named.ends_with(&name));
        let before = files::files_of(&storage).len();
        let horizon = name.trim_end_matches(".snapshot").parse().unwrap();
        assert_eq!(
            log.trim(horizon),
            Err(TrimError::Snapshot(error)),
            "{name}: bit {bit}"
        );
        assert_eq!(files::files_of(&storage).len(), before);
    });
}

/// On the operator's word the older snapshot and the entries behind it open the log, wherever the
/// newest one is damaged; a crash before any operation of that leaves it to be done again.
#[test]
fn a_damaged_newest_snapshot_is_passed_over_on_the_operators_word() {
    let (files, payloads) = small_log();
    let snapshots: Vec<usize> = (0..files.len())
        .filter(|&i| files[i].0.ends_with(".snapshot"))
        .collect();
    let [older, newest] = snapshots[..] else {
        panic!("two snapshots");
    };
    let horizon = |index: usize| -> Position {
        let name = files[index].0.trim_end_matches(".snapshot");
        name.parse().unwrap()
    };
    let skipping = |storage: &MemoryStorage| {
        let builder = files::builder(storage);
        builder.without_damaged_snapshots()
    };
    let check = |log: &dyn EventLog, case: &str| {
        let mut snapshot = log.snapshot().unwrap().unwrap();
        assert_eq!(snapshot.horizon(), horizon(older), "{case}");
        let block = snapshot.next_block().unwrap().unwrap();
        assert_eq!(
            block,
            format!("everything below {}", horizon(older)).as_bytes()
        );
        let behind = read_all(log, horizon(older)).unwrap();
        let expected = payloads.iter().filter(|(at, _)| *at >= horizon(older));
        assert!(
            behind
                .iter()
                .take(payloads.len())
                .zip(expected)
                .all(|(a, b)| a == b),
            "{case}"
        );
        assert!(
            behind.len() >= payloads.len() + 1 - horizon(older).get() as usize,
            "{case}"
        );
    };
    for_each_flip(&files, newest, |flipped, bit| {
        let case = format!("bit {bit}");
        let storage = files::storage_of(flipped);
        let read_only = match skipping(&storage).open_read_only() {
            Ok(read_only) => read_only,
            // Its version may have become one of the future, which is no damage.
            Err(error) => panic!("{case}: {error}"),
        };
        match read_only.snapshot() {
            Err(SnapshotError::NewerFormat { .. }) => return,
            _ => check(&read_only, &case),
        }
        let log = skipping(&storage).open().unwrap();
        let aside = format!("{}.damaged", files[newest].0);
        assert!(log.set_aside()[0].ends_with(&aside), "{case}");
        check(&log, &case);
        drop(log);
        // It stays aside, byte for byte, and the word is needed no more.
        assert_eq!(files::bytes(&storage, &aside), flipped[newest].1);
        let log = open(&storage).unwrap();
        assert!(log.set_aside().is_empty());
        check(&log, &case);
        let epoch = lead(&log).unwrap();
        put_snapshot(&log, log.end(), epoch).unwrap();
        log.trim(log.end()).unwrap();
    });
}

fn read_snapshot(log: &FileLog) -> Result<(), SnapshotError> {
    let mut snapshot = log.snapshot()?.unwrap();
    while snapshot.next_block()?.is_some() {}
    Ok(())
}

#[test]
fn a_cut_anywhere_in_a_snapshot_is_found() {
    let (files, _) = small_log();
    let index = files
        .iter()
        .rposition(|(name, _)| name.ends_with(".snapshot"))
        .unwrap();
    for length in 0..files[index].1.len() {
        let mut cut = files.clone();
        cut[index].1.truncate(length);
        let log = open(&files::storage_of(&cut)).unwrap();
        let error = read_snapshot(&log).unwrap_err();
        assert!(
            matches!(error, SnapshotError::Damaged { .. }),
            "{length}: {error}"
        );
    }
}

#[test]
fn a_missing_segment_is_a_gap() {
    let (files, _) = small_log();
    let segments: Vec<usize> = (0..files.len())
        .filter(|&i| files[i].0.ends_with(".log"))
        .collect();
    // Without snapshots nothing may be missing but at the front, which a trim may have removed.
    for &missing in &segments[1..segments.len() - 1] {
        let mut rest: Files = files.clone();
        rest.remove(missing);
        rest.retain(|(name, _)| name.ends_with(".log"));
        let error = open(&files::storage_of(&rest)).unwrap_err();
        assert!(
            matches!(error, OpenError::Read(ReadError::Gap { .. })),
            "{error}"
        );
    }
    let mut rest = files.clone();
    rest.retain(|(name, _)| !name.ends_with(".log"));
    let error = open(&files::storage_of(&rest)).unwrap_err();
    assert!(
        matches!(error, OpenError::Read(ReadError::Gap { .. })),
        "{error}"
    );
}

#[test]
fn a_segment_of_another_log_is_told_apart_from_damage() {
    let (files, _) = small_log();
    let other = MemoryStorage::new();
    let log = files::builder(&other)
        .new_log(deedbook::ids::LogId::new(2))
        .open()
        .unwrap();
    lead(&log).unwrap();
    for counter in 1..=24 {
        append_now(&log, &entry(2, counter)).unwrap();
    }
    drop(log);
    let (name, bytes) = files::files_of(&other).remove(1);
    let mut mixed = files.clone();
    let index = mixed.iter().position(|(other, _)| *other == name).unwrap();
    mixed[index].1 = bytes;
    let error = open(&files::storage_of(&mixed)).unwrap_err();
    assert!(
        matches!(error, OpenError::Read(ReadError::WrongLog { .. })),
        "{error}"
    );
}

#[test]
fn a_newer_format_is_told_apart_from_damage() {
    let (mut files, _) = small_log();
    files[0].1[8] = 2;
    let error = open(&files::storage_of(&files)).unwrap_err();
    let newer = matches!(
        &error,
        OpenError::Read(ReadError::NewerFormat {
            version: 2,
            known: 1,
            ..
        })
    );
    assert!(newer, "{error}");
}
