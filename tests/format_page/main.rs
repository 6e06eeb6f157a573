//! docs/format.md says where every byte is: the golden files are read by its tables alone, and each
//! of its drawings shows what the table above it says.
#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod content;
mod page;
mod walk;

use page::{Field, drawings, layouts, structures};
use std::collections::BTreeSet;
use std::ops::Range;
use walk::{Walk, crc, little};

const SEGMENTS: [&[u8]; 2] = [
    include_bytes!("../golden/v1/log/00000000000000000001.log"),
    include_bytes!("../golden/v1/log/00000000000000000016.log"),
];
const SNAPSHOT: &[u8] = include_bytes!("../golden/v1/log/00000000000000000012.snapshot");
const CODEC: &str = include_str!("../golden/v1/codec.txt");

/// The tables of offsets, as the page has them.
pub(crate) enum Table {
    Header,
    Frame,
    Block,
    Footer,
    Head,
    Part,
}

/// The table's fields cut out of bytes, by their names.
pub(crate) struct Cut<'a> {
    fields: Vec<Field>,
    bytes: &'a [u8],
}

impl<'a> Cut<'a> {
    pub(crate) fn new(table: Table, bytes: &'a [u8]) -> Self {
        let fields = layouts().swap_remove(table as usize);
        Self { fields, bytes }
    }

    fn range(&self, name: &str) -> Range<usize> {
        let field = self.fields.iter().find(|field| field.name == name);
        let field = field.unwrap_or_else(|| panic!("the table has no {name}"));
        let end = field.bytes.map(|bytes| field.offset + bytes);
        field.offset..end.unwrap_or(self.bytes.len())
    }

    pub(crate) fn field(&self, name: &str) -> &'a [u8] {
        &self.bytes[self.range(name)]
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        little(self.field(name))
    }

    /// Where a field begins.
    fn offset(&self, name: &str) -> usize {
        self.range(name).start
    }

    /// How many bytes there are before a field that takes the rest, or all of them.
    fn fixed(&self) -> usize {
        self.fields.iter().filter_map(|field| field.bytes).sum()
    }
}

/// The lines of a golden file in text, its comments left out: a name, and bytes.
pub(crate) fn lines(text: &'static str) -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    text.lines().filter_map(|line| {
        let (name, hex) = line.split_once(": ")?;
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        let pairs = digits.chunks(2);
        let bytes = pairs.map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap());
        (!name.starts_with('#')).then(|| (name, bytes.collect()))
    })
}

#[test]
fn each_drawing_shows_what_its_table_says() {
    let (tables, drawings) = (layouts(), drawings());
    assert_eq!(tables.len(), Table::Part as usize + 1);
    assert_eq!(tables, drawings);
    for fields in &tables {
        let mut next = 0;
        for field in fields {
            assert_eq!(field.offset, next, "{field:?} leaves no gap");
            next += field.bytes.unwrap_or_default();
        }
    }
}

fn check_header(bytes: &[u8], magic: &[u8], start: u64, origin: u64) -> usize {
    let header = Cut::new(Table::Header, bytes);
    assert_eq!(header.field("magic"), magic);
    assert_eq!(header.number("version"), 1);
    assert_eq!(header.number("codec"), 1);
    // The id that the golden files were written with.
    let log = 0x00de_ed00_0000_0000_0000_0000_0000_0001_u128;
    assert_eq!(header.field("log id"), log.to_le_bytes());
    assert_eq!(header.number("start"), start);
    assert_eq!(header.number("origin"), origin);
    assert_eq!(header.field("zeroes"), [0; 12]);
    let covered = &bytes[..header.offset("checksum")];
    assert_eq!(header.number("checksum"), u64::from(crc(&[covered])));
    header.fixed()
}

#[test]
fn segments_are_read_by_the_page_to_their_last_byte() {
    let structures = structures();
    let mut position = 1;
    let mut records = Vec::new();
    for (bytes, start, origin) in [(SEGMENTS[0], 1, 0), (SEGMENTS[1], 16, 1)] {
        let mut rest = &bytes[check_header(bytes, b"deedlog\n", start, origin)..];
        assert_eq!(position, start);
        while rest.len() > 4 && little(&rest[..4]) != 0 {
            let frame = Cut::new(Table::Frame, rest);
            let word = u32::try_from(frame.number("length")).unwrap();
            assert_ne!(word >> 31, 0, "everything before it was synced");
            let length = usize::try_from(word & (u32::MAX >> 1)).unwrap();
            let payload = &frame.field("payload")[..length];
            assert_eq!(frame.number("index"), position - start);
            let sum = crc(&[frame.field("length"), &position.to_le_bytes(), payload]);
            assert_eq!(frame.number("checksum"), u64::from(sum));
            let mut unread = payload;
            while let [length @ ..0x80, following @ ..] = unread {
                let (record, following) = following.split_at(usize::from(*length));
                records.push(Walk::new(&structures, record).whole("record"));
                position += 1;
                unread = following;
            }
            assert!(unread.is_empty(), "records are short");
            rest = &rest[frame.fixed() + length..];
        }
        assert!(rest.iter().all(|&byte| byte == 0));
    }
    // The log was opened, led by its second record, and got 24 entries in groups of three, each
    // about one of ten bundles.
    assert_eq!(records.len(), 27);
    assert_eq!(records[0], "(names [], payload 1())");
    assert_eq!(
        records[1],
        "(names [0(name broker-0:8080)], payload 2(broker 0))"
    );
    assert_eq!(records[2], "(names [], payload 5(session 2))");
    let names = "[0(name broker-2:8080), 1(name acme/orders), \
                 2(namespace 0, range (lower 65536, upper 131071)), 0(name broker-1:8080)]";
    let change = "(bundle 0, expected 0, next 1(destination 2))";
    let entry = format!("(broker 1, session 2, counter 1, epoch none, body 0(changes [{change}]))");
    assert_eq!(records[3], format!("(names {names}, payload 0({entry}))"));
}

#[test]
fn snapshots_are_read_by_the_page_to_their_last_byte() {
    let horizon = 12_u64.to_le_bytes();
    let rest = &SNAPSHOT[check_header(SNAPSHOT, b"deedsnp\n", 12, 3)..];
    let block = Cut::new(Table::Block, rest);
    let length = usize::try_from(block.number("length")).unwrap();
    let content = &block.field("content")[..length];
    assert_eq!(content, b"everything below 12");
    let sum = crc(&[
        block.field("length"),
        &horizon,
        &0_u64.to_le_bytes(),
        content,
    ]);
    assert_eq!(block.number("checksum"), u64::from(sum));

    let rest = &rest[block.fixed() + length..];
    let footer = Cut::new(Table::Footer, rest);
    assert_eq!(rest.len(), footer.fixed());
    assert_eq!(footer.field("mark"), [0xff; 4]);
    assert_eq!(footer.number("blocks"), 1);
    assert_eq!(footer.number("content bytes"), length as u64);
    let counts = [footer.field("blocks"), footer.field("content bytes")];
    let sum = crc(&[footer.field("mark"), &horizon, counts[0], counts[1]]);
    assert_eq!(footer.number("checksum"), u64::from(sum));
}

/// What the lines of the golden file say, put together from its comments.
fn said(name: &str) -> String {
    let a = "0(name a:1)";
    let n = "1(name t/n)";
    let whole = "2(namespace 0, range (lower 0, upper 4294967295))";
    let half = "2(namespace 0, range (lower 0, upper 2147483648))";
    let b = "0(name b:1)";
    let record = |names: &[&str], payload: &str| {
        format!("(names [{}], payload {payload})", names.join(", "))
    };
    let entry = |session: u64, counter: u64, epoch: &str, body: &str| {
        format!("0((broker 0, session {session}, counter {counter}, epoch {epoch}, body {body}))")
    };
    let change = |expected: u64, next: &str| {
        format!("0(changes [(bundle 0, expected {expected}, next {next})])")
    };
    let becomes = |next: &str| record(&[a, n, whole], &entry(7, 1, "none", &change(50, next)));
    let or_b = |next: &str| record(&[a, n, whole, b], &entry(7, 1, "none", &change(50, next)));
    match name {
        "opened" => record(&[], "1()"),
        "joined" => record(&[a], "2(broker 0)"),
        "draining" => record(&[], "3(session 250)"),
        "left" => record(&[], "4(session 251)"),
        "elected" => record(&[], "5(session 65535)"),
        "resigned" => record(&[], "6(epoch 65536)"),
        "leader-started" => record(&[a], &entry(7, 1, "9", "4()")),
        "raise-rules" => record(&[a], &entry(4_294_967_295, 2, "9", "5(version 2)")),
        "create-whole" => record(
            &[a, n],
            &entry(1 << 32, 1, "none", "1(namespace 0, cuts [], applied 0)"),
        ),
        "create-cut" => record(
            &[a, n],
            &entry(
                7,
                1,
                "none",
                "1(namespace 0, cuts [1, 2147483648], applied 18446744073709551615)",
            ),
        ),
        "delete" => record(
            &[a, n],
            &entry(7, 1, "none", "2(namespace 0, applied 18446744073709551615)"),
        ),
        "end" => record(&[a, n], &entry(7, 1, "9", "3(namespace 0)")),
        "changes-none" => record(&[a], &entry(7, 1, "none", "0(changes [])")),
        "remove" => record(&[a, n, whole], &entry(7, 1, "9", &change(50, "none"))),
        "free" => becomes("0()"),
        "assigning" => or_b("1(destination 1)"),
        "owned" => becomes("2(owner 0, session 7)"),
        "releasing" => becomes("3(source 0, session 7, destination none)"),
        "releasing-to" => or_b("3(source 0, session 7, destination 1)"),
        "splitting-nobody" => becomes("4(source none, cuts [16])"),
        "splitting" => becomes("4(source (broker 0, session 7), cuts [16, 32])"),
        "deleted" => becomes("5()"),
        "segment-1" => {
            let next = "3(source 0, session 7, destination none)";
            record(&[a, n, half], &entry(7, 1, "none", &change(50, next)))
        }
        "segment-2" => record(&[], &entry(7, 2, "none", &change(51, "0()"))),
        "segment-3" => record(&[b], &entry(7, 3, "none", &change(52, "1(destination 1)"))),
        other => panic!("nobody said what {other} says"),
    }
}

#[test]
fn records_say_by_the_page_what_they_are_to_say() {
    let structures = structures();
    let mut met = BTreeSet::new();
    for (name, bytes) in lines(CODEC) {
        let mut walk = Walk::new(&structures, &bytes);
        assert_eq!(walk.whole("record"), said(name), "{name}");
        met.append(&mut walk.met);
    }
    met.append(&mut content::met(&structures));
    // Nothing stands in the page that is never written.
    for (name, forms) in &structures {
        for form in forms {
            assert!(met.contains(&(name.clone(), form.tag)), "{name} {form:?}");
        }
    }
}
