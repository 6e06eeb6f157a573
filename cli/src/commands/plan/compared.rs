//! What each strategy would do, as `plan --compare` prints it.

use crate::output::{Column, count, points, table};
use deedbook::planner::{ClusterLoad, Mode, Rehearsed, Strategy};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// What `plan --compare` found. Its keys are described in docs/cli.md.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    brokers: usize,
    bundles: usize,
    hottest_before: f64,
    imbalance_before: f64,
    compared: Vec<Comparison>,
}

#[derive(Debug, Serialize)]
struct Comparison {
    strategy: Strategy,
    mode: Mode,
    rounds: u32,
    moves: usize,
    unloads: usize,
    messages_share: f64,
    bytes_share: f64,
    hottest_after: Option<f64>,
    imbalance_after: Option<f64>,
    /// If it gives nothing: what stopped the hottest broker.
    stopped: Option<Stop>,
}

#[derive(Debug, Serialize)]
struct Stop {
    broker: String,
    rule: &'static str,
    text: String,
}

impl Compared {
    pub(super) fn new(load: &ClusterLoad, rehearsed: Vec<Rehearsed>) -> Self {
        let effect = rehearsed.first().map(|found| found.effect);
        let effect = effect.unwrap_or_default();
        let bundles = load.brokers.values().map(|of| of.bundles.len());
        Self {
            brokers: load.brokers.len(),
            bundles: bundles.sum(),
            hottest_before: effect.hottest_before,
            imbalance_before: effect.imbalance_before,
            compared: rehearsed.into_iter().map(Comparison::from).collect(),
        }
    }
}

impl From<Rehearsed> for Comparison {
    fn from(found: Rehearsed) -> Self {
        let Rehearsed {
            settings,
            rounds,
            plan,
            effect,
        } = found;
        let quiet = plan.moves.is_empty() && plan.unloads.is_empty();
        let points = |verdict: &deedbook::planner::BrokerVerdict| {
            verdict.score.as_ref().map_or(-1.0, |score| score.points)
        };
        let hottest = plan
            .brokers
            .iter()
            .max_by(|a, b| points(a.1).total_cmp(&points(b.1)))
            .filter(|_| quiet);
        let stopped = hottest.and_then(|(broker, verdict)| {
            let stopped = verdict.stopped.as_ref()?;
            Some(Stop {
                broker: broker.to_string(),
                rule: stopped.rule(),
                text: stopped.to_string(),
            })
        });
        Self {
            strategy: settings.strategy(),
            mode: settings.mode(),
            rounds,
            moves: plan.moves.len(),
            unloads: plan.unloads.len(),
            messages_share: effect.messages_share,
            bytes_share: effect.bytes_share,
            hottest_after: effect.hottest_after,
            imbalance_after: effect.imbalance_after,
            stopped,
        }
    }
}

impl Display for Compared {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (brokers, bundles) = (count(self.brokers, "broker"), count(self.bundles, "bundle"));
        writeln!(
            f,
            "{brokers}, {bundles}; the hottest broker stands at {:.1} points\n",
            self.hottest_before
        )?;
        let columns = [
            Column::Left("strategy"),
            Column::Left("mode"),
            Column::Right("rounds"),
            Column::Right("moves"),
            Column::Right("messages"),
            Column::Right("bytes"),
            Column::Right("hottest after"),
            Column::Right("imbalance left"),
        ];
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let rows = self.compared.iter().map(|of| {
            let left = of.imbalance_after.filter(|_| self.imbalance_before > 0.0);
            let left = left.map(|after| percent(after / self.imbalance_before));
            vec![
                of.strategy.to_string(),
                of.mode.to_string(),
                of.rounds.to_string(),
                (of.moves + of.unloads).to_string(),
                percent(of.messages_share),
                percent(of.bytes_share),
                points(of.hottest_after),
                left.unwrap_or_else(|| "-".to_owned()),
            ]
        });
        f.write_str(&table(&columns, rows))?;
        let stopped = self.compared.iter().filter_map(|of| {
            let stopped = of.stopped.as_ref()?;
            let broker = stopped.broker.clone();
            Some(vec![of.strategy.to_string(), broker, stopped.text.clone()])
        });
        let rows: Vec<_> = stopped.collect();
        if !rows.is_empty() {
            let columns = [
                Column::Left("strategy"),
                Column::Left("hottest broker"),
                Column::Left("rule that stopped it"),
            ];
            writeln!(f, "\nNothing moves\n")?;
            f.write_str(&table(&columns, rows))?;
        }
        Ok(())
    }
}
