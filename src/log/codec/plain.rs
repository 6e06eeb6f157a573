//! The record that logs consist of, read without a detour: an entry of plain changes that introduces
//! no name.
//!
//! It gives what the whole way over the types of `stored` gives, or nothing, and then the whole way
//! says what it is. Those types alone say what the form is; tests hold what is read here against them.

use super::Dictionary;
use crate::ids::{BrokerId, Epoch, Holder, Position, SessionToken};
use crate::log::ENTRY_BYTES_MAX;
use crate::state::{Body, CHANGES_MAX, Change, Entry, Record};

/// An entry of changes that uses known names and splits nothing.
pub(super) fn entry(dictionary: &Dictionary, bytes: &[u8]) -> Option<Entry> {
    if bytes.len() > ENTRY_BYTES_MAX {
        return None;
    }
    let mut plain = Plain { dictionary, bytes };
    plain.tag(0)?; // no names
    plain.tag(0)?; // an entry
    let author = plain.holder()?;
    let counter = plain.number()?;
    let epoch = match plain.byte()? {
        0 => None,
        1 => Some(Epoch::new(plain.number()?)),
        _ => return None,
    };
    plain.tag(0)?; // of changes
    let count = usize::try_from(plain.number()?).ok()?;
    if count > CHANGES_MAX {
        return None;
    }
    let changes = (0..count).map(|_| plain.change());
    let changes = changes.collect::<Option<Vec<_>>>()?;
    plain.bytes.is_empty().then_some(Entry {
        author,
        counter,
        epoch,
        body: Body::Changes(changes),
    })
}

/// What is left to be read.
struct Plain<'a> {
    dictionary: &'a Dictionary,
    bytes: &'a [u8],
}

impl Plain<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    fn tag(&mut self, wanted: u8) -> Option<()> {
        (self.byte()? == wanted).then_some(())
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*bytes)
    }

    /// A number in as few bytes as it needs.
    fn number(&mut self) -> Option<u64> {
        match self.byte()? {
            byte @ 0..=250 => Some(u64::from(byte)),
            251 => Some(u64::from(u16::from_le_bytes(self.take()?))).filter(|it| *it > 250),
            252 => Some(u64::from(u32::from_le_bytes(self.take()?))).filter(|it| *it > 0xffff),
            253 => Some(u64::from_le_bytes(self.take()?)).filter(|it| *it > 0xffff_ffff),
            _ => None,
        }
    }

    fn name_number(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn broker(&mut self) -> Option<BrokerId> {
        let number = self.name_number()?;
        self.dictionary.broker(number).ok()
    }

    fn holder(&mut self) -> Option<Holder> {
        let broker = self.broker()?;
        Some(Holder::new(broker, SessionToken::new(self.number()?)))
    }

    fn change(&mut self) -> Option<Change> {
        let number = self.name_number()?;
        Some(Change {
            bundle: self.dictionary.bundle(number).ok()?,
            expected: Position::new(self.number()?),
            next: match self.byte()? {
                0 => None,
                1 => Some(self.record()?),
                _ => return None,
            },
        })
    }

    fn record(&mut self) -> Option<Record> {
        Some(match self.byte()? {
            0 => Record::Free,
            1 => Record::Assigning {
                destination: self.broker()?,
            },
            2 => Record::Owned {
                owner: self.holder()?,
            },
            3 => Record::Releasing {
                source: self.holder()?,
                destination: match self.byte()? {
                    0 => None,
                    1 => Some(self.broker()?),
                    _ => return None,
                },
            },
            5 => Record::Deleted,
            _ => return None,
        })
    }
}
