//! What the machine can do: the same bytes without a log around them.

use super::{Work, subject};
use crate::compare::{Latencies, Setting, Stopwatch, Subject};
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The file that is written; the log's segments are as large.
const FILE_BYTES: usize = 64 << 20;

/// The length and the checksum before a record.
const HEADER_BYTES: usize = 8;

/// One thread writes so many records at a time over the zeroes of a file, and syncs.
pub(super) fn groups(name: &'static str, setting: &Setting, work: &Work, size: usize) -> Subject {
    subject(name, setting, work, move |setting, work| {
        let dir = setting.scratch();
        let file_bytes = setting.count(FILE_BYTES, 1 << 20);
        let file = zeroed(&dir.path().join("limit"), file_bytes);
        let records: Vec<&Vec<u8>> = work.encoded.iter().flatten().collect();
        let mut latencies = Latencies::default();
        let mut buffer = Vec::new();
        let mut offset = 0;
        let watch = Stopwatch::start();
        for group in records.chunks(size) {
            latencies.time(|| {
                buffer.clear();
                group.iter().for_each(|record| push(&mut buffer, record));
                if offset + buffer.len() > file_bytes {
                    offset = 0;
                }
                file.write_all_at(&buffer, offset as u64).unwrap();
                file.sync_data().unwrap();
                offset += buffer.len();
            });
        }
        let rate = watch.rate("rate", records.len());
        [vec![rate], latencies.figures().to_vec()].concat()
    })
}

/// Copies the records, each with its checksum, into memory.
pub(super) fn memory(name: &'static str, work: &Work) -> Subject {
    let work = work.clone();
    Subject::new(name, move || {
        let mut buffer = Vec::with_capacity(FILE_BYTES);
        let watch = Stopwatch::start();
        for record in work.encoded.iter().flatten() {
            if buffer.len() + HEADER_BYTES + record.len() > FILE_BYTES {
                black_box(&buffer);
                buffer.clear();
            }
            push(&mut buffer, record);
        }
        black_box(&buffer);
        vec![watch.rate("rate", work.count())]
    })
}

fn push(buffer: &mut Vec<u8>, record: &[u8]) {
    buffer.extend((record.len() as u32).to_le_bytes());
    buffer.extend(crc32fast::hash(record).to_le_bytes());
    buffer.extend_from_slice(record);
}

fn zeroed(path: &Path, bytes: usize) -> File {
    fs::write(path, vec![0; bytes]).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.sync_all().unwrap();
    file
}
