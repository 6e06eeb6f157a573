//! Goal: no placement of any kind puts a bundle where the constraints forbid it, and it says which
//! rule forbade it. Method: each kind in each mode under one constraint after the other, the rows
//! of Apache Pulsar's own tests of its filters, and random clusters against rules written anew.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "../support/load.rs"]
mod load;
mod peer;
mod random;

use deedbook::ids::{BrokerId, BundleId, Namespace};
use deedbook::planner::{
    Allowed, Barred, BrokerLoad, BundleLoad, ClusterLoad, Constrained, Constraints, Mode,
    Placement, PlacementKind, Resource, Traffic,
};
use load::broker;
use std::collections::BTreeMap;

fn bundle(namespace: &str, index: u32) -> BundleId {
    let name = format!("{namespace}/{index:#010x}_{:#010x}", index + 1);
    name.parse().unwrap()
}

fn namespace(name: &str) -> Namespace {
    name.parse().unwrap()
}

fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<BrokerId> {
    names.into_iter().map(broker).collect()
}

/// Brokers that bear the more the later their name, each with its bundles of one topic.
fn cluster(owned: &[(&str, &[BundleId])]) -> ClusterLoad {
    let mut load = ClusterLoad::default();
    for (index, (name, bundles)) in owned.iter().enumerate() {
        let rate = f64::from(u32::try_from(index).unwrap()) * 1000.0;
        let known = BundleLoad {
            topics: 1,
            ..BundleLoad::default()
        };
        let of = BrokerLoad {
            cpu: Some(Resource::new(rate / 100.0, 100.0)),
            traffic: Traffic {
                message_rate_in: rate,
                ..Traffic::default()
            },
            bundles: bundles
                .iter()
                .map(|one| (one.clone(), Some(known)))
                .collect(),
            ..BrokerLoad::default()
        };
        load.brokers.insert(broker(name), of);
    }
    load
}

/// A placement of each kind in each mode, that has seen the load.
fn all_kinds(constraints: &Constraints, load: &ClusterLoad) -> Vec<(String, Constrained)> {
    let kinds = PlacementKind::ALL.into_iter();
    let kinds = kinds.flat_map(|kind| [Mode::Safe, Mode::Reference].map(|mode| (kind, mode)));
    kinds
        .map(|(kind, mode)| {
            let inner = kind.build(mode, 7).unwrap();
            let mut placement = Constrained::new(inner, constraints.clone());
            placement.observe(load);
            (format!("{kind} {mode:?}"), placement)
        })
        .collect()
}

/// Where each kind may place: on one of `legal`, on each of the others for the reason given.
fn only_on(
    constraints: &Constraints,
    load: &ClusterLoad,
    bundle: &BundleId,
    legal: &[&str],
    barred: &[(&str, Barred)],
) {
    let candidates: Vec<_> = load.brokers.keys().cloned().collect();
    let expected: BTreeMap<_, _> = barred
        .iter()
        .map(|(name, rule)| (broker(name), *rule))
        .collect();
    for (kind, mut placement) in all_kinds(constraints, load) {
        assert_eq!(placement.barred(bundle, &candidates), expected, "{kind}");
        for _ in 0..5 {
            let placed = placement.place(bundle, &candidates);
            match placed {
                Some(placed) => assert!(legal.contains(&placed.as_str()), "{kind}: {placed}"),
                None => assert!(legal.is_empty(), "{kind}"),
            }
        }
    }
}

#[test]
fn a_drained_broker_gets_nothing() {
    let load = cluster(&[("a", &[]), ("b", &[])]);
    let mut constraints = Constraints::default();
    constraints.drained.insert(broker("a"));
    let one = bundle("t/n", 1);
    only_on(&constraints, &load, &one, &["b"], &[("a", Barred::Drained)]);
    constraints.drained.insert(broker("b"));
    let both = [("a", Barred::Drained), ("b", Barred::Drained)];
    only_on(&constraints, &load, &one, &[], &both);
}

/// What is pinned or excluded stays where it is; once it is nowhere it must go somewhere. The
/// namespace of a broker's heartbeats goes to that broker alone.
#[test]
fn pinned_and_excluded_bundles_are_placed_and_heartbeats_at_home() {
    let load = cluster(&[("a:1", &[]), ("b:1", &[])]);
    let constraints = Constraints {
        pinned: [bundle("t/n", 1)].into(),
        excluded_namespaces: [namespace("t/out")].into(),
        ..Constraints::default()
    };
    for one in [bundle("t/n", 1), bundle("t/out", 1)] {
        only_on(&constraints, &load, &one, &["a:1", "b:1"], &[]);
    }
    let home = [("a:1", Barred::NotAllowed)];
    only_on(
        &constraints,
        &load,
        &bundle("pulsar/b:1", 1),
        &["b:1"],
        &home,
    );
}

/// A29: the secondary only while there are too few primaries, and nobody else ever; a primary of
/// one namespace takes no other's.
#[test]
fn a29_isolation_binds_placement() {
    let load = cluster(&[("a", &[]), ("b", &[]), ("c", &[])]);
    let allow = |primaries_min| {
        let allowed = Allowed {
            primary: [broker("b")].into(),
            secondary: [broker("c")].into(),
            primaries_min,
        };
        Constraints {
            allowed: [(namespace("t/x"), allowed)].into(),
            ..Constraints::default()
        }
    };
    let no = |name| (name, Barred::NotAllowed);
    let (x, other) = (bundle("t/x", 1), bundle("t/n", 1));
    only_on(&allow(1), &load, &x, &["b"], &[no("a"), no("c")]);
    only_on(&allow(2), &load, &x, &["b", "c"], &[no("a")]);
    only_on(&allow(1), &load, &other, &["a", "c"], &[no("b")]);
    let mut draining = allow(1);
    draining.drained.insert(broker("b"));
    let expected = [no("a"), ("b", Barred::Drained)];
    only_on(&draining, &load, &x, &["c"], &expected);
}

/// A29: ns-0 is on b0, ns-1 on b1, ns-2 on b2, of one group: a second bundle of ns-2 belongs on b2,
/// since its own namespace does not count. Those placed since the report count.
#[test]
fn a29_a_namespace_does_not_flee_from_itself() {
    let of = |name: &str| [bundle(name, 0)];
    let load = cluster(&[
        ("b0", &of("t/ns-0")),
        ("b1", &of("t/ns-1")),
        ("b2", &of("t/ns-2")),
    ]);
    let group = ["t/ns-0", "t/ns-1", "t/ns-2", "t/ns-3"].map(namespace);
    let constraints = Constraints {
        anti_affinity: [("group".to_owned(), group.into())].into(),
        ..Constraints::default()
    };
    let met = |name| (name, Barred::AntiAffinity);
    only_on(
        &constraints,
        &load,
        &bundle("t/ns-2", 1),
        &["b2"],
        &[met("b0"), met("b1")],
    );
    only_on(
        &constraints,
        &load,
        &bundle("t/n", 1),
        &["b0", "b1", "b2"],
        &[],
    );

    let all = named(["b0", "b1", "b2", "b3", "b4"]);
    for (kind, mut placement) in all_kinds(&constraints, &load) {
        let first = placement.place(&bundle("t/ns-3", 0), &all).unwrap();
        assert!(["b3", "b4"].contains(&first.as_str()), "{kind}: {first}");
        // Not reported yet, and known all the same: a bundle of ns-0 has one place left without.
        let barred = placement.barred(&bundle("t/ns-0", 1), &all);
        assert_eq!(barred.get(&first), Some(&Barred::AntiAffinity), "{kind}");
        // Asked again it may stay where it is; forgotten after two reports that do not have it.
        assert!(
            !placement
                .barred(&bundle("t/ns-3", 0), &all)
                .contains_key(&first),
            "{kind}"
        );
        let mut later = load.clone();
        later
            .brokers
            .extend(["b3", "b4"].map(|name| (broker(name), BrokerLoad::default())));
        placement.observe(&later);
        assert!(
            placement
                .barred(&bundle("t/ns-0", 1), &all)
                .contains_key(&first),
            "{kind}"
        );
        placement.observe(&later);
        assert!(
            !placement
                .barred(&bundle("t/ns-0", 1), &all)
                .contains_key(&first),
            "{kind}"
        );
    }
}

/// So many topics a broker and no more, those of bundles counted that were placed since.
#[test]
fn a_full_broker_gets_no_more_topics() {
    let of = |index| [bundle("t/n", index)];
    let load = cluster(&[("a", &of(0)), ("b", &[])]);
    let constraints = |topics_max| Constraints {
        topics_max: Some(topics_max),
        ..Constraints::default()
    };
    let full = |name, max| (name, Barred::TooManyTopics { max });
    // Moved once it is placed on `b`: there is room for it on either.
    only_on(
        &constraints(1),
        &load,
        &bundle("t/n", 9),
        &["b"],
        &[full("a", 1)],
    );
    let all = named(["a", "b"]);
    for (kind, mut placement) in all_kinds(&constraints(2), &load) {
        let mut placed = |index| placement.place(&bundle("t/n", index), &all);
        assert!(
            [placed(1), placed(2), placed(3)]
                .iter()
                .all(Option::is_some),
            "{kind}"
        );
        assert_eq!(placed(4), None, "{kind}");
        let barred = placement.barred(&bundle("t/n", 4), &all);
        let rules: Vec<_> = barred.values().map(|rule| rule.rule()).collect();
        assert_eq!(rules, ["too_many_topics"; 2], "{kind}");
        // What is there may stay there, and what was reported with ten topics needs ten.
        assert!(placement.place(&bundle("t/n", 3), &all).is_some(), "{kind}");
        let mut big = cluster(&[("a", &[]), ("c", &of(5))]);
        let known = big
            .brokers
            .get_mut(&broker("c"))
            .unwrap()
            .bundles
            .values_mut();
        known.flatten().for_each(|of| of.topics = 10);
        placement.observe(&big);
        assert_eq!(placement.place(&bundle("t/n", 5), &all), None, "{kind}");
    }
}

/// The newest version there is; a broker whose version is not known comes after all others.
#[test]
fn the_newest_version_gets_it() {
    let load = cluster(&[("a", &[]), ("b", &[]), ("c", &[])]);
    let mut constraints = Constraints::default();
    for (name, version) in [("a", "3.0.1"), ("b", "3.0.2-rc.1")] {
        constraints
            .versions
            .insert(broker(name), version.parse().unwrap());
    }
    let old = |name| (name, Barred::OlderVersion);
    let one = bundle("t/n", 1);
    only_on(&constraints, &load, &one, &["b"], &[old("a"), old("c")]);
    // Who may not have it does not count: with `b` drained `a` has the newest.
    constraints.drained.insert(broker("b"));
    only_on(
        &constraints,
        &load,
        &one,
        &["a"],
        &[("b", Barred::Drained), old("c")],
    );
}
