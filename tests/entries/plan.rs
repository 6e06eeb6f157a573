//! Any load of any cluster into the planner: numbers that make no sense stop bundles, not it.

use super::bytes::Bytes;
use deedbook::ids::{BrokerId, BundleId, Cuts, KeyRange, Namespace};
use deedbook::planner::avg::{AvgShedder, Config, Mode};
use deedbook::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, Constraints, Plan, Resource, Shedder, Traffic,
};
use std::collections::BTreeSet;

const BROKERS: [&str; 5] = ["a", "b", "c", "d", "e"];
const PARTS: u32 = 16;
const ROUNDS_MAX: usize = 12;

/// Numbers that reports should not hold, and some.
const NUMBERS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    50.0,
    100.0,
    1e5,
    1e8,
    1e18,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    -1.0,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// The bytes as some rounds of a cluster's load. Two shedders that see the same must plan the same.
pub(crate) fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mode = bytes.pick(&[Mode::Safe, Mode::Reference]);
    let config = Config {
        mode,
        low_hits: u32::from(bytes.byte()) % 4,
        high_hits: u32::from(bytes.byte()) % 3,
        ..Config::default()
    };
    let mut shedder = AvgShedder::new(config).expect("the configuration is sound");
    let mut same = shedder.clone();
    let bundles = bundles();
    let constraints = constraints(&mut bytes, &bundles);
    let mut load = load(&mut bytes, &bundles);
    for _ in 0..ROUNDS_MAX {
        let plan = shedder.plan(&load, &constraints);
        check_plan(&plan, &load, &constraints, mode);
        let again = same.plan(&load, &constraints);
        // Numbers that are none are not equal to themselves, but look the same.
        assert_eq!(format!("{plan:?}"), format!("{again:?}"), "two plans");
        if bytes.is_empty() {
            break;
        }
        if bytes.below(2) == 0 {
            carry_out(&plan, &mut load);
        }
        for _ in 0..bytes.below(4) {
            let name = broker(bytes.pick(&BROKERS));
            change(&mut bytes, load.brokers.entry(name).or_default());
        }
    }
}

fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).expect("a short name is a name")
}

fn bundles() -> Vec<BundleId> {
    let cuts = Cuts::even(KeyRange::FULL, PARTS).expect("the key space has so many parts");
    let name = |index| ["t/m", "t/n", "pulsar/system"][index % 3];
    let namespace = |index| Namespace::new(name(index)).expect("it is a namespace");
    let parts = cuts.parts(KeyRange::FULL).enumerate();
    parts
        .map(|(index, range)| BundleId::new(namespace(index), range))
        .collect()
}

fn constraints(bytes: &mut Bytes<'_>, bundles: &[BundleId]) -> Constraints {
    let drained = bytes.byte();
    let is_drained = |index: &usize| drained & 1 << index != 0 && drained & 0x80 != 0;
    let pinned = usize::from(bytes.byte());
    Constraints {
        drained: (0..BROKERS.len())
            .filter(is_drained)
            .map(|index| broker(BROKERS[index]))
            .collect(),
        pinned: bundles.get(pinned).into_iter().cloned().collect(),
        ..Constraints::default()
    }
}

fn load(bytes: &mut Bytes<'_>, bundles: &[BundleId]) -> ClusterLoad {
    let mut load = ClusterLoad::default();
    for name in BROKERS.iter().take(1 + bytes.below(BROKERS.len())) {
        change(bytes, load.brokers.entry(broker(name)).or_default());
    }
    let names: Vec<_> = load.brokers.keys().cloned().collect();
    for bundle in bundles {
        let owner = &names[bytes.below(names.len())];
        let stats = (bytes.below(8) != 0).then(|| BundleLoad {
            short_term: traffic(bytes),
            ..BundleLoad::default()
        });
        if let Some(owner) = load.brokers.get_mut(owner) {
            owner.bundles.insert(bundle.clone(), stats);
        }
        if bytes.below(16) == 1 {
            load.recently_moved.insert(bundle.clone());
        }
    }
    load
}

fn change(bytes: &mut Bytes<'_>, broker: &mut BrokerLoad) {
    broker.cpu = resource(bytes);
    broker.direct_memory = resource(bytes);
    broker.bandwidth_in = resource(bytes);
    broker.traffic = traffic(bytes);
}

/// Mostly a percentage, else any two numbers, or nothing.
fn resource(bytes: &mut Bytes<'_>) -> Option<Resource> {
    match bytes.below(4) {
        0 => None,
        1 => Some(Resource::new(number(bytes), number(bytes))),
        _ => Some(Resource::new(f64::from(bytes.byte()), 100.0)),
    }
}

fn traffic(bytes: &mut Bytes<'_>) -> Traffic {
    Traffic {
        message_rate_in: number(bytes),
        message_rate_out: number(bytes),
        throughput_in: number(bytes),
        throughput_out: number(bytes),
    }
}

fn number(bytes: &mut Bytes<'_>) -> f64 {
    match bytes.below(4) {
        0 => bytes.pick(&NUMBERS),
        1 => f64::from_bits(bytes.number()),
        _ => 1000.0 * f64::from(bytes.byte()),
    }
}

/// What every strategy promises.
fn check_plan(plan: &Plan, load: &ClusterLoad, constraints: &Constraints, mode: Mode) {
    let mut moved = BTreeSet::new();
    for step in &plan.moves {
        let what = step.to_string();
        assert!(moved.insert(&step.bundle), "twice: {what}");
        assert_ne!(step.from, step.to, "{what}");
        let owner = load
            .brokers
            .get(&step.from)
            .expect("it moves from a broker");
        assert!(
            owner.bundles.contains_key(&step.bundle),
            "not its own: {what}"
        );
        assert!(load.brokers.contains_key(&step.to), "nobody: {what}");
        assert!(!constraints.drained.contains(&step.to), "drained: {what}");
        assert_eq!(constraints.keep(&step.bundle), None, "{what}");
        assert!(!load.recently_moved.contains(&step.bundle), "{what}");
        if mode == Mode::Safe {
            assert!(step.load.is_sound(), "{what}");
            assert!(step.from_score_after.is_finite() && step.to_score_after.is_finite());
        }
    }
    assert!(plan.brokers.keys().eq(load.brokers.keys()), "no verdict");
    for (id, verdict) in &plan.brokers {
        let sheds = plan.moves.iter().any(|step| step.from == *id);
        assert_eq!(verdict.stopped.is_none(), sheds, "{id}: {verdict:?}");
        for (bundle, kept) in &verdict.kept {
            assert!(!moved.contains(bundle), "{bundle} stays and moves");
            assert!(!kept.to_string().is_empty());
        }
    }
    for pair in &plan.pairs {
        assert!(pair.difference >= 0.0, "{pair:?}");
    }
}

fn carry_out(plan: &Plan, load: &mut ClusterLoad) {
    for step in &plan.moves {
        let from = load.brokers.get_mut(&step.from);
        let stats = from.and_then(|broker| broker.bundles.remove(&step.bundle));
        if let (Some(stats), Some(to)) = (stats, load.brokers.get_mut(&step.to)) {
            to.bundles.insert(step.bundle.clone(), stats);
        }
    }
}
