//! The stored form of a snapshot: constants and types of their own, so that the API can change
//! without touching a byte on disk.
//!
//! Every tag here is for ever: new variants go to the end, and a changed layout is a new version.

use crate::ids::{BundleId, Fence, KeyRange, Position};
use crate::log::codec::{self, Dictionary};
use crate::log::{ENTRY_BYTES_MAX, StoredName, StoredState};
use crate::state::{Phase, Record, Row};
use serde::{Deserialize, Serialize};

/// The newest version of the format of snapshots that this library reads, and the one it writes.
pub const FORMAT_VERSION: u32 = 1;

/// How large a block becomes, in bytes, if nothing else is asked for.
pub const BLOCK_BYTES: usize = 64 << 10;

/// The largest size of a block that can be asked for, in bytes. A row with many cuts may take its
/// block beyond it, but never beyond [`ENTRY_BYTES_MAX`].
pub const BLOCK_BYTES_MAX: usize = ENTRY_BYTES_MAX / 2;

/// Stored; keep stable.
pub(super) const MAGIC: [u8; 8] = *b"deedsnap";

/// The most that a stored number takes: a tag and eight bytes.
pub(super) const NUMBER_BYTES_MAX: usize = 9;

/// The chain of a block: the CRC-32 of the chain before it and of the block's other bytes.
pub(super) fn chain(previous: u32, rest: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&previous.to_le_bytes());
    hasher.update(rest);
    hasher.finalize()
}

/// A block after the first, with the names that it is the first to use. Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredBlockV1 {
    pub(super) introduced: Vec<StoredName>,
    pub(super) part: StoredPart,
}

/// What a block holds. Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StoredPart {
    Numbers(StoredNumbers),
    Namespaces(Vec<(u32, StoredPhase)>),
    Sessions(Vec<(u32, u64)>),
    Rows(Vec<StoredRow>),
    End { rows: u64 },
}

/// The facts that are but numbers. Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredNumbers {
    pub(super) epoch: u64,
    pub(super) floor: u64,
    pub(super) rules_version: u32,
}

/// Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StoredPhase {
    Live,
    BeingDeleted,
}

/// A bundle stands in one row alone, so it gets no number. Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredRow {
    namespace: u32,
    lower: u32,
    upper: u32,
    version: u64,
    fence: u64,
    state: StoredState,
}

impl From<Phase> for StoredPhase {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Live => Self::Live,
            Phase::BeingDeleted => Self::BeingDeleted,
        }
    }
}

impl From<StoredPhase> for Phase {
    fn from(phase: StoredPhase) -> Self {
        match phase {
            StoredPhase::Live => Self::Live,
            StoredPhase::BeingDeleted => Self::BeingDeleted,
        }
    }
}

impl StoredRow {
    /// More than a row without cuts takes: ten numbers and tags.
    const BYTES_MAX: usize = 10 * NUMBER_BYTES_MAX;

    pub(super) fn store(dictionary: &mut Dictionary, bundle: &BundleId, row: &Row) -> Self {
        Self {
            namespace: dictionary.namespace_number(bundle.namespace()),
            lower: bundle.range().lower(),
            upper: bundle.range().upper(),
            version: row.version.get(),
            fence: row.fence.get(),
            state: dictionary.store_record(&row.record),
        }
    }

    pub(super) fn load(self, dictionary: &Dictionary) -> Result<(BundleId, Row), codec::Error> {
        let range = KeyRange::new(self.lower, self.upper)?;
        let bundle = BundleId::new(dictionary.namespace(self.namespace)?, range);
        let row = Row {
            record: dictionary.load_record(self.state)?,
            version: Position::new(self.version),
            fence: Fence::new(self.fence),
        };
        Ok((bundle, row))
    }

    /// How many bytes a row takes at most, names that it introduces aside.
    pub(super) fn bytes_max(row: &Row) -> usize {
        let cuts = match &row.record {
            Record::Splitting { cuts, .. } => cuts.as_slice().len(),
            _ => 0,
        };
        Self::BYTES_MAX + cuts * (1 + size_of::<u32>())
    }
}
