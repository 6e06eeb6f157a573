//! Goal: no plan moves what may not move, or to where it may not go, and it says which rule forbade
//! it. Method: a hot and two cold brokers, one constraint at a time, every strategy in each of its
//! modes.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;

use deedbook::ids::{BundleId, Namespace};
use deedbook::planner::{
    Allowed, Barred, BrokerLoad, ClusterLoad, Constraints, Kept, Mode, Plan, Resource, Settings,
    Smoothed, Stopped, Strategy, Traffic,
};
use load::*;

/// `hot` at 90 % with nine bundles of namespace `t/hot`, `cold` and `cool` at 10 and 20 % with one
/// and two of their own. All bundles are alike and have ten topics.
fn cluster_of_three() -> ClusterLoad {
    let mut load = ClusterLoad::default();
    for (name, count) in [("hot", 9), ("cold", 1), ("cool", 2)] {
        let traffic = |bundles: u32| Traffic {
            throughput_out: f64::from(bundles) * 10e6,
            ..messages(f64::from(bundles) * 10_000.0)
        };
        let mut broker_load = BrokerLoad {
            cpu: Some(Resource::new(f64::from(count) * 10.0, 100.0)),
            traffic: traffic(count),
            ..BrokerLoad::default()
        };
        for index in 0..count {
            let bundle = format!("t/{name}/{index:#010x}_{:#010x}", index + 1);
            let mut known = bundle_load(traffic(1)).unwrap();
            known.topics = 10;
            broker_load
                .bundles
                .insert(bundle.parse().unwrap(), Some(known));
        }
        // What only the reference goes by.
        broker_load.smoothed = Some(Smoothed {
            usage: f64::from(count) / 10.0,
            throughput: broker_load.traffic.bytes(),
            top_bundles: Some(broker_load.bundles.keys().cloned().collect()),
            ..Smoothed::default()
        });
        load.brokers.insert(broker(name), broker_load);
    }
    load
}

/// What each strategy does, in each of its modes, once what it sees has lasted.
fn plans(load: &ClusterLoad, constraints: &Constraints) -> Vec<(Settings, Plan)> {
    let mut plans = Vec::new();
    for strategy in Strategy::ALL {
        for mode in [Mode::Safe, Mode::Reference] {
            let settings = strategy.settings(mode);
            let mut shedder = settings.clone().build().unwrap();
            let mut rounds = (0..9).map(|_| shedder.plan(load, constraints));
            let plan = rounds.find(|plan| !plan.moves.is_empty() || !plan.unloads.is_empty());
            let plan = plan.unwrap_or_else(|| shedder.plan(load, constraints));
            if settings.mode() == mode {
                plans.push((settings, plan));
            }
        }
    }
    plans
}

/// Whether a strategy looks at one destination only, which here is the coldest.
fn is_bound_to_one(settings: &Settings) -> bool {
    match settings.strategy() {
        Strategy::Avg => true,
        Strategy::Transfer => settings.mode() == Mode::Reference,
        _ => false,
    }
}

/// The bundles that leave the hot broker, and to where if that was chosen.
fn given(plan: &Plan) -> Vec<(&BundleId, Option<&str>)> {
    let moves = plan.moves.iter().filter(|one| one.from.as_str() == "hot");
    let moves = moves.map(|one| (&one.bundle, Some(one.to.as_str())));
    let unloads = plan.unloads.iter().filter(|one| one.from.as_str() == "hot");
    moves
        .chain(unloads.map(|one| (&one.bundle, None)))
        .collect()
}

fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

/// Where bundles of the hot broker go: nowhere but to `to`; nowhere at all if that is none, and
/// that is said.
fn only_to(constraints: &Constraints, to: Option<&str>, barred: Option<Barred>) {
    for (settings, plan) in plans(&cluster_of_three(), constraints) {
        let given = given(&plan);
        assert!(
            given
                .iter()
                .all(|(_, chosen)| chosen.is_none() || *chosen == to),
            "{settings:?}: {given:?}"
        );
        let Some(to) = to else {
            assert!(given.is_empty(), "{settings:?}: {given:?}");
            let kept = &plan.brokers[&broker("hot")].kept;
            let said = |rule: &Kept| match (rule, barred) {
                (Kept::NoLegalDestination { barred }, Some(expected)) => *barred == expected,
                _ => false,
            };
            assert!(
                kept.iter().any(|(_, rule)| said(rule)),
                "{settings:?}: {kept:?}"
            );
            continue;
        };
        if to == "cold" || !is_bound_to_one(&settings) {
            assert!(!given.is_empty(), "{settings:?}");
        }
    }
}

#[test]
fn without_constraints_every_strategy_moves() {
    for (settings, plan) in plans(&cluster_of_three(), &Constraints::default()) {
        assert!(!given(&plan).is_empty(), "{settings:?}");
    }
}

#[test]
fn drained_brokers_neither_give_nor_get() {
    let drained = |names: &[&str]| Constraints {
        drained: names.iter().map(|name| broker(name)).collect(),
        ..Constraints::default()
    };
    for (settings, plan) in plans(&cluster_of_three(), &drained(&["hot"])) {
        assert!(given(&plan).is_empty(), "{settings:?}");
        assert_eq!(
            stopped(&plan, "hot"),
            Some(Stopped::Drained),
            "{settings:?}"
        );
    }
    // With the cold one gone, the cool one is the coldest.
    for (settings, plan) in plans(&cluster_of_three(), &drained(&["cold"])) {
        let given = given(&plan);
        assert!(!given.is_empty(), "{settings:?}");
        let to_cool = |to: Option<&str>| to.is_none_or(|to| to == "cool");
        assert!(given.iter().all(|(_, to)| to_cool(*to)), "{settings:?}");
    }
    for (settings, plan) in plans(&cluster_of_three(), &drained(&["cold", "cool"])) {
        assert!(given(&plan).is_empty(), "{settings:?}");
    }
}

#[test]
fn a_namespace_uses_its_primary_brokers_and_the_others_only_if_too_few_are_there() {
    let allow = |primary: &[&str], secondary: &[&str], primaries_min| {
        let names = |names: &[&str]| names.iter().map(|name| broker(name)).collect();
        let allowed = Allowed {
            primary: names(primary),
            secondary: names(secondary),
            primaries_min,
        };
        let allowed = [(namespace("t/hot"), allowed)].into();
        Constraints {
            allowed,
            ..Constraints::default()
        }
    };
    only_to(&allow(&["hot"], &[], 1), None, Some(Barred::NotAllowed));
    only_to(
        &allow(&["hot"], &["cold"], 1),
        None,
        Some(Barred::NotAllowed),
    );
    only_to(&allow(&["hot"], &["cold"], 2), Some("cold"), None);
    only_to(&allow(&["hot", "cool"], &["cold"], 2), Some("cool"), None);
    // A primary that is not there or being drained does not count.
    only_to(&allow(&["hot", "gone"], &["cold"], 2), Some("cold"), None);
    let mut drained = allow(&["hot", "cool"], &["cold"], 2);
    drained.drained.insert(broker("cool"));
    only_to(&drained, Some("cold"), None);
    // Brokers that another namespace has for its own take nothing else.
    let mut owned = Constraints::default();
    for (other, primary) in [("t/x", "cold"), ("t/y", "cool")] {
        let primary = [broker(primary)].into();
        owned.allowed.insert(
            namespace(other),
            Allowed {
                primary,
                ..Allowed::default()
            },
        );
    }
    only_to(&owned, None, Some(Barred::NotAllowed));
    owned.allowed.remove(&namespace("t/x"));
    only_to(&owned, Some("cold"), None);
}

#[test]
fn nothing_goes_to_an_older_version() {
    let versions = |versions: &[(&str, &str)]| {
        let versions = versions.iter();
        Constraints {
            versions: versions
                .map(|(b, v)| (broker(b), v.parse().unwrap()))
                .collect(),
            ..Constraints::default()
        }
    };
    let old = versions(&[("hot", "3.0.2"), ("cold", "3.0.1"), ("cool", "2.11")]);
    only_to(&old, None, Some(Barred::OlderVersion));
    // Who has none is older.
    only_to(
        &versions(&[("hot", "3.0.2")]),
        None,
        Some(Barred::OlderVersion),
    );
    only_to(
        &versions(&[("hot", "3.0.2"), ("cold", "3.0.10")]),
        Some("cold"),
        None,
    );
}

#[test]
fn no_broker_gets_more_topics_than_it_may_have() {
    let limit = |max| Constraints {
        topics_max: Some(max),
        ..Constraints::default()
    };
    // `cold` has 10 topics, `cool` has 20, each bundle brings 10.
    only_to(&limit(19), None, Some(Barred::TooManyTopics { max: 19 }));
    for (settings, plan) in plans(&cluster_of_three(), &limit(30)) {
        let given = given(&plan);
        assert!(!given.is_empty(), "{settings:?}");
        for (name, room) in [("cold", 2), ("cool", 1)] {
            let count = given.iter().filter(|(_, to)| *to == Some(name)).count();
            assert!(count <= room, "{settings:?}: {count} to {name}");
        }
    }
}

#[test]
fn anti_affinity_groups_do_not_meet_but_a_namespace_meets_itself() {
    let group = |names: &[&str]| Constraints {
        anti_affinity: [(
            "g".to_owned(),
            names.iter().map(|name| namespace(name)).collect(),
        )]
        .into(),
        ..Constraints::default()
    };
    only_to(
        &group(&["t/hot", "t/cold", "t/cool"]),
        None,
        Some(Barred::AntiAffinity),
    );
    only_to(&group(&["t/hot", "t/cool"]), Some("cold"), None);
    // Its own bundles there are no obstacle.
    let mut load = cluster_of_three();
    let cold = load.brokers.get_mut(&broker("cold")).unwrap();
    let own = "t/hot/0x00001000_0x00001001".parse().unwrap();
    cold.bundles.insert(own, bundle_load(messages(10.0)));
    for (settings, plan) in plans(&load, &group(&["t/hot", "t/other"])) {
        let to_cold = |to: Option<&str>| to.is_none_or(|to| to == "cold");
        assert!(
            given(&plan).iter().any(|(_, to)| to_cold(*to)),
            "{settings:?}"
        );
    }
}

#[test]
fn what_is_pinned_excluded_or_recently_moved_stays() {
    let load = cluster_of_three();
    let lead = load.brokers[&broker("hot")]
        .bundles
        .keys()
        .next()
        .unwrap()
        .clone();
    let pinned = Constraints {
        pinned: [lead.clone()].into(),
        ..Constraints::default()
    };
    let excluded_namespaces = [namespace("t/hot")].into();
    let excluded = Constraints {
        excluded_namespaces,
        ..Constraints::default()
    };
    let mut recent = load.clone();
    recent.recently_moved.insert(lead.clone());
    for (load, constraints, rule) in [
        (&load, &pinned, Kept::Pinned),
        (&load, &excluded, Kept::ExcludedNamespace),
        (&recent, &Constraints::default(), Kept::RecentlyMoved),
    ] {
        for (settings, plan) in plans(load, constraints) {
            let given = given(&plan);
            assert!(
                given.iter().all(|(bundle, _)| **bundle != lead),
                "{settings:?}"
            );
            assert!(
                plan.brokers[&broker("hot")]
                    .kept
                    .contains(&(lead.clone(), rule)),
                "{settings:?}"
            );
        }
    }
}

/// Thirty brokers are colder than the hot one, and only the one in their middle may have anything.
#[test]
fn the_only_legal_destination_is_found_wherever_it_stands() {
    let mut load = cluster_of_three();
    load.brokers.retain(|name, _| name.as_str() == "hot");
    for index in 0..30_u32 {
        let mut cold = BrokerLoad {
            cpu: Some(Resource::new(f64::from(index), 100.0)),
            traffic: messages(f64::from(index) * 1000.0),
            ..BrokerLoad::default()
        };
        cold.smoothed = Some(Smoothed::default());
        load.brokers.insert(broker(&format!("cold-{index}")), cold);
    }
    let allowed = Allowed {
        primary: [broker("cold-15"), broker("hot")].into(),
        ..Allowed::default()
    };
    let constraints = Constraints {
        allowed: [(namespace("t/hot"), allowed)].into(),
        ..Constraints::default()
    };
    for (settings, plan) in plans(&load, &constraints) {
        let given = given(&plan);
        if is_bound_to_one(&settings) {
            assert!(given.is_empty(), "{settings:?}");
        } else {
            let is_there = |to: Option<&str>| to.is_none_or(|to| to == "cold-15");
            assert!(!given.is_empty(), "{settings:?}");
            assert!(given.iter().all(|(_, to)| is_there(*to)), "{settings:?}");
        }
    }
}
