//! What commands print: text for people, or one JSON object.

use crate::Error;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, presets};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::fmt::Display;
use std::io::{self, BufWriter, Write};

/// The number of the present form of the JSON objects. It grows when a key goes or changes its
/// meaning; keys may come without that.
const SCHEMA: u32 = 1;

/// How wide tables may become, in columns.
const WIDTH_MAX: u16 = 100;

/// What data is printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for people.
    Text,
    /// One JSON object.
    Json,
}

/// Where a command's data goes.
pub(crate) struct Output<'a> {
    format: Format,
    out: &'a mut dyn Write,
}

/// A JSON object with the number of its form in front.
#[derive(Serialize)]
struct Numbered<'a, T> {
    schema: u32,
    #[serde(flatten)]
    found: &'a T,
}

impl<'a> Output<'a> {
    pub(crate) fn new(format: Format, out: &'a mut dyn Write) -> Self {
        Self { format, out }
    }

    /// Prints what a command found: as it displays, or as it serializes.
    pub(crate) fn print<T: Serialize + Display>(&mut self, found: &T) -> Result<(), Error> {
        // What is printed may be larger than what is worth holding twice.
        let mut out = BufWriter::new(&mut *self.out);
        let written = match self.format {
            Format::Text => {
                let text = found.to_string();
                let end = if text.ends_with('\n') { "" } else { "\n" };
                write!(out, "{text}{end}")
            }
            Format::Json => {
                let schema = SCHEMA;
                let numbered = Numbered { schema, found };
                serde_json::to_writer_pretty(&mut out, &numbered)
                    .map_err(io::Error::from)
                    .and_then(|()| out.write_all(b"\n"))
            }
        };
        written.and_then(|()| out.flush()).map_err(Error::Write)
    }

    /// Where a command writes data that has a form of its own, line by line.
    pub(crate) fn lines(&mut self) -> &mut dyn Write {
        &mut *self.out
    }

    /// Prints a list of any length, item by item: a line each, or under `key`. With the first
    /// item that cannot be had it ends, as a list that is shorter.
    pub(crate) fn print_list<T: Serialize + Display>(
        &mut self,
        key: &str,
        items: impl Iterator<Item = Result<T, Error>>,
    ) -> Result<(), Error> {
        let mut out = BufWriter::new(&mut self.out);
        let mut failure = None;
        let items = items.map_while(|item| item.map_err(|error| failure = Some(error)).ok());
        let written = match self.format {
            Format::Text => write_lines(&mut out, items),
            Format::Json => write_object(&mut out, key, items),
        };
        written.and_then(|()| out.flush()).map_err(Error::Write)?;
        failure.map_or(Ok(()), Err)
    }
}

fn write_lines<T: Display>(
    out: &mut impl Write,
    mut items: impl Iterator<Item = T>,
) -> io::Result<()> {
    items.try_for_each(|item| write!(out, "{item}"))
}

fn write_object<T: Serialize>(
    out: &mut impl Write,
    key: &str,
    items: impl Iterator<Item = T>,
) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::pretty(&mut *out);
    let mut object = serializer.serialize_map(Some(2))?;
    object.serialize_entry("schema", &SCHEMA)?;
    object.serialize_entry(key, &Items(RefCell::new(items)))?;
    SerializeMap::end(object)?;
    writeln!(out)
}

/// Items that become a list as they come.
struct Items<I>(RefCell<I>);

impl<T: Serialize, I: Iterator<Item = T>> Serialize for Items<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for item in self.0.borrow_mut().by_ref() {
            list.serialize_element(&item)?;
        }
        list.end()
    }
}

/// A column's heading and where its cells stand.
pub(crate) enum Column {
    /// Text, from the left.
    Left(&'static str),
    /// Numbers, to the right.
    Right(&'static str),
}

/// A table without frames, indented by two. What is too wide for it is wrapped, never cut off.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    const HEADER: LineStyle = LineStyle::new(' ', '-', ' ', ' ');
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING.header_separator(HEADER))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH_MAX);
    table.set_header(columns.iter().map(|column| match column {
        Column::Left(heading) | Column::Right(heading) => *heading,
    }));
    table.add_rows(rows);
    for (column, shown) in columns.iter().zip(table.column_iter_mut()) {
        if let Column::Right(_) = column {
            shown.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

/// A number of points, with one decimal.
pub(crate) fn points(points: Option<f64>) -> String {
    points.map_or_else(|| "-".to_owned(), |points| format!("{points:.1}"))
}

/// A number of things: `1 broker`, `2 brokers`.
pub(crate) fn count(count: impl TryInto<u64>, thing: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// A rate: whole and in groups of three digits, or with one decimal if it is small.
pub(crate) fn rate(rate: f64) -> String {
    if rate.abs() < 99.95 {
        return format!("{rate:.1}");
    }
    let digits = format!("{:.0}", rate.abs());
    let sign = if rate < 0.0 { "-" } else { "" };
    let groups: Vec<_> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy)
        .collect();
    format!("{sign}{}", groups.join(","))
}

/// A number of bytes, in the largest unit of which there is at least one.
pub(crate) fn bytes(bytes: u64) -> String {
    let per_second = bytes_per_second(bytes as f64);
    per_second.trim_end_matches("/s").to_owned()
}

/// A throughput, in the largest unit of which there is at least one.
pub(crate) fn bytes_per_second(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"];
    let mut scaled = bytes;
    let mut units = UNITS.iter().peekable();
    while let Some(unit) = units.next() {
        if scaled.abs() < 1023.95 || units.peek().is_none() {
            return format!("{scaled:.1} {unit}");
        }
        scaled /= 1024.0;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let rates = [0.0, 99.94, 99.95, 1000.0, 150_000.4, 1_234_567.0, -2500.0];
        assert_eq!(
            rates.map(rate),
            [
                "0.0",
                "99.9",
                "100",
                "1,000",
                "150,000",
                "1,234,567",
                "-2,500"
            ]
        );
        let throughputs = [0.0, 1023.0, 1024.0, 1_048_575.0, 153_600_000.0, 1e18];
        assert_eq!(
            throughputs.map(bytes_per_second),
            [
                "0.0 B/s",
                "1023.0 B/s",
                "1.0 KiB/s",
                "1.0 MiB/s",
                "146.5 MiB/s",
                "909494.7 TiB/s"
            ]
        );
        assert_eq!(
            count(1_u32, "broker") + &count(0_usize, "pair"),
            "1 broker0 pairs"
        );
    }

    #[test]
    fn a_table_wraps_what_is_too_wide_and_cuts_nothing_off() {
        let name = "a".repeat(250);
        let columns = [Column::Left("name"), Column::Right("n")];
        let text = table(&columns, [vec![name.clone(), "12".to_owned()]]);
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= WIDTH_MAX.into()),
            "{text}"
        );
        assert_eq!(text.matches('a').count(), name.len() + 1);
        assert!(text.contains("12"));
    }
}
