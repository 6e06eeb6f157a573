//! `deedbook plan`: which bundles should move, and why the others stay.

mod found;
mod rounds;
mod text;

use crate::load::read_folder;
use crate::output::Output;
use crate::{Error, Status};
use clap::{Args, ValueEnum};
use deedbook::ids::{BrokerId, BundleId, Namespace};
use deedbook::planner::avg::{AvgShedder, Config, Mode, Weights};
use deedbook::planner::{ClusterLoad, Constraints, Shedder};
use deedbook::reports::merge;
use found::Found;
use rounds::Rounds;
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The most rounds that a hit count may ask for.
const HITS_MAX: i64 = 1_000;

/// Say which bundles should move, and why the others stay
///
/// Reads every *.json in DIR, one load report a broker, and shows them to the avg strategy round
/// after round, as if the load stayed the same, until something moves or it is clear that nothing
/// will. The strategy scores each broker by its fullest resource, pairs the highest score with the
/// lowest, the second highest with the second lowest and so on, and evens out a pair whose
/// difference was large for long enough.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct Plan {
    /// Folder with the load reports
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Whose decisions: safe ones, or exactly those of Apache Pulsar
    #[arg(long, value_enum, default_value_t = ModeName::Safe)]
    mode: ModeName,

    /// Difference of a pair's scores that counts as a low hit
    #[arg(long, value_name = "POINTS", default_value_t = 15.0, value_parser = number)]
    low_threshold: f64,

    /// Difference of a pair's scores that counts as a high hit too
    #[arg(long, value_name = "POINTS", default_value_t = 40.0, value_parser = number)]
    high_threshold: f64,

    /// Low hits in a row after which something moves
    #[arg(long, value_name = "ROUNDS", default_value_t = 8, value_parser = hits())]
    low_hits: u32,

    /// High hits in a row after which something moves
    #[arg(long, value_name = "ROUNDS", default_value_t = 2, value_parser = hits())]
    high_hits: u32,

    /// Share of a pair's difference in traffic that moves at most; 0.5 makes both even
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = number)]
    max_unload_ratio: f64,

    /// Go by messages if more than this should move
    #[arg(long, value_name = "MESSAGES/S", default_value_t = 1000.0, value_parser = number)]
    min_message_rate: f64,

    /// Else go by bytes if more than this should move
    #[arg(long, value_name = "BYTES/S", default_value_t = 1_048_576.0, value_parser = number)]
    min_throughput: f64,

    /// Multiply the percentage of the processors by this
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0, value_parser = number)]
    cpu_weight: f64,

    /// Multiply the percentage of direct memory by this
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0, value_parser = number)]
    direct_memory_weight: f64,

    /// Multiply the percentage of incoming bandwidth by this
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0, value_parser = number)]
    bandwidth_in_weight: f64,

    /// Multiply the percentage of outgoing bandwidth by this
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0, value_parser = number)]
    bandwidth_out_weight: f64,

    /// Leave the bundles of this namespace where they are, as those of pulsar/system always are;
    /// may be repeated
    #[arg(long, value_name = "TENANT/NAMESPACE")]
    exclude_namespace: Vec<Namespace>,

    /// Plan without this broker, which is being emptied; may be repeated
    #[arg(long, value_name = "BROKER")]
    drain: Vec<BrokerId>,

    /// Leave this bundle where it is; may be repeated
    #[arg(long, value_name = "BUNDLE")]
    pin: Vec<BundleId>,

    /// Leave out reports that are older than the newest by more than this, such as 10m [default:
    /// none is left out]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    max_age: Option<Duration>,
}

/// The names of the modes.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    Safe,
    Reference,
}

/// Reads a number that a threshold can have.
fn number(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok();
    let usable = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
    usable.ok_or("expected a finite number that is not negative")
}

fn hits() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=HITS_MAX)
}

impl Plan {
    pub(crate) fn run(
        &self,
        output: &mut Output<'_>,
        err: &mut dyn Write,
    ) -> Result<Status, Error> {
        let cluster = merge(read_folder(&self.folder)?, self.max_age)?;
        let load = ClusterLoad::from(&cluster);
        self.warn(&load, err);
        let config = self.config();
        let constraints = self.constraints();
        // One round more than the longest wait: nothing is left to wait for then.
        let rounds_max = config.low_hits.max(config.high_hits) + 1;
        let mut shedder = AvgShedder::new(config.clone())?;
        let mut rounds = Rounds::default();
        while rounds.count() < rounds_max && rounds.may_change() {
            rounds.add(shedder.plan(&load, &constraints));
        }
        output.print(&Found::new(config.mode, &load, rounds, cluster.notes))?;
        Ok(Status::Good)
    }

    fn config(&self) -> Config {
        Config {
            mode: match self.mode {
                ModeName::Safe => Mode::Safe,
                ModeName::Reference => Mode::Reference,
            },
            low_threshold_points: self.low_threshold,
            high_threshold_points: self.high_threshold,
            low_hits: self.low_hits,
            high_hits: self.high_hits,
            unload_ratio_max: self.max_unload_ratio,
            message_rate_min: self.min_message_rate,
            throughput_min: self.min_throughput,
            weights: Weights {
                cpu: self.cpu_weight,
                direct_memory: self.direct_memory_weight,
                bandwidth_in: self.bandwidth_in_weight,
                bandwidth_out: self.bandwidth_out_weight,
            },
        }
    }

    fn constraints(&self) -> Constraints {
        let mut constraints = Constraints::default();
        constraints.drained.extend(self.drain.iter().cloned());
        constraints.pinned.extend(self.pin.iter().cloned());
        let namespaces = self.exclude_namespace.iter().cloned();
        constraints.excluded_namespaces.extend(namespaces);
        constraints
    }

    /// Says which of the names given are in no report: they may be mistyped.
    fn warn(&self, load: &ClusterLoad, err: &mut dyn Write) {
        let bundles = || {
            load.brokers
                .values()
                .flat_map(|broker| broker.bundles.keys())
        };
        let mut warn = |flag, name: &dyn Display| {
            // If nobody listens there, the plan is the same.
            let _ = writeln!(err, "warning: --{flag} {name}: no report has it");
        };
        for broker in &self.drain {
            if !load.brokers.contains_key(broker) {
                warn("drain", broker);
            }
        }
        for bundle in &self.pin {
            if !bundles().any(|owned| owned == bundle) {
                warn("pin", bundle);
            }
        }
        for namespace in &self.exclude_namespace {
            if !bundles().any(|owned| owned.namespace() == namespace) {
                warn("exclude-namespace", namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        plan: Plan,
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let plan = Only::try_parse_from(["plan", "folder"]).unwrap().plan;
        assert_eq!(plan.config(), Config::default());
        assert_eq!(plan.constraints(), Constraints::default());
    }
    #[test]
    fn each_flag_sets_what_it_says() {
        let flags = "plan folder --mode reference --low-threshold 1 --high-threshold 2 \
            --low-hits 3 --high-hits 4 --max-unload-ratio 0.5 --min-message-rate 6 \
            --min-throughput 7 --cpu-weight 8 --direct-memory-weight 9 \
            --bandwidth-in-weight 10 --bandwidth-out-weight 11";
        let plan = Only::try_parse_from(flags.split_whitespace()).unwrap().plan;
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
        assert_eq!(plan.config(), expected);
    }
}
