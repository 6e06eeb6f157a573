//! Snapshots stream: whatever their size, writing and reading one takes no more memory than a few
//! blocks, beside what names take. A process of its own is watched by the operating system.
#![cfg(all(test, target_os = "linux"))]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

use deedbook::ids::{BrokerId, BundleId, Epoch, Fence, Holder, KeyRange, Namespace};
use deedbook::ids::{Position, SessionToken};
use deedbook::log::file::FileLog;
use deedbook::log::{EventLog, Member, MemberLog};
use deedbook::snapshot::{BLOCK_BYTES, Snapshot, Writer};
use deedbook::state::{Facts, Phase, Record, Row};
use std::fs;
use std::process::Command;

/// So many rows make a snapshot of 27 MiB.
const ROWS: u32 = 1_000_000;

/// What writing and reading may take, in KiB, beside what the process takes anyhow.
const MEMORY_KIB_MAX: u64 = 4 << 10;

#[test]
fn a_snapshot_of_any_size_takes_a_few_blocks_of_memory() {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "write_and_read", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}

/// The most memory that the process has had, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let words: Vec<_> = line.unwrap().split_whitespace().collect();
    words[1].parse().unwrap()
}

fn namespace() -> Namespace {
    Namespace::new("acme/orders").unwrap()
}

fn rows(count: u32) -> impl Iterator<Item = (BundleId, Row)> {
    let namespace = namespace();
    let owner = Holder::new(BrokerId::new("a:1").unwrap(), SessionToken::new(7));
    (0..count).map(move |index| {
        let range = KeyRange::new(index * 16, index * 16 + 16).unwrap();
        let row = Row {
            record: Record::Owned {
                owner: owner.clone(),
            },
            version: Position::new(1 << 33),
            fence: Fence::new(u64::from(index)),
        };
        (BundleId::new(namespace.clone(), range), row)
    })
}

/// Writes a snapshot of so many rows and reads it; its size in bytes.
fn write_and_read_rows(count: u32) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let log = FileLog::builder(dir.path())
        .segment_bytes(4096)
        .open()
        .unwrap();
    let member = |member| log.append_member(member).wait().unwrap().unwrap().position;
    let broker = BrokerId::new("a:1").unwrap();
    let session = SessionToken::at(member(Member::Joined { broker }));
    let epoch = Epoch::at(member(Member::Elected { session }));
    let mut facts = Facts::default();
    facts.namespaces.insert(namespace(), Phase::Live);
    let horizon = log.end();
    let sink = log.put_snapshot(horizon, epoch).unwrap();
    let mut writer = Writer::begin(sink, horizon, &facts, BLOCK_BYTES).unwrap();
    for (bundle, row) in rows(count) {
        writer.write_row(&bundle, &row).unwrap();
    }
    let sealed = writer.seal().unwrap();
    let bytes = sealed.byte_count();
    sealed.commit().unwrap();
    // Trimming reads it in full, block by block.
    log.trim(horizon).unwrap();
    let snapshot = Snapshot::open(log.snapshot().unwrap().unwrap()).unwrap();
    let found = snapshot.rows.map(Result::unwrap);
    assert!(found.eq(rows(count)));
    bytes
}

#[test]
#[ignore = "the process that is watched; the other test starts it"]
fn write_and_read() {
    write_and_read_rows(10_000);
    let before = peak_kib();
    let bytes = write_and_read_rows(ROWS);
    let grown = peak_kib() - before;
    println!("{bytes} bytes took {grown} KiB more than a hundredth of them");
    assert!(bytes > 16 << 20, "{bytes}");
    assert!(grown < MEMORY_KIB_MAX, "{grown} KiB");
}
