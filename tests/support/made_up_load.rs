//! Clusters, constraints and settings made up from a seed, for tests of the planner.

use deedbook::ids::{BrokerId, BundleId, KeyRange, Namespace};
use deedbook::planner::{
    Allowed, BrokerLoad, BundleLoad, ClusterLoad, Constraints, Measure, Resource, Settings,
    Strategy, Traffic, Weights, avg, global, overload, threshold, transfer, uniform,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::ops::Range;

/// So many seeds are run unless others are asked for.
const SEEDS: Range<u64> = 0..48;

/// Says which seed it was if the test stops at it.
struct Announce<'a> {
    test: &'a str,
    seed: u64,
}

impl Drop for Announce<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { test, seed } = self;
            let next = *seed + 1;
            eprintln!(
                "seed {seed}; again: DEEDBOOK_SEEDS={seed}..{next} cargo test --test {} {test}",
                env!("CARGO_CRATE_NAME")
            );
        }
    }
}

/// Runs a test once for each seed.
pub(crate) fn for_each_seed(test: &str, run: impl Fn(&mut ChaCha8Rng)) {
    let chosen = std::env::var("DEEDBOOK_SEEDS").ok();
    let chosen = chosen.map(|text| {
        let (first, end) = text.split_once("..").expect("DEEDBOOK_SEEDS=first..end");
        first.parse().unwrap()..end.parse().unwrap()
    });
    for seed in chosen.unwrap_or(SEEDS) {
        let _announce = Announce { test, seed };
        run(&mut ChaCha8Rng::seed_from_u64(seed));
    }
}

/// A number in a range.
fn between(dice: &mut ChaCha8Rng, range: Range<f64>) -> f64 {
    let share = f64::from(dice.next_u32()) / f64::from(u32::MAX);
    range.start + share * (range.end - range.start)
}

/// What processors and memory of a cluster follow.
pub(crate) fn follows(dice: &mut ChaCha8Rng) -> Measure {
    match dice.next_u32() % 2 {
        0 => Measure::Messages,
        _ => Measure::Bytes,
    }
}

fn one_in(dice: &mut ChaCha8Rng, count: u32) -> bool {
    dice.next_u32().is_multiple_of(count)
}

/// A whole number below an end.
pub(crate) fn below(dice: &mut ChaCha8Rng, end: usize) -> usize {
    dice.next_u32() as usize % end
}

/// Brokers of three sizes with bundles of up to five namespaces. Their usage is nothing yet: it is
/// to follow the bundles.
pub(crate) fn cluster(dice: &mut ChaCha8Rng, brokers: Range<usize>) -> ClusterLoad {
    let mut load = ClusterLoad::default();
    let count = brokers.start + below(dice, brokers.len());
    // Bytes follow messages in some clusters, and have nothing to do with them in others.
    let related = one_in(dice, 2);
    let mut next = 0;
    for index in 0..count {
        let capacity = [50.0, 100.0, 400.0][below(dice, 3)];
        let resource = Some(Resource::new(0.0, capacity));
        let mut broker = BrokerLoad {
            cpu: resource,
            bandwidth_in: resource,
            bandwidth_out: resource,
            ..BrokerLoad::default()
        };
        for _ in 0..1 + below(dice, 12) {
            let rate = between(dice, 1.0..8000.0);
            let bytes = if related {
                rate * 1000.0
            } else {
                between(dice, 1.0..8e6)
            };
            let namespace = Namespace::new(format!("t/n{}", below(dice, 5))).unwrap();
            let range = KeyRange::new(next, next + 1).unwrap();
            next += 1;
            let bundle = BundleLoad {
                short_term: Traffic {
                    message_rate_in: rate / 2.0,
                    message_rate_out: rate / 2.0,
                    throughput_in: bytes / 4.0,
                    throughput_out: bytes * 3.0 / 4.0,
                },
                topics: below(dice, 20) as u64,
                ..BundleLoad::default()
            };
            let id = BundleId::new(namespace, range);
            broker.bundles.insert(id, Some(bundle));
        }
        let name = BrokerId::new(format!("b{}", 100 + index)).unwrap();
        load.brokers.insert(name, broker);
    }
    load
}

/// Constraints of every kind, about a third of them at a time.
pub(crate) fn constraints(dice: &mut ChaCha8Rng, load: &ClusterLoad) -> Constraints {
    let mut constraints = Constraints::default();
    let brokers: Vec<_> = load.brokers.keys().cloned().collect();
    let some = |dice: &mut ChaCha8Rng, one_of: u32| {
        let some = brokers.iter().filter(|_| one_in(dice, one_of));
        some.cloned().collect::<Vec<_>>()
    };
    let namespace = |index: usize| Namespace::new(format!("t/n{index}")).unwrap();
    if one_in(dice, 3) {
        constraints.drained.extend(some(dice, 4));
    }
    if one_in(dice, 3) {
        let bundles = load.brokers.values().flat_map(|of| of.bundles.keys());
        let pinned = bundles.filter(|_| one_in(dice, 4)).cloned();
        constraints.pinned.extend(pinned);
    }
    if one_in(dice, 3) {
        constraints.excluded_namespaces.insert(namespace(0));
    }
    if one_in(dice, 3) {
        for index in 1..3 {
            let allowed = Allowed {
                primary: some(dice, 3).into_iter().collect(),
                secondary: some(dice, 3).into_iter().collect(),
                primaries_min: below(dice, 4),
            };
            constraints.allowed.insert(namespace(index), allowed);
        }
    }
    if one_in(dice, 3) {
        let group = (0..2 + below(dice, 4)).map(namespace).collect();
        constraints.anti_affinity.insert("g".to_owned(), group);
    }
    if one_in(dice, 3) {
        constraints.topics_max = Some(20 + below(dice, 150) as u64);
    }
    if one_in(dice, 3) {
        for broker in &brokers {
            if !one_in(dice, 4) {
                let version = format!("3.0.{}", below(dice, 3)).parse().unwrap();
                constraints.versions.insert(broker.clone(), version);
            }
        }
    }
    constraints
}

/// Settings with which a strategy acts at once, or nearly so, and minds no trifle.
pub(crate) fn eager(strategy: Strategy, dice: &mut ChaCha8Rng) -> Settings {
    let pairs = avg::Config {
        low_hits: 1,
        high_hits: 1,
        unload_ratio_max: between(dice, 0.3..1.0),
        message_rate_min: 0.0,
        throughput_min: 0.0,
        ..avg::Config::default()
    };
    match strategy {
        Strategy::Threshold => Settings::Threshold(threshold::Config {
            threshold_points: between(dice, 0.0..20.0),
            history_ratio: between(dice, 0.0..0.8),
            throughput_min: 0.0,
            lower_boundary: one_in(dice, 2),
            weights: Weights::default(),
            ..threshold::Config::default()
        }),
        Strategy::Overload => Settings::Overload(overload::Config {
            limit_points: between(dice, 20.0..100.0),
            ..overload::Config::default()
        }),
        Strategy::Uniform => Settings::Uniform(uniform::Config {
            messages_percent: between(dice, 1.0..60.0),
            bytes_factor: between(dice, 1.0..5.0),
            unload_ratio_max: between(dice, 0.1..1.0),
            message_rate_min: 0.0,
            throughput_min: 0.0,
            bundles_max: one_in(dice, 2).then(|| below(dice, 5)),
            ..uniform::Config::default()
        }),
        Strategy::Transfer => Settings::Transfer(transfer::Config {
            deviation_target: between(dice, 0.0..0.3),
            rounds_exceeded: 0,
            brokers_max: 1 + below(dice, 10),
            ..transfer::Config::default()
        }),
        Strategy::Global => Settings::Global(global::Config {
            moves_max: 1 + below(dice, 50),
            avg: pairs,
            ..global::Config::default()
        }),
        _ => Settings::Avg(pairs),
    }
}
