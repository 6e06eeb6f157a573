//! What was measured: series of values, and their spread.

use super::case::{Bound, Goal, Unit};

/// The figures of one name that a subject yielded, in the order of the rounds.
#[derive(Clone, Debug)]
pub struct Series {
    /// What the figure is called.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// One value a round.
    pub values: Vec<f64>,
}

impl Series {
    pub(super) fn new(name: &'static str, unit: Unit) -> Self {
        Self {
            name,
            unit,
            values: Vec::new(),
        }
    }

    /// Their spread.
    #[must_use]
    pub fn spread(&self) -> Spread {
        Spread::of(&self.values)
    }
}

/// The middle and the ends of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Half lie below.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Of at least one value.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Self {
            median,
            min: sorted[0],
            max: sorted[sorted.len() - 1],
        }
    }
}

/// A ratio that was measured, and what it was to be.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// What it was to be.
    pub goal: Goal,
    /// What it was.
    pub spread: Spread,
}

impl Ratio {
    /// Whether the median lies where it is to lie.
    #[must_use]
    pub fn is_met(&self) -> bool {
        match self.goal.bound {
            Bound::AtLeast(bound) => self.spread.median >= bound,
            Bound::AtMost(bound) => self.spread.median <= bound,
        }
    }
}

/// A case that was measured.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// What the subjects did.
    pub name: String,
    /// Each subject's figures.
    pub rows: Vec<(&'static str, Vec<Series>)>,
    /// Its goals.
    pub ratios: Vec<Ratio>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let of = |values: &[f64]| Spread::of(values).median;
        assert_eq!(
            [of(&[3.0, 1.0, 2.0]), of(&[4.0, 1.0]), of(&[5.0])],
            [2.0, 2.5, 5.0]
        );
        let Spread { min, max, .. } = Spread::of(&[2.0, 9.0, 1.0]);
        assert_eq!([min, max], [1.0, 9.0]);
    }
}
