//! Why blocks are no snapshot, or a snapshot does not become blocks.

use crate::ids::Position;
use crate::log::{SnapshotError, codec};

/// Why a snapshot cannot be read or written. Blocks count from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The log cannot give or take a block.
    #[error(transparent)]
    Log(#[from] SnapshotError),
    /// The first block is not that of a snapshot.
    #[error("the first block is not that of a snapshot")]
    NotASnapshot,
    /// Something newer than this library wrote it.
    #[error(
        "the snapshot is newer (version {version}) than this library reads ({known}); upgrade before opening"
    )]
    NewerFormat {
        /// Its version.
        version: u32,
        /// The newest version known.
        known: u32,
    },
    /// A block is damaged, or is not the one that belongs there.
    #[error(
        "block {block} of the snapshot does not follow from those before it: its chain is {found:#010x}, not {expected:#010x}"
    )]
    BadChain {
        /// Which block.
        block: u64,
        /// What should stand there.
        expected: u32,
        /// What stands there.
        found: u32,
    },
    /// The snapshot lies under another horizon than it was written for.
    #[error("the snapshot was written for horizon {found}, not for {expected}")]
    WrongHorizon {
        /// Where it lies.
        expected: Position,
        /// What it says.
        found: Position,
    },
    /// A block's content cannot be decoded although its chain holds.
    #[error("block {block} of the snapshot cannot be decoded: {source}")]
    Codec {
        /// Which block.
        block: u64,
        /// What is wrong with it.
        source: codec::Error,
    },
    /// Blocks, or what they list, are not in the order in which they are written.
    #[error("block {block} of the snapshot is not in order")]
    NotInOrder {
        /// Which block.
        block: u64,
    },
    /// The snapshot ends before its last block: it was never finished.
    #[error("the snapshot ends after {blocks} blocks, without its last one")]
    Unfinished {
        /// How many blocks there are.
        blocks: u64,
    },
    /// There are not as many rows as the last block says.
    #[error("the snapshot has {found} rows, and says that it has {expected}")]
    WrongCount {
        /// How many it says.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// Something follows the last block.
    #[error("something follows block {block}, the last of the snapshot")]
    Trailing {
        /// The last block.
        block: u64,
    },
}
