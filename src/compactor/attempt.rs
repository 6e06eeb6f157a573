//! One attempt to compact, piece by piece.

use super::error::Error;
use crate::ids::{BundleId, Epoch, Position};
use crate::log::{EventLog, Payload, TailItem};
use crate::snapshot::{BLOCK_BYTES, Sealed, Writer};
use crate::table::{Feed, FeedItem, Table};
use std::sync::Arc;
use std::time::Duration;

/// How an attempt divides its work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// How many entries are read, or rows written, in one step. Default 1,024.
    pub step_items: usize,
    /// About how large a block of the snapshot is, in bytes. Default [`BLOCK_BYTES`].
    pub block_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            step_items: 1_024,
            block_bytes: BLOCK_BYTES,
        }
    }
}

/// Where replay ends. Whatever is appended later stays in the log behind the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the log first says that all of it was read.
    CaughtUp,
    /// As soon as the next position to read is this one or a later one; where the log ends if that
    /// is earlier.
    At(Position),
}

/// What an attempt is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Read more of the log.
    Replaying,
    /// Write more of the snapshot, which nobody sees yet.
    Writing,
    /// Make the snapshot the newest one.
    Publishing,
    /// Let go of what the snapshot covers.
    Trimming,
    /// Nothing: it is done.
    Done(Report),
}

/// What an attempt did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The horizon of the snapshot that it began with; zero if there was none.
    pub horizon_before: Position,
    /// The horizon now. The same if nothing had been appended: then nothing was written.
    pub horizon_after: Position,
    /// How many rows the snapshot had that it began with.
    pub rows_before: u64,
    /// How many entries it read on top of them.
    pub entries_read: u64,
    /// How many rows the newest snapshot has.
    pub rows_after: u64,
    /// How many bytes were written.
    pub bytes_written: u64,
}

impl Report {
    /// How much less a newcomer reads now: rows and entries that went in and did not come out.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        (self.rows_before + self.entries_read).saturating_sub(self.rows_after)
    }
}

/// One attempt to compact a log, which does a bounded piece of work at each [`step`](Self::step).
///
/// It reads the newest snapshot and what follows, up to an end, with the same fold as every reader;
/// writes a new snapshot; publishes it in the name of its epoch; and trims. Up to the publication
/// nothing that it does can be seen, and dropping it takes everything back; after it, at most the
/// trimming remains to be done, which any later attempt does. An error ends it.
#[derive(Debug)]
pub struct Attempt {
    log: Arc<dyn EventLog>,
    epoch: Epoch,
    end: End,
    config: Config,
    stage: Stage,
    report: Report,
}

#[derive(Debug)]
enum Stage {
    Replay(Box<(Feed, Table)>),
    Write(Box<Writing>),
    Publish(Sealed),
    Trim,
    Done,
    Failed(Error),
}

#[derive(Debug)]
struct Writing {
    table: Table,
    writer: Writer,
    /// The last row that was written.
    last: Option<BundleId>,
}

impl Attempt {
    /// An attempt in the name of the leader of `epoch`, which has done nothing yet.
    #[must_use]
    pub fn new(log: Arc<dyn EventLog>, epoch: Epoch, end: End, config: Config) -> Self {
        let table = Table::default();
        let feed = Feed::new(Arc::clone(&log), table.next());
        Self {
            log,
            epoch,
            end,
            config,
            stage: Stage::Replay(Box::new((feed, table))),
            report: Report::default(),
        }
    }

    /// Does a piece of the work, and says what comes next. If the log has nothing to say yet, it is
    /// waited for, but no longer than `wait`.
    ///
    /// Loading the snapshot to begin with is one piece, and so is writing what is known beside
    /// rows.
    ///
    /// # Errors
    ///
    /// [`Error`], which ends the attempt: each further call gives the same.
    pub fn step(&mut self, wait: Duration) -> Result<Progress, Error> {
        // Should a step panic, this is what remains.
        let stage = std::mem::replace(&mut self.stage, Stage::Failed(Error::Panicked));
        self.stage = self.advance(stage, wait).unwrap_or_else(Stage::Failed);
        match &self.stage {
            Stage::Replay(_) => Ok(Progress::Replaying),
            Stage::Write(_) => Ok(Progress::Writing),
            Stage::Publish(_) => Ok(Progress::Publishing),
            Stage::Trim => Ok(Progress::Trimming),
            Stage::Done => Ok(Progress::Done(self.report)),
            Stage::Failed(error) => Err(error.clone()),
        }
    }

    /// What it did so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.report
    }

    /// Does all of it, without waiting for a log that has nothing to say yet.
    ///
    /// # Errors
    ///
    /// As [`Attempt::step`].
    pub fn run(mut self) -> Result<Report, Error> {
        loop {
            if let Progress::Done(report) = self.step(Duration::ZERO)? {
                return Ok(report);
            }
        }
    }

    fn advance(&mut self, stage: Stage, wait: Duration) -> Result<Stage, Error> {
        match stage {
            Stage::Replay(replay) => self.replay(replay, wait),
            Stage::Write(writing) => self.write(writing),
            Stage::Publish(sealed) => self.publish(sealed),
            Stage::Trim => self.trim(),
            Stage::Done | Stage::Failed(_) => Ok(stage),
        }
    }

    fn replay(&mut self, mut replay: Box<(Feed, Table)>, wait: Duration) -> Result<Stage, Error> {
        let (feed, table) = replay.as_mut();
        for _ in 0..self.config.step_items.max(1) {
            if matches!(self.end, End::At(end) if table.next() >= end) {
                return self.begin(replay.1);
            }
            let item = match feed.poll()? {
                None if !wait.is_zero() => feed.wait(wait)?,
                item => item,
            };
            match item {
                None => break,
                Some(FeedItem::Jump(snapshot)) => {
                    *table = *snapshot;
                    self.report = Report {
                        horizon_before: table.next(),
                        rows_before: count(table.row_count()),
                        ..Report::default()
                    };
                    break;
                }
                Some(FeedItem::Tail(TailItem::CaughtUp { .. })) => return self.begin(replay.1),
                Some(FeedItem::Tail(TailItem::Payload { position, payload })) => match payload {
                    Payload::Entry(entry) => {
                        feed.prepare(table);
                        table.absorb(position, &entry)?;
                        self.report.entries_read += 1;
                    }
                    Payload::Member(_) => table.skip(position),
                },
            }
        }
        Ok(Stage::Replay(replay))
    }

    /// Begins the snapshot, if there is anything new to put into it. If not, an attempt before this
    /// one may still have left something to trim.
    fn begin(&mut self, table: Table) -> Result<Stage, Error> {
        let horizon = table.next();
        self.report.rows_after = count(table.row_count());
        self.report.horizon_after = self.report.horizon_before;
        if horizon <= self.report.horizon_before.max(Table::default().next()) {
            return Ok(Stage::Trim);
        }
        let sink = self.log.put_snapshot(horizon, self.epoch)?;
        let writer = Writer::begin(sink, horizon, table.facts(), self.config.block_bytes)?;
        self.report.horizon_after = horizon;
        Ok(Stage::Write(Box::new(Writing {
            table,
            writer,
            last: None,
        })))
    }

    fn write(&mut self, mut writing: Box<Writing>) -> Result<Stage, Error> {
        let Writing {
            table,
            writer,
            last,
        } = writing.as_mut();
        let mut written = None;
        let rows = table.rows_after(last.as_ref());
        for (bundle, row) in rows.take(self.config.step_items.max(1)) {
            writer.write_row(bundle, row)?;
            written = Some(bundle.clone());
        }
        if written.is_some() {
            *last = written;
            return Ok(Stage::Write(writing));
        }
        Ok(Stage::Publish(writing.writer.seal()?))
    }

    fn publish(&mut self, sealed: Sealed) -> Result<Stage, Error> {
        self.report.bytes_written = sealed.byte_count();
        sealed.commit()?;
        Ok(Stage::Trim)
    }

    /// Only now that the snapshot is published: a reader that finds entries missing finds it.
    fn trim(&self) -> Result<Stage, Error> {
        let horizon = self.report.horizon_after;
        let trimmed = self.log.trim(horizon);
        trimmed.map_err(|source| Error::Trim { horizon, source })?;
        Ok(Stage::Done)
    }
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}
