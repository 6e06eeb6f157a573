//! Scenario files: a cluster to try a shedder on, in TOML.

use crate::Error;
use crate::load::read_folder;
use deedbook::ids::{BrokerId, BundleId, Cuts, KeyRange, Namespace};
use deedbook::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, Constraints, Mode, PlacementKind, Resource, Settings,
    Strategy, Traffic, split,
};
use deedbook::reports::{Note, merge};
use deedbook::sim::scenario::{Event, Rounds, Scenario};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest scenario file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A scenario and what goes with it.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// What it shows, in a line.
    pub(crate) about: String,
    pub(crate) scenario: Scenario,
    pub(crate) shedder: Settings,
    /// What was left out of load reports.
    pub(crate) notes: Vec<Note>,
}

/// A scenario file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    about: String,
    #[serde(default = "one")]
    seed: u64,
    /// A folder of load reports, relative to this file.
    reports: Option<PathBuf>,
    #[serde(default)]
    brokers: Vec<Broker>,
    #[serde(default)]
    namespaces: Vec<Described>,
    #[serde(default)]
    shedder: toml::Table,
    #[serde(default)]
    constraints: Constraints,
    #[serde(default)]
    rounds: RoundsForm,
    #[serde(default)]
    balance: BalanceForm,
    /// Who chooses destinations that the strategy leaves open, in its mode.
    placement: Option<PlacementKind>,
    /// When bundles are split, and where.
    splits: Option<split::Config>,
    #[serde(default)]
    events: Vec<Event>,
}

/// A broker that is described.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Broker {
    name: BrokerId,
    /// How much it can do: the limit of its processor.
    cores: u32,
}

/// A namespace that is described: bundles of even load, dealt out to the brokers in turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: Namespace,
    bundles: u32,
    /// Of all its bundles together.
    #[serde(default)]
    topics: u64,
    /// In and out together, of all its bundles.
    messages_per_second: f64,
    bytes_per_message: f64,
    /// How many messages a second use up one core.
    messages_per_core: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RoundsForm {
    /// From one round to the next, such as "60s".
    interval: String,
    max: u32,
    quiet: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BalanceForm {
    moves_per_round_max: Option<usize>,
    moves_at_once_max: Option<usize>,
    /// How long a bundle that moved is left alone, such as "30min".
    cool_down: Option<String>,
}

impl Default for RoundsForm {
    fn default() -> Self {
        let Rounds {
            interval,
            max,
            quiet,
        } = Rounds::default();
        Self {
            interval: humantime::format_duration(interval).to_string(),
            max,
            quiet,
        }
    }
}

const fn one() -> u64 {
    1
}

/// Reads a scenario file and the load reports that it names.
pub(crate) fn read(path: &Path) -> Result<Loaded, Error> {
    let unreadable = |source| Error::Unreadable {
        path: path.to_owned(),
        source,
    };
    let bytes = fs::metadata(path).map_err(unreadable)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            bytes_max: FILE_BYTES_MAX,
        });
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let no_scenario = |reason| Error::NoScenario {
        path: path.to_owned(),
        reason,
    };
    let file: File = toml::from_str(&text).map_err(|error| no_scenario(one_line(&error)))?;
    let shedder = settings(file.shedder.clone()).map_err(no_scenario)?;
    if is_open(&shedder) && file.placement.is_none() {
        let strategy = shedder.strategy();
        return Err(no_scenario(format!(
            "the {strategy} strategy {NOBODY_CHOOSES}"
        )));
    }
    let (load, notes) = match &file.reports {
        Some(_) if !file.brokers.is_empty() || !file.namespaces.is_empty() => {
            let reason = "it names both load reports and brokers or namespaces of its own";
            return Err(no_scenario(reason.to_owned()));
        }
        Some(folder) => {
            let folder = path.parent().unwrap_or(Path::new("")).join(folder);
            let cluster = merge(read_folder(&folder)?, None)?;
            (ClusterLoad::from(&cluster), cluster.notes)
        }
        None => (describe(&file).map_err(no_scenario)?, Vec::new()),
    };
    let mut scenario = Scenario::new(load);
    scenario.seed = file.seed;
    scenario.constraints = file.constraints;
    scenario.events = file.events;
    scenario.splits = file.splits;
    scenario.placement = file.placement.map(|kind| (kind, shedder.mode()));
    scenario.rounds = Rounds {
        interval: duration(&file.rounds.interval).map_err(no_scenario)?,
        max: file.rounds.max,
        quiet: file.rounds.quiet,
    };
    let balance = &mut scenario.balance;
    balance.moves_per_round_max = file
        .balance
        .moves_per_round_max
        .unwrap_or(balance.moves_per_round_max);
    balance.moves_at_once_max = file
        .balance
        .moves_at_once_max
        .unwrap_or(balance.moves_at_once_max);
    if let Some(cool_down) = &file.balance.cool_down {
        balance.cool_down = duration(cool_down).map_err(no_scenario)?;
    }
    scenario
        .check()
        .map_err(|error| no_scenario(error.to_string()))?;
    Ok(Loaded {
        about: file.about,
        scenario,
        shedder,
        notes,
    })
}

/// What is wrong with a strategy that leaves destinations to placement, if there is none.
const NOBODY_CHOOSES: &str =
    "in mode reference leaves destinations open; say with placement who chooses them";

/// The strategy and its settings; without a name it is the avg strategy.
fn settings(mut table: toml::Table) -> Result<Settings, String> {
    let name = || Strategy::default().name().into();
    table.entry("strategy").or_insert_with(name);
    table.try_into().map_err(|error| one_line(&error))
}

/// Whether a strategy leaves destinations to placement.
fn is_open(settings: &Settings) -> bool {
    let open = matches!(
        settings.strategy(),
        Strategy::Threshold | Strategy::Overload | Strategy::Uniform
    );
    open && settings.mode() == Mode::Reference
}

/// The load of a cluster that is described: every bundle dealt out to the brokers in turn.
fn describe(file: &File) -> Result<ClusterLoad, String> {
    let mut brokers: BTreeMap<BrokerId, BrokerLoad> = BTreeMap::new();
    for Broker { name, cores } in &file.brokers {
        // As brokers report it: percents of one core.
        let cpu = Some(Resource::new(0.0, f64::from(*cores) * 100.0));
        let load = BrokerLoad {
            cpu,
            ..BrokerLoad::default()
        };
        if brokers.insert(name.clone(), load).is_some() {
            return Err(format!("it has the broker {name} twice"));
        }
    }
    if brokers.is_empty() {
        return Err("it names neither load reports nor brokers".to_owned());
    }
    let mut seen = BTreeSet::new();
    for namespace in &file.namespaces {
        if !seen.insert(&namespace.name) {
            return Err(format!("it has the namespace {} twice", namespace.name));
        }
        let count = brokers.len();
        for (index, bundle) in bundles(namespace)?.into_iter().enumerate() {
            if let Some(broker) = brokers.values_mut().nth(index % count) {
                bear(broker, bundle, namespace);
            }
        }
    }
    Ok(ClusterLoad {
        brokers,
        ..ClusterLoad::default()
    })
}

fn bundles(described: &Described) -> Result<Vec<BundleId>, String> {
    let whole = BundleId::new(described.name.clone(), KeyRange::FULL);
    match described.bundles {
        0 => Err(format!("the namespace {} has no bundles", described.name)),
        1 => Ok(vec![whole]),
        count => match Cuts::even(KeyRange::FULL, count) {
            Some(cuts) => Ok(whole.children(&cuts).collect()),
            None => Err(format!("{} cannot have {count} bundles", described.name)),
        },
    }
}

/// Gives a broker a bundle with its even share of the namespace's traffic.
fn bear(broker: &mut BrokerLoad, bundle: BundleId, described: &Described) {
    let messages = described.messages_per_second / f64::from(described.bundles);
    let half = messages / 2.0;
    let traffic = Traffic {
        message_rate_in: half,
        message_rate_out: half,
        throughput_in: half * described.bytes_per_message,
        throughput_out: half * described.bytes_per_message,
    };
    broker.traffic.message_rate_in += traffic.message_rate_in;
    broker.traffic.message_rate_out += traffic.message_rate_out;
    broker.traffic.throughput_in += traffic.throughput_in;
    broker.traffic.throughput_out += traffic.throughput_out;
    if let Some(cpu) = &mut broker.cpu {
        cpu.usage += messages / described.messages_per_core * 100.0;
    }
    let load = BundleLoad {
        short_term: traffic,
        topics: described.topics / u64::from(described.bundles),
        ..BundleLoad::default()
    };
    broker.bundles.insert(bundle, Some(load));
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{text:?} is no duration such as \"60s\": {error}"))
}

/// A parser's complaint without the picture of the place.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join("; ")
}
