//! How long strategies plan for a made-up cluster, and how much memory that takes.

use super::memory;
use crate::Error;
use crate::output::{Column, bytes, points, rate, table};
use deedbook::clock::{BootClock, Clock};
use deedbook::planner::{ClusterLoad, Constraints, Mode, Rehearsal, Settings, Strategy};
use deedbook::sim::MadeUp;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::io::Write;
use std::str::FromStr;

/// From the coldest broker to the hottest, in points.
const SPREAD_POINTS: f64 = 90.0;

/// How large a cluster is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    brokers: u32,
    bundles: u32,
}

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('x');
        let numbers = numbers
            .and_then(|(brokers, bundles)| Some((brokers.parse().ok()?, bundles.parse().ok()?)));
        let (brokers, bundles) = numbers.ok_or("expected BROKERSxBUNDLES, such as 1000x1000000")?;
        if brokers == 0 || bundles > BUNDLES_MAX {
            return Err("expected at least one broker, and at most 10,000,000 bundles");
        }
        Ok(Self { brokers, bundles })
    }
}

/// The most bundles that a cluster is made up of.
const BUNDLES_MAX: u32 = 10_000_000;

/// What `plan --generate` found. Its keys are described in docs/cli.md.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    brokers: u32,
    bundles: u32,
    seed: u64,
    spread_points: f64,
    load_bytes: Option<u64>,
    measured: Vec<Measurement>,
}

#[derive(Debug, Serialize)]
struct Measurement {
    strategy: Strategy,
    mode: Mode,
    rounds: u32,
    moves: usize,
    unloads: usize,
    messages_share: f64,
    hottest_before: f64,
    hottest_after: Option<f64>,
    /// Of the round in which something moves.
    plan_ms: f64,
    /// Of the first round, in which some strategies only begin to wait.
    first_ms: f64,
    peak_bytes: Option<u64>,
}

impl Measured {
    pub(super) fn new(
        size: Size,
        seed: u64,
        strategies: Vec<Settings>,
        constraints: &Constraints,
        err: &mut dyn Write,
    ) -> Result<Self, Error> {
        let made_up = MadeUp {
            brokers: size.brokers,
            bundles: size.bundles,
            spread_points: SPREAD_POINTS,
            seed,
        };
        let load = made_up.load();
        let load_bytes = memory::present_bytes();
        let mut measured = Vec::new();
        for settings in strategies {
            // If nobody listens there, the figures are the same.
            let _ = writeln!(err, "planning by {}", settings.strategy());
            measured.push(Measurement::new(settings, &load, constraints)?);
        }
        Ok(Self {
            brokers: size.brokers,
            bundles: size.bundles,
            seed,
            spread_points: SPREAD_POINTS,
            load_bytes,
            measured,
        })
    }
}

impl Measurement {
    fn new(
        settings: Settings,
        load: &ClusterLoad,
        constraints: &Constraints,
    ) -> Result<Self, Error> {
        let clock = BootClock;
        let (strategy, mode) = (settings.strategy(), settings.mode());
        let mut rehearsal = Rehearsal::new(settings)?;
        memory::forget_peak();
        let mut times = Vec::new();
        let mut goes_on = true;
        while goes_on {
            let start = clock.now();
            goes_on = rehearsal.round(load, constraints);
            times.push(clock.now().since(start).as_secs_f64() * 1000.0);
        }
        let peak_bytes = memory::peak_bytes();
        let found = rehearsal.finish(load);
        Ok(Self {
            strategy,
            mode,
            rounds: found.rounds,
            moves: found.plan.moves.len(),
            unloads: found.plan.unloads.len(),
            messages_share: found.effect.messages_share,
            hottest_before: found.effect.hottest_before,
            hottest_after: found.effect.hottest_after,
            plan_ms: times.last().copied().unwrap_or_default(),
            first_ms: times.first().copied().unwrap_or_default(),
            peak_bytes,
        })
    }
}

impl Display for Measured {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = [
            Column::Left("strategy"),
            Column::Right("rounds"),
            Column::Right("moves"),
            Column::Right("moved"),
            Column::Right("hottest after"),
            Column::Right("plan ms"),
            Column::Right("first ms"),
            Column::Right("peak memory"),
        ];
        let rows = self.measured.iter().map(|of| {
            vec![
                of.strategy.to_string(),
                of.rounds.to_string(),
                rate((of.moves + of.unloads) as f64).replace(".0", ""),
                format!("{:.1} %", of.messages_share * 100.0),
                points(of.hottest_after),
                format!("{:.1}", of.plan_ms),
                format!("{:.1}", of.first_ms),
                of.peak_bytes.map_or_else(|| "-".to_owned(), bytes),
            ]
        });
        let hottest = self.measured.first().map(|of| of.hottest_before);
        writeln!(
            f,
            "{} brokers, {} bundles, made up from seed {}; the hottest broker stands at {} points\n",
            rate(self.brokers.into()).replace(".0", ""),
            rate(self.bundles.into()).replace(".0", ""),
            self.seed,
            points(hottest)
        )?;
        f.write_str(&table(&columns, rows))?;
        if let Some(load_bytes) = self.load_bytes {
            writeln!(f, "\nThe load itself takes {}", bytes(load_bytes))?;
        }
        Ok(())
    }
}
