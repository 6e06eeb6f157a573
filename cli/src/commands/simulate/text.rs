//! What `simulate` found, as text for people.

use super::found::{BrokerFound, EndFound, Found, RoundFound, extremes};
use crate::output::{Column, count, points, rate, table};
use std::fmt;

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} (seed {})", self.scenario, self.about, self.seed)?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let columns = [
            Column::Right("round"),
            Column::Right("time"),
            Column::Right("hottest"),
            Column::Right("coldest"),
            Column::Right("spread"),
            Column::Right("moves"),
            Column::Left("what happened"),
        ];
        writeln!(f, "\nRounds")?;
        f.write_str(&table(&columns, self.rounds.iter().map(RoundFound::row)))?;
        self.show_moves(f)?;
        self.show_splits(f)?;
        match &self.end {
            Some(end) => self.show_end(f, end),
            None => Ok(()),
        }
    }
}

impl RoundFound {
    fn row(&self) -> Vec<String> {
        let extremes = extremes(&self.brokers);
        let done = self.moves.iter().filter(|made| made.done).count();
        let compacted = self
            .compacted
            .iter()
            .map(|_| "compaction in the middle of a transfer".into());
        let split = self.splits.iter().filter(|made| made.done).count();
        let split = (split > 0).then(|| count(split, "split"));
        let happened = self.events.iter().cloned().chain(split).chain(compacted);
        let happened: Vec<String> = happened.collect();
        vec![
            self.round.to_string(),
            format!("{}:{:02}", self.at_s / 60, self.at_s % 60),
            points(extremes.map(|(hottest, _)| hottest)),
            points(extremes.map(|(_, coldest)| coldest)),
            points(self.spread),
            if done == 0 {
                "-".to_owned()
            } else {
                done.to_string()
            },
            happened.join("; "),
        ]
    }
}

impl Found {
    fn show_moves(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rounds.iter().all(|round| round.moves.is_empty()) {
            return writeln!(f, "\nNothing moved.");
        }
        writeln!(f, "\nMoves")?;
        let columns = [
            Column::Right("round"),
            Column::Left("bundle"),
            Column::Left("from"),
            Column::Left("to"),
            Column::Right("msg/s"),
            Column::Left("outcome"),
        ];
        let rows = self
            .rounds
            .iter()
            .flat_map(|round| round.moves.iter().map(move |m| (round, m)));
        let rows = rows.map(|(round, made)| {
            vec![
                round.round.to_string(),
                made.bundle.clone(),
                made.from.clone(),
                made.to.clone().unwrap_or_else(|| "nobody".to_owned()),
                rate(made.messages_per_s),
                made.outcome.clone(),
            ]
        });
        f.write_str(&table(&columns, rows))
    }

    fn show_splits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rounds.iter().all(|round| round.splits.is_empty()) {
            return Ok(());
        }
        writeln!(f, "\nSplits")?;
        let columns = [
            Column::Right("round"),
            Column::Left("bundle"),
            Column::Left("owner"),
            Column::Left("at"),
            Column::Left("why"),
            Column::Left("outcome"),
        ];
        let rounds = self.rounds.iter();
        let rows = rounds.flat_map(|round| round.splits.iter().map(move |made| (round, made)));
        let rows = rows.map(|(round, made)| {
            vec![
                round.round.to_string(),
                made.bundle.clone(),
                made.broker.clone(),
                made.cuts.join(", "),
                made.reason.clone(),
                made.outcome.clone(),
            ]
        });
        f.write_str(&table(&columns, rows))
    }

    fn show_end(&self, f: &mut fmt::Formatter<'_>, end: &EndFound) -> fmt::Result {
        writeln!(f, "\nBrokers")?;
        let columns = [
            Column::Left("broker"),
            Column::Right("at first"),
            Column::Right("at the end"),
            Column::Right("bundles at first"),
            Column::Right("bundles at the end"),
        ];
        let first: &[BrokerFound] = self.rounds.first().map_or(&[], |round| &round.brokers);
        let rows = end.brokers.iter().map(|last| {
            let first = first.iter().find(|first| first.broker == last.broker);
            vec![
                last.broker.clone(),
                points(first.and_then(|first| first.score)),
                points(last.score),
                first.map_or_else(|| "-".to_owned(), |first| first.bundles.to_string()),
                last.bundles.to_string(),
            ]
        });
        f.write_str(&table(&columns, rows))?;
        let rejected: u64 = end.rejected.iter().map(|rejected| rejected.count).sum();
        let spread = points(end.spread);
        let splits = match self.splits {
            0 => String::new(),
            splits => format!(", {}", count(splits, "split")),
        };
        writeln!(
            f,
            "\n{}, {}{splits} in all; spread at the end: {spread} points",
            count(self.rounds.len(), "round"),
            count(self.moves, "move"),
        )?;
        writeln!(
            f,
            "log: {} ({}, {rejected} rejected)",
            end.log,
            count(end.records, "record")
        )?;
        if let Some(compacted) = self
            .rounds
            .iter()
            .find_map(|round| round.compacted.as_ref())
        {
            writeln!(f, "compaction: {compacted}")?;
        }
        if end.agree {
            let digest = &end.digest_of_compacted;
            writeln!(
                f,
                "ownership rebuilt from the whole history and from compacted output agrees: {digest}"
            )
        } else {
            writeln!(
                f,
                "ownership DIFFERS: {} from the whole history, {} from compacted output",
                end.digest_of_whole_history, end.digest_of_compacted
            )
        }
    }
}
