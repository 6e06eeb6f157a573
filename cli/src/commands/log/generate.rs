//! `deedbook log generate`: a log to try things on, as large as wanted.

use crate::history::{History, Shape, broker_name};
use crate::output::{Output, count};
use crate::watch::Watch;
use crate::{Error, Status};
use clap::Args;
use deedbook::ids::{Epoch, Holder, Position, SessionToken};
use deedbook::log::file::{Durability, FileLog};
use deedbook::log::{Append, AppendError, AppendResult, EventLog, Guard, Member, MemberLog};
use deedbook::pending::Pending;
use deedbook::state::Entry;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// How many appends may be on their way at once.
const IN_FLIGHT_MAX: usize = 4_096;

/// After how many entries the progress is shown, and an interrupt is looked for.
const ENTRIES_A_LOOK: u64 = 8_192;

/// Writes a log of made-up changes, some of them wrong, for tests and measurements.
///
/// The same arguments give the same changes and the same digest. Nothing is synced before the end.
#[derive(Debug, Args)]
pub(super) struct Generate {
    /// The folder to write it into, which must be empty or not there
    dir: PathBuf,
    /// How many bundles there are in the beginning
    #[arg(long, value_name = "N", default_value_t = 1_000,
        value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    bundles: u64,
    /// How many changes are written
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    changes: u64,
    /// How many of a hundred changes are wrong, such as 30%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = percent)]
    invalid: u8,
    /// How many brokers write them
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(2..=100_000))]
    brokers: u32,
    /// Equal seeds give equal changes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

#[derive(Debug, Serialize)]
struct Found {
    digest: String,
    next: u64,
    rows: usize,
    namespaces: usize,
    accepted: u64,
    rejected: u64,
    seed: u64,
}

fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.parse() {
        Ok(percent) if percent <= 100 => Ok(percent),
        _ => Err("not a whole number of percent from 0% to 100%".to_owned()),
    }
}

impl Generate {
    pub(super) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        self.check_folder()?;
        let log = FileLog::builder(&self.dir).durability(Durability::Never);
        let mut writer = Appender::new(log.open()?);
        let (brokers, epoch) = self.members(&mut writer)?;
        let mut history = History::new(self.shape(), brokers, epoch);
        let written = self.write(&mut writer, &mut history)?;
        writer.finish()?;
        let left = history.left();
        if left > 0 {
            let _ = writeln!(err, "interrupted: {} not written", count(left, "change"));
        }
        let table = history.table();
        output.print(&Found {
            digest: table.digest().to_string(),
            next: table.next().get(),
            rows: table.row_count(),
            namespaces: table.facts().namespaces.len(),
            accepted: written - history.rejected(),
            rejected: history.rejected(),
            seed: self.seed,
        })?;
        Ok(if left > 0 {
            Status::Interrupted
        } else {
            Status::Good
        })
    }

    fn shape(&self) -> Shape {
        Shape {
            bundles: self.bundles,
            changes: self.changes,
            invalid_percent: self.invalid,
            brokers: self.brokers,
            seed: self.seed,
        }
    }

    fn check_folder(&self) -> Result<(), Error> {
        let is_used = fs::read_dir(&self.dir).is_ok_and(|mut inside| inside.next().is_some());
        if is_used {
            let path = self.dir.clone();
            return Err(Error::FolderInUse { path });
        }
        Ok(())
    }

    /// Brings the brokers in, of which the first leads.
    fn members(&self, writer: &mut Appender) -> Result<(Vec<Holder>, Epoch), Error> {
        let mut brokers = Vec::new();
        for number in 0..self.brokers {
            let broker = broker_name(number);
            let joined = writer.member(Member::Joined {
                broker: broker.clone(),
            })?;
            brokers.push(Holder::new(broker, SessionToken::at(joined)));
        }
        let session = brokers.first().map(|holder| holder.session);
        let session = session.unwrap_or_default();
        let epoch = Epoch::at(writer.member(Member::Elected { session })?);
        Ok((brokers, epoch))
    }

    /// Writes the entries, and says how many: all, unless somebody wants no more.
    fn write(&self, writer: &mut Appender, history: &mut History) -> Result<u64, Error> {
        let watch = Watch::records(history.left());
        let mut written = 0;
        while let Some(entry) = history.next(writer.next)? {
            writer.entry(entry)?;
            written += 1;
            if written % ENTRIES_A_LOOK == 0 && watch.at(written).is_err() {
                break;
            }
        }
        Ok(written)
    }
}

/// Appends to a log that nobody else writes, without waiting for each answer.
struct Appender {
    log: FileLog,
    /// Where the next record will stand: positions of this engine are contiguous.
    next: Position,
    in_flight: VecDeque<(Position, Pending<AppendResult>)>,
}

impl Appender {
    fn new(log: FileLog) -> Self {
        Self {
            next: log.end(),
            log,
            in_flight: VecDeque::new(),
        }
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
            let appended = pending.wait().unwrap_or(Err(AppendError::Unknown))?;
            assert_eq!(appended.position, expected, "nobody else writes here");
        }
        Ok(())
    }

    /// Waits for all answers, and syncs.
    fn finish(mut self) -> Result<(), Error> {
        self.wait(0)?;
        self.log.close();
        Ok(())
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.digest)?;
        writeln!(
            f,
            "{} in {}, next position {}; {} accepted, {} rejected; seed {}",
            count(self.rows, "bundle"),
            count(self.namespaces, "namespace"),
            self.next,
            count(self.accepted, "change"),
            self.rejected,
            self.seed,
        )
    }
}
