//! The files of a log's directory by their names. There is no manifest: names and headers say all.

use super::segment::unavailable;
use crate::ids::Position;
use crate::log::ReadError;
use crate::storage::{self, Storage};

/// A segment that is being made: zeroed, or a retired one that still holds old frames.
pub(super) const SPARE_RAW: &str = "spare.raw";

/// A segment of durable zeroes, to be used next.
pub(super) const SPARE_READY: &str = "spare.ready";

const SEGMENT: &str = "log";
const SNAPSHOT: &str = "snapshot";
/// A snapshot that is being written; worth nothing after a crash.
const PART: &str = "part";
const DIGITS: usize = 20;

/// What a damaged snapshot has behind its name once it was set aside.
const DAMAGED: &str = "damaged";

/// How often names may change while files are read before what was found counts as an error.
const ATTEMPTS_MAX: usize = 8;

/// What a directory holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    /// First positions of segments, in order.
    pub(super) segments: Vec<Position>,
    /// Horizons of snapshots, in order.
    pub(super) snapshots: Vec<Position>,
    /// Snapshots that were never committed.
    pub(super) parts: Vec<String>,
}

pub(super) fn segment_name(first: Position) -> String {
    format!("{first:0DIGITS$}.{SEGMENT}")
}

pub(super) fn snapshot_name(horizon: Position) -> String {
    format!("{horizon:0DIGITS$}.{SNAPSHOT}")
}

/// The name of the `attempt`-th snapshot that this process writes.
pub(super) fn part_name(horizon: Position, attempt: u64) -> String {
    format!("{horizon:0DIGITS$}-{attempt}.{PART}")
}

/// The name of a damaged snapshot that was set aside: no name that is looked for.
pub(super) fn damaged_name(horizon: Position) -> String {
    format!("{}.{DAMAGED}", snapshot_name(horizon))
}

/// The first positions of all segments, in order.
pub(super) fn segments(storage: &dyn Storage) -> Result<Vec<Position>, ReadError> {
    let listing = list(storage).map_err(|error| unavailable(&error))?;
    Ok(listing.segments)
}

/// Reads the files of a directory in which another process may be writing. A file may be trimmed,
/// or made into another one, between being listed and being read, and a listing may miss what came
/// meanwhile: what fails is tried again as long as names changed.
pub(super) fn read_settled<T, E: From<storage::Error>>(
    storage: &dyn Storage,
    mut read: impl FnMut(&Listing) -> Result<T, E>,
) -> Result<T, E> {
    let mut listing = list(storage)?;
    for _ in 1..ATTEMPTS_MAX {
        let result = read(&listing);
        if result.is_ok() {
            return result;
        }
        let now = list(storage)?;
        if now == listing {
            return result;
        }
        listing = now;
    }
    read(&listing)
}

/// Lists a directory; files of other names are not ours and are left alone.
pub(super) fn list(storage: &dyn Storage) -> Result<Listing, storage::Error> {
    let mut listing = Listing::default();
    for name in storage.list()? {
        match name.rsplit_once('.') {
            Some((stem, SEGMENT)) => listing.segments.extend(position(stem)),
            Some((stem, SNAPSHOT)) => listing.snapshots.extend(position(stem)),
            Some((_, PART)) => listing.parts.push(name),
            _ => {}
        }
    }
    // Names are sorted, and of a fixed width.
    Ok(listing)
}

fn position(stem: &str) -> Option<Position> {
    let plain = stem.len() == DIGITS && stem.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| stem.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;

    #[test]
    fn only_names_of_the_one_form_count() {
        let storage = MemoryStorage::new();
        for name in [
            &segment_name(Position::new(7)),
            &segment_name(Position::new(u64::MAX)),
            &snapshot_name(Position::new(100)),
            &part_name(Position::new(9), 2),
            SPARE_RAW,
            "8.log",
            "0000000000000000000x.log",
            "+0000000000000000007.log",
            "99999999999999999999.log",
            "00000000000000000009.log.bak",
        ] {
            storage.create(name).unwrap();
        }
        let expected = Listing {
            segments: vec![Position::new(7), Position::new(u64::MAX)],
            snapshots: vec![Position::new(100)],
            parts: vec![part_name(Position::new(9), 2)],
        };
        assert_eq!(list(&storage).unwrap(), expected);
        assert_eq!(segment_name(Position::new(42)), "00000000000000000042.log");
    }
}
