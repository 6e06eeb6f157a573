//! What happened, one line an event: the same seed prints the same bytes.
//!
//! A line is `seconds who what`. `who` is a broker with the number of its life, or what is no
//! broker: `log`, `registry`, `operator`, `fault`.

use crate::clock::Tick;
use siphasher::sip::SipHasher13;
use std::collections::VecDeque;
use std::fmt;
use std::hash::Hasher;

/// How many lines are kept.
pub const LINES_KEPT: usize = 1_000;

/// The last lines, and a hash of all.
#[derive(Debug)]
pub struct Trace {
    lines: VecDeque<String>,
    count: u64,
    hasher: SipHasher13,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            lines: VecDeque::with_capacity(LINES_KEPT),
            count: 0,
            hasher: SipHasher13::new(),
        }
    }
}

impl Trace {
    /// The lines kept, the last [`LINES_KEPT`].
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// How many lines there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A hash of all lines there were: equal for equal runs.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    pub(super) fn line(&mut self, now: Tick, who: fmt::Arguments<'_>, what: fmt::Arguments<'_>) {
        use fmt::Write;
        let mut line = if self.lines.len() < LINES_KEPT {
            String::new()
        } else {
            self.lines.pop_front().unwrap_or_default()
        };
        line.clear();
        let (seconds, nanos) = (now.nanos() / 1_000_000_000, now.nanos() % 1_000_000_000);
        // Writing to a string cannot fail.
        _ = write!(line, "{seconds}.{nanos:09} {who} {what}");
        self.hasher.write(line.as_bytes());
        self.hasher.write_u8(b'\n');
        self.lines.push_back(line);
        self.count += 1;
    }
}
