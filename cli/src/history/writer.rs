//! A history, written into a log.

use super::{History, Shape, broker_name};
use crate::Error;
use deedbook::ids::{Epoch, Holder, Position, SessionToken};
use deedbook::log::file::FileLog;
use deedbook::log::{Append, AppendError, AppendResult, Doubt, EventLog, Guard, Member, MemberLog};
use deedbook::pending::Pending;
use deedbook::state::Entry;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many appends may be on their way at once.
const IN_FLIGHT_MAX: usize = 4_096;

/// After how many entries it is asked whether to go on.
const ENTRIES_A_LOOK: u64 = 8_192;

/// Writes brokers and a whole history into a log that nobody else writes, as long as `go_on` says
/// so, which is told how many entries are left.
///
/// # Errors
///
/// [`Error`] if the log does not take it.
pub fn write_log(
    log: &FileLog,
    shape: Shape,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<History, Error> {
    let mut writer = Appender::new(log);
    let (brokers, epoch) = writer.members(shape.brokers)?;
    let mut history = History::new(shape, brokers, epoch);
    while let Some(entry) = history.next(writer.next)? {
        writer.entry(entry)?;
        let left = history.left();
        if left.is_multiple_of(ENTRIES_A_LOOK) && !go_on(left) {
            break;
        }
    }
    writer.wait(0)?;
    Ok(history)
}

/// Appends to a log that nobody else writes, without waiting for each answer.
struct Appender<'a> {
    log: &'a FileLog,
    /// Where the next record will stand: positions of this engine are contiguous.
    next: Position,
    in_flight: VecDeque<(Position, Pending<AppendResult>)>,
}

impl<'a> Appender<'a> {
    fn new(log: &'a FileLog) -> Self {
        Self {
            next: log.end(),
            log,
            in_flight: VecDeque::new(),
        }
    }

    /// Brings brokers in, of which the first leads.
    fn members(&mut self, count: u32) -> Result<(Vec<Holder>, Epoch), Error> {
        let mut brokers = Vec::new();
        for broker in (0..count).map(broker_name) {
            let joined = self.member(Member::Joined {
                broker: broker.clone(),
            })?;
            brokers.push(Holder::new(broker, SessionToken::at(joined)));
        }
        let session = brokers.first().map(|holder| holder.session);
        let session = session.unwrap_or_default();
        let epoch = Epoch::at(self.member(Member::Elected { session })?);
        Ok((brokers, epoch))
    }

    fn member(&mut self, member: Member) -> Result<Position, Error> {
        let pending = self.log.append_member(member);
        self.sent(pending)
    }

    fn entry(&mut self, entry: Entry) -> Result<Position, Error> {
        let pending = self.log.append(Append {
            entry: Arc::new(entry),
            guard: Guard::None,
        });
        self.sent(pending)
    }

    fn sent(&mut self, pending: Pending<AppendResult>) -> Result<Position, Error> {
        let position = self.next;
        self.in_flight.push_back((position, pending));
        self.next = position.next();
        self.wait(IN_FLIGHT_MAX)?;
        Ok(position)
    }

    /// Waits until at most so many are on their way.
    fn wait(&mut self, count: usize) -> Result<(), Error> {
        while self.in_flight.len() > count
            && let Some((expected, pending)) = self.in_flight.pop_front()
        {
            let appended = pending
                .wait()
                .unwrap_or(Err(AppendError::Unknown(Doubt::NoAnswer)))?;
            assert_eq!(appended.position, expected, "nobody else writes here");
        }
        Ok(())
    }
}
