//! Opening a log for writing: which segments there are, where the last one ends, and what a crash
//! left behind it.
//!
//! Only the last segment can have a torn end, so only it is read. What its last write may have left
//! half done is cut, and reported; anything else that is not as it was written is damage.

use super::OpenError;
use super::directory::{self, Listing};
use super::frame::Before;
use super::known::KnownIds;
use super::reader::LogReader;
use super::segment::{SegmentReader, Step};
use super::snapshot::SnapshotReader;
use super::writer::{ActiveSegment, Setting};
use crate::ids::{LogId, Position};
use crate::log::codec::Dictionary;
use crate::log::{Payload, ReadError, SnapshotError};
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
/// what lies between. Before the first one, everything must be in the newest snapshot.
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
    // What was trimmed is in a snapshot, all of it.
    let covered = horizon.max(Position::ZERO.next());
    match chain.segments.first() {
        Some(&found) if found > covered => Err(ReadError::Gap {
            expected: covered,
            found,
        }),
        _ => Ok(Some(chain)),
    }
}

/// The segments of a log that must be there.
pub(super) fn found(storage: &dyn Storage, listing: &Listing) -> Result<Chain, OpenError> {
    chain(storage, listing, None)?.ok_or_else(|| OpenError::Empty {
        path: storage.path().to_owned(),
    })
}

/// Renames the damaged ones of the snapshots, so that the newest sound one serves in their place;
/// says where they are now.
///
/// # Errors
///
/// The damage, if the log cannot do without: the entries behind the next older snapshot are gone.
pub(super) fn set_damaged_aside(
    storage: &dyn Storage,
    listing: &mut Listing,
) -> Result<Vec<PathBuf>, OpenError> {
    let mut damaged = Vec::new();
    for &horizon in &listing.snapshots {
        let opened = SnapshotReader::open(storage, horizon, None);
        match opened.and_then(|mut reader| reader.verify()) {
            Ok(()) => {}
            Err(error @ SnapshotError::Damaged { .. }) => damaged.push((horizon, error)),
            Err(error) => return Err(error.into()),
        }
    }
    let is_damaged = |horizon: &Position| damaged.iter().any(|(other, _)| other == horizon);
    listing.snapshots.retain(|horizon| !is_damaged(horizon));
    let Some((_, newest)) = damaged.last() else {
        return Ok(Vec::new());
    };
    chain(storage, listing, None).map_err(|error| match error {
        ReadError::Gap { .. } => newest.clone().into(),
        error => OpenError::Read(error),
    })?;
    let mut paths = Vec::new();
    for (horizon, _) in &damaged {
        let name = directory::damaged_name(*horizon);
        storage.rename(&directory::snapshot_name(*horizon), &name)?;
        paths.push(storage.path().join(name));
    }
    storage.sync()?;
    Ok(paths)
}

/// A log that ends before the horizon of its newest snapshot, damaged or not, would use positions
/// again.
pub(super) fn check_end(expected: Position, end: Position) -> Result<(), ReadError> {
    if end < expected {
        let found = end;
        return Err(ReadError::Gap { expected, found });
    }
    Ok(())
}

/// What of the last segment is to be trusted.
pub(super) struct Tail {
    reader: SegmentReader,
    /// Where the last frame begins before which everything had been synced.
    proven_to: u64,
    cut: Option<Cut>,
}

/// Reads the last segment to its end and judges what stands there. Changes nothing.
///
/// Another process may be writing there: what looks like damage is read again before it is
/// believed.
pub(super) fn read_tail(
    storage: &dyn Storage,
    first: Position,
    log: LogId,
) -> Result<Tail, ReadError> {
    let mut reader = SegmentReader::open(storage, first, Some(log))?;
    let mut proven_to = reader.offset();
    let mut step = reader.read_frame()?;
    let rest = loop {
        let found = match step {
            Step::Frame(frame) => {
                if frame.before == Before::Synced {
                    proven_to = frame.offset;
                }
                step = reader.read_frame()?;
                continue;
            }
            Step::Unwritten => "zeroes in the place of a frame",
            Step::Bad(found) => found,
        };
        let rest = reader.read_rest()?;
        if rest.iter().all(|&byte| byte == 0) {
            break rest;
        }
        let is_proven = reader.find_proof()?.is_some();
        step = reader.read_frame()?;
        match step {
            Step::Frame(_) => {}
            _ if is_proven => return Err(reader.damaged(found)),
            _ => break rest,
        }
    };
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
    let segments = || directory::segments(&**storage);
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
