//! Replays the lines of a file under one set of rules, and beside it under others.

use super::lines::{LINE_BYTES_MAX, Line, Lines};
use crate::Error;
use crate::interrupt::Flag;
use deedbook::foreign::{Audit, Dropped, Event, Note, ReadError, RuleSet, read};
use deedbook::state::pulsar::Brokers;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// How many entries of a list of events are kept; the others are counted.
pub const LISTED_MAX: usize = 100_000;

/// How many lines go by before somebody looks whether to stop.
const LINES_BETWEEN_LOOKS: u64 = 1024;

/// A list that ends with the number of what is left.
#[derive(Debug, Serialize)]
pub(super) struct Listed<T> {
    pub(super) first: Vec<T>,
    pub(super) left: u64,
}

/// A line that is no event.
#[derive(Debug, Serialize)]
pub(super) struct Unreadable {
    pub(super) line: u64,
    pub(super) text: String,
}

/// An event that changed nothing.
#[derive(Debug, Serialize)]
pub(super) struct DroppedEvent {
    pub(super) line: u64,
    pub(super) bundle: String,
    pub(super) reason: &'static str,
    pub(super) text: String,
}

/// An event that two sets of rules decide in different ways.
#[derive(Debug, Serialize)]
pub(super) struct Decision {
    pub(super) line: u64,
    pub(super) bundle: String,
    /// Why it is dropped under the rules of the replay; none if it is accepted.
    pub(super) here: Option<String>,
    /// The same under the others.
    pub(super) there: Option<String>,
}

/// Another set of rules, over the same lines.
pub(super) struct Beside {
    pub(super) audit: Audit,
    pub(super) dropped: u64,
    pub(super) decisions: Listed<Decision>,
}

/// What a replay came to.
pub(super) struct Replay {
    audit: Audit,
    pub(super) beside: Vec<Beside>,
    pub(super) lines: u64,
    pub(super) events: u64,
    pub(super) removals: u64,
    pub(super) accepted: u64,
    pub(super) notes: BTreeMap<Note, u64>,
    pub(super) reasons: BTreeMap<&'static str, u64>,
    pub(super) dropped: Listed<DroppedEvent>,
    pub(super) unreadable: Listed<Unreadable>,
    /// The latest time that an event has.
    pub(super) latest_ms: i64,
    pub(super) interrupted: bool,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            left: 0,
        }
    }
}

impl<T> Listed<T> {
    fn push(&mut self, entry: impl FnOnce() -> T) {
        if self.first.len() < LISTED_MAX {
            self.first.push(entry());
        } else {
            self.left += 1;
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.first.len() as u64 + self.left
    }
}

impl Replay {
    pub(super) fn new(rules: RuleSet, compare: &[RuleSet], brokers: Brokers) -> Self {
        let audit = |rules| Audit::new(rules).with_brokers(brokers);
        let beside = compare.iter().map(|&rules| Beside {
            audit: audit(rules),
            dropped: 0,
            decisions: Listed::default(),
        });
        Self {
            audit: audit(rules),
            beside: beside.collect(),
            lines: 0,
            events: 0,
            removals: 0,
            accepted: 0,
            notes: BTreeMap::new(),
            reasons: BTreeMap::new(),
            dropped: Listed::default(),
            unreadable: Listed::default(),
            latest_ms: 0,
            interrupted: false,
        }
    }

    pub(super) fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Reads a file to its end, or until somebody wants no more.
    pub(super) fn read(&mut self, path: &Path, stop: &Flag) -> Result<(), Error> {
        let unreadable = |source| Error::Unreadable {
            path: path.to_owned(),
            source,
        };
        if path == Path::new("-") {
            let bar = ProgressBar::new_spinner();
            return self
                .take_lines(io::stdin().lock(), &bar, stop)
                .map_err(unreadable);
        }
        let file = File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if about.is_dir() {
            return Err(unreadable(io::ErrorKind::IsADirectory.into()));
        }
        let bar = progress(about.len());
        let text = BufReader::with_capacity(1 << 16, bar.wrap_read(file));
        let outcome = self.take_lines(text, &bar, stop).map_err(unreadable);
        bar.finish_and_clear();
        outcome
    }

    fn take_lines(&mut self, text: impl BufRead, bar: &ProgressBar, stop: &Flag) -> io::Result<()> {
        let mut lines = Lines::new(text);
        while let Some(line) = lines.next()? {
            self.lines += 1;
            match line {
                Line::Bytes(bytes) => self.take_line(bytes),
                Line::TooLong => {
                    self.complain(format!("it is longer than {} MiB", LINE_BYTES_MAX >> 20))
                }
            }
            if self.lines.is_multiple_of(LINES_BETWEEN_LOOKS) {
                bar.set_message(format!(
                    "line {}, {} dropped",
                    self.lines,
                    self.dropped.count()
                ));
                if stop.is_set() {
                    self.interrupted = true;
                    break;
                }
            }
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) {
        // Some shells put a mark in front of what they redirect into a file.
        let line = match self.lines {
            1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            _ => line,
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        let found = read(&mut json).and_then(|found| {
            let ended = json.end().map(|()| found);
            ended.map_err(ReadError::Format)
        });
        let found = match found {
            Err(ReadError::Format(error)) => match unwrapped(line) {
                Some(event) => read(event),
                None => Err(ReadError::Format(error)),
            },
            found => found,
        };
        match found {
            Ok((event, notes)) => self.take_event(&event, &notes),
            Err(ReadError::Format(error)) => self.complain(in_line(&error)),
            Err(error) => self.complain(error.to_string()),
        }
    }

    fn complain(&mut self, text: String) {
        let line = self.lines;
        self.unreadable.push(|| Unreadable { line, text });
    }

    fn take_event(&mut self, event: &Event, notes: &[Note]) {
        self.events += 1;
        for &note in notes {
            *self.notes.entry(note).or_default() += 1;
        }
        match &event.observed {
            Some(observed) => self.latest_ms = self.latest_ms.max(observed.timestamp_ms),
            None => self.removals += 1,
        }
        let line = self.lines;
        let bundle = || event.bundle.to_string();
        let here = self.audit.apply(line, event).err();
        for beside in &mut self.beside {
            let there = beside.audit.apply(line, event).err();
            beside.dropped += u64::from(there.is_some());
            if here.is_some() != there.is_some() {
                let words = |why: Option<&Dropped>| why.map(ToString::to_string);
                beside.decisions.push(|| Decision {
                    line,
                    bundle: bundle(),
                    here: words(here.as_ref()),
                    there: words(there.as_ref()),
                });
            }
        }
        let Some(why) = here else {
            self.accepted += 1;
            return;
        };
        *self.reasons.entry(why.name()).or_default() += 1;
        self.dropped.push(|| DroppedEvent {
            line,
            bundle: bundle(),
            reason: why.name(),
            text: why.to_string(),
        });
    }
}

/// A line whose value is a text that holds JSON, as clients print the messages that they receive,
/// with that JSON in its place.
fn unwrapped(line: &[u8]) -> Option<Value> {
    let mut event: Value = serde_json::from_slice(line).ok()?;
    let value = event.get_mut("value")?;
    *value = serde_json::from_str(value.as_str()?).ok()?;
    Some(event)
}

/// What is wrong with a line, without the line's number within itself.
fn in_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line 1 column ") {
        Some((text, column)) => format!("{text} at column {column}"),
        None => text,
    }
}

fn progress(bytes: u64) -> ProgressBar {
    // Hidden unless standard error is a terminal.
    let style = "{bytes} of {total_bytes} {wide_bar} {msg}";
    let bar = ProgressBar::new(bytes);
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
