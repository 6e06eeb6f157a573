//! Reading across segments, live: where one ends the next begins, and what was trimmed says so.

use super::segment::{SegmentReader, Step};
use crate::ids::{LogId, Position};
use crate::log::{Payload, ReadError};
use crate::storage::Storage;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;

/// How often a segment may vanish between being listed and being opened before that is an error.
const ATTEMPTS_MAX: usize = 8;

/// Reads all payloads from one position on.
#[derive(Debug)]
pub(super) struct LogReader {
    storage: Arc<dyn Storage>,
    log: LogId,
    segment: Option<SegmentReader>,
    /// The next position to hand out.
    next: Position,
}

/// Where the segments are: the first positions of all that are retained, in order.
pub(super) type Segments<'a> = &'a dyn Fn() -> Result<Vec<Position>, ReadError>;

impl LogReader {
    pub(super) fn new(storage: Arc<dyn Storage>, log: LogId, next: Position) -> Self {
        Self {
            storage,
            log,
            segment: None,
            next,
        }
    }

    /// The next position to read.
    pub(super) fn next(&self) -> Position {
        self.next
    }

    /// The segment it reads from and where in it the next frame begins, for messages.
    pub(super) fn segment(&self) -> Option<&SegmentReader> {
        self.segment.as_ref()
    }

    /// The next payloads with their positions; none at the present end of the log.
    pub(super) fn read(
        &mut self,
        segments: Segments<'_>,
    ) -> Result<VecDeque<(Position, Payload)>, ReadError> {
        loop {
            if self.segment.is_none() && !self.find_segment(segments)? {
                return Ok(VecDeque::new());
            }
            let Some(segment) = &mut self.segment else {
                return Ok(VecDeque::new());
            };
            let step = match segment.read_frame()? {
                Step::Frame(frame) => Step::Frame(frame),
                end => match self.judge(end, segments)? {
                    Some(step) => step,
                    None => continue,
                },
            };
            match step {
                Step::Frame(frame) => {
                    let payloads = self.wanted(frame.first, frame.payloads);
                    if !payloads.is_empty() {
                        return Ok(payloads);
                    }
                }
                Step::Unwritten | Step::Bad(_) => return Ok(VecDeque::new()),
            }
        }
    }

    /// Opens the segment that holds the next position; false if there is none yet.
    fn find_segment(&mut self, known: Segments<'_>) -> Result<bool, ReadError> {
        for _ in 0..ATTEMPTS_MAX {
            let segments = known()?;
            let Some(&horizon) = segments.first() else {
                return Ok(false);
            };
            if self.next < horizon {
                return Err(ReadError::Trimmed { horizon });
            }
            let holds = |first: &&Position| **first <= self.next;
            let first = *segments.iter().rev().find(holds).unwrap_or(&horizon);
            match SegmentReader::open(&*self.storage, first, Some(self.log)) {
                Ok(segment) => {
                    self.segment = Some(segment);
                    return Ok(true);
                }
                // If it was trimmed since it was listed, it may be gone, or another one by now.
                Err(error) => {
                    if known()?.contains(&first) {
                        return Err(error);
                    }
                }
            }
        }
        Err(ReadError::Unavailable {
            path: self.storage.path().to_owned(),
            kind: ErrorKind::NotFound,
        })
    }

    /// What it means that a segment has no further frame. Nothing: something changed, look again.
    fn judge(&mut self, end: Step, known: Segments<'_>) -> Result<Option<Step>, ReadError> {
        let Some(segment) = &mut self.segment else {
            return Ok(None);
        };
        let segments = known()?;
        let Ok(index) = segments.binary_search(&segment.first()) else {
            // It was trimmed, and perhaps its file serves as another segment by now.
            self.segment = None;
            return Ok(None);
        };
        let Some(&following) = segments.get(index + 1) else {
            // The live end. Something half written is not there yet, unless more follows.
            if let Step::Bad(found) = end
                && segment.find_proof()?.is_some()
            {
                // Or is it there by now?
                return match segment.read_frame()? {
                    Step::Bad(_) => unless_changed(segment.damaged(found), &segments, known),
                    step => Ok(Some(step)),
                };
            }
            return Ok(Some(end));
        };
        // A segment with a successor changes no more: what stands there now is all.
        match segment.read_frame()? {
            Step::Frame(frame) => Ok(Some(Step::Frame(frame))),
            Step::Bad(found) => unless_changed(segment.damaged(found), &segments, known),
            Step::Unwritten if segment.next() == following => {
                self.segment = None;
                Ok(None)
            }
            Step::Unwritten => {
                let gap = ReadError::Gap {
                    expected: segment.next(),
                    found: following,
                };
                unless_changed(gap, &segments, known)
            }
        }
    }

    /// Of a frame's payloads those that are still to be handed out.
    fn wanted(&mut self, first: Position, payloads: Vec<Payload>) -> VecDeque<(Position, Payload)> {
        let positions = (first.get()..).map(Position::new);
        let next = self.next;
        let wanted: VecDeque<_> = positions
            .zip(payloads)
            .filter(|(position, _)| *position >= next)
            .collect();
        if let Some((last, _)) = wanted.back() {
            self.next = last.next();
        }
        wanted
    }
}

/// The error, unless segments came or went since they were listed: then look again. The one that
/// was read may have been trimmed and be filled with zeroes, or with frames of its next life.
fn unless_changed<T>(
    error: ReadError,
    listed: &[Position],
    known: Segments<'_>,
) -> Result<Option<T>, ReadError> {
    if known()? == listed {
        Err(error)
    } else {
        Ok(None)
    }
}
