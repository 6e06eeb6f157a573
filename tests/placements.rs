//! Goal: placements by load decide as documented, the reference with what single precision makes of
//! it. Method: the documented clusters, and what operators complained of, each by its name.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

use deedbook::ids::{BrokerId, BundleId, KeyRange, Namespace};
use deedbook::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, InTurn, LeastLoaded, LeastLongTermMessageRate,
    LeastReportedUsage, LeastResourceUsage, Mode, Placement, PlacementKind, Resource, RoundRobin,
    Shared, Smoothed, Traffic, UsageConfig, Weights,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

fn broker(index: usize) -> BrokerId {
    BrokerId::new(format!("b{index}")).unwrap()
}

fn bundle(index: u32) -> BundleId {
    let namespace = Namespace::new("t/n").unwrap();
    BundleId::new(namespace, KeyRange::new(index, index + 1).unwrap())
}

fn messages(rate: f64) -> Traffic {
    Traffic {
        message_rate_in: rate,
        ..Traffic::default()
    }
}

/// A broker at some percent of its processor, with one bundle.
fn busy(percent: f64, index: usize) -> BrokerLoad {
    let own = bundle(u32::try_from(1000 + index).unwrap());
    BrokerLoad {
        cpu: Some(Resource::new(percent, 100.0)),
        traffic: messages(100.0),
        bundles: BTreeMap::from([(own, Some(BundleLoad::default()))]),
        ..BrokerLoad::default()
    }
}

fn cluster(percents: &[f64]) -> (ClusterLoad, Vec<BrokerId>) {
    let mut load = ClusterLoad::default();
    for (index, percent) in percents.iter().enumerate() {
        load.brokers.insert(broker(index), busy(*percent, index));
    }
    let brokers = load.brokers.keys().cloned().collect();
    (load, brokers)
}

fn config(difference_points: f64) -> UsageConfig {
    UsageConfig {
        difference_points,
        ..UsageConfig::default()
    }
}

/// The pool in exact arithmetic, and that of the reference.
fn pools(percents: &[f64], difference: f64) -> [Vec<BrokerId>; 2] {
    let (load, brokers) = cluster(percents);
    let mut safe = LeastLoaded::by_usage(config(difference)).unwrap();
    let mut reference = LeastResourceUsage::new(1, config(difference)).unwrap();
    safe.observe(&load);
    reference.observe(&load);
    let least = safe.pool(&brokers);
    assert!(least.contains(&safe.place(&bundle(0), &brokers).unwrap()));
    [least, reference.best(&brokers)]
}

#[test]
fn pool_of_10_30_80_at_10_is_two_and_one_in_single_precision() {
    let [exact, reference] = pools(&[10.0, 30.0, 80.0], 10.0);
    assert_eq!(exact, [broker(0), broker(1)]);
    assert_eq!(reference, [broker(0)]);
}

#[test]
fn pool_of_40_40_40_40_69_70_at_10_is_none_so_all() {
    let [exact, reference] = pools(&[40.0, 40.0, 40.0, 40.0, 69.0, 70.0], 10.0);
    assert_eq!(exact.len(), 6);
    assert_eq!(reference.len(), 6);
}

#[test]
fn pool_of_10_60_70_80_80_at_0_is_two_and_one_in_single_precision() {
    let [exact, reference] = pools(&[10.0, 60.0, 70.0, 80.0, 80.0], 0.0);
    assert_eq!(exact, [broker(0), broker(1)]);
    assert_eq!(reference, [broker(0)]);
}

/// 100 and 110 messages a second, and two bundles of 20 given to the first and not yet reported:
/// 140 against 110. Without them the first is the least.
#[test]
fn predicted_load_counts_preallocated_bundles() {
    for given in [true, false] {
        let (mut load, brokers) = cluster(&[10.0, 10.0]);
        for (id, rate) in brokers.iter().zip([100.0, 110.0]) {
            load.brokers.get_mut(id).unwrap().long_term = Some(messages(rate));
        }
        if given {
            let first = load.brokers.get_mut(&brokers[0]).unwrap();
            first.preallocated = [(bundle(1), messages(20.0)), (bundle(2), messages(20.0))].into();
        }
        let expected = broker(usize::from(given));
        let mut reference = LeastLongTermMessageRate::new(1);
        reference.observe(&load);
        assert_eq!(reference.best(&brokers), std::slice::from_ref(&expected));
        for mode in [Mode::Safe, Mode::Reference] {
            let kind = PlacementKind::LeastLongTermMessageRate;
            let mut placement = kind.build(mode, 1).unwrap();
            placement.observe(&load);
            assert_eq!(
                placement.place(&bundle(0), &brokers),
                Some(expected.clone())
            );
        }
    }
}

/// Bug report A22: the history holds all brokers, the answer is a candidate all the same.
#[test]
fn a22_who_is_no_candidate_is_never_chosen() {
    let (load, brokers) = cluster(&[10.0, 50.0, 60.0]);
    for kind in PlacementKind::ALL {
        for (mode, seed) in [Mode::Safe, Mode::Reference]
            .map(|mode| (0..20).map(move |s| (mode, s)))
            .into_iter()
            .flatten()
        {
            let mut placement = kind.build(mode, seed).unwrap();
            placement.observe(&load);
            placement.place(&bundle(0), &brokers);
            for index in 0..5 {
                let placed = placement.place(&bundle(index), &brokers[1..]).unwrap();
                assert!(
                    brokers[1..].contains(&placed),
                    "{kind} {mode:?} seed {seed}"
                );
            }
        }
    }
    // 55 on average, and nobody is 10 below.
    let mut placement = LeastResourceUsage::new(1, config(10.0)).unwrap();
    placement.observe(&load);
    placement.best(&brokers);
    assert_eq!(placement.best(&brokers[1..]), brokers[1..]);
}

/// Bug report A23: who restarts has no history, and who has left leaves none.
#[test]
fn a23_a_restarted_broker_scores_what_it_reports() {
    let (hot, brokers) = cluster(&[50.0, 60.0, 90.0]);
    let (mut cold, _) = cluster(&[50.0, 60.0, 5.0]);
    cold.brokers.get_mut(&brokers[2]).unwrap().bundles.clear();
    let mut reference = LeastResourceUsage::new(1, config(10.0)).unwrap();
    let mut safe = LeastLoaded::by_usage(config(10.0)).unwrap();
    for load in [&hot, &cold] {
        reference.observe(load);
        reference.best(&brokers);
        safe.observe(load);
    }
    let at_once = f64::from(5.0f32 / 100.0 * 100.0) / 100.0;
    assert!((reference.usage()[&brokers[2]] - at_once).abs() < 1e-6);
    assert_eq!(safe.place(&bundle(0), &brokers), Some(broker(2)));

    // The one at 90 leaves, and is back at 5 with bundles.
    let (without, _) = cluster(&[50.0, 60.0]);
    let (back, _) = cluster(&[50.0, 60.0, 5.0]);
    let mut reference = LeastResourceUsage::new(1, config(10.0)).unwrap();
    let mut safe = LeastLoaded::by_usage(config(10.0)).unwrap();
    for load in [&hot, &without, &back] {
        reference.observe(load);
        reference.best(&brokers);
        safe.observe(load);
    }
    assert!((reference.usage()[&brokers[2]] - 0.05).abs() < 1e-6);
    assert_eq!(safe.place(&bundle(0), &brokers), Some(broker(2)));
}

/// Bug report A24: a broker at its limit makes no infinite score that decides.
#[test]
fn a24_at_the_limit_the_rate_alone_decides() {
    let (mut load, brokers) = cluster(&[85.0, 10.0]);
    for id in &brokers {
        load.brokers.get_mut(id).unwrap().long_term = Some(messages(100.0));
    }
    let mut safe = LeastLoaded::by_messages(85.0, Weights::default());
    safe.observe(&load);
    assert_eq!(safe.place(&bundle(0), &brokers), Some(broker(0)));
    let mut reference = LeastLongTermMessageRate::new(1);
    reference.observe(&load);
    assert!(brokers.iter().all(|id| reference.expected(id) == 100.0));
}

/// Bug report A28: what was placed counts until a report shows it, once, or until its broker goes.
#[test]
fn a28_what_is_placed_counts_once_and_leaves_with_its_broker() {
    let (mut load, brokers) = cluster(&[10.0]);
    load.brokers.get_mut(&brokers[0]).unwrap().long_term = Some(messages(50.0));
    let mut placement = LeastLongTermMessageRate::new(1);
    placement.observe(&load);
    placement.place(&bundle(0), &brokers);
    // Nobody knows the bundle: it counts as 100 messages a second.
    assert!((placement.expected(&brokers[0]) - 150.0).abs() < 1e-9);
    let own = load.brokers.get_mut(&brokers[0]).unwrap();
    own.bundles.insert(bundle(0), None);
    own.long_term = Some(messages(150.0));
    placement.observe(&load);
    assert!((placement.expected(&brokers[0]) - 150.0).abs() < 1e-9);
    placement.place(&bundle(1), &brokers);
    placement.observe(&ClusterLoad::default());
    assert!(placement.expected(&brokers[0]).abs() < 1e-9);
}

/// Loads 80, 10, 10 and no report between: the two that bear little get the same number.
#[test]
fn between_reports_the_least_loaded_take_turns() {
    let (load, brokers) = cluster(&[80.0, 10.0, 10.0]);
    let mut safe = LeastLoaded::by_usage(config(10.0)).unwrap();
    safe.observe(&load);
    let places: Vec<_> = (0..4)
        .map(|i| safe.place(&bundle(i), &brokers).unwrap())
        .collect();
    let [one, two] = [broker(1), broker(2)];
    assert_eq!(places, [one.clone(), two.clone(), one, two]);
}

#[test]
fn who_smooths_and_reports_is_placed_by_that_and_the_silent_come_last() {
    let (mut load, brokers) = cluster(&[90.0, 10.0, 1.0]);
    for (id, usage) in brokers.iter().zip([0.1, 0.5]) {
        let smoothed = Smoothed {
            usage,
            ..Smoothed::default()
        };
        load.brokers.get_mut(id).unwrap().smoothed = Some(smoothed);
    }
    let mut safe = LeastLoaded::by_reported_usage(config(10.0)).unwrap();
    let mut reference = LeastReportedUsage::new(1, config(10.0)).unwrap();
    safe.observe(&load);
    reference.observe(&load);
    assert_eq!(safe.place(&bundle(0), &brokers), Some(broker(0)));
    assert_eq!(reference.best(&brokers), [broker(0)]);
    assert_eq!(safe.place(&bundle(0), &brokers[2..]), Some(broker(2)));
}

#[test]
fn turns_go_by_name_and_notice_at_once_who_came() {
    let all: Vec<_> = (1..5).map(broker).collect();
    let mut turns = InTurn::new();
    let mut next = |of: &[BrokerId]| turns.place(&bundle(0), of);
    assert_eq!(next(&all[..2]), Some(broker(1)));
    assert_eq!(next(&all[..2]), Some(broker(2)));
    assert_eq!(next(&all[2..]), Some(broker(3)));
    assert_eq!(next(&[]), None);
    assert_eq!(next(&all), Some(broker(4)));
    assert_eq!(next(&all), Some(broker(1)));
}

#[test]
fn a_shared_placement_is_fed_through_one_copy_and_asked_through_the_other() {
    let (load, brokers) = cluster(&[90.0, 10.0]);
    let usage = LeastLoaded::by_usage(UsageConfig::default()).unwrap();
    let mut feeding = Shared::new(Box::new(usage));
    let mut asked = feeding.clone();
    feeding.observe(&load);
    assert_eq!(asked.place(&bundle(0), &brokers), Some(broker(1)));
}

/// The row of a scenario of Apache Pulsar's own tests.
fn row(id: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/peer");
    let text = std::fs::read_to_string(folder.join("placement.json")).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    rows.into_iter().find(|row| row["id"] == id).unwrap()
}

fn named(value: &Value) -> Vec<BrokerId> {
    let names = value.as_array().unwrap().iter();
    let mut brokers: Vec<_> = names
        .map(|name| BrokerId::new(name.as_str().unwrap()).unwrap())
        .collect();
    brokers.sort();
    brokers
}

fn peer_config(row: &Value) -> UsageConfig {
    let config = &row["setup"]["config"];
    let weight = |name: &str| config[name].as_f64().unwrap();
    UsageConfig {
        difference_points: weight("difference_threshold_percent"),
        history_ratio: weight("history_percent"),
        weights: Weights {
            cpu: weight("cpu"),
            direct_memory: weight("direct_memory"),
            bandwidth_in: weight("bandwidth_in"),
            bandwidth_out: weight("bandwidth_out"),
        },
    }
}

/// Brokers by name, each with a load.
fn percents(of: &Value) -> BTreeMap<BrokerId, f64> {
    let loads = of.as_object().unwrap().iter();
    loads
        .map(|(name, load)| (BrokerId::new(name).unwrap(), load.as_f64().unwrap()))
        .collect()
}

/// What brokers say that smooth their own loads, as ratios.
fn smoothed(loads: &BTreeMap<BrokerId, f64>) -> ClusterLoad {
    let mut load = ClusterLoad::default();
    for (id, usage) in loads {
        let smoothed = Smoothed {
            usage: *usage,
            ..Smoothed::default()
        };
        let of = BrokerLoad {
            smoothed: Some(smoothed),
            ..BrokerLoad::default()
        };
        load.brokers.insert(id.clone(), of);
    }
    load
}

/// Each selection leaves one good broker: any seed takes it.
fn selected(row: &Value, round: usize) -> BrokerId {
    BrokerId::new(row["expected"]["selected"][round].as_str().unwrap()).unwrap()
}

#[test]
fn pl_01_by_the_load_that_brokers_smooth() {
    let row = row("PL-01");
    let candidates = named(&row["setup"]["candidates"]);
    let mut placement = LeastReportedUsage::new(1, peer_config(&row)).unwrap();
    let rounds = row["expected"]["smoothed_percent"].as_array().unwrap();
    for (round, percents) in rounds.iter().enumerate() {
        let ratios = percents.as_array().unwrap().iter();
        let ratios = ratios.map(|percent| percent.as_f64().unwrap() / 100.0);
        let loads = candidates.iter().cloned().zip(ratios).collect();
        placement.observe(&smoothed(&loads));
        let expected = selected(&row, round);
        assert_eq!(
            placement.best(&candidates),
            std::slice::from_ref(&expected),
            "{round}"
        );
        assert_eq!(placement.place(&bundle(0), &candidates), Some(expected));
    }
}

#[test]
fn pl_02_who_is_no_candidate_does_not_count() {
    let row = row("PL-02");
    let candidates = named(&row["setup"]["candidates"]);
    let mut placement = LeastReportedUsage::new(1, peer_config(&row)).unwrap();
    placement.observe(&smoothed(&percents(&row["setup"]["weighted_max_ema"])));
    assert_eq!(placement.best(&candidates), [selected(&row, 0)]);
}

#[test]
fn pl_04_by_the_load_that_is_smoothed_here() {
    let row = row("PL-04");
    let candidates = named(&row["setup"]["candidates"]);
    let mut placement = LeastResourceUsage::new(1, peer_config(&row)).unwrap();
    let show = |percents: &BTreeMap<BrokerId, f64>, empty: bool| {
        let mut load = ClusterLoad::default();
        for (index, (id, percent)) in percents.iter().enumerate() {
            let mut of = busy(*percent, index);
            if empty && id.as_str() == "3" {
                of.bundles.clear();
            }
            load.brokers.insert(id.clone(), of);
        }
        load
    };
    let primed = percents(&row["setup"]["prime_with"]);
    placement.observe(&show(&primed, false));
    placement.best(&primed.into_keys().collect::<Vec<_>>());
    let steps = row["setup"]["steps"].as_array().unwrap();
    for (round, step) in steps.iter().enumerate() {
        placement.observe(&show(&percents(step), round == steps.len() - 1));
        assert_eq!(
            placement.best(&candidates),
            [selected(&row, round)],
            "{round}"
        );
    }
}

#[test]
fn pl_05_a_candidate_without_history_is_no_error() {
    let row = row("PL-05");
    let loads = percents(&row["setup"]["loads"]);
    let mut load = ClusterLoad::default();
    for (index, (id, percent)) in loads.iter().enumerate() {
        load.brokers.insert(id.clone(), busy(*percent, index));
    }
    let mut placement = LeastResourceUsage::new(1, peer_config(&row)).unwrap();
    placement.observe(&load);
    placement.best(&named(&serde_json::json!(["1", "2", "4"])));
    let candidates = named(&row["setup"]["candidates"]);
    assert_eq!(placement.best(&candidates), [selected(&row, 0)]);
}

#[test]
fn pl_07_and_pl_08_turns_go_on_whatever_the_order_and_end_at_31_bits() {
    for id in ["PL-07", "PL-08"] {
        let row = row(id);
        let turns = row["setup"].get("counter").and_then(Value::as_u64);
        let mut placement = RoundRobin::after(turns.unwrap_or(0).try_into().unwrap());
        for (round, call) in row["setup"]["calls"].as_array().unwrap().iter().enumerate() {
            let placed = placement.place(&bundle(0), &named(call));
            let expected = row["expected"]["selected"][round].as_str();
            assert_eq!(
                placed.as_ref().map(BrokerId::as_str),
                expected,
                "{id} {round}"
            );
        }
        if let Some(after) = row["expected"].get("counter_after") {
            assert_eq!(*after, placement.turns());
        }
    }
}
