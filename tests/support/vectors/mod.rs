//! Judges the planner by recorded decisions of Apache Pulsar: files of one scenario a line.
//!
//! A scenario has a configuration, rounds of input, and what was decided in each of them. `line`
//! reads and judges it, `cluster` is what is known in a round, `names` turns that into the terms of
//! the library, `decision` is what can be decided and compared; each strategy has its settings and
//! its rounds in a file of its own.
#![allow(dead_code, reason = "each test and the example use a part")]

pub(crate) mod avg;
pub(crate) mod cluster;
pub(crate) mod command;
pub(crate) mod decision;
mod line;
pub(crate) mod names;
pub(crate) mod ownership;
pub(crate) mod placement;
pub(crate) mod summary;
pub(crate) mod transfer;
pub(crate) mod unload;
mod weights;

use line::Line;
use std::fs::File;
use std::io::{BufRead, BufReader, Error as IoError};
use std::path::{Path, PathBuf};
use summary::{Agreement, Summary};

/// What is wrong with a line, in its own words.
pub(crate) type Wrong = Box<dyn std::error::Error>;

/// Why a file cannot be judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{path}: {error}", path = path.display())]
    Unreadable { path: PathBuf, error: IoError },
    #[error("{path}, line {line}: {wrong}", path = path.display())]
    Malformed {
        path: PathBuf,
        line: usize,
        wrong: Wrong,
    },
    #[error("{path}: no scenarios of a known form ({known})", path = path.display(), known = known())]
    UnknownForm { path: PathBuf },
    #[error("{path}: holds no scenario", path = path.display())]
    Empty { path: PathBuf },
}

/// A kind of file.
#[derive(Clone, Copy)]
struct Form {
    /// How the names of its files begin.
    prefix: &'static str,
    /// Whether a scenario looks like it.
    fits: fn(&Line) -> bool,
    /// Judges each round of a scenario.
    judge: fn(&Line) -> Result<Vec<Agreement>, Wrong>,
}

const fn form(
    prefix: &'static str,
    fits: fn(&Line) -> bool,
    judge: fn(&Line) -> Result<Vec<Agreement>, Wrong>,
) -> Form {
    Form {
        prefix,
        fits,
        judge,
    }
}

const FORMS: [Form; 10] = [
    form("avg_shedder", avg::fits, avg::judge),
    form("placement_avg_select", avg::fits, avg::judge),
    form(
        "threshold_shedder",
        unload::fits_threshold,
        unload::judge_threshold,
    ),
    form(
        "overload_shedder",
        unload::fits_overload,
        unload::judge_overload,
    ),
    form(
        "uniform_shedder",
        unload::fits_uniform,
        unload::judge_uniform,
    ),
    form("transfer_shedder", transfer::fits, transfer::judge),
    form(
        "placement_long_term_rate",
        placement::fits_long_term,
        placement::judge_long_term,
    ),
    // Before the next one, whose name its own begins with.
    form(
        "placement_resource_usage_ext",
        placement::fits_reported,
        placement::judge_reported,
    ),
    form(
        "placement_resource_usage",
        placement::fits_usage,
        placement::judge_usage,
    ),
    form(
        "placement_round_robin",
        placement::fits_turns,
        placement::judge_turns,
    ),
];

fn known() -> String {
    FORMS.map(|form| form.prefix).join(", ")
}

/// Judges a whole file.
pub(crate) fn judge_file(path: &Path) -> Result<Summary, Failure> {
    if let Some(judged) = ownership::judge_file(path) {
        return judged;
    }
    let file = File::open(path).map_err(|error| Failure::Unreadable {
        path: path.to_owned(),
        error,
    })?;
    judge(path, BufReader::new(file))
}

/// Judges what stands in a file, a line at a time. The first scenario decides which form it has, or
/// the file's name if that says nothing.
pub(crate) fn judge(path: &Path, text: impl BufRead) -> Result<Summary, Failure> {
    let own = || path.to_owned();
    let unreadable = |error| Failure::Unreadable { path: own(), error };
    let mut summary = Summary::default();
    let mut form = None;
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.map_err(unreadable)?;
        if text.trim().is_empty() {
            continue;
        }
        let malformed = |wrong| Failure::Malformed {
            path: own(),
            line,
            wrong,
        };
        let scenario = match Line::parse(&text) {
            Ok(scenario) => scenario,
            Err(_) if form.or(by_name(path)).is_none() => {
                return Err(Failure::UnknownForm { path: own() });
            }
            Err(wrong) => return Err(malformed(wrong)),
        };
        let known = form.or_else(|| by_content(&scenario)).or(by_name(path));
        let known = known.ok_or_else(|| Failure::UnknownForm { path: own() })?;
        form = Some(known);
        let agreements = (known.judge)(&scenario).map_err(malformed)?;
        summary.add(&scenario.name, agreements);
    }
    match form {
        Some(_) => Ok(summary),
        None => Err(Failure::Empty { path: own() }),
    }
}

fn by_content(scenario: &Line) -> Option<Form> {
    FORMS.into_iter().find(|form| (form.fits)(scenario))
}

fn by_name(path: &Path) -> Option<Form> {
    let name = path.file_name()?.to_str()?;
    FORMS.into_iter().find(|form| name.starts_with(form.prefix))
}

/// The files of recorded decisions in a folder whose names are known, in order.
pub(crate) fn known_files(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_lines = path.extension().is_some_and(|ext| ext == "jsonl");
        if is_lines && by_name(&path).is_some() || ownership::is_known(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
