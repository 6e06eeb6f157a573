//! One case: its subjects, measured in turn.

use super::sheet::{CaseResult, Ratio, Series, Spread};
use std::fmt;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// So many a second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A plain number.
    Count,
}

/// A figure of one run: its name, unit and value.
pub type Figure = (&'static str, Unit, f64);

/// Something that is measured.
pub struct Subject {
    /// What it is called in the table.
    pub name: &'static str,
    run: Box<dyn FnMut() -> Vec<Figure>>,
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Subject {
    /// A subject whose run yields the same figures in the same order each time.
    pub fn new(name: &'static str, run: impl FnMut() -> Vec<Figure> + 'static) -> Self {
        Self {
            name,
            run: Box::new(run),
        }
    }
}

/// Where a ratio is to lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Not below.
    AtLeast(f64),
    /// Not above.
    AtMost(f64),
}

/// A ratio between two subjects of a case, and where it is to lie. A goal whose subjects are not
/// both measured is left out.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// What it is called.
    pub name: &'static str,
    /// Of which figure.
    pub figure: &'static str,
    /// The subject above the line.
    pub of: &'static str,
    /// The subject below it.
    pub to: &'static str,
    /// Where the ratio is to lie.
    pub bound: Bound,
}

/// Subjects that do the same work, and what their ratios are to be.
#[derive(Debug)]
pub struct Case {
    /// What the subjects do.
    pub name: String,
    /// Who does it.
    pub subjects: Vec<Subject>,
    /// What is expected.
    pub goals: Vec<Goal>,
}

impl Case {
    /// Measures each subject once a round, each round beginning with another one, so that none
    /// always runs in the wake of the same neighbour.
    pub fn measure(&mut self, rounds: usize) -> CaseResult {
        let count = self.subjects.len();
        let mut series: Vec<Vec<Series>> = vec![Vec::new(); count];
        for round in 0..rounds {
            for index in (0..count).map(|index| (index + round) % count) {
                let figures = (self.subjects[index].run)();
                add(&mut series[index], &figures);
            }
        }
        let names = self.subjects.iter().map(|subject| subject.name);
        let rows: Vec<_> = names.zip(series).collect();
        let ratios = self.goals.iter().filter_map(|goal| ratio(goal, &rows));
        CaseResult {
            name: self.name.clone(),
            ratios: ratios.collect(),
            rows,
        }
    }
}

fn add(series: &mut Vec<Series>, figures: &[Figure]) {
    if series.is_empty() {
        let empty = figures
            .iter()
            .map(|&(name, unit, _)| Series::new(name, unit));
        series.extend(empty);
    }
    for (series, &(name, _, value)) in series.iter_mut().zip(figures) {
        assert_eq!(
            series.name, name,
            "a subject yields the same figures each time"
        );
        series.values.push(value);
    }
}

/// The ratio, round by round: what disturbed a round disturbed both.
fn ratio(goal: &Goal, rows: &[(&'static str, Vec<Series>)]) -> Option<Ratio> {
    let find = |subject: &str| {
        let (_, series) = rows.iter().find(|(name, _)| *name == subject)?;
        series.iter().find(|series| series.name == goal.figure)
    };
    let (of, to) = (find(goal.of)?, find(goal.to)?);
    let ratios = of.values.iter().zip(&to.values).map(|(of, to)| of / to);
    Some(Ratio {
        goal: *goal,
        spread: Spread::of(&ratios.collect::<Vec<_>>()),
    })
}
