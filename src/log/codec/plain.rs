//! The record that logs consist of, read and written without a detour: an entry of plain changes
//! that introduces no name.
//!
//! It comes to what the whole way over the types of `stored` comes to, or to nothing, and then the
//! whole way is gone. Those types alone say what the form is; tests hold this here against them.

use super::Dictionary;
use crate::ids::{BrokerId, Epoch, Holder, Position, SessionToken};
use crate::log::ENTRY_BYTES_MAX;
use crate::state::{Body, CHANGES_MAX, Change, Entry, Record};

/// Reads an entry of changes that uses known names and splits nothing.
pub(super) fn read(dictionary: &Dictionary, bytes: &[u8]) -> Option<Entry> {
    if bytes.len() > ENTRY_BYTES_MAX {
        return None;
    }
    let mut reading = Reading { dictionary, bytes };
    reading.tag(0)?; // no names
    reading.tag(0)?; // an entry
    let author = reading.holder()?;
    let counter = reading.number()?;
    let epoch = match reading.byte()? {
        0 => None,
        1 => Some(Epoch::new(reading.number()?)),
        _ => return None,
    };
    reading.tag(0)?; // of changes
    let count = usize::try_from(reading.number()?).ok()?;
    if count > CHANGES_MAX {
        return None;
    }
    let changes = (0..count).map(|_| reading.change());
    let changes = changes.collect::<Option<Vec<_>>>()?;
    reading.bytes.is_empty().then_some(Entry {
        author,
        counter,
        epoch,
        body: Body::Changes(changes),
    })
}

/// Writes an entry of changes that uses known names and splits nothing. If it is another one,
/// nothing, and what was written until then means nothing.
pub(super) fn write(dictionary: &Dictionary, entry: &Entry, bytes: &mut Vec<u8>) -> Option<()> {
    let Body::Changes(changes) = &entry.body else {
        return None;
    };
    let mut writing = Writing { dictionary, bytes };
    writing.bytes.extend([0, 0]); // no names, an entry
    writing.holder(&entry.author)?;
    writing.number(entry.counter);
    writing.byte(u8::from(entry.epoch.is_some()));
    if let Some(epoch) = entry.epoch {
        writing.number(epoch.get());
    }
    writing.byte(0); // of changes
    writing.number(changes.len() as u64);
    changes.iter().try_for_each(|change| writing.change(change))
}

/// What has been written.
struct Writing<'a> {
    dictionary: &'a Dictionary,
    bytes: &'a mut Vec<u8>,
}

impl Writing<'_> {
    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// A number in as few bytes as it needs.
    fn number(&mut self, number: u64) {
        match number {
            0..=250 => self.byte(number as u8),
            251..=0xffff => {
                self.byte(251);
                self.bytes.extend((number as u16).to_le_bytes());
            }
            0x1_0000..=0xffff_ffff => {
                self.byte(252);
                self.bytes.extend((number as u32).to_le_bytes());
            }
            _ => {
                self.byte(253);
                self.bytes.extend(number.to_le_bytes());
            }
        }
    }

    fn broker(&mut self, name: &BrokerId) -> Option<()> {
        self.number(self.dictionary.brokers.known(name)?.into());
        Some(())
    }

    fn holder(&mut self, holder: &Holder) -> Option<()> {
        self.broker(&holder.broker)?;
        self.number(holder.session.get());
        Some(())
    }

    fn change(&mut self, change: &Change) -> Option<()> {
        self.number(self.dictionary.bundles.known(&change.bundle)?.into());
        self.number(change.expected.get());
        self.byte(u8::from(change.next.is_some()));
        change.next.iter().try_for_each(|next| self.record(next))
    }

    fn record(&mut self, record: &Record) -> Option<()> {
        match record {
            Record::Free => self.byte(0),
            Record::Assigning { destination } => {
                self.byte(1);
                self.broker(destination)?;
            }
            Record::Owned { owner } => {
                self.byte(2);
                self.holder(owner)?;
            }
            Record::Releasing {
                source,
                destination,
            } => {
                self.byte(3);
                self.holder(source)?;
                self.byte(u8::from(destination.is_some()));
                destination.iter().try_for_each(|name| self.broker(name))?;
            }
            Record::Splitting { .. } => return None,
            Record::Deleted => self.byte(5),
        }
        Some(())
    }
}

/// What is left to be read.
struct Reading<'a> {
    dictionary: &'a Dictionary,
    bytes: &'a [u8],
}

impl Reading<'_> {
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
