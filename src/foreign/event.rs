//! One ownership event: a bundle and what is said of it, as Apache Pulsar publishes it.

use crate::ids::{self, BundleId, KeyRange, Namespace};
use crate::state::State;
use crate::state::pulsar::{PulsarRecord, state_named};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// An ownership event: what a bundle becomes.
///
/// It serializes to the form that [`read`] takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The bundle.
    pub bundle: BundleId,
    /// What it becomes; none removes it.
    pub observed: Option<Observed>,
}

/// What an event says of its bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// What rules look at.
    pub record: PulsarRecord,
    /// The children that a split names, by range, and the broker that each is to go to, if any.
    pub children: BTreeMap<KeyRange, Option<Box<str>>>,
    /// When its author wrote it, by the author's clock, in milliseconds since 1970; 0 if unknown.
    pub timestamp_ms: i64,
}

/// What was read as something else than it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Note {
    /// The bundle's range has another spelling: upper-case digits, or not eight of them.
    Respelt,
    /// The state has a name of the drafts.
    OldStateName,
    /// The destination stands under the name it had before there were two brokers.
    OldFieldName,
    /// No version is given, which counts as 0.
    NoVersion,
}

impl Note {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Respelt,
        Self::OldStateName,
        Self::OldFieldName,
        Self::NoVersion,
    ];

    /// A stable short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Respelt => "respelt",
            Self::OldStateName => "old_state_name",
            Self::OldFieldName => "old_field_name",
            Self::NoVersion => "no_version",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Respelt => "the range of a bundle is spelt another way",
            Self::OldStateName => "a state goes by a name of the drafts",
            Self::OldFieldName => "the destination is called broker",
            Self::NoVersion => "no version is given, which counts as 0",
        })
    }
}

/// Why something is no ownership event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The key names no bundle.
    #[error("the key is no bundle: {0}")]
    BadKey(#[source] ids::Error),
    /// There is no value, not even `null`.
    #[error("there is no `value`; a removal has the value null")]
    NoValue,
    /// No draft or release has such a state.
    #[error("there is no state {name:?}")]
    UnknownState {
        /// What it is called.
        name: String,
    },
    /// A record that is not free names no broker, which no broker writes.
    #[error("a record in state {state} names a broker")]
    NobodyNamed {
        /// Its state.
        state: State,
    },
    /// A child of a split is no range.
    #[error("a child of a split is no range: {0}")]
    BadChild(#[source] ids::Error),
}

/// Why an event could not be read: the format's own complaint, or what it holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError<E> {
    /// The text is not of its format, or not of the form of an event.
    #[error("{0}")]
    Format(E),
    /// It is well-formed, but no usable event.
    #[error(transparent)]
    Event(#[from] EventError),
}

/// An event as it is written down.
#[derive(Deserialize, Serialize)]
struct Wire {
    key: String,
    #[serde(default, deserialize_with = "there")]
    value: Option<Option<WireRecord>>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct WireRecord {
    state: String,
    dst_broker: Option<Box<str>>,
    #[serde(default, skip_serializing)]
    broker: Option<Box<str>>,
    source_broker: Option<Box<str>>,
    split_service_unit_to_dest_broker: Option<BTreeMap<String, Option<Box<str>>>>,
    force: Option<bool>,
    timestamp: Option<i64>,
    version_id: Option<i64>,
}

/// Tells a value that is null from one that is missing.
fn there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<WireRecord>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Reads one event, with what was read as something else than it says.
///
/// Fields that are not known are passed over.
///
/// # Errors
///
/// [`ReadError`] if it is no event.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<(Event, Vec<Note>), ReadError<D::Error>> {
    let wire = Wire::deserialize(from).map_err(ReadError::Format)?;
    let mut notes = Vec::new();
    let bundle = bundle_named(&wire.key, &mut notes).map_err(EventError::BadKey)?;
    let value = wire.value.ok_or(EventError::NoValue)?;
    let observed = value
        .map(|record| observe(record, &mut notes))
        .transpose()?;
    Ok((Event { bundle, observed }, notes))
}

fn observe(wire: WireRecord, notes: &mut Vec<Note>) -> Result<Observed, EventError> {
    let state = state_named(&wire.state).ok_or(EventError::UnknownState {
        name: wire.state.clone(),
    })?;
    if state.to_string() != wire.state {
        notes.push(Note::OldStateName);
    }
    let destination = match (wire.dst_broker, wire.broker) {
        (None, Some(broker)) => {
            notes.push(Note::OldFieldName);
            Some(broker)
        }
        (destination, _) => destination,
    };
    let version = wire.version_id.unwrap_or_else(|| {
        notes.push(Note::NoVersion);
        0
    });
    let record = PulsarRecord {
        state,
        destination,
        source: wire.source_broker,
        version,
        forced: wire.force.unwrap_or(false),
    };
    if !record.is_well_formed() {
        return Err(EventError::NobodyNamed { state });
    }
    let named = wire.split_service_unit_to_dest_broker.unwrap_or_default();
    let mut children = BTreeMap::new();
    for (child, broker) in named {
        // Some releases wrote the whole name of the child, some its range alone.
        let range = child.rsplit('/').next().unwrap_or(&child);
        children.insert(
            range_named(range, notes).map_err(EventError::BadChild)?,
            broker,
        );
    }
    Ok(Observed {
        record,
        children,
        timestamp_ms: wire.timestamp.unwrap_or(0),
    })
}

fn bundle_named(name: &str, notes: &mut Vec<Note>) -> Result<BundleId, ids::Error> {
    match name.rsplit_once('/') {
        Some((namespace, range)) => {
            let namespace: Namespace = namespace.parse()?;
            Ok(BundleId::new(namespace, range_named(range, notes)?))
        }
        None => name.parse(),
    }
}

/// Reads a range in any spelling of its numbers.
fn range_named(text: &str, notes: &mut Vec<Note>) -> Result<KeyRange, ids::Error> {
    text.parse().or_else(|error| {
        let bound = |text: &str| {
            let digits = text
                .strip_prefix("0x")
                .or_else(|| text.strip_prefix("0X"))?;
            let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if plain {
                u32::from_str_radix(digits, 16).ok()
            } else {
                None
            }
        };
        let bounds = text.split_once('_');
        match bounds.and_then(|(lower, upper)| Some((bound(lower)?, bound(upper)?))) {
            Some((lower, upper)) => {
                let range = KeyRange::new(lower, upper)?;
                notes.push(Note::Respelt);
                Ok(range)
            }
            None => Err(error),
        }
    })
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let record = self.observed.as_ref().map(|observed| {
            let children = observed.children.iter();
            let children: BTreeMap<_, _> = children
                .map(|(range, broker)| (range.to_string(), broker.clone()))
                .collect();
            WireRecord {
                state: observed.record.state.to_string(),
                dst_broker: observed.record.destination.clone(),
                broker: None,
                source_broker: observed.record.source.clone(),
                split_service_unit_to_dest_broker: (!children.is_empty()).then_some(children),
                force: Some(observed.record.forced),
                timestamp: Some(observed.timestamp_ms),
                version_id: Some(observed.record.version),
            }
        });
        let key = self.bundle.to_string();
        Wire {
            key,
            value: Some(record),
        }
        .serialize(to)
    }
}
