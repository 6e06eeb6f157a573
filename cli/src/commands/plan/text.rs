//! What `plan` found, as text for people.

use super::found::{Broker, Found, Note, Pair};
use crate::output::{Column, bytes_per_second, count, points, rate, table};
use deedbook::planner::Measure;
use deedbook::planner::avg::Mode;
use std::fmt::{self, Display, Formatter};

/// How many bundles that stay are listed for each broker.
const KEPT_MAX: usize = 10;

/// How many notes are listed for each report.
const NOTES_MAX: usize = 20;

impl Display for Found {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.headline(f)?;
        f.write_str("\nScores, in points (100: a resource is used up to its limit)\n\n")?;
        f.write_str(&scores(&self.brokers))?;
        if !self.pairs.is_empty() {
            f.write_str("\nPairs\n\n")?;
            f.write_str(&pairs(&self.pairs))?;
        }
        if !self.moves.is_empty() {
            f.write_str("\nMoves, in this order\n\n")?;
            f.write_str(&self.moves())?;
        }
        self.stopped(f)?;
        self.kept(f)?;
        self.notes(f)
    }
}

impl Found {
    fn headline(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let brokers = count(self.brokers.len(), "broker");
        let bundles: usize = self.brokers.iter().map(|broker| broker.bundles).sum();
        let bundles = count(bundles, "bundle");
        let mode = match self.mode {
            Mode::Safe => "safe",
            Mode::Reference => "reference",
        };
        write!(f, "{brokers}, {bundles}, mode {mode}: ")?;
        match self.moves.len() {
            0 => writeln!(f, "nothing moves, however long this load lasts"),
            moves => {
                let (moves, rounds) = (count(moves, "move"), count(self.rounds, "round"));
                writeln!(f, "{moves} once this load has lasted {rounds}")
            }
        }
    }

    fn moves(&self) -> String {
        let columns = [
            Column::Left("bundle"),
            Column::Left("from"),
            Column::Left("to"),
            Column::Right("messages/s"),
            Column::Right("throughput"),
        ];
        let rows = self.moves.iter().map(|moving| {
            vec![
                moving.bundle.to_string(),
                moving.from.to_string(),
                moving.to.to_string(),
                rate(moving.message_rate),
                bytes_per_second(moving.throughput),
            ]
        });
        table(&columns, rows)
    }

    fn stopped(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let stopped = self.brokers.iter().filter_map(|broker| {
            let rule = broker.stopped.as_ref()?;
            Some(vec![broker.broker.to_string(), rule.text.clone()])
        });
        let rows: Vec<_> = stopped.collect();
        if rows.is_empty() {
            return Ok(());
        }
        let columns = [Column::Left("broker"), Column::Left("rule that stopped it")];
        f.write_str("\nNothing moves away from\n\n")?;
        f.write_str(&table(&columns, rows))
    }

    fn kept(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for broker in self.brokers.iter().filter(|broker| !broker.kept.is_empty()) {
            writeln!(f, "\nWhat stays on {}\n", broker.broker)?;
            let columns = [Column::Left("bundle"), Column::Left("rule that keeps it")];
            let rows = broker.kept.iter().take(KEPT_MAX);
            let rows = rows.map(|kept| vec![kept.bundle.to_string(), kept.rule.text.clone()]);
            f.write_str(&table(&columns, rows))?;
            if let Some(rest) = broker
                .kept
                .len()
                .checked_sub(KEPT_MAX)
                .filter(|rest| *rest > 0)
            {
                writeln!(f, "  ... and {rest} more; --json lists all")?;
            }
        }
        Ok(())
    }

    fn notes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut rows = Vec::new();
        // They come in order of the brokers.
        for of_one in self.notes.chunk_by(|a: &Note, b| a.broker == b.broker) {
            let mut row = |note: &Note, text| rows.push(vec![note.broker.to_string(), text]);
            for note in of_one.iter().take(NOTES_MAX) {
                row(note, note.text.clone());
            }
            if let Some(first) = of_one.get(NOTES_MAX) {
                let rest = of_one.len() - NOTES_MAX;
                row(first, format!("... and {rest} more; --json lists all"));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let columns = [
            Column::Left("broker"),
            Column::Left("what was left out or repaired"),
        ];
        f.write_str("\nNotes on the reports\n\n")?;
        f.write_str(&table(&columns, rows))
    }
}

fn scores(brokers: &[Broker]) -> String {
    let columns = [
        Column::Left("broker"),
        Column::Right("score"),
        Column::Left("made by"),
        Column::Right("after"),
        Column::Right("bundles"),
        Column::Right("messages/s"),
        Column::Right("throughput"),
    ];
    let rows = brokers.iter().map(|broker| {
        vec![
            broker.broker.to_string(),
            points(broker.score),
            broker.resource.clone().unwrap_or_else(|| "-".to_owned()),
            points(broker.score_after),
            broker.bundles.to_string(),
            rate(broker.message_rate),
            bytes_per_second(broker.throughput),
        ]
    });
    table(&columns, rows)
}

fn pairs(pairs: &[Pair]) -> String {
    let columns = [
        Column::Left("hot"),
        Column::Left("cold"),
        Column::Right("difference"),
        Column::Right("low hits"),
        Column::Right("high hits"),
        Column::Right("moves"),
    ];
    let rows = pairs.iter().map(|pair| {
        let amount = pair.amount.as_ref().map(|amount| match amount.measure {
            Measure::Messages => {
                format!(
                    "{} of {} messages/s",
                    rate(amount.reached),
                    rate(amount.wanted)
                )
            }
            Measure::Bytes => {
                let reached = bytes_per_second(amount.reached);
                format!("{reached} of {}", bytes_per_second(amount.wanted))
            }
        });
        vec![
            pair.hot.to_string(),
            pair.cold.to_string(),
            points(Some(pair.difference)),
            format!("{} of {}", pair.low_hits.count, pair.low_hits.needed),
            format!("{} of {}", pair.high_hits.count, pair.high_hits.needed),
            amount.unwrap_or_else(|| "-".to_owned()),
        ]
    });
    table(&columns, rows)
}
