//! Reading one segment from its start: frame by frame, names and all.

use super::directory::segment_name;
use super::format::frame::PAYLOAD;
use super::format::{FORMAT_VERSION, Flaw, header};
use super::frame::{self, Before, Found, Place};
use super::header::{Header, Kind};
use crate::ids::{LogId, Position};
use crate::log::codec::Dictionary;
use crate::log::{Payload, ReadError};
use crate::storage::{self, Access, File, Storage};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many bytes are read at a time where much is to be read.
const CHUNK_BYTES_MAX: usize = 256 * 1024;

/// How many bytes are read at a time to see whether there is anything new.
const CHUNK_BYTES_MIN: usize = 4 * 1024;

/// Reads a segment. What does not parse is read again before it is believed: another process may
/// be writing there.
#[derive(Debug)]
pub(super) struct SegmentReader {
    file: Arc<dyn File>,
    path: PathBuf,
    header: Header,
    dictionary: Dictionary,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins.
    buffer_start: u64,
    /// How many bytes to read next time.
    chunk_bytes: usize,
    /// Where in the file the last frame that was read begins.
    frame_offset: u64,
    /// Where in the file the next frame begins.
    offset: u64,
    /// The position of the next record.
    next: Position,
}

/// What came next.
#[derive(Debug)]
pub(super) enum Step {
    /// A frame.
    Frame(Frame),
    /// Nothing was written here yet.
    Unwritten,
    /// Something that is no frame of this place; says what.
    Bad(&'static str),
}

/// A frame and what it holds.
#[derive(Debug)]
pub(super) struct Frame {
    /// Where in the file it begins.
    pub(super) offset: u64,
    /// The position of its first record.
    pub(super) first: Position,
    /// What was durable when it was written.
    pub(super) before: Before,
    /// Its records, at `first` and the positions that follow it.
    pub(super) payloads: Vec<Payload>,
}

/// What the storage said, to a reader.
pub(super) fn unavailable(error: &storage::Error) -> ReadError {
    ReadError::Unavailable {
        path: error.path().to_owned(),
        kind: error.kind(),
    }
}

/// What is wrong with the file, to a reader.
pub(super) fn flawed(path: &Path, offset: u64, flaw: Flaw) -> ReadError {
    let path = path.to_owned();
    match flaw {
        Flaw::Damage(found) => ReadError::Damaged {
            path,
            offset,
            found,
        },
        Flaw::Newer { version } => ReadError::NewerFormat {
            path,
            version,
            known: FORMAT_VERSION,
        },
    }
}

impl SegmentReader {
    /// Opens the segment that begins at `first`. If the log's id is known it must match.
    pub(super) fn open(
        storage: &dyn Storage,
        first: Position,
        log: Option<LogId>,
    ) -> Result<Self, ReadError> {
        let name = segment_name(first);
        let path = storage.path().join(&name);
        let file = storage
            .open(&name, Access::Read)
            .map_err(|error| unavailable(&error))?;
        let mut bytes = [0; header::BYTES];
        let count = file
            .read_at(0, &mut bytes)
            .map_err(|error| unavailable(&error))?;
        let bytes = bytes.get(..count).unwrap_or_default();
        let header = Header::decode(bytes, Kind::Segment, first.get())
            .map_err(|flaw| flawed(&path, 0, flaw))?;
        if let Some(expected) = log.filter(|id| *id != header.log) {
            return Err(ReadError::WrongLog {
                expected,
                found: header.log,
            });
        }
        Ok(Self {
            file,
            path,
            header,
            dictionary: Dictionary::default(),
            buffer: Vec::new(),
            buffer_start: 0,
            chunk_bytes: CHUNK_BYTES_MAX,
            frame_offset: header::BYTES as u64,
            offset: header::BYTES as u64,
            next: first,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn log(&self) -> LogId {
        self.header.log
    }

    pub(super) fn first(&self) -> Position {
        Position::new(self.header.start)
    }

    /// The first position of the segment before this one; zero if there was none.
    pub(super) fn previous(&self) -> Position {
        Position::new(self.header.origin)
    }

    /// Where the last frame that was read begins.
    pub(super) fn frame_offset(&self) -> u64 {
        self.frame_offset
    }

    /// Where the next frame begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The position of the next record.
    pub(super) fn next(&self) -> Position {
        self.next
    }

    /// The names that the segment has introduced so far.
    pub(super) fn into_dictionary(self) -> Dictionary {
        self.dictionary
    }

    /// The damage at the next frame's place.
    pub(super) fn damaged(&self, found: &'static str) -> ReadError {
        flawed(&self.path, self.offset, Flaw::Damage(found))
    }

    /// Reads the next frame, if there is one.
    pub(super) fn read_frame(&mut self) -> Result<Step, ReadError> {
        let place = self.place();
        let mut wanted = PAYLOAD;
        let mut is_fresh = self.fill(wanted)?;
        loop {
            let rest = rest(&self.buffer, self.buffer_start, self.offset);
            match frame::read(rest, place) {
                Found::Frame { payload, before } => {
                    let bytes = PAYLOAD + payload.len();
                    let payloads = decode(&mut self.dictionary, payload, self.next)
                        .map_err(|error| error.place(&self.path, self.offset))?;
                    return Ok(Step::Frame(self.advance(payloads, before, bytes)));
                }
                Found::Incomplete { needed } if needed > wanted => {
                    wanted = needed;
                    is_fresh |= self.fill(wanted)?;
                }
                // It was read ahead, perhaps before it was written.
                _ if !is_fresh => {
                    self.buffer.clear();
                    is_fresh = self.fill(wanted)?;
                }
                Found::Bad(found) => return Ok(Step::Bad(found)),
                Found::Incomplete { .. } if rest.iter().any(|&byte| byte != 0) => {
                    return Ok(Step::Bad("a frame that reaches beyond the file"));
                }
                // At its very end a file has no room for a further frame.
                Found::Unwritten | Found::Incomplete { .. } => {
                    self.chunk_bytes = CHUNK_BYTES_MIN;
                    return Ok(Step::Unwritten);
                }
            }
        }
    }

    /// Everything from the next frame's place to the end of the file.
    pub(super) fn read_rest(&self) -> Result<Vec<u8>, ReadError> {
        let told = |error: storage::Error| unavailable(&error);
        let size = self.file.size().map_err(told)?;
        let bytes = usize::try_from(size.saturating_sub(self.offset)).unwrap_or(0);
        let mut rest = vec![0; bytes];
        let count = self.file.read_at(self.offset, &mut rest).map_err(told)?;
        rest.truncate(count);
        Ok(rest)
    }

    /// Where behind the next frame's place a frame proves that what stood here was once whole.
    pub(super) fn find_proof(&self) -> Result<Option<u64>, ReadError> {
        let rest = self.read_rest()?;
        Ok(frame::find_proof(&rest, self.place()).map(|offset| self.offset + offset as u64))
    }

    fn advance(&mut self, payloads: Vec<Payload>, before: Before, bytes: usize) -> Frame {
        let frame = Frame {
            offset: self.offset,
            first: self.next,
            before,
            payloads,
        };
        self.frame_offset = self.offset;
        self.offset += bytes as u64;
        self.next = Position::new(self.next.get() + frame.payloads.len() as u64);
        frame
    }

    fn place(&self) -> Place {
        Place {
            segment: self.first(),
            first: self.next,
        }
    }

    /// Makes sure that so many bytes are at hand, if the file has them; says whether all that is
    /// at hand was read just now.
    fn fill(&mut self, wanted: usize) -> Result<bool, ReadError> {
        if rest(&self.buffer, self.buffer_start, self.offset).len() >= wanted {
            return Ok(false);
        }
        self.buffer.resize(wanted.max(self.chunk_bytes), 0);
        self.buffer_start = self.offset;
        let count = self
            .file
            .read_at(self.offset, &mut self.buffer)
            .map_err(|error| unavailable(&error))?;
        self.buffer.truncate(count);
        self.chunk_bytes = CHUNK_BYTES_MAX.min(self.chunk_bytes * 2);
        Ok(true)
    }
}

/// The bytes at hand from the next frame's place on.
fn rest(buffer: &[u8], buffer_start: u64, offset: u64) -> &[u8] {
    let skipped = usize::try_from(offset.saturating_sub(buffer_start)).unwrap_or(usize::MAX);
    buffer.get(skipped..).unwrap_or_default()
}

/// Why the records of a frame cannot be used although its checksum holds.
enum DecodeError {
    Record(&'static str),
    Codec(ReadError),
}

impl DecodeError {
    fn place(self, path: &Path, offset: u64) -> ReadError {
        match self {
            Self::Record(found) => flawed(path, offset, Flaw::Damage(found)),
            Self::Codec(error) => error,
        }
    }
}

fn decode(
    dictionary: &mut Dictionary,
    payload: &[u8],
    first: Position,
) -> Result<Vec<Payload>, DecodeError> {
    let mut payloads = Vec::new();
    let mut position = first;
    for record in frame::records(payload) {
        let record = record.map_err(DecodeError::Record)?;
        let payload = dictionary
            .decode(record)
            .map_err(|source| DecodeError::Codec(ReadError::Codec { position, source }))?;
        payloads.push(payload);
        position = position.next();
    }
    Ok(payloads)
}
