//! Reading a log to its end or to a position, with a table.

use crate::Error;
use crate::watch::Watch;
use deedbook::ids::Position;
use deedbook::log::EventLog;
use deedbook::table::{Reader, ReaderEvent, Table};
use std::sync::Arc;

/// What reading a log came to.
pub(super) struct Replay {
    reader: Reader,
    /// Where reading began: the horizon of a snapshot, or the first position.
    pub(super) from: Position,
    /// How many rows the snapshot had.
    pub(super) snapshot_rows: u64,
    /// How many records were read on top of it.
    pub(super) records: u64,
    pub(super) accepted: u64,
    pub(super) rejected: u64,
}

impl Replay {
    pub(super) fn table(&self) -> &Table {
        self.reader.table()
    }
}

/// Reads up to before `end`, or less if the log has less, and shows each event and the table after
/// it.
pub(super) fn replay(
    log: Arc<dyn EventLog>,
    end: Position,
    mut each: impl FnMut(&ReaderEvent, &Table),
) -> Result<Replay, Error> {
    let watch = Watch::records(end.get());
    let mut reader = Reader::new(log);
    let mut from = Position::ZERO.next();
    let mut snapshot_rows = 0;
    let (mut accepted, mut rejected, mut records) = (0, 0, 0);
    while reader.table().next() < end {
        let Some(event) = reader.poll()? else { break };
        each(&event, reader.table());
        watch.at(reader.table().next().get())?;
        match event {
            ReaderEvent::Applied { applied, .. } => {
                records += 1;
                match applied.outcome {
                    Ok(_) => accepted += 1,
                    Err(_) => rejected += 1,
                }
            }
            ReaderEvent::Member { .. } => records += 1,
            ReaderEvent::Jumped { to, .. } => {
                from = to;
                snapshot_rows = reader.table().row_count() as u64;
                (accepted, rejected, records) = (0, 0, 0);
            }
            ReaderEvent::CaughtUp { .. } => break,
        }
    }
    Ok(Replay {
        reader,
        from,
        snapshot_rows,
        records,
        accepted,
        rejected,
    })
}

/// Reads all that there is.
pub(super) fn replay_all(log: Arc<dyn EventLog>, end: Position) -> Result<Replay, Error> {
    replay(log, end, |_, _| {})
}
