//! docs/format.md as data: its tables of offsets, the drawings below them, and its structures.

use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../docs/format.md");

/// A field with a fixed place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) offset: usize,
    /// None for what takes the rest.
    pub(crate) bytes: Option<usize>,
}

/// What stands in a field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Number,
    Text,
    List(Box<Type>),
    Optional(Box<Type>),
    Structure(String),
}

/// One form of a structure.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) tag: Option<u64>,
    pub(crate) fields: Vec<(String, Type)>,
}

/// All structures, by name.
pub(crate) type Structures = BTreeMap<String, Vec<Form>>;

/// The rows of each table whose first column has this head.
fn tables(head: &str) -> Vec<Vec<Vec<&'static str>>> {
    let mut lines = PAGE.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if !line.starts_with(&format!("| {head} |")) {
            continue;
        }
        let rows = lines.by_ref().skip(1).map_while(|line| {
            let row = line.strip_prefix('|')?.strip_suffix('|')?;
            Some(row.split('|').map(str::trim).collect())
        });
        found.push(rows.collect());
    }
    found
}

/// The tables of offsets, in the order of the page.
pub(crate) fn layouts() -> Vec<Vec<Field>> {
    let field = |row: &Vec<&str>| Field {
        name: row[2].to_owned(),
        offset: row[0].parse().unwrap(),
        bytes: row[1].parse().ok(),
    };
    let tables = tables("offset");
    tables
        .iter()
        .map(|rows| rows.iter().map(field).collect())
        .collect()
}

/// The drawings, in the order of the page. A byte is eight columns wide.
pub(crate) fn drawings() -> Vec<Vec<Field>> {
    let blocks = PAGE.split("```text\n").skip(1);
    let drawings = blocks.map(|block| block.split("```").next().unwrap());
    drawings.map(drawing).collect()
}

fn drawing(block: &str) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for line in block.lines() {
        let Some((offset, cells)) = line.split_once('|') else {
            continue;
        };
        assert_eq!(offset.len(), 5, "{line}");
        let mut offset = offset.trim().parse().unwrap();
        let (closed, open) = cells.rsplit_once('|').map_or(("", cells), |both| both);
        let closed = closed.split('|').filter(|cell| !cell.is_empty());
        for cell in closed {
            assert_eq!((cell.len() + 1) % 8, 0, "{line}");
            let bytes = (cell.len() + 1) / 8;
            match fields.last_mut() {
                Some(last) if last.name == cell.trim() => *last.bytes.as_mut().unwrap() += bytes,
                _ => fields.push(Field {
                    name: cell.trim().to_owned(),
                    offset,
                    bytes: Some(bytes),
                }),
            }
            offset += bytes;
        }
        if let Some(name) = open.trim().strip_suffix(" ...") {
            let name = name.to_owned();
            let bytes = None;
            fields.push(Field {
                name,
                offset,
                bytes,
            });
        }
    }
    fields
}

/// The tables of structures.
pub(crate) fn structures() -> Structures {
    let mut found = Structures::new();
    for row in tables("structure").into_iter().flatten() {
        let forms = found.entry(quoted(row[0]).to_owned()).or_default();
        let tag = row[1].parse().ok();
        let fields = row[3].split(", ").filter(|field| !field.is_empty());
        let fields = fields.map(|field| {
            let (label, kind) = field.split_once('`').unwrap();
            let kind = kind.strip_suffix('`').unwrap();
            (label.trim().to_owned(), Type::parse(kind))
        });
        forms.push(Form {
            tag,
            fields: fields.collect(),
        });
    }
    found
}

fn quoted(cell: &str) -> &str {
    cell.trim_matches('`')
}

impl Type {
    fn parse(text: &str) -> Self {
        let inner = |text| Box::new(Self::parse(text));
        if let Some(rest) = text.strip_prefix("list of ") {
            Self::List(inner(rest))
        } else if let Some(rest) = text.strip_prefix("optional ") {
            Self::Optional(inner(rest))
        } else if text == "number" {
            Self::Number
        } else if text == "text" {
            Self::Text
        } else {
            Self::Structure(text.to_owned())
        }
    }
}
