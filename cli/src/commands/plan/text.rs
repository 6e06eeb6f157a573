//! What `plan` found, as text for people.

use super::found::{Amount, Broker, Found, Moving, Note, Pair, Search, Unloading};
use crate::output::{Column, bytes_per_second, count, points, rate, table};
use deedbook::planner::Measure;
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
            f.write_str(&moves(&self.moves))?;
        }
        if !self.unloads.is_empty() {
            f.write_str("\nWhat leaves its broker, to where placement will have it\n\n")?;
            f.write_str(&unloads(&self.unloads))?;
        }
        self.search(f)?;
        self.triggered(f)?;
        self.stopped(f)?;
        self.kept(f)?;
        self.splits.fmt(f)?;
        self.notes(f)
    }
}

impl Found {
    fn headline(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let brokers = count(self.brokers.len(), "broker");
        let bundles: usize = self.brokers.iter().map(|broker| broker.bundles).sum();
        let bundles = count(bundles, "bundle");
        let Self { strategy, mode, .. } = self;
        write!(
            f,
            "{brokers}, {bundles}, strategy {strategy}, mode {mode}: "
        )?;
        match self.moves.len() + self.unloads.len() {
            0 => writeln!(f, "nothing moves, however long this load lasts"),
            moves => {
                let (moves, rounds) = (count(moves, "move"), count(self.rounds, "round"));
                writeln!(f, "{moves} once this load has lasted {rounds}")
            }
        }
    }

    fn search(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(search) = &self.search else {
            return Ok(());
        };
        let Search {
            level,
            above_before,
            above_after,
            ..
        } = search;
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let left = |after: f64| percent(after / search.imbalance_before);
        writeln!(
            f,
            "\nThe cluster as a whole\n\n  \
             all brokers should stand near {level:.1} points: {above_before} stand too high, and \
             {above_after} will\n  \
             imbalance left: {}, for {} of the traffic; by the avg strategy {}, for {}",
            left(search.imbalance_after),
            percent(search.moved_share),
            left(search.imbalance_after_avg),
            percent(search.moved_share_avg),
        )
    }

    fn triggered(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let triggered = self.brokers.iter().filter_map(|broker| {
            let rule = broker.triggered.as_ref()?;
            let reached = broker.amount.as_ref().map(amount);
            Some(vec![
                broker.broker.to_string(),
                rule.text.clone(),
                reached.unwrap_or_else(|| "-".to_owned()),
            ])
        });
        let rows: Vec<_> = triggered.collect();
        if rows.is_empty() {
            return Ok(());
        }
        let columns = [
            Column::Left("broker"),
            Column::Left("why it should give"),
            Column::Right("gives"),
        ];
        f.write_str("\nWho should give\n\n")?;
        f.write_str(&table(&columns, rows))
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
        self.brokers
            .iter()
            .try_for_each(|broker| kept(f, broker, KEPT_MAX))
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

pub(super) fn moves(moves: &[Moving]) -> String {
    let columns = [
        Column::Left("bundle"),
        Column::Left("from"),
        Column::Left("to"),
        Column::Right("messages/s"),
        Column::Right("throughput"),
    ];
    let rows = moves.iter().map(|moving| {
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

pub(super) fn unloads(unloads: &[Unloading]) -> String {
    let columns = [
        Column::Left("bundle"),
        Column::Left("from"),
        Column::Right("messages/s"),
        Column::Right("throughput"),
    ];
    let rows = unloads.iter().map(|leaving| {
        vec![
            leaving.bundle.to_string(),
            leaving.from.to_string(),
            rate(leaving.message_rate),
            bytes_per_second(leaving.throughput),
        ]
    });
    table(&columns, rows)
}

/// What stays on a broker, at most so many lines.
pub(super) fn kept(f: &mut Formatter<'_>, broker: &Broker, lines_max: usize) -> fmt::Result {
    if broker.kept.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nWhat stays on {}\n", broker.broker)?;
    let columns = [Column::Left("bundle"), Column::Left("rule that keeps it")];
    let rows = broker.kept.iter().take(lines_max);
    let rows = rows.map(|kept| vec![kept.bundle.to_string(), kept.rule.text.clone()]);
    f.write_str(&table(&columns, rows))?;
    match broker.kept.len().saturating_sub(lines_max) {
        0 => Ok(()),
        rest => writeln!(f, "  ... and {rest} more; --json lists all"),
    }
}

/// All that was found about one broker, but for its bundles.
pub(super) fn broker(f: &mut Formatter<'_>, of: &Broker, pairs: &[Pair]) -> fmt::Result {
    let mut says = |what, text: &str| statement(f, what, text);
    says("broker", &of.broker.to_string())?;
    let resource = of.resource.as_deref().unwrap_or("nothing in use");
    match of.score {
        Some(score) => says("score", &format!("{score:.1} points ({resource})"))?,
        None => says("score", "unknown")?,
    }
    if !of.unknown_resources.is_empty() {
        says("unknown", &of.unknown_resources.join(", "))?;
    }
    if let Some(smoothed) = of.smoothed {
        says("history", &format!("{smoothed:.1} points with it"))?;
    }
    says(
        "after",
        &format!("{} points after all moves", points(of.score_after)),
    )?;
    let bundles = count(of.bundles, "bundle");
    let (messages, bytes) = (rate(of.message_rate), bytes_per_second(of.throughput));
    says(
        "bears",
        &format!("{bundles}, {messages} messages/s, {bytes}"),
    )?;
    for pair in pairs {
        let hits = format!(
            "low hits {} of {}, high hits {} of {}",
            pair.low_hits.count, pair.low_hits.needed, pair.high_hits.count, pair.high_hits.needed
        );
        let (which, other) = if pair.hot == of.broker {
            ("hotter", &pair.cold)
        } else {
            ("colder", &pair.hot)
        };
        let difference = pair.difference;
        says(
            "pair",
            &format!("{difference:.1} points {which} than {other}; {hits}"),
        )?;
        if let Some(moved) = &pair.amount {
            says("moves", &amount(moved))?;
        }
    }
    if let Some(rule) = &of.triggered {
        says("stands out", &rule.text)?;
    }
    if let Some(moved) = &of.amount {
        says("gives", &amount(moved))?;
    }
    match &of.stopped {
        Some(rule) => says("so it", &format!("gives nothing: {}", rule.text)),
        None => says("so it", "gives something away"),
    }
}

/// One thing that is said, with a word in front; what is too long is wrapped.
pub(super) fn statement(f: &mut Formatter<'_>, what: &str, text: &str) -> fmt::Result {
    const TEXT_WIDTH: usize = 84;
    let (mut line, mut first) = (String::new(), true);
    let mut end = |f: &mut Formatter<'_>, line: &mut String| {
        let what = if std::mem::take(&mut first) { what } else { "" };
        let written = writeln!(f, "  {what:<12}{line}");
        line.clear();
        written
    };
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > TEXT_WIDTH {
            end(f, &mut line)?;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    end(f, &mut line)
}

/// What a bundle bears.
pub(super) fn traffic(messages: f64, bytes: f64, topics: u64) -> String {
    let (messages, bytes) = (rate(messages), bytes_per_second(bytes));
    format!("{messages} messages/s, {bytes}, {}", count(topics, "topic"))
}

fn amount(amount: &Amount) -> String {
    let Amount {
        measure,
        wanted,
        reached,
    } = amount;
    match measure {
        Measure::Messages => format!("{} of {} messages/s", rate(*reached), rate(*wanted)),
        Measure::Bytes => {
            let reached = bytes_per_second(*reached);
            format!("{reached} of {}", bytes_per_second(*wanted))
        }
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
        let amount = pair.amount.as_ref().map(amount);
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
