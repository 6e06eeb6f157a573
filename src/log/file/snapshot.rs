//! Snapshot files: written beside, synced, renamed, the directory synced; read block by block.

use super::block::{BlockPlace, Next};
use super::directory::{part_name, snapshot_name};
use super::format::{FORMAT_VERSION, Flaw, SNAPSHOT_BLOCK_BYTES_MAX, block, header};
use super::header::{Header, Kind};
use crate::ids::{Epoch, LogId, Position};
use crate::log::{SnapshotError, SnapshotSource};
use crate::storage::{self, Access, File, Storage};
use std::path::PathBuf;
use std::sync::Arc;

/// A snapshot that is read.
#[derive(Debug)]
pub(super) struct SnapshotReader {
    file: Arc<dyn File>,
    path: PathBuf,
    header: Header,
    place: BlockPlace,
    offset: u64,
    is_at_end: bool,
}

/// A snapshot that is written. Until it is [published](SnapshotWriter::publish) it has a name that
/// no reader looks for.
#[derive(Debug)]
pub(super) struct SnapshotWriter {
    storage: Arc<dyn Storage>,
    file: Arc<dyn File>,
    name: String,
    place: BlockPlace,
    offset: u64,
    is_published: bool,
}

/// What the storage said, to whoever works on a snapshot.
pub(super) fn failed(error: &storage::Error) -> SnapshotError {
    let path = error.path().to_owned();
    match error {
        storage::Error::Full { .. } => SnapshotError::Full { path },
        error => SnapshotError::Unavailable {
            path,
            kind: error.kind(),
        },
    }
}

impl From<storage::Error> for SnapshotError {
    fn from(error: storage::Error) -> Self {
        failed(&error)
    }
}

impl SnapshotReader {
    /// Opens the snapshot of this horizon.
    pub(super) fn open(
        storage: &dyn Storage,
        horizon: Position,
        log: Option<LogId>,
    ) -> Result<Self, SnapshotError> {
        let name = snapshot_name(horizon);
        let path = storage.path().join(&name);
        let told = |error: storage::Error| failed(&error);
        let file = storage.open(&name, Access::Read).map_err(told)?;
        let mut bytes = [0; header::BYTES];
        let count = file.read_at(0, &mut bytes).map_err(told)?;
        let bytes = bytes.get(..count).unwrap_or_default();
        let flawed = |flaw| match flaw {
            Flaw::Damage(found) => SnapshotError::Damaged {
                path: path.clone(),
                offset: 0,
                found,
            },
            Flaw::Newer { version } => SnapshotError::NewerFormat {
                path: path.clone(),
                version,
                known: FORMAT_VERSION,
            },
        };
        let header = Header::decode(bytes, Kind::Snapshot, horizon.get()).map_err(flawed)?;
        if log.is_some_and(|log| log != header.log) {
            return Err(flawed(Flaw::Damage("the snapshot of another log")));
        }
        Ok(Self {
            file,
            path,
            header,
            place: BlockPlace::first(horizon),
            offset: header::BYTES as u64,
            is_at_end: false,
        })
    }

    /// Which history it belongs to.
    pub(super) fn log(&self) -> LogId {
        self.header.log
    }

    /// In whose name it was written.
    pub(super) fn epoch(&self) -> Epoch {
        Epoch::new(self.header.origin)
    }

    /// How many blocks were read so far.
    pub(super) fn block_count(&self) -> u64 {
        self.place.count
    }

    /// Reads it to its end, so that everything in it was checked.
    pub(super) fn verify(&mut self) -> Result<(), SnapshotError> {
        while self.next_block()?.is_some() {}
        Ok(())
    }

    fn damaged(&self, found: &'static str) -> SnapshotError {
        SnapshotError::Damaged {
            path: self.path.clone(),
            offset: self.offset,
            found,
        }
    }

    fn read(&self, offset: u64, bytes: usize) -> Result<Vec<u8>, SnapshotError> {
        let mut buffer = vec![0; bytes];
        let count = self.file.read_at(offset, &mut buffer);
        buffer.truncate(count.map_err(|error| failed(&error))?);
        Ok(buffer)
    }
}

impl SnapshotSource for SnapshotReader {
    fn horizon(&self) -> Position {
        Position::new(self.header.start)
    }

    fn next_block(&mut self) -> Result<Option<Vec<u8>>, SnapshotError> {
        if self.is_at_end {
            return Ok(None);
        }
        // One byte more than a footer, to see that nothing follows it.
        let head = self.read(self.offset, block::FOOTER_BYTES + 1)?;
        match self.place.next(&head) {
            Next::Bad(found) => Err(self.damaged(found)),
            Next::Footer => {
                self.place
                    .check_footer(&head)
                    .map_err(|found| self.damaged(found))?;
                self.is_at_end = true;
                Ok(None)
            }
            Next::Block { bytes, crc } => {
                let content = self.read(self.offset + block::PAYLOAD as u64, bytes)?;
                if content.len() < bytes {
                    return Err(self.damaged("a block that reaches beyond the file"));
                }
                if !self.place.holds(&content, crc) {
                    return Err(self.damaged("a block whose checksum does not match"));
                }
                self.place = self.place.after(bytes);
                self.offset += (block::PAYLOAD + bytes) as u64;
                Ok(Some(content))
            }
        }
    }
}

impl SnapshotWriter {
    /// Begins the `attempt`-th snapshot of this process.
    pub(super) fn create(
        storage: Arc<dyn Storage>,
        log: LogId,
        horizon: Position,
        epoch: Epoch,
        attempt: u64,
    ) -> Result<Self, SnapshotError> {
        let name = part_name(horizon, attempt);
        let told = |error: storage::Error| failed(&error);
        let file = storage.create(&name).map_err(told)?;
        let mut writer = Self {
            storage,
            file,
            name,
            place: BlockPlace::first(horizon),
            offset: 0,
            is_published: false,
        };
        let header = Header {
            kind: Kind::Snapshot,
            log,
            start: horizon.get(),
            origin: epoch.get(),
        };
        writer.append(&[&header.encode()])?;
        Ok(writer)
    }

    /// The next position to read after it.
    pub(super) fn horizon(&self) -> Position {
        self.place.horizon
    }

    pub(super) fn write_block(&mut self, content: &[u8]) -> Result<(), SnapshotError> {
        if content.len() > SNAPSHOT_BLOCK_BYTES_MAX {
            return Err(SnapshotError::BlockTooLarge {
                bytes: content.len(),
                max: SNAPSHOT_BLOCK_BYTES_MAX,
            });
        }
        let head = self.place.block_header(content);
        self.append(&[&head, content])?;
        self.place = self.place.after(content.len());
        Ok(())
    }

    /// Writes what comes behind the last block.
    pub(super) fn write_footer(&mut self) -> Result<(), SnapshotError> {
        self.append(&[&self.place.footer()])
    }

    /// Makes all bytes durable. If that fails it is over: another sync would prove nothing.
    pub(super) fn sync(&mut self) -> Result<(), SnapshotError> {
        self.file.sync().map_err(|error| failed(&error))
    }

    /// Gives the finished snapshot its name, durably.
    ///
    /// A crash before the rename leaves a part, which the next opening removes; one after it leaves
    /// the part or the whole snapshot, since its bytes were synced before.
    pub(super) fn publish(&mut self) -> Result<(), SnapshotError> {
        let told = |error: storage::Error| failed(&error);
        let name = snapshot_name(self.place.horizon);
        self.storage.rename(&self.name, &name).map_err(told)?;
        self.is_published = true;
        self.storage.sync().map_err(told)
    }

    /// Writes parts one behind the other. If it fails, the next one begins at the same place.
    fn append(&mut self, parts: &[&[u8]]) -> Result<(), SnapshotError> {
        let mut end = self.offset;
        for bytes in parts {
            let written = self.file.write_at(end, bytes);
            written.map_err(|error| failed(&error))?;
            end += bytes.len() as u64;
        }
        self.offset = end;
        Ok(())
    }
}

impl Drop for SnapshotWriter {
    fn drop(&mut self) {
        if !self.is_published {
            // If it stays, the next opening removes it.
            let _ = self.storage.remove(&self.name);
        }
    }
}
