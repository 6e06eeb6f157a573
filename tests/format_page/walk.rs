//! Reads bytes by the structures of the page, and says what it found in one line.

use crate::page::{Structures, Type};
use std::collections::BTreeSet;

/// Reads one value after the other.
pub(crate) struct Walk<'a> {
    structures: &'a Structures,
    rest: &'a [u8],
    /// The forms of structures that were met.
    pub(crate) met: BTreeSet<(String, Option<u64>)>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(structures: &'a Structures, bytes: &'a [u8]) -> Self {
        Self {
            structures,
            rest: bytes,
            met: BTreeSet::new(),
        }
    }

    /// Reads a structure that takes all bytes.
    pub(crate) fn whole(&mut self, structure: &str) -> String {
        let said = self.structure(structure);
        assert_eq!(self.rest, [0_u8; 0], "nothing follows {said}");
        said
    }

    fn value(&mut self, kind: &Type) -> String {
        match kind {
            Type::Number => self.number().to_string(),
            Type::Text => {
                let bytes = usize::try_from(self.number()).unwrap();
                String::from_utf8(self.take(bytes).to_vec()).unwrap()
            }
            Type::List(inner) => {
                let count = self.number();
                let items: Vec<_> = (0..count).map(|_| self.value(inner)).collect();
                format!("[{}]", items.join(", "))
            }
            Type::Optional(inner) => match self.take(1) {
                [0] => "none".to_owned(),
                [1] => self.value(inner),
                other => panic!("{other:?} says neither yes nor no"),
            },
            Type::Structure(name) => self.structure(name),
        }
    }

    fn structure(&mut self, name: &str) -> String {
        let forms = &self.structures[name];
        let tag = forms[0].tag.map(|_| self.number());
        let form = forms.iter().find(|form| form.tag == tag);
        let form = form.unwrap_or_else(|| panic!("the page has no {name} {tag:?}"));
        self.met.insert((name.to_owned(), tag));
        let fields = form.fields.iter().map(|(label, kind)| {
            let value = self.value(kind);
            format!("{label} {value}").trim().to_owned()
        });
        let fields = fields.collect::<Vec<_>>().join(", ");
        match tag {
            Some(tag) => format!("{tag}({fields})"),
            None => format!("({fields})"),
        }
    }

    /// In its shortest spelling, which is the only one.
    fn number(&mut self) -> u64 {
        let (bytes, least) = match self.take(1)[0] {
            0xfb => (2, 251),
            0xfc => (4, 1 << 16),
            0xfd => (8, 1 << 32),
            small @ ..=250 => return small.into(),
            other => panic!("{other:x} begins no number"),
        };
        let number = little(self.take(bytes));
        assert!(number >= least, "{number} has a shorter spelling");
        number
    }

    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }
}

/// A number of fixed width.
pub(crate) fn little(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().rev();
    digits.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// CRC-32 (IEEE), bit by bit.
pub(crate) fn crc(parts: &[&[u8]]) -> u32 {
    let mut crc = u32::MAX;
    for byte in parts.concat() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
    }
    !crc
}
