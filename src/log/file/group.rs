//! One group of appends: from what was submitted to one frame and an answer for each.

use super::format::FRAME_PAYLOAD_BYTES_MAX;
use super::frame::FrameBuilder;
use super::known::KnownIds;
use crate::ids::{EntryId, Position};
use crate::log::codec::{self, Dictionary, Mark};
use crate::log::{
    AppendError, AppendResult, Appended, Doubt, Guard, Member, Members, Payload, Refusal,
};
use crate::pending::Completer;
use std::collections::VecDeque;

/// A group is closed once its records take so many bytes.
const GROUP_BYTES: usize = FRAME_PAYLOAD_BYTES_MAX / 2;

/// What was submitted, and where the answer goes.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) payload: Payload,
    pub(super) guard: Guard,
    pub(super) answer: Completer<AppendResult>,
}

/// What a log remembers to judge and encode further appends.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The names that the present segment introduced.
    pub(super) dictionary: Dictionary,
    /// The entries that are in the log.
    pub(super) known: KnownIds,
    /// Who is alive and who leads.
    pub(super) members: Members,
    /// Room for one record.
    pub(super) record: Vec<u8>,
    /// From where on it is unknown what is in the log, and why.
    pub(super) doubt: Option<(Position, Doubt)>,
}

/// A payload and how many bytes it takes in the log.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) payload: Payload,
    pub(super) bytes: usize,
}

/// Submissions that are answered together.
#[derive(Debug)]
pub(super) struct Group {
    /// The position of its first record.
    first: Position,
    /// What is written, at `first` and the positions that follow it.
    written: Vec<Written>,
    answers: Vec<(Completer<AppendResult>, AppendResult)>,
    undo: Undo,
}

/// How to forget a group that did not get into the log.
#[derive(Debug)]
struct Undo {
    names: Mark,
    ids: Vec<EntryId>,
    members: Option<Members>,
}

/// Why a group takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// Nothing is left to take, or the group is large enough.
    Enough,
    /// The segment has no room for the next record.
    Segment,
}

impl Group {
    /// A group that begins at `first`.
    pub(super) fn begin(first: Position, memory: &Memory) -> Self {
        let undo = Undo {
            names: memory.dictionary.mark(),
            ids: Vec::new(),
            members: None,
        };
        Self {
            first,
            written: Vec::new(),
            answers: Vec::new(),
            undo,
        }
    }

    /// The position of its first record.
    pub(super) fn first(&self) -> Position {
        self.first
    }

    /// The position behind its last record.
    pub(super) fn end(&self) -> Position {
        Position::new(self.first.get() + self.written.len() as u64)
    }

    /// What it wrote.
    pub(super) fn take_written(&mut self) -> Vec<Written> {
        std::mem::take(&mut self.written)
    }

    /// Takes submissions from the front of the queue as long as their frame has no more than
    /// `frame_bytes_max` bytes.
    pub(super) fn take(
        &mut self,
        queue: &mut VecDeque<Submission>,
        memory: &mut Memory,
        frame: &mut FrameBuilder,
        frame_bytes_max: usize,
    ) -> Full {
        while let Some(submission) = queue.pop_front() {
            if let Err(submission) = self.add(submission, memory, frame, frame_bytes_max) {
                queue.push_front(submission);
                return Full::Segment;
            }
            if frame.payload_bytes() >= GROUP_BYTES {
                break;
            }
        }
        Full::Enough
    }

    /// Answers a submission or adds it to the frame; gives it back if the frame has no room.
    fn add(
        &mut self,
        submission: Submission,
        memory: &mut Memory,
        frame: &mut FrameBuilder,
        frame_bytes_max: usize,
    ) -> Result<(), Submission> {
        let position = self.end();
        if let Some(result) = judge(&submission, memory) {
            self.answers.push((submission.answer, result));
            return Ok(());
        }
        let names = memory.dictionary.mark();
        let Memory {
            dictionary, record, ..
        } = memory;
        if let Err(error) = dictionary.encode_into(&submission.payload, record) {
            self.answers
                .push((submission.answer, Err(refusal(error).into())));
            return Ok(());
        }
        let bytes = record.len();
        if frame.bytes_with(bytes) > frame_bytes_max {
            dictionary.roll_back(names);
            return Err(submission);
        }
        frame.push(record);
        self.remember(position, &submission.payload, memory);
        self.written.push(Written {
            payload: submission.payload,
            bytes,
        });
        let appended = Appended {
            position,
            already: false,
        };
        self.answers.push((submission.answer, Ok(appended)));
        Ok(())
    }

    fn remember(&mut self, position: Position, payload: &Payload, memory: &mut Memory) {
        match payload {
            Payload::Entry(entry) => {
                memory.known.insert(entry.id(), position);
                self.undo.ids.push(entry.id());
            }
            Payload::Member(member) => {
                let members = &mut memory.members;
                self.undo.members.get_or_insert_with(|| members.clone());
                members.apply(position, member);
            }
        }
    }

    /// The group goes into a new segment, which knows no names yet.
    pub(super) fn move_on(&mut self, memory: &mut Memory) {
        memory.dictionary = Dictionary::default();
        self.undo.names = memory.dictionary.mark();
    }

    /// The group is not in the log, nor will it be: everything it taught is forgotten.
    pub(super) fn fail(&mut self, memory: &mut Memory, refusal: &Refusal) {
        memory.dictionary.roll_back(self.undo.names);
        for id in self.undo.ids.drain(..) {
            memory.known.remove(id);
        }
        if let Some(members) = self.undo.members.take() {
            memory.members = members;
        }
        self.retract(&refusal.clone().into());
    }

    /// The group was written, and it is unknown whether it is durable.
    pub(super) fn doubt(&mut self, memory: &mut Memory, doubt: Doubt) {
        memory.doubt.get_or_insert((self.first, doubt.clone()));
        self.retract(&doubt.into());
    }

    fn retract(&mut self, error: &AppendError) {
        self.written.clear();
        for (_, result) in &mut self.answers {
            // A repeated append whose first try is older than this group keeps its answer.
            if matches!(result, Ok(appended) if appended.position >= self.first) {
                *result = Err(error.clone());
            }
        }
    }

    /// Answers submissions without writing them.
    pub(super) fn refuse(
        &mut self,
        submissions: impl IntoIterator<Item = Submission>,
        memory: &Memory,
        error: &AppendError,
    ) {
        for submission in submissions {
            let result = judge(&submission, memory).unwrap_or_else(|| Err(error.clone()));
            self.answers.push((submission.answer, result));
        }
    }

    /// Tells everybody. Wakers run here: hold no lock.
    pub(super) fn answer(self) {
        for (answer, result) in self.answers {
            answer.complete(result);
        }
    }

    /// Whether it has nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty()
    }
}

/// The answer to a submission that is not to be written.
fn judge(submission: &Submission, memory: &Memory) -> Option<AppendResult> {
    if let Payload::Entry(entry) = &submission.payload
        && let Some(position) = memory.known.get(entry.id())
    {
        let already = true;
        return Some(match &memory.doubt {
            Some((first, doubt)) if *first <= position => Err(doubt.clone().into()),
            _ => Ok(Appended { position, already }),
        });
    }
    let holds = match submission.guard {
        Guard::None => true,
        Guard::Session(session) => memory.members.is_alive(session),
        Guard::Epoch(epoch) => memory.members.leader().is_some_and(|l| l.epoch == epoch),
    };
    (!holds).then(|| Err(Refusal::Fenced.into()))
}

fn refusal(error: codec::Error) -> Refusal {
    match error {
        codec::Error::TooLarge { bytes, max } => Refusal::TooLarge { bytes, max },
        error => Refusal::Codec(error),
    }
}

/// The record that ends all sessions of earlier openings.
pub(super) fn opened(answer: Completer<AppendResult>) -> Submission {
    Submission {
        payload: Payload::Member(Member::Opened),
        guard: Guard::None,
        answer,
    }
}
