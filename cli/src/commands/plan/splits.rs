//! Which bundles are too big, and where they would be cut.

use super::found::{Rule, Staying};
use crate::Error;
use crate::output::{Column, count, table};
use deedbook::ids::{BrokerId, BundleId};
use deedbook::planner::ClusterLoad;
use deedbook::planner::split::{Config, Split, SplitReason, SplitStrategy, Surroundings, Whole};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// What should be split, and why other bundles that are too big stay whole.
#[derive(Debug, Serialize)]
pub(super) struct Splits {
    /// How many rounds must see the load.
    rounds: u32,
    planned: Vec<Planned>,
    whole: Vec<Staying>,
}

#[derive(Debug, Serialize)]
struct Planned {
    bundle: BundleId,
    broker: BrokerId,
    /// The keys at which it is cut.
    cuts: Vec<String>,
    #[serde(flatten)]
    rule: Rule,
}

impl Splits {
    /// What would be split once the load has lasted for as long as it takes.
    pub(super) fn new(load: &ClusterLoad, config: Config) -> Result<Self, Error> {
        let rounds = config.hits.saturating_add(1);
        // The load stays the same, so that all rounds but the last one only wait.
        let mut strategy = SplitStrategy::new(Config { hits: 0, ..config })?;
        let plan = strategy.plan(load, &Surroundings::default());
        Ok(Self {
            rounds,
            planned: plan.splits.into_iter().map(Planned::from).collect(),
            whole: plan.whole.into_iter().map(Staying::from).collect(),
        })
    }
}

impl From<Split> for Planned {
    fn from(split: Split) -> Self {
        let cuts = split.cuts.as_slice().iter();
        Self {
            cuts: cuts.map(|cut| format!("{cut:#010x}")).collect(),
            rule: Rule::from(&split.reason),
            bundle: split.bundle,
            broker: split.broker,
        }
    }
}

impl From<&SplitReason> for Rule {
    fn from(reason: &SplitReason) -> Self {
        Self {
            rule: reason.rule(),
            text: reason.to_string(),
        }
    }
}

impl From<(BundleId, Whole)> for Staying {
    fn from((bundle, whole): (BundleId, Whole)) -> Self {
        let rule = Rule {
            rule: whole.rule(),
            text: whole.to_string(),
        };
        Self { bundle, rule }
    }
}

impl Display for Splits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.planned.is_empty() {
            let rounds = count(self.rounds, "round");
            writeln!(f, "\nSplits, once this load has lasted {rounds}\n")?;
            let columns = [
                Column::Left("bundle"),
                Column::Left("owner"),
                Column::Left("at"),
                Column::Left("why"),
            ];
            let rows = self.planned.iter().map(|split| {
                vec![
                    split.bundle.to_string(),
                    split.broker.to_string(),
                    split.cuts.join(", "),
                    split.rule.text.clone(),
                ]
            });
            f.write_str(&table(&columns, rows))?;
        }
        if self.whole.is_empty() {
            return Ok(());
        }
        f.write_str("\nToo big, and not to be split\n\n")?;
        let columns = [Column::Left("bundle"), Column::Left("why it stays whole")];
        let rows = self.whole.iter();
        let rows = rows.map(|one| vec![one.bundle.to_string(), one.rule.text.clone()]);
        f.write_str(&table(&columns, rows))
    }
}
