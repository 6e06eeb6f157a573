//! Comparisons: ours, what others have built, and the limits of the machine, in alternating runs of
//! one process. Only what was measured in one run is compared.
//!
//! A section is a list of cases; a case measures its subjects in turn, once a round. To add one:
//! write a module in `sections/` with a `pub(super) const SECTION`, and list it in
//! [`sections::ALL`].

mod case;
pub mod corpus;
mod report;
mod sections;
mod sheet;
mod timing;

pub use case::{Bound, Case, Figure, Goal, Subject, Unit};
pub use report::{json, print};
pub use sheet::{CaseResult, Ratio, Series, Spread};
pub use timing::{Latencies, Stopwatch};

use std::path::PathBuf;

/// What is compared under one name.
#[derive(Debug)]
pub struct Section {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it measures, in a sentence.
    pub what: &'static str,
    /// Its cases.
    pub cases: fn(&Setting) -> Vec<Case>,
}

/// How much is measured, and where files go.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Whether only that it works is to be seen.
    pub is_quick: bool,
    /// How often each subject is measured.
    pub rounds: usize,
    /// Where directories for files are made.
    pub dir: PathBuf,
    /// What the name of a case must contain.
    pub only: String,
}

/// How often each subject is measured, unless said otherwise.
pub const ROUNDS: usize = 7;

impl Setting {
    /// A full measurement, with files in the directory for temporary ones.
    #[must_use]
    pub fn full() -> Self {
        Self {
            is_quick: false,
            rounds: ROUNDS,
            dir: std::env::temp_dir(),
            only: String::new(),
        }
    }

    /// One round of next to nothing: shows that everything runs.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            is_quick: true,
            rounds: 1,
            ..Self::full()
        }
    }

    /// How many of something to measure with.
    #[must_use]
    pub const fn count(&self, full: usize, quick: usize) -> usize {
        if self.is_quick { quick } else { full }
    }

    /// A directory that is removed with what is returned.
    ///
    /// # Panics
    ///
    /// If there can be none.
    #[must_use]
    pub fn scratch(&self) -> tempfile::TempDir {
        tempfile::tempdir_in(&self.dir).unwrap()
    }
}

/// All sections there are.
#[must_use]
pub fn sections() -> &'static [&'static Section] {
    &sections::ALL
}

/// Measures a section; says on standard error what is being measured.
#[must_use]
pub fn run(section: &Section, setting: &Setting) -> Vec<CaseResult> {
    let cases = (section.cases)(setting).into_iter();
    let wanted = cases.filter(|case| case.name.contains(&setting.only));
    let measured = wanted.map(|mut case| {
        eprintln!("{}: {}", section.name, case.name);
        case.measure(setting.rounds)
    });
    measured.collect()
}
