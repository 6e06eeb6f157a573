//! `deedbook log dump`: every record as it was written.

use super::{Folder, before, file_name};
use crate::output::Output;
use crate::watch::Watch;
use crate::{Error, Status};
use clap::Args;
use deedbook::ids::Position;
use deedbook::log::file::inspect::{self, StoredRecord};
use deedbook::log::{Member, Payload};
use deedbook::state::{Body, Change, Entry};
use serde::Serialize;
use std::fmt;

/// Prints every retained record as it was written, accepted or not
#[derive(Debug, Args)]
pub(super) struct Dump {
    #[command(flatten)]
    folder: Folder,
    /// Begin at this position
    #[arg(long, value_name = "POSITION")]
    from: Option<Position>,
    /// Print at most so many records
    #[arg(long, value_name = "N")]
    max: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Record {
    position: u64,
    file: String,
    /// Where its frame begins in the file; records that were written together share one.
    offset: u64,
    kind: &'static str,
    /// Who wrote it: broker#session.
    author: Option<String>,
    /// The author's count, within its session.
    counter: Option<u64>,
    /// The leader's epoch, if it claims its powers.
    epoch: Option<u64>,
    /// What it says, a line for each change.
    says: Vec<String>,
}

impl Dump {
    pub(super) fn run(&self, output: &mut Output<'_>) -> Result<Status, Error> {
        let storage = self.folder.storage()?;
        let stat = inspect::stat(&*storage)?;
        let from = self.from.unwrap_or(stat.first());
        if from < stat.first() {
            return Err(Error::NotRetained {
                position: from,
                first: stat.first(),
            });
        }
        if from > stat.end {
            return Err(Error::NotWritten {
                position: from,
                last: before(stat.end),
            });
        }
        let watch = Watch::printed_records(stat.end.get());
        let records = inspect::records_from(storage, from)?
            .take(self.max.unwrap_or(usize::MAX))
            .map(|record| {
                let record = record?;
                watch.at(record.position.get())?;
                Ok(Record::new(&record))
            });
        output.print_list("records", records)?;
        Ok(Status::Good)
    }
}

impl Record {
    fn new(stored: &StoredRecord) -> Self {
        let empty = Self {
            position: stored.position.get(),
            file: file_name(&stored.path),
            offset: stored.offset,
            kind: "",
            author: None,
            counter: None,
            epoch: None,
            says: Vec::new(),
        };
        match &stored.payload {
            Payload::Entry(entry) => Self {
                kind: kind(&entry.body),
                author: Some(entry.author.to_string()),
                counter: Some(entry.counter),
                epoch: entry.epoch.map(|epoch| epoch.get()),
                says: says(entry),
                ..empty
            },
            Payload::Member(member) => {
                let (kind, says) = tell(member, stored.position);
                Self {
                    kind,
                    says: says.into_iter().collect(),
                    ..empty
                }
            }
        }
    }
}

pub(super) const fn kind(body: &Body) -> &'static str {
    match body {
        Body::Changes(_) => "changes",
        Body::CreateNamespace { .. } => "create_namespace",
        Body::DeleteNamespace { .. } => "delete_namespace",
        Body::EndNamespace { .. } => "end_namespace",
        Body::LeaderStarted => "leader_started",
        Body::RaiseRules { .. } => "raise_rules",
    }
}

pub(super) fn says(entry: &Entry) -> Vec<String> {
    let change = |Change {
                      bundle,
                      expected,
                      next,
                  }: &Change| match next {
        Some(next) => format!("{bundle} @{expected}: {next}"),
        None => format!("{bundle} @{expected}: removed"),
    };
    match &entry.body {
        Body::Changes(changes) => changes.iter().map(change).collect(),
        Body::CreateNamespace {
            namespace,
            cuts,
            applied,
        } => {
            let bundles = cuts.as_ref().map_or(1, |cuts| cuts.part_count());
            vec![format!(
                "{namespace}: {bundles} bundles, read up to {applied}"
            )]
        }
        Body::DeleteNamespace { namespace, .. } | Body::EndNamespace { namespace } => {
            vec![namespace.to_string()]
        }
        Body::LeaderStarted => Vec::new(),
        Body::RaiseRules { version } => vec![format!("to version {version}")],
    }
}

fn tell(member: &Member, position: Position) -> (&'static str, Option<String>) {
    match member {
        Member::Opened => ("opened", None),
        Member::Joined { broker } => ("joined", Some(format!("{broker}#{position}"))),
        Member::Draining { session } => ("draining", Some(format!("session {session}"))),
        Member::Left { session } => ("left", Some(format!("session {session}"))),
        Member::Elected { session } => (
            "elected",
            Some(format!("session {session}, epoch {position}")),
        ),
        Member::Resigned { epoch } => ("resigned", Some(format!("epoch {epoch}"))),
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8} {:<16}", self.position, self.kind)?;
        if let Some(author) = &self.author {
            write!(f, " {author}")?;
        }
        if let Some(epoch) = self.epoch {
            write!(f, " epoch {epoch}")?;
        }
        match self.says.as_slice() {
            [] => writeln!(f),
            [one] => writeln!(f, " {one}"),
            many => {
                writeln!(f)?;
                many.iter()
                    .try_for_each(|line| writeln!(f, "{:26}{line}", ""))
            }
        }
    }
}
