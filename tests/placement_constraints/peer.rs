//! The rows of Apache Pulsar's own tests of its filters of brokers.

use super::{bundle, named, namespace};
use crate::load::broker;
use deedbook::ids::BrokerId;
use deedbook::planner::{
    Allowed, BrokerLoad, BundleLoad, ClusterLoad, Constrained, Constraints, Mode, Placement,
    PlacementKind, Version,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn rows(id: &str) -> Vec<Value> {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../data/peer/broker_filters.json")).unwrap();
    rows.into_iter().filter(|row| row["id"] == id).collect()
}

fn strings(of: &Value) -> Vec<&str> {
    let of = of.as_array().unwrap().iter();
    of.map(|name| name.as_str().unwrap()).collect()
}

/// The candidates that a filter leaves.
fn remaining(
    constraints: &Constraints,
    load: &ClusterLoad,
    candidates: &[BrokerId],
) -> BTreeSet<BrokerId> {
    let inner = PlacementKind::Random.build(Mode::Safe, 1).unwrap();
    let mut placement = Constrained::new(inner, constraints.clone());
    placement.observe(load);
    let barred = placement.barred(&bundle("my-tenant/my-ns", 1), candidates);
    let left = candidates.iter().filter(|one| !barred.contains_key(*one));
    left.cloned().collect()
}

fn isolation(id: &str) {
    let rows = rows(id);
    assert!(!rows.is_empty());
    for row in rows {
        let setup = &row["setup"];
        let set = |field: &str| named(strings(&setup[field])).into_iter().collect();
        let allowed = Allowed {
            primary: set("primary"),
            secondary: set("secondary"),
            primaries_min: setup["min_limit"].as_u64().unwrap().try_into().unwrap(),
        };
        let constraints = Constraints {
            allowed: [(namespace("my-tenant/my-ns"), allowed)].into(),
            ..Constraints::default()
        };
        let candidates = named(strings(&setup["brokers"]));
        let left = remaining(&constraints, &ClusterLoad::default(), &candidates);
        let expected: BTreeSet<_> = named(strings(&row["expected"]["remaining"]))
            .into_iter()
            .collect();
        assert_eq!(left, expected, "{row}");
    }
}

#[test]
fn pl_10_primary_and_secondary_brokers_by_host() {
    isolation("PL-10");
}

#[test]
fn pl_11_primary_and_secondary_brokers_by_name() {
    isolation("PL-11");
}

#[test]
fn pl_13_as_many_topics_as_may_be() {
    for row in rows("PL-13") {
        let setup = &row["setup"];
        let mut load = ClusterLoad::default();
        let topics = setup["topics"].as_object().unwrap();
        for (name, topics) in topics {
            let Some(topics) = topics.as_u64() else {
                continue;
            };
            let known = BundleLoad {
                topics,
                ..BundleLoad::default()
            };
            let bundles = [(bundle(&format!("t/{name}"), 0), Some(known))].into();
            let of = BrokerLoad {
                bundles,
                ..BrokerLoad::default()
            };
            load.brokers.insert(broker(name), of);
        }
        let constraints = Constraints {
            topics_max: setup["max_topics"].as_u64(),
            ..Constraints::default()
        };
        let candidates = named(topics.keys().map(String::as_str));
        let expected: BTreeSet<_> = named(strings(&row["expected"]["remaining"]))
            .into_iter()
            .collect();
        assert_eq!(remaining(&constraints, &load, &candidates), expected);
    }
}

/// Later versions are preferred where versions are given.
#[test]
fn pl_14_later_versions() {
    let rows = rows("PL-14");
    assert_eq!(rows.len(), 6);
    for row in rows {
        let setup = &row["setup"];
        let versions = setup["versions"].as_object().unwrap();
        let parsed: Result<BTreeMap<BrokerId, Version>, _> = versions
            .iter()
            .map(|(name, version)| Ok((broker(name), version.as_str().unwrap().parse()?)))
            .collect::<Result<_, deedbook::planner::Error>>();
        if row["expected"].get("error").is_some() {
            assert!(parsed.is_err(), "{row}");
            continue;
        }
        let mut constraints = Constraints::default();
        if setup["prefer_later"] == true {
            constraints.versions = parsed.unwrap();
        }
        let candidates = named(versions.keys().map(String::as_str));
        let left = remaining(&constraints, &ClusterLoad::default(), &candidates);
        let expected: BTreeSet<_> = named(strings(&row["expected"]["remaining"]))
            .into_iter()
            .collect();
        assert_eq!(left, expected, "{row}");
    }
}
