//! The flags of `plan` that say how a strategy decides, and what no plan may touch.

use crate::Error;
use clap::{Args, ValueEnum};
use deedbook::ids::{BrokerId, BundleId, Namespace};
use deedbook::planner::avg::{Config, Weights};
use deedbook::planner::{ClusterLoad, Constraints, Mode, Settings, Strategy, split};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// What is said of a key that is none.
const NO_SUCH_SETTING: &str = "there is no such setting";

/// The most rounds that a hit count may ask for.
const HITS_MAX: i64 = 1_000;

/// How a strategy decides.
#[derive(Debug, Args)]
pub(super) struct Deciding {
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

    /// Change one setting of the strategy, by the name that docs/planner.md lists, such as
    /// threshold_points=5; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

/// When a bundle is too big, and where it is cut.
#[derive(Debug, Args)]
pub(super) struct Splitting {
    /// Change one setting of splits, by the name that docs/planner.md lists, such as
    /// topics_max=500; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    set_split: Vec<(String, String)>,
}

/// The names of the modes.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    Safe,
    Reference,
}

/// What no plan may touch.
#[derive(Debug, Args)]
pub(super) struct Constraining {
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

    /// Read constraints of every kind from a TOML file, with the keys that docs/planner.md lists
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,
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

fn assignment(text: &str) -> Result<(String, String), &'static str> {
    let parts = text.split_once('=');
    let parts = parts.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    parts.ok_or("expected KEY=VALUE")
}

impl Deciding {
    pub(super) const fn mode(&self) -> Mode {
        match self.mode {
            ModeName::Safe => Mode::Safe,
            ModeName::Reference => Mode::Reference,
        }
    }

    /// How a strategy decides by these flags.
    pub(super) fn settings(&self, strategy: Strategy) -> Result<Settings, Error> {
        let settings = match strategy.settings(self.mode()) {
            Settings::Avg(_) => Settings::Avg(self.of_pairs()),
            Settings::Global(mut config) => {
                config.avg = self.of_pairs();
                Settings::Global(config)
            }
            other => other,
        };
        self.set
            .iter()
            .try_fold(settings, |settings, (key, value)| {
                set(&settings, key, value)
            })
    }

    /// What the flags say of the avg strategy, and of when the global planner acts.
    pub(super) fn of_pairs(&self) -> Config {
        Config {
            mode: self.mode(),
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

    /// Says which flags the strategies do not heed.
    pub(super) fn warn(&self, settings: &[Settings], err: &mut dyn Write) {
        let by_default = Config {
            mode: self.mode(),
            ..Config::default()
        };
        let heeds =
            |settings: &Settings| matches!(settings, Settings::Avg(_) | Settings::Global(_));
        // If nobody listens there, the plan is the same.
        if self.of_pairs() != by_default && !settings.iter().any(heeds) {
            let _ = writeln!(
                err,
                "warning: thresholds, hits, shares and weights are of the avg and the global \
                 strategy; use --set"
            );
        }
        for settings in settings
            .iter()
            .filter(|settings| settings.mode() != self.mode())
        {
            let (strategy, mode) = (settings.strategy(), settings.mode());
            let _ = writeln!(err, "warning: {strategy} decides in mode {mode} only");
        }
    }
}

/// The same settings but for one, which is found by its key.
fn set(settings: &Settings, key: &str, text: &str) -> Result<Settings, Error> {
    let refuse = |reason| Error::NoSetting {
        key: key.to_owned(),
        value: text.to_owned(),
        strategy: settings.strategy(),
        reason,
    };
    if key == "strategy" {
        return Err(refuse(NO_SUCH_SETTING.to_owned()));
    }
    change(settings, key, text).map_err(refuse)
}

/// The same value but for one part, which is found by its key; or why that cannot be.
fn change<T: Serialize + DeserializeOwned>(of: &T, key: &str, text: &str) -> Result<T, String> {
    let mut all = serde_json::to_value(of).map_err(|error| error.to_string())?;
    let found = key
        .split('.')
        .try_fold(&mut all, |value, part| value.get_mut(part));
    let Some(found) = found.filter(|value| !value.is_object()) else {
        return Err(NO_SUCH_SETTING.to_owned());
    };
    *found = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    serde_json::from_value(all).map_err(|error| error.to_string())
}

impl Splitting {
    /// When a bundle is split by these flags.
    pub(super) fn config(&self) -> Result<split::Config, Error> {
        let config = split::Config::default();
        let mut changes = self.set_split.iter();
        changes.try_fold(config, |config, (key, text)| {
            change(&config, key, text).map_err(|reason| Error::NoSplitSetting {
                key: key.clone(),
                value: text.clone(),
                reason,
            })
        })
    }
}

impl Constraining {
    pub(super) fn constraints(&self) -> Result<Constraints, Error> {
        let mut constraints = match &self.constraints {
            None => Constraints::default(),
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|source| Error::Unreadable {
                    path: path.clone(),
                    source,
                })?;
                toml::from_str(&text).map_err(|error| Error::NoConstraints {
                    path: path.clone(),
                    reason: error.message().to_owned(),
                })?
            }
        };
        constraints.drained.extend(self.drain.iter().cloned());
        constraints.pinned.extend(self.pin.iter().cloned());
        let namespaces = self.exclude_namespace.iter().cloned();
        constraints.excluded_namespaces.extend(namespaces);
        Ok(constraints)
    }

    /// Says which of the names given are in no report: they may be mistyped.
    pub(super) fn warn(&self, load: &ClusterLoad, err: &mut dyn Write) {
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
