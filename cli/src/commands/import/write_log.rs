//! Writes what events left as a new log.

use crate::Error;
use deedbook::clock::BootClock;
use deedbook::foreign::Founding;
use deedbook::ids::{BrokerId, Holder, SessionToken};
use deedbook::log::file::FileLog;
use deedbook::log::{Append, EventLog, Guard};
use deedbook::registry::{LogRegistry, Registry};
use deedbook::state;
use deedbook::table::{Reader, ReaderEvent};
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The name under which the command founds namespaces.
const NAME: &str = "deedbook-import";

/// How long it may take: as long as it takes, for nobody else can open the log meanwhile.
const SESSION: Duration = Duration::from_secs(24 * 3600);

/// How many appends wait for the disk together.
const APPENDS_AT_ONCE: usize = 64;

/// The log that was written.
#[derive(Debug, Serialize)]
pub(super) struct Written {
    pub(super) log: String,
    pub(super) entries: u64,
    pub(super) namespaces: usize,
    pub(super) bundles: usize,
    /// The free bundles that fill gaps.
    pub(super) filled: Vec<String>,
    pub(super) digest: String,
}

/// The log while it is written.
struct Writer {
    log: Arc<FileLog>,
    reader: Reader,
    importer: Holder,
    sessions: BTreeMap<BrokerId, SessionToken>,
    entries: u64,
}

/// Whether a log may be written here.
pub(super) fn check_unused(folder: &Path) -> Result<(), Error> {
    let used = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if used {
        return Err(Error::FolderInUse {
            path: folder.to_owned(),
        });
    }
    Ok(())
}

/// Writes a log into a folder that holds nothing yet. Each broker that holds bundles gets a session
/// that is over in the end: when it opens the log, it takes over what it had.
pub(super) fn write_log(folder: &Path, founding: &Founding) -> Result<Written, Error> {
    check_unused(folder)?;
    let log = Arc::new(FileLog::open(folder)?);
    let registry = LogRegistry::new(log.clone(), Arc::new(BootClock), SESSION);
    let name = BrokerId::new(NAME).map_err(|_| Error::NotLeading)?;
    let mut sessions = BTreeMap::new();
    // A second session under one name would end the first.
    for broker in founding.holders().into_iter().chain([name.clone()]) {
        if let Entry::Vacant(place) = sessions.entry(broker) {
            let session = registry.register(place.key())?;
            place.insert(session);
        }
    }
    let importer = sessions.get(&name).copied().unwrap_or_default();
    let mut writer = Writer {
        reader: Reader::new(log.clone()),
        importer: Holder::new(name, importer),
        log,
        sessions,
        entries: 0,
    };
    while writer.write_round(founding)? {}
    for &session in writer.sessions.values() {
        registry.leave(session)?;
    }
    let table = writer.reader.table();
    Ok(Written {
        log: folder.display().to_string(),
        entries: writer.entries,
        namespaces: founding.namespace_count(),
        bundles: founding.bundle_count(),
        filled: founding.filled().iter().map(ToString::to_string).collect(),
        digest: table.digest().to_string(),
    })
}

impl Writer {
    /// Appends what can be written now and reads it back; says whether there was anything.
    fn write_round(&mut self, founding: &Founding) -> Result<bool, Error> {
        self.read()?;
        let bodies = founding.entries(self.reader.table(), &self.sessions);
        let is_more = !bodies.is_empty();
        let mut waiting = Vec::new();
        for (author, body) in bodies {
            self.entries += 1;
            let session = author
                .and_then(|broker| Some(Holder::new(broker.clone(), *self.sessions.get(&broker)?)));
            let author = session.unwrap_or_else(|| self.importer.clone());
            let guard = Guard::Session(author.session);
            let entry = Arc::new(state::Entry {
                author,
                counter: self.entries,
                epoch: None,
                body,
            });
            waiting.push(self.log.append(Append { entry, guard }));
            if waiting.len() == APPENDS_AT_ONCE {
                settle(&mut waiting)?;
            }
        }
        settle(&mut waiting)?;
        Ok(is_more)
    }

    fn read(&mut self) -> Result<(), Error> {
        while let Some(event) = self.reader.poll()? {
            match event {
                ReaderEvent::Applied { applied, .. } => {
                    applied.outcome.map_err(Error::Founded)?;
                }
                ReaderEvent::CaughtUp { .. } => break,
                ReaderEvent::Member { .. } | ReaderEvent::Jumped { .. } => {}
            }
        }
        Ok(())
    }
}

/// Waits until all of them are in the log.
fn settle(
    waiting: &mut Vec<deedbook::pending::Pending<deedbook::log::AppendResult>>,
) -> Result<(), Error> {
    for pending in waiting.drain(..) {
        let outcome = pending.wait();
        outcome.unwrap_or(Err(deedbook::log::Doubt::NoAnswer.into()))?;
    }
    Ok(())
}
