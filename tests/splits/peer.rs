//! The scenarios of Apache Pulsar's own tests.

use super::{MIB, bundle, cluster, slice, whole_range};
use deedbook::ids::{Cuts, KeyRange, key_of};
use deedbook::planner::split::{
    Config, PartLimits, Split, SplitAlgorithm, SplitReason, SplitStrategy, Surroundings, TopicLoad,
    Whole, cut_at_positions, cut_by_topic_count, cut_by_traffic, cut_in_the_middle,
};
use deedbook::planner::{BundleLoad, ClusterLoad, Traffic};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The rows of a scenario.
fn rows(file: &str, id: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/peer");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let rows: Vec<_> = all.into_iter().filter(|row| row["id"] == id).collect();
    assert!(!rows.is_empty(), "{id}");
    rows
}

fn row(file: &str, id: &str) -> Value {
    rows(file, id).remove(0)
}

fn key(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}

fn keys(values: &Value) -> Vec<u32> {
    values.as_array().unwrap().iter().map(key).collect()
}

fn number(of: &Value, name: &str) -> f64 {
    of.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

fn count(of: &Value, name: &str) -> u64 {
    of.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// What a scenario sets, all else as by default.
fn config(of: &Value) -> Config {
    let default = Config::default();
    let has = |name: &str| of.get(name).and_then(Value::as_u64);
    let size = |value: u64| usize::try_from(value).unwrap();
    Config {
        topics_max: has("max_topics").unwrap_or(default.topics_max),
        sessions_max: has("max_sessions").unwrap_or(default.sessions_max),
        message_rate_max: number(of, "max_msg_rate"),
        bandwidth_max: has("max_bandwidth_mbytes")
            .map_or(default.bandwidth_max, |mib| mib as f64 * MIB),
        namespace_bundles_max: has("max_bundles_per_namespace")
            .map_or(default.namespace_bundles_max, size),
        splits_per_round_max: has("max_splits_per_cycle")
            .map_or(default.splits_per_round_max, size),
        hits: has("hit_count_threshold").map_or(0, |hits| hits.try_into().unwrap()),
        ..default
    }
}

fn cluster_of(setup: &Value) -> ClusterLoad {
    let mut bundles = Vec::new();
    for of in setup["bundles"].as_array().unwrap() {
        let stats = &of["stats"];
        let rates = of.get("long_term").unwrap_or(stats);
        let load = BundleLoad {
            short_term: Traffic {
                message_rate_in: number(rates, "rate_in"),
                message_rate_out: number(rates, "rate_out"),
                throughput_in: number(stats, "throughput_in"),
                throughput_out: number(stats, "throughput_out"),
            },
            topics: count(stats, "topics"),
            producers: count(stats, "producers"),
            consumers: count(stats, "consumers"),
            ..BundleLoad::default()
        };
        bundles.push((bundle(of["bundle"].as_str().unwrap()), load));
    }
    cluster(&bundles)
}

fn reason_name(reason: SplitReason) -> &'static str {
    match reason {
        SplitReason::Topics { .. } => "Topics",
        SplitReason::Sessions { .. } => "Sessions",
        SplitReason::MessageRate { .. } => "MsgRate",
        SplitReason::Bandwidth { .. } => "Bandwidth",
        _ => "new",
    }
}

fn check_split(ours: &Split, recorded: &Value) {
    assert_eq!(ours.bundle, bundle(recorded["bundle"].as_str().unwrap()));
    assert_eq!(ours.broker.as_str(), recorded["broker"].as_str().unwrap());
    assert_eq!(reason_name(ours.reason), recorded["reason"]);
    let children = recorded["children"].as_object().unwrap();
    let parts: Vec<_> = ours
        .cuts
        .parts(ours.bundle.range())
        .map(|part| part.to_string())
        .collect();
    assert_eq!(parts, children.keys().cloned().collect::<Vec<_>>());
}

/// Plays the rounds of a scenario.
fn play(id: &str) {
    let row = row("split_strategy.json", id);
    let setup = &row["setup"];
    // Who owns nothing has nothing in its load.
    let load = match setup.get("owner") {
        Some(owner) if owner == false => cluster(&[]),
        _ => cluster_of(setup),
    };
    let states = setup.get("channel_states").and_then(Value::as_object);
    let splitting = states.into_iter().flatten();
    let splitting: BTreeSet<_> = splitting.map(|(name, _)| bundle(name)).collect();
    let around = Surroundings {
        splitting,
        ..Surroundings::default()
    };
    let mut strategy = SplitStrategy::new(config(&setup["config"])).unwrap();
    for (round, expected) in row["expected"]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        let plan = strategy.plan(&load, &around);
        if let Some(count) = expected.get("split_count") {
            assert_eq!(*count, plan.splits.len(), "round {round}: {plan:?}");
            continue;
        }
        let recorded = expected["splits"].as_array().unwrap();
        assert_eq!(plan.splits.len(), recorded.len(), "round {round}: {plan:?}");
        for (ours, recorded) in plan.splits.iter().zip(recorded) {
            check_split(ours, recorded);
        }
    }
}

macro_rules! play {
    ($($name:ident $id:literal)*) => {
        $(#[test] fn $name() { play($id); })*
    };
}

play! {
    sp_01_no_more_splits_than_a_round_may_have "SP-01"
    sp_02_one_topic_cannot_be_split "SP-02"
    sp_04_nothing_is_known_nothing_is_split "SP-04"
    sp_05_who_owns_nothing_splits_nothing "SP-05"
    sp_07_neither_a_splitting_bundle_nor_one_that_overlaps_it "SP-07"
    sp_08_messages_the_wider_first "SP-08"
    sp_10_sessions_the_wider_first "SP-10"
    sp_11_bandwidth_the_wider_first "SP-11"
}

#[test]
fn sp_13_splits_of_a_round_count_against_the_namespace() {
    let row = row("split_strategy.json", "SP-13");
    let load = cluster_of(&row["setup"]);
    for max in [3, 4, 5, 9] {
        let mut config = config(&row["setup"]["config"]);
        config.namespace_bundles_max = max;
        let plan = SplitStrategy::new(config)
            .unwrap()
            .plan(&load, &Surroundings::default());
        // There are three; each can be split once.
        assert_eq!(plan.splits.len() + 3, max.min(6), "{plan:?}");
        let full = plan
            .whole
            .values()
            .filter(|whole| **whole == Whole::NamespaceFull { max });
        assert_eq!(full.count(), 3 - plan.splits.len());
    }
}

#[test]
fn sp_14_and_sp_26_the_middle_of_a_range() {
    for id in ["SP-14", "SP-26"] {
        for row in rows("split_algorithms.json", id) {
            let setup = &row["setup"];
            let range = KeyRange::new(key(&setup["lower"]), key(&setup["upper"])).unwrap();
            let expected = keys(&row["expected"]["boundaries"]);
            assert_eq!(slice(cut_in_the_middle(range)), expected, "{range}");
        }
    }
}

#[test]
fn sp_16_as_many_topics_on_both_sides() {
    let row = row("split_algorithms.json", "SP-16");
    let hashes = row["setup"]["hashes"].as_object().unwrap();
    for (topic, hash) in hashes {
        assert_eq!(key_of(topic), key(hash));
    }
    let topics: Vec<_> = hashes.values().map(key).collect();
    let cuts = cut_by_topic_count(whole_range(), &topics);
    assert_eq!(slice(cuts), keys(&row["expected"]["boundaries"]));
}

#[test]
fn sp_17_and_sp_19_given_positions_strictly_inside() {
    assert_eq!(cut_at_positions(whole_range(), 1, &[1, 2]), None);
    let row = row("split_algorithms.json", "SP-19");
    // A position below zero is no key of ours.
    let positions = row["setup"]["positions"].as_array().unwrap().iter();
    let mut positions: Vec<u32> = positions
        .filter_map(Value::as_u64)
        .map(|p| p.try_into().unwrap())
        .collect();
    positions.reverse();
    positions.push(500);
    let range = KeyRange::new(1, 1000).unwrap();
    let cuts = cut_at_positions(range, 2, &positions);
    assert_eq!(slice(cuts), keys(&row["expected"]["boundaries"]));
}

#[test]
fn sp_20_by_traffic_no_part_exceeds_a_limit() {
    let row = row("split_algorithms.json", "SP-20");
    let mut topics = Vec::new();
    for of in row["setup"]["topics_generator"].as_array().unwrap() {
        let names = match of["pattern"].as_str() {
            None => vec![of["name"].as_str().unwrap().to_owned()],
            Some(pattern) => {
                let (i, j) = (keys(&of["i"]), keys(&of["j"]));
                let all = (i[0]..=i[1]).flat_map(|i| (j[0]..=j[1]).map(move |j| (i, j)));
                let name = |(i, j): (u32, u32)| {
                    pattern
                        .replace("{i}", &i.to_string())
                        .replace("{j}", &j.to_string())
                };
                all.map(name).collect()
            }
        };
        topics.extend(names.iter().map(|name| TopicLoad {
            key: key_of(name),
            traffic: Traffic {
                message_rate_in: number(of, "rate_in"),
                message_rate_out: number(of, "rate_out"),
                throughput_in: number(of, "throughput_in"),
                throughput_out: number(of, "throughput_out"),
            },
        }));
    }
    assert_eq!(topics.len(), 241);
    let limits = PartLimits {
        messages: 1010.0,
        bytes: 100.0 * MIB,
        difference_percent: 10.0,
    };
    let cuts = cut_by_traffic(whole_range(), &topics, limits).unwrap();
    assert_eq!(cuts.as_slice(), keys(&row["derived"]["boundaries"]));
    for part in cuts.parts(whole_range()) {
        let inside = topics.iter().filter(|topic| part.contains(topic.key));
        let all: Traffic = inside.map(|topic| topic.traffic).sum();
        assert!(
            all.messages() < 1010.0 && all.bytes() < 100.0 * MIB,
            "{part}"
        );
    }
}

#[test]
fn sp_22_algorithms_by_their_names() {
    let parse = |name: &Value| serde_json::from_value::<SplitAlgorithm>(name.clone()).ok();
    for row in rows("split_algorithms.json", "SP-22") {
        let found = parse(&row["setup"]["algorithm_name"]).map(SplitAlgorithm::name);
        assert_eq!(found, row["expected"]["algorithm"].as_str(), "{row}");
    }
    for algorithm in [
        SplitAlgorithm::RangeEquallyDivide,
        SplitAlgorithm::TopicCountEquallyDivide,
        SplitAlgorithm::SpecifiedPositionsDivide,
        SplitAlgorithm::FlowOrQpsEquallyDivide,
    ] {
        assert_eq!(parse(&algorithm.name().into()), Some(algorithm));
    }
}

#[test]
fn sp_23_only_the_last_bundle_is_closed_above() {
    let row = row("split_algorithms.json", "SP-23");
    let points = keys(&row["setup"]["partition_points"]);
    let cuts = Cuts::new(points[1..points.len() - 1].to_vec()).unwrap();
    let parts: Vec<_> = cuts.parts(whole_range()).collect();
    let expected = row["expected"]["bundles"].as_array().unwrap();
    assert_eq!(parts.len(), expected.len());
    for (part, expected) in parts.iter().zip(expected) {
        assert_eq!(
            [part.lower(), part.upper()],
            [key(&expected["lower"]), key(&expected["upper"])]
        );
        assert_eq!(part.contains(part.upper()), expected["upper_closed"]);
    }
}

#[test]
fn sp_25_children_span_their_parent() {
    for row in rows("split_algorithms.json", "SP-25") {
        let (setup, parent) = (&row["setup"], whole_range());
        let parts = key(&setup["split_into"]);
        let parent = match row["case"].as_str().unwrap() {
            "first child in 4" => KeyRange::new(0, 0x4000_0000).unwrap(),
            "second child in 3" => KeyRange::new(0x4000_0000, 0x8000_0000).unwrap(),
            _ => parent,
        };
        let cuts = Cuts::even(parent, parts).unwrap();
        let children: Vec<_> = cuts.parts(parent).collect();
        let after = count(setup, "bundles_before") - 1 + children.len() as u64;
        assert_eq!(after, count(&row["expected"], "bundles_after"));
        assert_eq!(children[0].lower(), parent.lower());
        assert_eq!(children[children.len() - 1].upper(), parent.upper());
        assert!(
            children
                .windows(2)
                .all(|pair| pair[0].upper() == pair[1].lower())
        );
    }
}
