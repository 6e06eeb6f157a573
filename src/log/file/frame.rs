//! A frame: the records that one write put into a segment, all of them or none.
//!
//! A frame is what one group of appends became, so a torn write tears the last frame and no other.
//! Its checksum covers its length, the absolute position of its first record and its records: a
//! frame in another place, another segment or another cycle of a recycled file does not match.

use super::format::{FRAME_PAYLOAD_BYTES_MAX, RECORD_LENGTH_BYTES_MAX, frame, put, u32_at};
use crate::ids::Position;

/// Builds one frame.
#[derive(Debug, Default)]
pub(super) struct FrameBuilder {
    /// Room for the header, then the records so far.
    bytes: Vec<u8>,
}

/// Where a frame is to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The first position of the segment.
    pub(super) segment: Position,
    /// The position of the frame's first record.
    pub(super) first: Position,
}

/// What was known to be durable when a frame was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// All of the log before this frame.
    Synced,
    /// Not all of it.
    Unsynced,
}

/// What stands at one place of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// Nothing was written here yet.
    Unwritten,
    /// The bytes at hand end before it can be said; so many are needed from its start on.
    Incomplete {
        /// Bytes from the frame's start.
        needed: usize,
    },
    /// A frame that is whole and in its place.
    Frame {
        /// Its records.
        payload: &'a [u8],
        /// What was durable before it.
        before: Before,
    },
    /// Not a frame, or not one of this place; says why.
    Bad(&'static str),
}

impl Place {
    fn index(self) -> Option<u32> {
        let index = self.first.get().checked_sub(self.segment.get())?;
        u32::try_from(index).ok()
    }
}

impl FrameBuilder {
    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.resize(frame::PAYLOAD, 0);
    }

    /// How many bytes, at most, a frame takes with one record of so many bytes.
    pub(super) const fn bytes_of(record_bytes: usize) -> usize {
        frame::PAYLOAD + RECORD_LENGTH_BYTES_MAX + record_bytes
    }

    /// How many bytes, at most, the frame would take with one more record.
    pub(super) fn bytes_with(&self, record_bytes: usize) -> usize {
        self.bytes.len() + RECORD_LENGTH_BYTES_MAX + record_bytes
    }

    /// How many bytes its records take.
    pub(super) fn payload_bytes(&self) -> usize {
        self.bytes.len().saturating_sub(frame::PAYLOAD)
    }

    /// Adds a record; the caller has made sure that it fits.
    pub(super) fn push(&mut self, record: &[u8]) {
        let mut rest = record.len();
        while rest > 0x7f {
            self.bytes.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
        self.bytes.extend_from_slice(record);
    }

    /// The whole frame, for this place.
    pub(super) fn finish(&mut self, place: Place, before: Before) -> &[u8] {
        let payload_bytes = self.payload_bytes();
        assert!(
            (1..=FRAME_PAYLOAD_BYTES_MAX).contains(&payload_bytes),
            "a frame holds records, and only so many bytes of them"
        );
        let index = place
            .index()
            .expect("a segment is full long before its index is");
        let flag = match before {
            Before::Synced => frame::SYNCED_BEFORE,
            Before::Unsynced => 0,
        };
        let word = payload_bytes as u32 | flag;
        let payload = self.bytes.get(frame::PAYLOAD..).unwrap_or_default();
        let crc = checksum(word, place.first, payload);
        put(&mut self.bytes, frame::LENGTH, &word.to_le_bytes());
        put(&mut self.bytes, frame::CRC, &crc.to_le_bytes());
        put(&mut self.bytes, frame::INDEX, &index.to_le_bytes());
        &self.bytes
    }
}

/// Says what `bytes` begin with, of which more may follow.
pub(super) fn read(bytes: &[u8], place: Place) -> Found<'_> {
    let Some(word) = bytes.first_chunk().map(|word| u32::from_le_bytes(*word)) else {
        let needed = frame::PAYLOAD;
        return Found::Incomplete { needed };
    };
    if word == 0 {
        return Found::Unwritten;
    }
    let length = payload_length(word);
    if length == 0 || length > FRAME_PAYLOAD_BYTES_MAX {
        return Found::Bad("a length that no frame has");
    }
    let needed = frame::PAYLOAD + length;
    let Some(payload) = bytes.get(frame::PAYLOAD..needed) else {
        return Found::Incomplete { needed };
    };
    let index = u32_at(bytes, frame::INDEX);
    let first = Position::new(place.segment.get().saturating_add(u64::from(index)));
    if u32_at(bytes, frame::CRC) != checksum(word, first, payload) {
        return Found::Bad("a frame whose checksum does not match");
    }
    if place.index() != Some(index) {
        return Found::Bad("a frame of another place");
    }
    let before = if word & frame::SYNCED_BEFORE == 0 {
        Before::Unsynced
    } else {
        Before::Synced
    };
    Found::Frame { payload, before }
}

/// Where in `bytes`, after their first, a whole frame begins before which everything had been
/// synced: proof that what stands before it was once whole, too.
///
/// `place` is where the first byte should have begun a frame.
pub(super) fn find_proof(bytes: &[u8], place: Place) -> Option<usize> {
    let expected = place.index()?;
    (1..bytes.len()).find(|&offset| {
        let rest = bytes.get(offset..).unwrap_or_default();
        let word = u32_at(rest, frame::LENGTH);
        if word & frame::SYNCED_BEFORE == 0 || rest.len() <= frame::PAYLOAD {
            return false;
        }
        // Between the two, each record takes a byte or more: most places are ruled out cheaply.
        let index = u32_at(rest, frame::INDEX);
        let possible = index > expected && u64::from(index) <= u64::from(expected) + offset as u64;
        let first = Position::new(place.segment.get().saturating_add(u64::from(index)));
        possible && matches!(read(rest, Place { first, ..place }), Found::Frame { .. })
    })
}

/// The records of a frame's payload.
#[derive(Clone, Debug)]
pub(super) struct Records<'a>(&'a [u8]);

/// The records of a frame.
pub(super) fn records(payload: &[u8]) -> Records<'_> {
    Records(payload)
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<&'a [u8], &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let split = split_record(self.0);
        let (record, rest) = match split {
            Some(split) => split,
            None => {
                self.0 = &[];
                return Some(Err("a record whose length cannot be"));
            }
        };
        self.0 = rest;
        Some(Ok(record))
    }
}

fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0;
    for (count, &byte) in bytes.iter().take(RECORD_LENGTH_BYTES_MAX).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * count);
        if byte & 0x80 == 0 {
            // One spelling only: a longer one would end in a zero.
            let is_shortest = byte != 0 || count == 0;
            let rest = bytes.get(count + 1..)?;
            return is_shortest.then(|| rest.split_at_checked(length)).flatten();
        }
    }
    None
}

fn payload_length(word: u32) -> usize {
    (word & !frame::SYNCED_BEFORE) as usize
}

fn checksum(word: u32, first: Position, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&word.to_le_bytes());
    hasher.update(&first.get().to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(segment: u64, first: u64) -> Place {
        Place {
            segment: Position::new(segment),
            first: Position::new(first),
        }
    }

    fn frame(records: &[&[u8]], place: Place, before: Before) -> Vec<u8> {
        let mut builder = FrameBuilder::default();
        builder.clear();
        records.iter().for_each(|record| builder.push(record));
        builder.finish(place, before).to_vec()
    }

    fn records_of(found: Found<'_>) -> Vec<Vec<u8>> {
        match found {
            Found::Frame { payload, .. } => records(payload).map(|r| r.unwrap().to_vec()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_frame_of_another_place_segment_or_cycle_is_bad() {
        let bytes = frame(&[b"a"], place(10, 12), Before::Synced);
        assert_eq!(records_of(read(&bytes, place(10, 12))), [b"a"]);
        for wrong in [place(10, 13), place(11, 13), place(12, 12), place(20, 22)] {
            assert!(matches!(read(&bytes, wrong), Found::Bad(_)), "{wrong:?}");
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes = frame(&[b"abc", b"", b"d"], place(1, 7), Before::Synced);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let found = read(&flipped, place(1, 7));
            assert!(
                matches!(found, Found::Bad(_) | Found::Incomplete { .. }),
                "bit {bit}: {found:?}"
            );
        }
    }

    #[test]
    fn no_prefix_is_taken_for_the_whole() {
        let bytes = frame(&[b"abc"], place(1, 1), Before::Unsynced);
        for count in 0..bytes.len() {
            let found = read(&bytes[..count], place(1, 1));
            assert!(
                matches!(found, Found::Incomplete { needed } if needed > count),
                "{count}"
            );
        }
        assert_eq!(read(&[0; 40], place(1, 1)), Found::Unwritten);
    }

    #[test]
    fn only_a_synced_frame_proves_what_was_before_it() {
        let damaged = b"damaged bytes, where frames of three records stood ".to_vec();
        for (before, proof) in [
            (Before::Synced, Some(damaged.len())),
            (Before::Unsynced, None),
        ] {
            let mut bytes = damaged.clone();
            bytes.extend(frame(&[b"later"], place(5, 9), before));
            bytes.extend([0; 50]);
            assert_eq!(find_proof(&bytes, place(5, 6)), proof);
            // A frame from before is no proof: it was recycled with its file.
            assert_eq!(find_proof(&bytes, place(5, 9)), None);
        }
    }

    #[test]
    fn lengths_have_one_spelling() {
        assert_eq!(split_record(&[1, 7]), Some((&[7][..], &[][..])));
        assert_eq!(split_record(&[0x81, 0, 7]), None);
        assert_eq!(split_record(&[0x80, 0x80, 0x80, 1]), None);
        assert_eq!(split_record(&[2, 7]), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..20),
            segment in 1..u64::from(u32::MAX),
            index in 0..1000_u64,
        ) {
            let place = place(segment, segment + index);
            let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
            let bytes = frame(&slices, place, Before::Synced);
            prop_assert_eq!(records_of(read(&bytes, place)), records);
        }

        #[test]
        fn any_bytes_are_judged_without_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let place = place(1, 1);
            let _ = read(&bytes, place);
            let _ = find_proof(&bytes, place);
            let count = records(&bytes).count();
            prop_assert!(count <= bytes.len());
        }
    }
}
