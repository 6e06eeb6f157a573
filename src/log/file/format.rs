//! Every number that is stored in a file of the log: magics, versions, sizes and offsets.
//!
//! docs/format.md shows the same as tables. Stored; keep stable: a change is a new version, with a
//! reader for this one.

use crate::log::ENTRY_BYTES_MAX;

/// The version of the layout of segments and snapshots.
pub(super) const FORMAT_VERSION: u32 = 1;

/// How payloads are encoded: 1 is the codec of this library, with names by number.
pub(super) const CODEC: u32 = 1;

/// Begins a segment.
pub(super) const SEGMENT_MAGIC: [u8; 8] = *b"deedlog\n";

/// Begins a snapshot.
pub(super) const SNAPSHOT_MAGIC: [u8; 8] = *b"deedsnp\n";

/// The header of a file.
pub(super) mod header {
    pub(in super::super) const MAGIC: usize = 0;
    pub(in super::super) const VERSION: usize = MAGIC + size_of::<[u8; 8]>();
    pub(in super::super) const CODEC: usize = VERSION + size_of::<u32>();
    pub(in super::super) const LOG: usize = CODEC + size_of::<u32>();
    pub(in super::super) const START: usize = LOG + size_of::<u128>();
    pub(in super::super) const ORIGIN: usize = START + size_of::<u64>();
    pub(in super::super) const ZEROES: usize = ORIGIN + size_of::<u64>();
    pub(in super::super) const CRC: usize = ZEROES + ZEROES_BYTES;
    pub(in super::super) const BYTES: usize = CRC + size_of::<u32>();
    const ZEROES_BYTES: usize = 12;
}

/// A frame of a segment: its header, then records.
pub(super) mod frame {
    pub(in super::super) const LENGTH: usize = 0;
    pub(in super::super) const CRC: usize = LENGTH + size_of::<u32>();
    pub(in super::super) const INDEX: usize = CRC + size_of::<u32>();
    pub(in super::super) const PAYLOAD: usize = INDEX + size_of::<u32>();

    /// The bit of the length that says: all before this frame was synced when it was written.
    pub(in super::super) const SYNCED_BEFORE: u32 = 1 << 31;
}

/// A block of a snapshot, and the footer in the place of a further block.
pub(super) mod block {
    pub(in super::super) const LENGTH: usize = 0;
    pub(in super::super) const CRC: usize = LENGTH + size_of::<u32>();
    pub(in super::super) const PAYLOAD: usize = CRC + size_of::<u32>();

    /// The length that says: this is the footer.
    pub(in super::super) const FOOTER: u32 = u32::MAX;
    pub(in super::super) const FOOTER_COUNT: usize = CRC + size_of::<u32>();
    pub(in super::super) const FOOTER_TOTAL: usize = FOOTER_COUNT + size_of::<u64>();
    pub(in super::super) const FOOTER_BYTES: usize = FOOTER_TOTAL + size_of::<u64>();
}

/// The highest position that a file may begin with, or have as its horizon: no log comes near it,
/// and what a file adds to it still is a position.
pub(super) const START_MAX: u64 = 1 << 63;

/// The most bytes that the length of a record takes.
pub(super) const RECORD_LENGTH_BYTES_MAX: usize = 3;

/// The most bytes of records in a frame: a group is closed once it holds half of it.
pub(super) const FRAME_PAYLOAD_BYTES_MAX: usize = 2 * (ENTRY_BYTES_MAX + RECORD_LENGTH_BYTES_MAX);

/// The largest frame, in bytes.
pub(super) const FRAME_BYTES_MAX: usize = frame::PAYLOAD + FRAME_PAYLOAD_BYTES_MAX;

/// The largest block of a snapshot, in bytes.
pub const SNAPSHOT_BLOCK_BYTES_MAX: usize = 16 << 20;

/// The smallest segment that can be asked for, in bytes.
pub const SEGMENT_BYTES_MIN: u64 = 128;

const _: () = assert!(header::BYTES == 64);
const _: () = assert!(frame::PAYLOAD == 12);
const _: () = assert!(block::FOOTER_BYTES == 24);
const _: () = assert!(FRAME_PAYLOAD_BYTES_MAX < frame::SYNCED_BEFORE as usize);

/// What is wrong with stored bytes. The order of the checks: length, magic, version, checksum,
/// meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Not what was written; says what was found.
    Damage(&'static str),
    /// Written by a newer library.
    Newer {
        /// The version found.
        version: u32,
    },
}

/// The fixed number of bytes at `offset`, if they are there.
pub(super) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// The number at `offset`; zero if the bytes end before, which callers have ruled out.
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    array_at(bytes, offset).map_or(0, u32::from_le_bytes)
}

/// The number at `offset`; zero if the bytes end before, which callers have ruled out.
pub(super) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    array_at(bytes, offset).map_or(0, u64::from_le_bytes)
}

/// Puts bytes at `offset`, where there is room for them.
pub(super) fn put(bytes: &mut [u8], offset: usize, what: &[u8]) {
    if let Some(target) = bytes.get_mut(offset..offset + what.len()) {
        target.copy_from_slice(what);
    }
}
