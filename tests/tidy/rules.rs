//! What a single file must keep to.

use crate::Finding;
use crate::source::Source;

/// From here on a file is worth a look: does it hold one noun?
pub(crate) const FILE_LINES_SOFT: usize = 400;
const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const RUST_COLUMNS_MAX: usize = 100;
const MARKDOWN_COLUMNS_MAX: usize = 120;

/// What only one module of the library may name, and what the others do instead.
const DOORS: [(&str, &str, &str); 6] = [
    (
        "bincode",
        "src/log/codec",
        "bytes are made and read by the codec",
    ),
    (
        "std::fs",
        "src/storage/fs",
        "files are reached through `storage`",
    ),
    ("Instant", "src/clock", "time comes from `clock`"),
    ("SystemTime", "src/clock", "time comes from `clock`"),
    ("rustix::time", "src/clock", "time comes from `clock`"),
    ("parking_lot", "src/sync", "locks come from `sync`"),
];

/// What no file may say. Spelled so that this file passes.
const BANNED: [(&str, &str); 14] = [
    (concat!("TO", "DO"), "finish it, or leave it out"),
    (concat!("FIX", "ME"), "mend it"),
    (concat!("X", "XX"), "say what is meant"),
    (concat!("todo", "!"), "finish it, or leave it out"),
    (concat!("unimplemented", "!"), "finish it, or leave it out"),
    (concat!("dbg", "!"), "remove it"),
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/Us", "ers/"), "a path of one machine"),
    (concat!("\\Us", "ers\\"), "a path of one machine"),
    (concat!("work", "place"), "speak of the product alone"),
    (concat!("helper ", "session"), "speak of the product alone"),
    (
        concat!("issue", " #"),
        "say why, not where it was discussed",
    ),
];

/// Lines of a file, without items under `#[cfg(test)]`.
pub(crate) fn file_lines(source: &Source) -> usize {
    let lines = 1..=source.text.lines().count();
    lines.filter(|&line| !source.in_test_item(line)).count()
}

pub(crate) fn files_are_short(source: &Source) -> Vec<Finding> {
    let lines = file_lines(source);
    let advice = || {
        format!(
            "{lines} lines without unit tests, {FILE_LINES_MAX} are the most and {FILE_LINES_SOFT} \
             the aim: one main noun a file; split it"
        )
    };
    let long = lines > FILE_LINES_MAX;
    long.then(|| Finding::new(&source.path, 1, advice()))
        .into_iter()
        .collect()
}

pub(crate) fn functions_are_short(source: &Source) -> Vec<Finding> {
    let functions = source.functions().into_iter();
    functions
        .filter_map(|function| {
            let (first, last) = function.lines.into_inner();
            let lines = last + 1 - first;
            let advice = format!(
                "`{}` has {lines} lines, {FUNCTION_LINES_MAX} are the most: branches go up, loops \
                 go down",
                function.name
            );
            (lines > FUNCTION_LINES_MAX).then(|| Finding::new(&source.path, first, advice))
        })
        .collect()
}

pub(crate) fn files_say_their_job(source: &Source) -> Vec<Finding> {
    if source.text.starts_with("//! ") {
        return Vec::new();
    }
    let advice = "the first line says the file's job: `//! ...`".to_owned();
    vec![Finding::new(&source.path, 1, advice)]
}

/// The doors of [`DOORS`]. Unit tests may touch real files: some damage them on purpose.
pub(crate) fn doors_are_kept(source: &Source) -> Vec<Finding> {
    if !source.path.starts_with("src/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (line, path) in source.paths() {
        for (name, owner, advice) in DOORS {
            let in_test = name == "std::fs" && source.is_test(line);
            if names(&path, name) && !source.path.starts_with(owner) && !in_test {
                let text = format!("`{path}`: only {owner} names `{name}`; {advice}");
                findings.push(Finding::new(&source.path, line, text));
            }
        }
    }
    findings
}

/// Whether a path goes through `name`.
fn names(path: &str, name: &str) -> bool {
    format!("::{path}::").contains(&format!("::{name}::"))
}

/// Outside tests nothing is unwrapped, and an `expect` says the rule that would have been broken.
pub(crate) fn nothing_is_unwrapped(source: &Source) -> Vec<Finding> {
    let unwraps = source.calls("unwrap").into_iter().map(|(line, _)| {
        let advice = "`unwrap`: return an error, or assert the rule with its name";
        (line, advice)
    });
    let expects = source
        .calls("expect")
        .into_iter()
        .filter(|(_, explained)| !explained);
    let expects = expects.map(|(line, _)| {
        let advice = "`expect` without the rule that broke: say it in three words or more";
        (line, advice)
    });
    unwraps
        .chain(expects)
        .filter(|&(line, _)| !source.is_test(line))
        .map(|(line, advice)| Finding::new(&source.path, line, advice.to_owned()))
        .collect()
}

/// Width of a line of Rust or Markdown. What is worse when broken may be longer: addresses, links,
/// tables, and in Rust a message, which people search for as they saw it.
pub(crate) fn lines_are_narrow(path: &str, text: &str) -> Vec<Finding> {
    let (max, free): (_, &[&str]) = match path.rsplit('.').next() {
        Some("rs") => (RUST_COLUMNS_MAX, &["//! |", "/// |", "#[error(\"", "\""]),
        Some("md") => (MARKDOWN_COLUMNS_MAX, &["|"]),
        _ => return Vec::new(),
    };
    let is_free = |line: &str| {
        let begins_so = free
            .iter()
            .any(|start| line.trim_start().starts_with(start));
        begins_so || line.contains("https://") || line.contains("](")
    };
    let wide = |(_, line): &(usize, &str)| line.chars().count() > max && !is_free(line);
    let advice = |line: &str| format!("{} columns, {max} are the most", line.chars().count());
    (1..)
        .zip(text.lines())
        .filter(wide)
        .map(|(number, line)| Finding::new(path, number, advice(line)))
        .collect()
}

pub(crate) fn words_are_clean(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (word, advice) in BANNED {
            if has_word(line, word) {
                findings.push(Finding::new(path, number, format!("`{word}`: {advice}")));
            }
        }
    }
    findings
}

/// Whether the word stands in the line and is no part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let joined_before = line[..at].ends_with(letter) && word.starts_with(letter);
        let joined_after = line[at + word.len()..].starts_with(letter) && word.ends_with(letter);
        !joined_before && !joined_after
    })
}
