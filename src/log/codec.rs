//! Payloads to bytes and back. The only place that knows bincode.
//!
//! Names are written once and then called by number: a [`Dictionary`] that lives as long as a
//! segment makes an entry a quarter of its size; a fresh one for each entry makes the entry stand
//! alone, as engines without segments need it.
//!
//! Decoding takes bytes whose length and checksum were checked, and still trusts nothing: it is
//! bounded, takes no bytes that it does not need, and accepts one spelling only.

mod plain;

use super::stored::{StoredName, StoredRecordV1};
use super::{ENTRY_BYTES_MAX, Payload};
use crate::ids::{BrokerId, BundleId, IdMap, KeyRange, Namespace};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::hash::Hash;
use std::sync::Arc;

/// Why bytes are no value, or a value cannot become bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value needs more room than there is.
    #[error("{bytes} bytes are too many; at most {max} are allowed")]
    TooLarge {
        /// What it needs.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The bytes are not of the expected form.
    #[error("the bytes do not have the form of a stored value")]
    Malformed,
    /// The value ends before the bytes do.
    #[error("{extra} bytes follow the value")]
    Trailing {
        /// How many.
        extra: usize,
    },
    /// The bytes spell a value in another way than it would be written.
    #[error("the bytes spell the value in another way than it is written")]
    NotCanonical,
    /// A number stands for no name that was introduced.
    #[error("number {number} stands for no name that was introduced")]
    UnknownName {
        /// The number.
        number: u32,
    },
    /// A stored name breaks the rules of its kind.
    #[error("a stored name is not valid: {0}")]
    Name(#[from] crate::ids::Error),
    /// A list is longer than it may be.
    #[error("a list of {count} {what} is too long; at most {max} are allowed")]
    TooMany {
        /// What it lists.
        what: &'static str,
        /// How many.
        count: usize,
        /// The limit.
        max: usize,
    },
}

/// The most that decoding may take in. A number counts as eight bytes there, however few it takes:
/// eight times the largest value, so that everything that is written can be read.
const DECODED_BYTES_MAX: usize = 8 * ENTRY_BYTES_MAX;

/// Fixed for all stored values: little-endian, variable-length integers, bounded.
const CONFIG: bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<DECODED_BYTES_MAX>,
> = bincode::config::standard().with_limit::<DECODED_BYTES_MAX>();

/// Writes a stored value.
///
/// # Errors
///
/// [`Error::TooLarge`] if it needs more than [`ENTRY_BYTES_MAX`].
pub(crate) fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    write_bytes(value, &mut bytes)?;
    Ok(bytes)
}

fn write_bytes<T: Serialize>(value: &T, bytes: &mut Vec<u8>) -> Result<(), Error> {
    let written = bincode::serde::encode_into_std_write(value, bytes, CONFIG);
    // The limit of the configuration guards decoding only.
    within_limit(written.map_err(|_| Error::Malformed)?)
}

fn within_limit(bytes: usize) -> Result<(), Error> {
    if bytes > ENTRY_BYTES_MAX {
        return Err(Error::TooLarge {
            bytes,
            max: ENTRY_BYTES_MAX,
        });
    }
    Ok(())
}

/// Reads a stored value that takes up all of `bytes`, in the one spelling that [`to_bytes`] writes.
///
/// # Errors
///
/// [`Error`] for everything else; never a panic, never more memory than a value of
/// [`ENTRY_BYTES_MAX`] can need.
pub(crate) fn from_bytes<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T, Error> {
    within_limit(bytes.len())?;
    let (value, consumed) =
        bincode::serde::decode_from_slice(bytes, CONFIG).map_err(|_| Error::Malformed)?;
    if consumed != bytes.len() {
        return Err(Error::Trailing {
            extra: bytes.len().saturating_sub(consumed),
        });
    }
    if canonical_len(&value)? != bytes.len() {
        return Err(Error::NotCanonical);
    }
    Ok(value)
}

/// How many bytes [`to_bytes`] writes. Bytes that decode to a value are the ones that are written
/// for it exactly if there are as many of them.
///
/// For of all that the format is made of only an integer has several spellings: one byte, or a mark
/// and two, four or eight. Each tag, length and number is such an integer or has a fixed width, and
/// texts follow their lengths as they are. So two spellings of one value differ in the widths of
/// some integers alone; the written one has the least width everywhere, and one that is wider
/// somewhere is longer as a whole.
fn canonical_len<T: Serialize>(value: &T) -> Result<usize, Error> {
    let counted = bincode::serde::encode_into_std_write(value, &mut std::io::sink(), CONFIG);
    counted.map_err(|_| Error::Malformed)
}

/// Writes a payload that stands alone.
///
/// # Errors
///
/// [`Error::TooLarge`] if it needs more than [`ENTRY_BYTES_MAX`], [`Error::TooMany`] if it lists
/// more than a reader takes.
///
/// # Examples
///
/// ```
/// use deedbook::log::{Member, Payload, codec};
///
/// let payload = Payload::Member(Member::Joined { broker: "broker-1:8080".parse().unwrap() });
/// let bytes = codec::encode(&payload)?;
/// assert_eq!(codec::decode(&bytes)?, payload);
/// # Ok::<(), codec::Error>(())
/// ```
pub fn encode(payload: &Payload) -> Result<Vec<u8>, Error> {
    Dictionary::default().encode(payload)
}

/// Reads a payload that stands alone.
///
/// # Errors
///
/// [`Error`] if the bytes are not what [`encode`] writes.
pub fn decode(bytes: &[u8]) -> Result<Payload, Error> {
    Dictionary::default().decode(bytes)
}

/// The names that a run of payloads has introduced, and their numbers.
///
/// Writer and reader each fill one in step; what the writer numbered must reach the reader, or be
/// [rolled back](Dictionary::roll_back).
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    brokers: Numbers<BrokerId>,
    namespaces: Numbers<Namespace>,
    bundles: Numbers<BundleId>,
    /// Names that the payload being written introduces.
    introduced: Vec<StoredName>,
}

/// How many names a dictionary had: a place to roll back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    brokers: usize,
    namespaces: usize,
    bundles: usize,
}

#[derive(Clone, Debug)]
struct Numbers<T> {
    list: Vec<T>,
    by_name: IdMap<T, u32>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            by_name: IdMap::default(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    /// The number of a name, and whether it is new.
    fn number(&mut self, name: &T) -> (u32, bool) {
        match self.known(name) {
            Some(number) => (number, false),
            None => (self.push(name.clone()), true),
        }
    }

    /// The number of a name that was introduced.
    fn known(&self, name: &T) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Takes in a name that was introduced; it must be new.
    fn introduce(&mut self, name: T) -> Result<(), Error> {
        if self.by_name.contains_key(&name) {
            return Err(Error::NotCanonical);
        }
        self.push(name);
        Ok(())
    }

    fn push(&mut self, name: T) -> u32 {
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.by_name.insert(name.clone(), number);
        self.list.push(name);
        number
    }

    fn name(&self, number: u32) -> Result<&T, Error> {
        usize::try_from(number)
            .ok()
            .and_then(|index| self.list.get(index))
            .ok_or(Error::UnknownName { number })
    }

    fn truncate(&mut self, len: usize) {
        for name in self.list.drain(len.min(self.list.len())..) {
            self.by_name.remove(&name);
        }
    }
}

impl Dictionary {
    /// Writes a payload, introducing the names that are new.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] if it needs more than [`ENTRY_BYTES_MAX`], [`Error::TooMany`] if a list
    /// is longer than a reader takes; nothing is introduced then.
    pub fn encode(&mut self, payload: &Payload) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.encode_into(payload, &mut bytes)?;
        Ok(bytes)
    }

    /// Does what [`Dictionary::encode`] does, with room for the bytes that there is already. What
    /// is in it after an error means nothing.
    pub(crate) fn encode_into(
        &mut self,
        payload: &Payload,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        Self::check(payload)?;
        bytes.clear();
        if let Payload::Entry(entry) = payload
            && plain::write(self, entry, bytes).is_some()
        {
            return within_limit(bytes.len());
        }
        bytes.clear();
        self.encode_any(payload, bytes)
    }

    /// What [`Dictionary::encode_into`] does, the whole way.
    fn encode_any(&mut self, payload: &Payload, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let mark = self.mark();
        let payload = self.store(payload);
        let stored = StoredRecordV1 {
            introduced: self.take_introduced(),
            payload,
        };
        write_bytes(&stored, bytes).inspect_err(|_| self.roll_back(mark))
    }

    /// Reads a payload, taking in the names that it introduces.
    ///
    /// # Errors
    ///
    /// [`Error`] if the bytes are not what [`Dictionary::encode`] writes after the same payloads;
    /// nothing is taken in then.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Payload, Error> {
        if let Some(entry) = plain::read(self, bytes) {
            return Ok(Payload::Entry(Arc::new(entry)));
        }
        self.decode_any(bytes)
    }

    /// What [`Self::decode`] gives, the whole way.
    fn decode_any(&mut self, bytes: &[u8]) -> Result<Payload, Error> {
        let mark = self.mark();
        let payload = self.read(bytes, mark);
        payload.inspect_err(|_| self.roll_back(mark))
    }

    fn read(&mut self, bytes: &[u8], mark: Mark) -> Result<Payload, Error> {
        let stored: StoredRecordV1 = from_bytes(bytes)?;
        let introduces = !stored.introduced.is_empty();
        self.take_in(stored.introduced)?;
        let payload = self.load(stored.payload)?;
        if introduces {
            // A writer introduces what it uses, when it first uses it, and nothing else.
            self.roll_back(mark);
            if self.encode(&payload)? != bytes {
                return Err(Error::NotCanonical);
            }
        }
        Ok(payload)
    }

    /// The present place.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark {
            brokers: self.brokers.list.len(),
            namespaces: self.namespaces.list.len(),
            bundles: self.bundles.list.len(),
        }
    }

    /// Forgets the names introduced since `mark`.
    pub fn roll_back(&mut self, mark: Mark) {
        self.brokers.truncate(mark.brokers);
        self.namespaces.truncate(mark.namespaces);
        self.bundles.truncate(mark.bundles);
    }

    /// How many names were introduced since they were last [taken out](Self::take_introduced).
    pub(crate) fn introduced_count(&self) -> usize {
        self.introduced.len()
    }

    /// More than those of them take that came after the first `count`.
    pub(crate) fn introduced_bytes_max(&self, count: usize) -> usize {
        let names = self.introduced.iter().skip(count);
        names.map(StoredName::bytes_max).sum()
    }

    /// The names introduced since this was last asked: they go along with what uses them.
    pub(crate) fn take_introduced(&mut self) -> Vec<StoredName> {
        std::mem::take(&mut self.introduced)
    }

    /// Takes in the names that came along, each for the first time.
    pub(crate) fn take_in(&mut self, introduced: Vec<StoredName>) -> Result<(), Error> {
        for name in introduced {
            match name {
                StoredName::Broker(name) => self.brokers.introduce(BrokerId::new(name)?)?,
                StoredName::Namespace(name) => self.namespaces.introduce(Namespace::new(name)?)?,
                StoredName::Bundle {
                    namespace,
                    lower,
                    upper,
                } => {
                    let namespace = self.namespaces.name(namespace)?.clone();
                    let range = KeyRange::new(lower, upper)?;
                    self.bundles.introduce(BundleId::new(namespace, range))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn broker_number(&mut self, broker: &BrokerId) -> u32 {
        let (number, new) = self.brokers.number(broker);
        if new {
            self.introduced
                .push(StoredName::Broker(broker.as_str().to_owned()));
        }
        number
    }

    pub(crate) fn namespace_number(&mut self, namespace: &Namespace) -> u32 {
        let (number, new) = self.namespaces.number(namespace);
        if new {
            self.introduced
                .push(StoredName::Namespace(namespace.as_str().to_owned()));
        }
        number
    }

    pub(super) fn bundle_number(&mut self, bundle: &BundleId) -> u32 {
        let (number, new) = self.bundles.number(bundle);
        if new {
            let namespace = self.namespace_number(bundle.namespace());
            let (lower, upper) = (bundle.range().lower(), bundle.range().upper());
            self.introduced.push(StoredName::Bundle {
                namespace,
                lower,
                upper,
            });
        }
        number
    }

    pub(crate) fn broker(&self, number: u32) -> Result<BrokerId, Error> {
        self.brokers.name(number).cloned()
    }

    pub(crate) fn namespace(&self, number: u32) -> Result<Namespace, Error> {
        self.namespaces.name(number).cloned()
    }

    pub(super) fn bundle(&self, number: u32) -> Result<BundleId, Error> {
        self.bundles.name(number).cloned()
    }
}

#[cfg(test)]
mod tests;
