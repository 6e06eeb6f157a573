//! Judges the planner against recorded decisions of Apache Pulsar: files of one scenario a line.
//!
//! A scenario has a configuration, rounds of input, and what was decided in each of them. Where the
//! original's decision depends on the order of its hash maps, the line lists alternatives, and says
//! from which round on its state has diverged.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]
#![allow(dead_code, reason = "the test and the example use different parts")]

mod avg;
mod line;

pub(crate) use line::Line;

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// How a round of ours compares with the recorded one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Agreement {
    /// The recorded decision.
    Exact,
    /// Another decision that the original makes when names hash differently.
    Alternative,
    /// The original's state has diverged, or not all of its alternatives are listed.
    NotComparable,
    /// Another decision, with the difference in words.
    Different(String),
}

/// How many rounds of a file compare how.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) exact: usize,
    pub(crate) alternative: usize,
    pub(crate) not_comparable: usize,
    pub(crate) different: usize,
    /// The first difference: scenario, round and what differs.
    pub(crate) first_difference: Option<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "exact {}, alternative {}, not comparable {}, different {}",
            self.exact, self.alternative, self.not_comparable, self.different
        )
    }
}

/// Why a file cannot be judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{path}: {error}", path = path.display())]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{path}, line {line}: {error}", path = path.display())]
    Json {
        path: PathBuf,
        line: usize,
        error: serde_json::Error,
    },
    #[error("{path}, line {line}: {reason}", path = path.display())]
    Meaning {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("{path}: of no form that is known here, by name or by content", path = path.display())]
    UnknownForm { path: PathBuf },
}

/// Judges all rounds of one line; an error says what the line lacks.
type Judge = fn(&Line) -> Result<Vec<Agreement>, String>;

/// What kind of file it is.
struct Form {
    /// How the names of its files begin.
    prefix: &'static str,
    /// Whether a line looks like it.
    fits: fn(&Line) -> bool,
    judge: Judge,
}

const FORMS: [Form; 2] = [
    Form {
        prefix: "placement_avg_select",
        fits: avg::is_select,
        judge: avg::judge_select,
    },
    Form {
        prefix: "avg_shedder",
        fits: avg::is_shedder,
        judge: avg::judge_shedder,
    },
];

/// Judges a whole file, a line at a time.
pub(crate) fn judge_file(path: &Path) -> Result<Summary, Failure> {
    let io = |error| Failure::Io {
        path: path.to_owned(),
        error,
    };
    let mut summary = Summary::default();
    let mut form = None;
    for (index, text) in BufReader::new(File::open(path).map_err(io)?)
        .lines()
        .enumerate()
    {
        let text = text.map_err(io)?;
        if text.trim().is_empty() {
            continue;
        }
        let line: Line = match serde_json::from_str(&text) {
            Ok(line) => line,
            Err(_) if form.is_none() && name_form(path).is_none() => {
                return Err(Failure::UnknownForm {
                    path: path.to_owned(),
                });
            }
            Err(error) => {
                return Err(Failure::Json {
                    path: path.to_owned(),
                    line: index + 1,
                    error,
                });
            }
        };
        let judge = match form {
            Some(judge) => judge,
            None => form_of(path, &line)?,
        };
        form = Some(judge);
        let meaning = |reason| Failure::Meaning {
            path: path.to_owned(),
            line: index + 1,
            reason,
        };
        if line.rounds.len() != line.expected.len() {
            let (rounds, expected) = (line.rounds.len(), line.expected.len());
            return Err(meaning(format!("{rounds} rounds, {expected} decisions")));
        }
        let agreements = judge(&line).map_err(meaning)?;
        summary.add(&line.name, agreements);
    }
    if form.is_none() && name_form(path).is_none() {
        return Err(Failure::UnknownForm {
            path: path.to_owned(),
        });
    }
    Ok(summary)
}

/// The content decides, as far as it can; then the name.
fn form_of(path: &Path, line: &Line) -> Result<Judge, Failure> {
    let by_content = FORMS.iter().find(|form| (form.fits)(line));
    let form = by_content.or_else(|| name_form(path));
    form.map(|form| form.judge)
        .ok_or_else(|| Failure::UnknownForm {
            path: path.to_owned(),
        })
}

fn name_form(path: &Path) -> Option<&'static Form> {
    let name = path.file_name()?.to_str()?;
    FORMS.iter().find(|form| name.starts_with(form.prefix))
}

impl Summary {
    fn add(&mut self, scenario: &str, agreements: Vec<Agreement>) {
        for (round, agreement) in agreements.into_iter().enumerate() {
            match agreement {
                Agreement::Exact => self.exact += 1,
                Agreement::Alternative => self.alternative += 1,
                Agreement::NotComparable => self.not_comparable += 1,
                Agreement::Different(what) => {
                    self.different += 1;
                    self.first_difference
                        .get_or_insert_with(|| format!("{scenario}, round {round}: {what}"));
                }
            }
        }
    }
}

/// All files of recorded decisions in a folder that are of a form known here, in order.
pub(crate) fn known_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ext| ext == "jsonl") && name_form(&path).is_some() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
