//! The lines of a text that may hold anything, none of them kept beyond its turn.

use std::io::{self, BufRead};

/// The longest line that is read, in bytes. An event of a split into 65,536 children has about 2
/// MiB.
pub const LINE_BYTES_MAX: usize = 4 << 20;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// What it holds, without its end.
    Bytes(&'a [u8]),
    /// It is longer than [`LINE_BYTES_MAX`], and was passed over.
    TooLong,
}

/// Goes through a text line by line.
pub(super) struct Lines<R> {
    text: R,
    buffer: Vec<u8>,
    max: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(text: R) -> Self {
        Self::at_most(text, LINE_BYTES_MAX)
    }

    fn at_most(text: R, max: usize) -> Self {
        Self {
            text,
            buffer: Vec::new(),
            max,
        }
    }

    /// The next line; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let mut too_long = false;
        let mut read = false;
        loop {
            let piece = match self.text.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                break;
            }
            read = true;
            let end = piece.iter().position(|&byte| byte == b'\n');
            let content = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            too_long |= self.buffer.len() + content.len() > self.max;
            if !too_long {
                self.buffer.extend_from_slice(content);
            }
            let used = content.len() + usize::from(end.is_some());
            self.text.consume(used);
            if end.is_some() {
                break;
            }
        }
        if !read {
            return Ok(None);
        }
        let line = self.buffer.strip_suffix(b"\r").unwrap_or(&self.buffer);
        Ok(Some(if too_long {
            Line::TooLong
        } else {
            Line::Bytes(line)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn lines_end_in_all_ways_and_long_ones_are_passed_over() {
        let text = b"one\ntwo\r\n\n12345678901\nlast";
        // Buffers of every size: a line may be cut anywhere.
        for capacity in 1..text.len() {
            let mut lines = Lines::at_most(BufReader::with_capacity(capacity, &text[..]), 10);
            let mut next = || match lines.next().unwrap() {
                Some(Line::Bytes(line)) => Some(String::from_utf8(line.to_vec()).unwrap()),
                Some(Line::TooLong) => Some("TOO LONG".to_owned()),
                None => None,
            };
            let all: Vec<_> = std::iter::from_fn(&mut next).collect();
            assert_eq!(all, ["one", "two", "", "TOO LONG", "last"], "{capacity}");
        }
    }
}
