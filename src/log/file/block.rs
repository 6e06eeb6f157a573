//! Blocks of a snapshot and the footer behind the last of them, as bytes.
//!
//! The checksum of a block covers its length, the snapshot's horizon, its number and its content:
//! a block in another place or of another snapshot does not match. The footer says how many blocks
//! and bytes there were; a snapshot without one was never finished.

use super::format::{SNAPSHOT_BLOCK_BYTES_MAX, block, put, u32_at, u64_at};
use crate::ids::Position;

/// Where a block stands: the number of blocks and of bytes of content before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlace {
    pub(super) horizon: Position,
    pub(super) count: u64,
    pub(super) total: u64,
}

/// What comes next in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A block whose content has so many bytes, which are to be checked against a checksum.
    Block {
        /// Bytes of content.
        bytes: usize,
        /// What its checksum has to be.
        crc: u32,
    },
    /// The footer, if the bytes that follow say so, too.
    Footer,
    /// Neither; says why.
    Bad(&'static str),
}

impl BlockPlace {
    pub(super) fn first(horizon: Position) -> Self {
        Self {
            horizon,
            count: 0,
            total: 0,
        }
    }

    /// The place behind a block of so many bytes.
    pub(super) fn after(self, bytes: usize) -> Self {
        Self {
            count: self.count + 1,
            total: self.total + bytes as u64,
            ..self
        }
    }

    fn checksum(self, word: u32, content: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&word.to_le_bytes());
        hasher.update(&self.horizon.get().to_le_bytes());
        hasher.update(&self.count.to_le_bytes());
        hasher.update(content);
        hasher.finalize()
    }

    /// The bytes that go before the content of a block.
    pub(super) fn block_header(self, content: &[u8]) -> [u8; block::PAYLOAD] {
        assert!(
            content.len() <= SNAPSHOT_BLOCK_BYTES_MAX,
            "a block has a limit that its writer keeps"
        );
        let mut bytes = [0; block::PAYLOAD];
        let word = content.len() as u32;
        put(&mut bytes, block::LENGTH, &word.to_le_bytes());
        let crc = self.checksum(word, content);
        put(&mut bytes, block::CRC, &crc.to_le_bytes());
        bytes
    }

    /// The footer behind the last block.
    pub(super) fn footer(self) -> [u8; block::FOOTER_BYTES] {
        let mut bytes = [0; block::FOOTER_BYTES];
        put(&mut bytes, block::LENGTH, &block::FOOTER.to_le_bytes());
        let crc = self.checksum(block::FOOTER, &self.total.to_le_bytes());
        put(&mut bytes, block::CRC, &crc.to_le_bytes());
        put(&mut bytes, block::FOOTER_COUNT, &self.count.to_le_bytes());
        put(&mut bytes, block::FOOTER_TOTAL, &self.total.to_le_bytes());
        bytes
    }

    /// Reads what the header of a block says.
    pub(super) fn next(self, bytes: &[u8]) -> Next {
        if bytes.len() < block::PAYLOAD {
            return Next::Bad("a snapshot that ends without a footer");
        }
        let word = u32_at(bytes, block::LENGTH);
        let length = usize::try_from(word).unwrap_or(usize::MAX);
        let crc = u32_at(bytes, block::CRC);
        if word == block::FOOTER {
            Next::Footer
        } else if length > SNAPSHOT_BLOCK_BYTES_MAX {
            Next::Bad("a length that no block has")
        } else {
            Next::Block { bytes: length, crc }
        }
    }

    /// Whether this is the content of the block that stands here.
    pub(super) fn holds(self, content: &[u8], crc: u32) -> bool {
        u32::try_from(content.len()).is_ok_and(|word| self.checksum(word, content) == crc)
    }

    /// What is wrong with the bytes from the footer to the end of the file, if anything is.
    pub(super) fn check_footer(self, bytes: &[u8]) -> Result<(), &'static str> {
        if bytes.len() < block::FOOTER_BYTES {
            return Err("a snapshot that ends within its footer");
        }
        if bytes.len() > block::FOOTER_BYTES {
            return Err("bytes behind the footer");
        }
        if u32_at(bytes, block::CRC) != self.checksum(block::FOOTER, &self.total.to_le_bytes()) {
            return Err("a footer whose checksum does not match");
        }
        let counted = u64_at(bytes, block::FOOTER_COUNT) == self.count;
        if !counted || u64_at(bytes, block::FOOTER_TOTAL) != self.total {
            return Err("a footer that counts other blocks than there are");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_another_place_does_not_hold() {
        let place = BlockPlace::first(Position::new(9)).after(3);
        let header = place.block_header(b"abc");
        let Next::Block { bytes: 3, crc } = place.next(&header) else {
            panic!("a block was written");
        };
        assert!(place.holds(b"abc", crc));
        assert!(!place.holds(b"abd", crc));
        assert!(!place.after(3).holds(b"abc", crc));
        let horizon = Position::new(10);
        assert!(!BlockPlace { horizon, ..place }.holds(b"abc", crc));
    }

    #[test]
    fn every_flipped_bit_of_a_footer_is_found() {
        let place = BlockPlace::first(Position::new(9)).after(100).after(7);
        let footer = place.footer();
        assert_eq!(place.next(&footer), Next::Footer);
        assert_eq!(place.check_footer(&footer), Ok(()));
        for bit in 0..footer.len() * 8 {
            let mut flipped = footer;
            flipped[bit / 8] ^= 1 << (bit % 8);
            let found =
                place.next(&flipped) != Next::Footer || place.check_footer(&flipped).is_err();
            assert!(found, "bit {bit}");
        }
        assert!(place.check_footer(&footer[..23]).is_err());
        assert!(place.check_footer(&[&footer[..], &[0]].concat()).is_err());
        assert!(place.after(0).check_footer(&footer).is_err());
    }
}
