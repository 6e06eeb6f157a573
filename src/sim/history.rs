//! The whole history, read by somebody who misses nothing: what every reader is compared with.

use super::checkers::{Fences, FirstValid, OneFold, Violation, check_whole};
use crate::ids::Position;
use crate::log::{MemberLog, Members, Payload, Tail, TailItem};
use crate::table::{Applied, Table};

/// The fold of everything that was ever written, and what must hold of it.
#[derive(Debug)]
pub(super) struct History {
    tail: Box<dyn Tail>,
    pub(super) table: Table,
    pub(super) members: Members,
    pub(super) fold: OneFold,
    pub(super) first_valid: FirstValid,
    pub(super) fences: Fences,
}

/// One payload of the history.
#[derive(Debug)]
pub(super) struct News {
    pub(super) position: Position,
    pub(super) payload: Payload,
    pub(super) applied: Option<Applied>,
}

impl History {
    pub(super) fn new(log: &dyn MemberLog) -> Result<Self, Violation> {
        Ok(Self {
            tail: log.tail(Position::ZERO)?,
            table: Table::default(),
            members: Members::default(),
            fold: OneFold::default(),
            first_valid: FirstValid::default(),
            fences: Fences::default(),
        })
    }

    /// Reads what was written since, and checks it.
    pub(super) fn read(&mut self) -> Result<Vec<News>, Violation> {
        let mut all = Vec::new();
        while let Some(item) = self.tail.poll()? {
            if let TailItem::Payload { position, payload } = item {
                all.push(self.take(position, payload)?);
            }
        }
        Ok(all)
    }

    fn take(&mut self, position: Position, payload: Payload) -> Result<News, Violation> {
        let applied = match &payload {
            Payload::Entry(entry) => self.table.apply(position, entry)?,
            Payload::Member(member) => {
                self.table.skip(position);
                self.members.apply(position, member);
                None
            }
        };
        self.fold.note(&self.table);
        if let Some(applied) = &applied {
            self.first_valid.note(&payload, applied)?;
            self.fences.note(applied)?;
            check_whole(&self.table, applied)?;
        }
        Ok(News {
            position,
            payload,
            applied,
        })
    }
}
