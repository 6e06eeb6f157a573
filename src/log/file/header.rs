//! The header that segments and snapshots begin with.

use super::format::{self, Flaw, array_at, header, put, u32_at, u64_at};
use crate::ids::LogId;

/// Which kind of file a header begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Entries.
    Segment,
    /// The state below a horizon.
    Snapshot,
}

impl Kind {
    const fn magic(self) -> [u8; 8] {
        match self {
            Self::Segment => format::SEGMENT_MAGIC,
            Self::Snapshot => format::SNAPSHOT_MAGIC,
        }
    }
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Which history the file belongs to.
    pub(super) log: LogId,
    /// Of a segment, its first position; of a snapshot, its horizon. The file's name says the same.
    pub(super) start: u64,
    /// Of a segment, the first position of the one before it, zero if there was none; of a
    /// snapshot, the epoch in whose name it was written.
    pub(super) origin: u64,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; header::BYTES] {
        let mut bytes = [0; header::BYTES];
        put(&mut bytes, header::MAGIC, &self.kind.magic());
        put(
            &mut bytes,
            header::VERSION,
            &format::FORMAT_VERSION.to_le_bytes(),
        );
        put(&mut bytes, header::CODEC, &format::CODEC.to_le_bytes());
        put(&mut bytes, header::LOG, &self.log.get().to_le_bytes());
        put(&mut bytes, header::START, &self.start.to_le_bytes());
        put(&mut bytes, header::ORIGIN, &self.origin.to_le_bytes());
        let crc = checksum(&bytes);
        put(&mut bytes, header::CRC, &crc.to_le_bytes());
        bytes
    }

    /// Reads the header of a file of this kind that is named after `start`.
    pub(super) fn decode(bytes: &[u8], kind: Kind, start: u64) -> Result<Self, Flaw> {
        let Some(bytes) = bytes.first_chunk::<{ header::BYTES }>() else {
            return Err(Flaw::Damage("the file ends within its header"));
        };
        if !bytes.starts_with(&kind.magic()) {
            return Err(Flaw::Damage("the file does not begin as one of its kind"));
        }
        let version = u32_at(bytes, header::VERSION);
        if version > format::FORMAT_VERSION {
            return Err(Flaw::Newer { version });
        }
        if u32_at(bytes, header::CRC) != checksum(bytes) {
            return Err(Flaw::Damage("the header's checksum does not match"));
        }
        let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        let zeroes = bytes.get(header::ZEROES..header::CRC).is_some_and(is_zero);
        let found = Self {
            kind,
            log: LogId::new(array_at(bytes, header::LOG).map_or(0, u128::from_le_bytes)),
            start: u64_at(bytes, header::START),
            origin: u64_at(bytes, header::ORIGIN),
        };
        if version == 0 || u32_at(bytes, header::CODEC) != format::CODEC || !zeroes {
            return Err(Flaw::Damage(
                "the header says what no version of this library writes",
            ));
        }
        if !(1..=format::START_MAX).contains(&found.start) {
            return Err(Flaw::Damage("the header says a position that no log has"));
        }
        if found.start != start {
            return Err(Flaw::Damage(
                "the header and the file's name say different positions",
            ));
        }
        Ok(found)
    }
}

fn checksum(bytes: &[u8; header::BYTES]) -> u32 {
    crc32fast::hash(bytes.get(..header::CRC).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        kind: Kind::Segment,
        log: LogId::new(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10),
        start: 42,
        origin: 17,
    };

    #[test]
    fn what_is_written_is_read() {
        let bytes = HEADER.encode();
        assert_eq!(Header::decode(&bytes, Kind::Segment, 42), Ok(HEADER));
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes = HEADER.encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(
                Header::decode(&flipped, Kind::Segment, 42).is_err(),
                "bit {bit}"
            );
        }
    }

    #[test]
    fn a_newer_version_is_newer_and_not_damaged() {
        let mut bytes = HEADER.encode();
        put(&mut bytes, header::VERSION, &2_u32.to_le_bytes());
        let found = Header::decode(&bytes, Kind::Segment, 42);
        assert_eq!(found, Err(Flaw::Newer { version: 2 }));
    }

    /// Behind such a start positions would run out while the file is read.
    #[test]
    fn a_start_that_no_log_has_is_damage() {
        let decode = |start| {
            let bytes = Header { start, ..HEADER }.encode();
            Header::decode(&bytes, Kind::Segment, start)
        };
        for start in [1, format::START_MAX] {
            assert_eq!(decode(start), Ok(Header { start, ..HEADER }));
        }
        for start in [0, format::START_MAX + 1, u64::MAX] {
            assert!(decode(start).is_err(), "{start}");
        }
    }

    #[test]
    fn another_kind_another_place_or_half_a_header_is_damage() {
        let bytes = HEADER.encode();
        assert!(Header::decode(&bytes, Kind::Snapshot, 42).is_err());
        assert!(Header::decode(&bytes, Kind::Segment, 43).is_err());
        assert!(Header::decode(&bytes[..63], Kind::Segment, 42).is_err());
    }
}
