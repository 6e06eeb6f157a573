//! A Rust file as the rules look at it: tokens without comments and literals, and what they span.

use std::ops::RangeInclusive;

/// A Rust file. Lines count from 1.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    tokens: Vec<Token>,
    tests: Vec<RangeInclusive<usize>>,
}

/// A word, or one character of punctuation; `::` counts as one.
#[derive(Debug)]
struct Token {
    line: usize,
    text: String,
}

/// A function: its name and the lines from `fn` to its closing brace.
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) lines: RangeInclusive<usize>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let tokens = tokens(&mask(text));
        let tests = test_items(&tokens);
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            tokens,
            tests,
        }
    }

    /// Whether the line is compiled for tests and benchmarks only.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.is_test_file() || self.in_test_item(line)
    }

    /// Whether the line belongs to an item under `#[cfg(test)]`.
    pub(crate) fn in_test_item(&self, line: usize) -> bool {
        self.tests.iter().any(|lines| lines.contains(&line))
    }

    fn is_test_file(&self) -> bool {
        let folders = ["tests/", "benches/", "examples/", "fuzz/"];
        let below = |folder: &&str| {
            self.path.starts_with(*folder) || self.path.contains(&format!("/{folder}"))
        };
        self.path.ends_with("/tests.rs") || folders.iter().any(below)
    }

    /// Every path that the code names, with its line; the tree of a `use` is written out:
    /// `use a::{b, c::d}` names `a::b` and `a::c::d`.
    pub(crate) fn paths(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(token) = self.tokens.get(at) {
            if token.is_word() {
                at = self.path_from(at, "", &mut found);
            } else {
                at += 1;
            }
        }
        found
    }

    /// Reads the path that begins at a token and returns where it ends.
    fn path_from(&self, start: usize, prefix: &str, found: &mut Vec<(usize, String)>) -> usize {
        let mut at = start;
        let mut path = prefix.to_owned();
        while let Some(token) = self.tokens.get(at) {
            path.push_str(&token.text);
            at += 1;
            if !self.is(at, "::") {
                break;
            }
            if self.is(at + 1, "{") {
                return self.group_from(at + 2, &format!("{path}::"), found);
            }
            let goes_on = self.tokens.get(at + 1).is_some_and(Token::is_segment);
            if !goes_on {
                break;
            }
            path.push_str("::");
            at += 1;
        }
        found.push((self.tokens[start].line, path));
        at
    }

    /// Reads the paths between the braces of a `use` tree and returns where they end.
    fn group_from(&self, start: usize, prefix: &str, found: &mut Vec<(usize, String)>) -> usize {
        let mut at = start;
        while let Some(token) = self.tokens.get(at) {
            match token.text.as_str() {
                "}" => return at + 1,
                "as" => at += 2,
                _ if token.is_segment() => at = self.path_from(at, prefix, found),
                _ => at += 1,
            }
        }
        at
    }

    /// Every function with a body.
    pub(crate) fn functions(&self) -> Vec<Function<'_>> {
        let starts = (0..self.tokens.len()).filter(|&at| self.is(at, "fn"));
        starts
            .filter_map(|at| {
                let name = self.tokens.get(at + 1).filter(|token| token.is_word())?;
                let end = item_end(&self.tokens, at);
                let has_body = self.is(end, "}");
                has_body.then(|| Function {
                    name: &name.text,
                    lines: self.tokens[at].line..=self.tokens[end].line,
                })
            })
            .collect()
    }

    /// The lines on which a method is called, and whether a literal of at least three words is its
    /// argument.
    pub(crate) fn calls(&self, method: &str) -> Vec<(usize, bool)> {
        let is_call =
            |at: &usize| self.is(*at, ".") && self.is(at + 1, method) && self.is(at + 2, "(");
        (0..self.tokens.len())
            .filter(is_call)
            .map(|at| {
                let line = self.tokens[at].line;
                let after: String = self.text.lines().skip(line - 1).take(3).collect();
                let call = format!(".{method}(");
                let argument = after
                    .split_once(&call)
                    .map_or("", |(_, rest)| rest.trim_start());
                let literal = argument
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next());
                let explained = literal.is_some_and(|text| text.split_whitespace().count() >= 3);
                (line, explained)
            })
            .collect()
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.text == text)
    }
}

impl Token {
    fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || c == '_')
    }

    fn is_segment(&self) -> bool {
        self.is_word() || self.text == "*"
    }
}

/// Where the item that begins at a token ends: its closing brace, or its semicolon.
fn item_end(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            ";" if depth == 0 => return at,
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

/// The lines of all items under `#[cfg(test)]`.
fn test_items(tokens: &[Token]) -> Vec<RangeInclusive<usize>> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    tokens
        .windows(mark.len())
        .enumerate()
        .filter(|(_, window)| window.iter().map(|token| token.text.as_str()).eq(mark))
        .map(|(at, window)| {
            let end = item_end(tokens, at + mark.len());
            window[0].line..=tokens[end].line
        })
        .collect()
}

fn tokens(code: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut push = |text: &str| {
            let text = text.to_owned();
            tokens.push(Token {
                line: index + 1,
                text,
            });
        };
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let length = match word.unwrap_or(rest.len()) {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                length => length,
            };
            let (token, after) = rest.split_at(length);
            push(token);
            rest = after.trim_start();
        }
    }
    tokens
}

/// The text with comments and literals blanked, line for line.
fn mask(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let opaque = opaque_length(rest, after_word);
        let (part, after) = rest.split_at(opaque.max(first.len_utf8()));
        if opaque == 0 {
            masked.push_str(part);
        } else {
            masked.extend(part.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        after_word = opaque == 0 && (first.is_alphanumeric() || first == '_');
        rest = after;
    }
    masked
}

/// The length in bytes of the comment or literal that begins here, 0 if none does.
fn opaque_length(rest: &str, after_word: bool) -> usize {
    let until = |end: Option<usize>| end.unwrap_or(rest.len());
    if rest.starts_with("//") {
        return until(rest.find('\n'));
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if !after_word {
        let unprefixed = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
        if let Some(raw) = unprefixed.strip_prefix('r') {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if raw[hashes..].starts_with('"') {
                let close = format!("\"{}", "#".repeat(hashes));
                let open = rest.len() - raw.len() + hashes + 1;
                return until(rest[open..].find(&close).map(|at| open + at + close.len()));
            }
        }
    }
    if rest.starts_with('"') {
        let mut escaped = false;
        let close = rest.char_indices().skip(1).find(|&(_, c)| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        return until(close.map(|(at, _)| at + 1));
    }
    if rest.starts_with("'\\") {
        return until(
            rest.get(3..)
                .and_then(|tail| tail.find('\''))
                .map(|at| at + 4),
        );
    }
    let mut characters = rest.chars();
    match (characters.next(), characters.next(), characters.next()) {
        (Some('\''), Some(c), Some('\'')) => c.len_utf8() + 2,
        // Anything else behind a quote is a lifetime.
        _ => 0,
    }
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}
