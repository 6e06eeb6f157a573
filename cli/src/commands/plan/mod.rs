//! `deedbook plan`: which bundles should move, and why the others stay.

mod compared;
mod explained;
mod flags;
mod found;
mod measured;
mod memory;
mod splits;
mod text;

use crate::load::read_folder;
use crate::output::Output;
use crate::{Error, Status};
use clap::Args;
use compared::Compared;
use deedbook::planner::{ClusterLoad, Rehearsed, Settings, Strategy, compare};
use deedbook::reports::{Note, merge};
use explained::{Explained, Subject};
use flags::{Constraining, Deciding, Splitting};
use found::Found;
use measured::{Measured, Size};
use splits::Splits;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Say which bundles should move, and why the others stay
///
/// Reads every *.json in DIR, one load report a broker, and shows them to a strategy round after
/// round, as if the load stayed the same, until something moves or it is clear that nothing will.
/// The avg strategy scores each broker by its fullest resource, pairs the highest score with the
/// lowest, the second highest with the second lowest and so on, and evens out a pair whose
/// difference was large for long enough. docs/planner.md tells what the others do. Bundles that are
/// too big for anybody are listed with where they would be split.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct Plan {
    /// Folder with the load reports
    #[arg(value_name = "DIR", required_unless_present = "generate")]
    folder: Option<PathBuf>,

    /// Which strategy: avg, threshold, overload, uniform, transfer or global [default: avg; with
    /// --compare and --generate all of them]
    #[arg(long, value_name = "NAME")]
    strategy: Option<Strategy>,

    /// Say in a line each what every strategy would do, and what would come of it
    #[arg(long, conflicts_with_all = ["strategy", "set"])]
    compare: bool,

    /// Say everything about one bundle or one broker, and nothing else
    #[arg(long, value_name = "BUNDLE|BROKER")]
    explain: Option<Subject>,

    /// Instead of reading reports make up a cluster of so many brokers and bundles, such as
    /// 1000x1000000, and measure how long each strategy plans and how much memory that takes
    #[arg(long, value_name = "BROKERSxBUNDLES", conflicts_with_all = ["folder", "compare",
        "explain", "max_age"])]
    generate: Option<Size>,

    /// With --generate: the same seed makes the same cluster
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        requires = "generate"
    )]
    seed: u64,

    #[command(flatten)]
    deciding: Deciding,

    #[command(flatten)]
    constraining: Constraining,

    #[command(flatten)]
    splitting: Splitting,

    /// Leave out reports that are older than the newest by more than this, such as 10m [default:
    /// none is left out]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    max_age: Option<Duration>,
}

impl Plan {
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        let constraints = self.constraining.constraints()?;
        let strategies = self.strategies()?;
        self.deciding.warn(&strategies, err);
        if let Some(size) = self.generate {
            let measured = Measured::new(size, self.seed, strategies, &constraints, err)?;
            output.print(&measured)?;
            return Ok(Status::Good);
        }
        let reports = match &self.folder {
            Some(folder) => read_folder(folder)?,
            None => Vec::new(),
        };
        let cluster = merge(reports, self.max_age)?;
        let load = ClusterLoad::from(&cluster);
        self.constraining.warn(&load, err);
        let rehearsed = compare(&load, &constraints, strategies)?;
        self.print(output, &load, rehearsed, cluster.notes)?;
        Ok(Status::Good)
    }

    fn print(
        &self,
        output: &mut Output<'_>,
        load: &ClusterLoad,
        rehearsed: Vec<Rehearsed>,
        notes: Vec<Note>,
    ) -> Result<(), Error> {
        if let Some(subject) = &self.explain {
            return output.print(&Explained::new(subject, &rehearsed, load)?);
        }
        if self.compare {
            return output.print(&Compared::new(load, rehearsed));
        }
        for found in rehearsed {
            let splits = Splits::new(load, self.splitting.config()?)?;
            output.print(&Found::new(load, found, splits, notes.clone()))?;
        }
        Ok(())
    }

    /// The strategies that were asked for, and how they decide.
    fn strategies(&self) -> Result<Vec<Settings>, Error> {
        let asked: &[Strategy] = match &self.strategy {
            Some(strategy) => std::slice::from_ref(strategy),
            None if self.compare || self.generate.is_some() => &Strategy::ALL,
            None => &[Strategy::Avg],
        };
        let settings = asked
            .iter()
            .map(|strategy| self.deciding.settings(*strategy));
        settings.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use deedbook::planner::avg::{Config, Weights};
    use deedbook::planner::{Constraints, Mode};

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        plan: Plan,
    }

    fn parse(flags: &str) -> Plan {
        let flags = ["plan"].into_iter().chain(flags.split_whitespace());
        Only::try_parse_from(flags).unwrap().plan
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let plan = parse("folder");
        assert_eq!(plan.deciding.of_pairs(), Config::default());
        assert_eq!(
            plan.constraining.constraints().unwrap(),
            Constraints::default()
        );
        let plan = parse("folder --compare");
        let all = Strategy::ALL.map(|strategy| strategy.settings(Mode::Safe));
        assert_eq!(plan.strategies().unwrap(), all);
    }

    #[test]
    fn each_flag_sets_what_it_says() {
        let plan = parse(
            "folder --mode reference --low-threshold 1 --high-threshold 2 \
            --low-hits 3 --high-hits 4 --max-unload-ratio 0.5 --min-message-rate 6 \
            --min-throughput 7 --cpu-weight 8 --direct-memory-weight 9 \
            --bandwidth-in-weight 10 --bandwidth-out-weight 11",
        );
        let expected = Config {
            mode: Mode::Reference,
            low_threshold_points: 1.0,
            high_threshold_points: 2.0,
            low_hits: 3,
            high_hits: 4,
            unload_ratio_max: 0.5,
            message_rate_min: 6.0,
            throughput_min: 7.0,
            weights: Weights {
                cpu: 8.0,
                direct_memory: 9.0,
                bandwidth_in: 10.0,
                bandwidth_out: 11.0,
            },
        };
        assert_eq!(plan.deciding.of_pairs(), expected);
    }

    #[test]
    fn any_setting_of_any_strategy_can_be_set() {
        for strategy in Strategy::ALL {
            let settings = strategy.settings(Mode::Safe);
            let value = serde_json::to_value(&settings).unwrap();
            let keys = value.as_object().unwrap().iter();
            for (key, value) in keys.filter(|(key, value)| *key != "strategy" && !value.is_object())
            {
                let value = match value {
                    serde_json::Value::Null => "3".to_owned(),
                    serde_json::Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let plan = parse(&format!("folder --strategy {strategy} --set {key}={value}"));
                plan.strategies().unwrap();
            }
        }
        let plan =
            parse("folder --strategy threshold --set weights.cpu=2 --set threshold_points=3");
        let Settings::Threshold(config) = &plan.strategies().unwrap()[0] else {
            panic!("another strategy");
        };
        assert_eq!((config.weights.cpu, config.threshold_points), (2.0, 3.0));
        for wrong in [
            "strategy=avg",
            "weights=1",
            "threshold=1",
            "threshold_points=high",
        ] {
            let plan = parse(&format!("folder --strategy threshold --set {wrong}"));
            assert!(plan.strategies().is_err(), "{wrong}");
        }
    }
}
