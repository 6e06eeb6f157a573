//! Opening a log for writing: which segments there are, where the last one ends, and what a crash
//! left behind it.
//!
//! Only the last segment can have a torn end, so only it is read. What its last write may have left
//! half done is cut, and reported; anything else that is not as it was written is damage.

use super::directory::{self, Listing};
use super::frame::Before;
use super::known::KnownIds;
use super::reader::LogReader;
use super::segment::{SegmentReader, Step, unavailable};
use super::writer::{ActiveSegment, Setting};
use crate::ids::{LogId, Position};
use crate::log::codec::Dictionary;
use crate::log::{Payload, ReadError};
use crate::storage::{self, Access, Storage, write_zeroes};
use std::path::PathBuf;

/// The end of a log that was cut off: a write that a crash tore. Nothing in it was acknowledged,
/// unless the durability allowed it to be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment.
    pub path: PathBuf,
    /// Where in it the torn write begins.
    pub offset: u64,
    /// How far from there something other than zeroes reached, in bytes.
    pub bytes: u64,
    /// The position that the torn write would have begun with, which is free again.
    pub position: Position,
}

/// The segments that are retained, by their first positions, and whose they are.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) log: LogId,
    pub(super) segments: Vec<Position>,
    /// Segments that a trim was to remove and a crash brought back.
    pub(super) leftovers: Vec<Position>,
}

/// Where a log ends.
#[derive(Debug)]
pub(super) struct End {
    pub(super) segment: ActiveSegment,
    pub(super) next: Position,
    pub(super) dictionary: Dictionary,
    pub(super) cut: Option<Cut>,
}

/// Puts the segments in order by their headers; none if there is no log yet.
///
/// Each header names the segment before it, so that one that is missing is found without reading
/// what lies between.
pub(super) fn chain(
    storage: &dyn Storage,
    listing: &Listing,
    log: Option<LogId>,
) -> Result<Option<Chain>, ReadError> {
    let Some(&first) = listing.segments.first() else {
        // The newest segment is never removed.
        return match listing.snapshots.last() {
            None => Ok(None),
            Some(&expected) => Err(ReadError::Gap {
                expected,
                found: Position::ZERO,
            }),
        };
    };
    let horizon = listing.snapshots.last().copied().unwrap_or_default();
    let head = SegmentReader::open(storage, first, log)?;
    let mut chain = Chain {
        log: head.log(),
        segments: vec![first],
        leftovers: Vec::new(),
    };
    let mut last = first;
    for &first in listing.segments.iter().skip(1) {
        let segment = SegmentReader::open(storage, first, Some(chain.log))?;
        if segment.previous() != last {
            if first > horizon {
                return Err(ReadError::Gap {
                    expected: segment.previous(),
                    found: last,
                });
            }
            // A snapshot covers all before this segment: what is missing was being trimmed.
            chain.leftovers.append(&mut chain.segments);
        }
        chain.segments.push(first);
        last = first;
    }
    Ok(Some(chain))
}

/// A log that ends before the horizon of its newest snapshot would use positions again.
pub(super) fn check_horizon(listing: &Listing, end: Position) -> Result<(), ReadError> {
    match listing.snapshots.last() {
        Some(&expected) if end < expected => Err(ReadError::Gap {
            expected,
            found: end,
        }),
        _ => Ok(()),
    }
}

/// What of the last segment is to be trusted.
pub(super) struct Tail {
    reader: SegmentReader,
    /// Where the last frame begins before which everything had been synced.
    proven_to: u64,
    cut: Option<Cut>,
}

/// Reads the last segment to its end and judges what stands there. Changes nothing.
pub(super) fn read_tail(
    storage: &dyn Storage,
    first: Position,
    log: LogId,
) -> Result<Tail, ReadError> {
    let mut reader = SegmentReader::open(storage, first, Some(log))?;
    let mut proven_to = reader.offset();
    let bad = loop {
        match reader.read_frame()? {
            Step::Frame(frame) => {
                if frame.before == Before::Synced {
                    proven_to = frame.offset;
                }
            }
            Step::Unwritten => break None,
            Step::Bad(found) => break Some(found),
        }
    };
    let rest = reader.read_rest()?;
    if reader.find_proof()?.is_some() {
        return Err(reader.damaged(bad.unwrap_or("zeroes in the place of a frame")));
    }
    let bytes = rest
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    let cut = (bytes > 0).then(|| Cut {
        path: reader.path().to_owned(),
        offset: reader.offset(),
        bytes: bytes as u64,
        position: reader.next(),
    });
    Ok(Tail {
        reader,
        proven_to,
        cut,
    })
}

impl Tail {
    pub(super) fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    pub(super) fn next(&self) -> Position {
        self.reader.next()
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.reader.offset()
    }

    /// Makes the segment ready to be written: zeroes behind its end, and all before it durable.
    ///
    /// What was read may come from memory although an earlier sync of it failed. Writing it again
    /// and syncing that is the only proof that it is on the disk. A crash in between leaves the
    /// bytes that are there already, or a torn end that is cut next time.
    pub(super) fn repair(self, storage: &dyn Storage) -> Result<End, storage::Error> {
        let name = directory::segment_name(self.reader.first());
        let file = storage.open(&name, Access::Write)?;
        let end = self.reader.offset();
        let bytes = usize::try_from(end - self.proven_to).unwrap_or(usize::MAX);
        let mut unproven = vec![0; bytes];
        file.read_at(self.proven_to, &mut unproven)?;
        file.write_at(self.proven_to, &unproven)?;
        if let Some(cut) = &self.cut {
            write_zeroes(&*file, cut.offset, cut.offset + cut.bytes)?;
        }
        file.sync()?;
        Ok(End {
            segment: ActiveSegment {
                size: file.size()?,
                file,
                first: self.reader.first(),
                offset: end,
            },
            next: self.reader.next(),
            cut: self.cut,
            dictionary: self.reader.into_dictionary(),
        })
    }
}

/// Learns the ids of all retained entries below `end`.
pub(super) fn learn_ids(
    setting: &Setting,
    end: Position,
    known: &mut KnownIds,
) -> Result<(), ReadError> {
    let storage = &setting.storage;
    let segments = || {
        let listing = directory::list(&**storage).map_err(|error| unavailable(&error))?;
        Ok(listing.segments)
    };
    let first = segments()?.first().copied().unwrap_or(end);
    let mut reader = LogReader::new(storage.clone(), setting.log, first);
    while reader.next() < end {
        let payloads = reader.read(&segments)?;
        if payloads.is_empty() {
            break;
        }
        for (position, payload) in payloads {
            if let Payload::Entry(entry) = payload {
                known.insert(entry.id(), position);
            }
        }
    }
    Ok(())
}
