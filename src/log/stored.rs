//! The stored form of a payload: types of their own, so that the API can change without touching a
//! byte on disk.
//!
//! Every tag here is for ever: new variants go to the end, and a changed layout is a new type
//! beside this one.

use super::codec::{Dictionary, Error};
use super::{Member, Payload};
use crate::ids::{Cuts, Epoch, Holder, Position, SessionToken};
use crate::state::{Body, CHANGES_MAX, Change, Entry, PARTS_MAX, Record};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A payload and the names that it is the first to use. Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredRecordV1 {
    pub(super) introduced: Vec<StoredName>,
    pub(super) payload: StoredPayload,
}

/// A name that gets the next number of its kind. Stored; keep stable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum StoredName {
    Broker(String),
    Namespace(String),
    Bundle {
        namespace: u32,
        lower: u32,
        upper: u32,
    },
}

impl StoredName {
    /// More than it takes: its text, and room for a tag and three numbers.
    pub(super) fn bytes_max(&self) -> usize {
        let text = match self {
            Self::Broker(text) | Self::Namespace(text) => text.len(),
            Self::Bundle { .. } => 0,
        };
        text + 16
    }
}

/// Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StoredPayload {
    Entry(StoredEntry),
    Opened,
    Joined { broker: u32 },
    Draining { session: u64 },
    Left { session: u64 },
    Elected { session: u64 },
    Resigned { epoch: u64 },
}

/// Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredEntry {
    author: u32,
    session: u64,
    counter: u64,
    epoch: Option<u64>,
    body: StoredBody,
}

/// Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
enum StoredBody {
    Changes(Vec<StoredChange>),
    CreateNamespace {
        namespace: u32,
        cuts: Vec<u32>,
        applied: u64,
    },
    DeleteNamespace {
        namespace: u32,
        applied: u64,
    },
    EndNamespace {
        namespace: u32,
    },
    LeaderStarted,
    RaiseRules {
        version: u32,
    },
}

/// Stored; keep stable.
#[derive(Debug, Serialize, Deserialize)]
struct StoredChange {
    bundle: u32,
    expected: u64,
    next: Option<StoredState>,
}

/// A bundle's record. Stored, in snapshots too; keep stable.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum StoredState {
    Free,
    Assigning {
        destination: u32,
    },
    Owned {
        owner: u32,
        session: u64,
    },
    Releasing {
        source: u32,
        session: u64,
        destination: Option<u32>,
    },
    Splitting {
        source: Option<(u32, u64)>,
        cuts: Vec<u32>,
    },
    Deleted,
}

impl Dictionary {
    pub(super) fn store(&mut self, payload: &Payload) -> StoredPayload {
        match payload {
            Payload::Entry(entry) => StoredPayload::Entry(self.store_entry(entry)),
            Payload::Member(member) => match member {
                Member::Opened => StoredPayload::Opened,
                Member::Joined { broker } => StoredPayload::Joined {
                    broker: self.broker_number(broker),
                },
                Member::Draining { session } => StoredPayload::Draining {
                    session: session.get(),
                },
                Member::Left { session } => StoredPayload::Left {
                    session: session.get(),
                },
                Member::Elected { session } => StoredPayload::Elected {
                    session: session.get(),
                },
                Member::Resigned { epoch } => StoredPayload::Resigned { epoch: epoch.get() },
            },
        }
    }

    /// What reading would refuse must not be written.
    pub(super) fn check(payload: &Payload) -> Result<(), Error> {
        let Payload::Entry(entry) = payload else {
            return Ok(());
        };
        match &entry.body {
            Body::Changes(changes) => {
                bounded("changes", changes.len(), CHANGES_MAX)?;
                changes.iter().try_for_each(|change| match &change.next {
                    Some(Record::Splitting { cuts, .. }) => check_cuts(cuts),
                    _ => Ok(()),
                })
            }
            Body::CreateNamespace {
                cuts: Some(cuts), ..
            } => check_cuts(cuts),
            _ => Ok(()),
        }
    }

    pub(super) fn load(&self, stored: StoredPayload) -> Result<Payload, Error> {
        let member = match stored {
            StoredPayload::Entry(entry) => {
                return self
                    .load_entry(entry)
                    .map(|entry| Payload::Entry(Arc::new(entry)));
            }
            StoredPayload::Opened => Member::Opened,
            StoredPayload::Joined { broker } => Member::Joined {
                broker: self.broker(broker)?,
            },
            StoredPayload::Draining { session } => Member::Draining {
                session: SessionToken::new(session),
            },
            StoredPayload::Left { session } => Member::Left {
                session: SessionToken::new(session),
            },
            StoredPayload::Elected { session } => Member::Elected {
                session: SessionToken::new(session),
            },
            StoredPayload::Resigned { epoch } => Member::Resigned {
                epoch: Epoch::new(epoch),
            },
        };
        Ok(Payload::Member(member))
    }

    fn store_entry(&mut self, entry: &Entry) -> StoredEntry {
        StoredEntry {
            author: self.broker_number(&entry.author.broker),
            session: entry.author.session.get(),
            counter: entry.counter,
            epoch: entry.epoch.map(Epoch::get),
            body: self.store_body(&entry.body),
        }
    }

    fn load_entry(&self, stored: StoredEntry) -> Result<Entry, Error> {
        Ok(Entry {
            author: Holder::new(
                self.broker(stored.author)?,
                SessionToken::new(stored.session),
            ),
            counter: stored.counter,
            epoch: stored.epoch.map(Epoch::new),
            body: self.load_body(stored.body)?,
        })
    }

    fn store_body(&mut self, body: &Body) -> StoredBody {
        match body {
            Body::Changes(changes) => StoredBody::Changes(
                changes
                    .iter()
                    .map(|change| self.store_change(change))
                    .collect(),
            ),
            Body::CreateNamespace {
                namespace,
                cuts,
                applied,
            } => StoredBody::CreateNamespace {
                namespace: self.namespace_number(namespace),
                cuts: cuts
                    .as_ref()
                    .map_or_else(Vec::new, |cuts| cuts.as_slice().to_vec()),
                applied: applied.get(),
            },
            Body::DeleteNamespace { namespace, applied } => StoredBody::DeleteNamespace {
                namespace: self.namespace_number(namespace),
                applied: applied.get(),
            },
            Body::EndNamespace { namespace } => StoredBody::EndNamespace {
                namespace: self.namespace_number(namespace),
            },
            Body::LeaderStarted => StoredBody::LeaderStarted,
            Body::RaiseRules { version } => StoredBody::RaiseRules { version: *version },
        }
    }

    fn load_body(&self, stored: StoredBody) -> Result<Body, Error> {
        Ok(match stored {
            StoredBody::Changes(changes) => {
                bounded("changes", changes.len(), CHANGES_MAX)?;
                let changes = changes.into_iter().map(|change| self.load_change(change));
                Body::Changes(changes.collect::<Result<_, _>>()?)
            }
            StoredBody::CreateNamespace {
                namespace,
                cuts,
                applied,
            } => Body::CreateNamespace {
                namespace: self.namespace(namespace)?,
                cuts: if cuts.is_empty() {
                    None
                } else {
                    Some(load_cuts(cuts)?)
                },
                applied: Position::new(applied),
            },
            StoredBody::DeleteNamespace { namespace, applied } => Body::DeleteNamespace {
                namespace: self.namespace(namespace)?,
                applied: Position::new(applied),
            },
            StoredBody::EndNamespace { namespace } => Body::EndNamespace {
                namespace: self.namespace(namespace)?,
            },
            StoredBody::LeaderStarted => Body::LeaderStarted,
            StoredBody::RaiseRules { version } => Body::RaiseRules { version },
        })
    }

    fn store_change(&mut self, change: &Change) -> StoredChange {
        StoredChange {
            bundle: self.bundle_number(&change.bundle),
            expected: change.expected.get(),
            next: change.next.as_ref().map(|record| self.store_record(record)),
        }
    }

    fn load_change(&self, stored: StoredChange) -> Result<Change, Error> {
        Ok(Change {
            bundle: self.bundle(stored.bundle)?,
            expected: Position::new(stored.expected),
            next: stored
                .next
                .map(|state| self.load_record(state))
                .transpose()?,
        })
    }

    pub(crate) fn store_record(&mut self, record: &Record) -> StoredState {
        match record {
            Record::Free => StoredState::Free,
            Record::Assigning { destination } => StoredState::Assigning {
                destination: self.broker_number(destination),
            },
            Record::Owned { owner } => StoredState::Owned {
                owner: self.broker_number(&owner.broker),
                session: owner.session.get(),
            },
            Record::Releasing {
                source,
                destination,
            } => StoredState::Releasing {
                source: self.broker_number(&source.broker),
                session: source.session.get(),
                destination: destination
                    .as_ref()
                    .map(|broker| self.broker_number(broker)),
            },
            Record::Splitting { source, cuts } => StoredState::Splitting {
                source: source
                    .as_ref()
                    .map(|source| (self.broker_number(&source.broker), source.session.get())),
                cuts: cuts.as_slice().to_vec(),
            },
            Record::Deleted => StoredState::Deleted,
        }
    }

    pub(crate) fn load_record(&self, stored: StoredState) -> Result<Record, Error> {
        let holder = |broker: u32, session: u64| {
            Ok::<_, Error>(Holder::new(
                self.broker(broker)?,
                SessionToken::new(session),
            ))
        };
        Ok(match stored {
            StoredState::Free => Record::Free,
            StoredState::Assigning { destination } => Record::Assigning {
                destination: self.broker(destination)?,
            },
            StoredState::Owned { owner, session } => Record::Owned {
                owner: holder(owner, session)?,
            },
            StoredState::Releasing {
                source,
                session,
                destination,
            } => Record::Releasing {
                source: holder(source, session)?,
                destination: destination.map(|broker| self.broker(broker)).transpose()?,
            },
            StoredState::Splitting { source, cuts } => Record::Splitting {
                source: source
                    .map(|(broker, session)| holder(broker, session))
                    .transpose()?,
                cuts: load_cuts(cuts)?,
            },
            StoredState::Deleted => Record::Deleted,
        })
    }
}

fn check_cuts(cuts: &Cuts) -> Result<(), Error> {
    bounded("cuts", cuts.as_slice().len(), PARTS_MAX - 1)
}

fn load_cuts(cuts: Vec<u32>) -> Result<Cuts, Error> {
    bounded("cuts", cuts.len(), PARTS_MAX - 1)?;
    Ok(Cuts::new(cuts)?)
}

fn bounded(what: &'static str, count: usize, max: usize) -> Result<(), Error> {
    if count > max {
        Err(Error::TooMany { what, count, max })
    } else {
        Ok(())
    }
}
