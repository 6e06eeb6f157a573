//! What was measured, for people and for programs.

use super::Section;
use super::case::{Bound, Unit};
use super::sheet::{CaseResult, Ratio, Spread};
use serde_json::{Value, json as object};

/// Prints the cases of a section as tables: medians, with least and greatest in brackets.
pub fn print(section: &Section, results: &[CaseResult]) {
    println!("\n{}: {}", section.name, section.what);
    for result in results {
        println!("\n  {}", result.name);
        for line in table(result) {
            println!("    {}", line.trim_end());
        }
        for ratio in &result.ratios {
            println!("    {}", sentence(ratio));
        }
    }
}

fn table(result: &CaseResult) -> Vec<String> {
    let mut figures: Vec<&str> = Vec::new();
    for series in result.rows.iter().flat_map(|(_, series)| series) {
        if !figures.contains(&series.name) {
            figures.push(series.name);
        }
    }
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(figures.iter().map(|&figure| figure.to_owned()));
    for (subject, series) in &result.rows {
        let cell = |figure: &&str| {
            let found = series.iter().find(|series| series.name == *figure);
            found.map_or_else(String::new, |series| spread(series.spread(), series.unit))
        };
        let mut row = vec![(*subject).to_owned()];
        row.extend(figures.iter().map(cell));
        rows.push(row);
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=figures.len()).map(width).collect();
    let padded = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(padded).collect()
}

fn sentence(ratio: &Ratio) -> String {
    let Spread { median, min, max } = ratio.spread;
    let goal = ratio.goal;
    let (sign, bound) = sign(goal.bound);
    let verdict = if ratio.is_met() { "met" } else { "missed" };
    format!(
        "{}: {} of {} to {} = {median:.2} ({min:.2}-{max:.2}), goal {sign} {bound}: {verdict}",
        goal.name, goal.figure, goal.of, goal.to
    )
}

fn sign(bound: Bound) -> (&'static str, f64) {
    match bound {
        Bound::AtLeast(bound) => (">=", bound),
        Bound::AtMost(bound) => ("<=", bound),
    }
}

fn spread(spread: Spread, unit: Unit) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(|v| value(v, unit));
    if min == max {
        return median;
    }
    format!("{median} ({min}-{max})")
}

/// Three digits and a unit.
fn value(value: f64, unit: Unit) -> String {
    let steps: &[(f64, &str)] = match unit {
        Unit::PerSecond => &[(1e6, " M/s"), (1e3, " k/s"), (1.0, " /s")],
        Unit::Nanoseconds => &[(1e9, " s"), (1e6, " ms"), (1e3, " us"), (1.0, " ns")],
        Unit::Bytes => &[(1048576.0, " MiB"), (10240.0, " KiB"), (1.0, " B")],
        Unit::Count => &[(1e6, " M"), (1e3, " k"), (1.0, "")],
    };
    let fits = steps.iter().find(|(step, _)| value >= *step);
    let (step, name) = fits.or(steps.last()).copied().unwrap_or((1.0, ""));
    let scaled = value / step;
    let digits = if step == 1.0 && scaled.fract() == 0.0 || scaled >= 100.0 {
        0
    } else if scaled >= 10.0 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$}{name}")
}

/// The cases of a section as one object.
#[must_use]
pub fn json(section: &Section, results: &[CaseResult]) -> Value {
    let cases: Vec<Value> = results.iter().map(case).collect();
    object!({ "section": section.name, "cases": cases })
}

fn case(result: &CaseResult) -> Value {
    let subject = |(name, series): &(&str, Vec<super::Series>)| {
        let figures = series.iter().map(|series| {
            object!({
                "name": series.name,
                "unit": match series.unit {
                    Unit::PerSecond => "per_second",
                    Unit::Nanoseconds => "nanoseconds",
                    Unit::Bytes => "bytes",
                    Unit::Count => "count",
                },
                "values": series.values,
            })
        });
        object!({ "name": name, "figures": figures.collect::<Vec<_>>() })
    };
    let goal = |ratio: &Ratio| {
        let (sign, bound) = sign(ratio.goal.bound);
        object!({
            "name": ratio.goal.name,
            "figure": ratio.goal.figure,
            "of": ratio.goal.of,
            "to": ratio.goal.to,
            "median": ratio.spread.median,
            "min": ratio.spread.min,
            "max": ratio.spread.max,
            "bound": format!("{sign} {bound}"),
            "met": ratio.is_met(),
        })
    };
    object!({
        "name": result.name,
        "subjects": result.rows.iter().map(subject).collect::<Vec<_>>(),
        "goals": result.ratios.iter().map(goal).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_a_unit() {
        let cases = [
            (1234.5, Unit::PerSecond, "1.23 k/s"),
            (88_300.0, Unit::Nanoseconds, "88.3 us"),
            (655_000.0, Unit::PerSecond, "655 k/s"),
            (32.0, Unit::Bytes, "32 B"),
            (32.31, Unit::Bytes, "32.3 B"),
            (0.0, Unit::Count, "0"),
        ];
        for (number, unit, text) in cases {
            assert_eq!(value(number, unit), text);
        }
    }
}
