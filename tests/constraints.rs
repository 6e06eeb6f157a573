//! Goal: no plan moves what may not move, or to where it may not go, and it says which rule forbade
//! it. Method: a hot and two cold brokers, one constraint at a time, every strategy that is safe.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;

use deedbook::ids::Namespace;
use deedbook::planner::{
    Allowed, Barred, BrokerLoad, ClusterLoad, Constraints, Kept, Mode, Move, Plan, Resource,
    Strategy,
};
use load::*;

/// `hot` at 90 % with nine bundles of namespace `t/hot`, `cold` and `cool` at 10 and 20 % with one
/// of their own each. All bundles have ten topics.
fn cluster_of_three() -> ClusterLoad {
    let mut load = ClusterLoad::default();
    for (name, count) in [("hot", 9), ("cold", 1), ("cool", 2)] {
        let mut broker_load = BrokerLoad {
            cpu: Some(Resource::new(f64::from(count) * 10.0, 100.0)),
            traffic: messages(f64::from(count) * 10_000.0),
            ..BrokerLoad::default()
        };
        for index in 0..count {
            let bundle = format!("t/{name}/{index:#010x}_{:#010x}", index + 1);
            let mut known = bundle_load(messages(10_000.0)).unwrap();
            known.topics = 10;
            broker_load
                .bundles
                .insert(bundle.parse().unwrap(), Some(known));
        }
        load.brokers.insert(broker(name), broker_load);
    }
    load
}

/// What each strategy does once what it sees has lasted.
fn plans(load: &ClusterLoad, constraints: &Constraints) -> Vec<(Strategy, Plan)> {
    let plan = |strategy: Strategy| {
        let mut shedder = strategy.settings(Mode::Safe).build().unwrap();
        let mut rounds = (0..9).map(|_| shedder.plan(load, constraints));
        let plan = rounds.find(|plan| !plan.moves.is_empty());
        (
            strategy,
            plan.unwrap_or_else(|| shedder.plan(load, constraints)),
        )
    };
    let safe = |strategy: &Strategy| strategy.settings(Mode::Safe).mode() == Mode::Safe;
    Strategy::ALL.into_iter().filter(safe).map(plan).collect()
}

fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

/// Where bundles of the hot broker go: nowhere but to `to`; nowhere at all if that is none, and
/// that is said.
fn only_to(constraints: &Constraints, to: Option<&str>, barred: Option<Barred>) {
    for (strategy, plan) in plans(&cluster_of_three(), constraints) {
        let allowed = |planned: &str| Some(planned) == to;
        let from_hot = |one: &&Move| one.from.as_str() == "hot";
        let moves: Vec<_> = plan.moves.iter().filter(from_hot).collect();
        assert!(
            moves.iter().all(|one| allowed(one.to.as_str())),
            "{strategy}: {moves:?}"
        );
        // The avg strategy looks at one destination only, and it is the coldest.
        if to == Some("cold") || to.is_some() && strategy != Strategy::Avg {
            assert!(!moves.is_empty(), "{strategy}");
        }
        if to.is_none() {
            let kept = &plan.brokers["hot"].kept;
            let said = |rule: &Kept| match (rule, barred) {
                (Kept::NoLegalDestination { barred }, Some(expected)) => *barred == expected,
                _ => false,
            };
            assert!(
                kept.iter().any(|(_, rule)| said(rule)),
                "{strategy}: {kept:?}"
            );
        }
    }
}

#[test]
fn without_constraints_every_strategy_moves() {
    for (strategy, plan) in plans(&cluster_of_three(), &Constraints::default()) {
        assert!(!plan.moves.is_empty(), "{strategy}");
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
    for (strategy, plan) in plans(&cluster_of_three(), &limit(30)) {
        let to = |name: &str| {
            plan.moves
                .iter()
                .filter(|one| one.to.as_str() == name)
                .count()
        };
        assert_eq!(to("cold"), 2, "{strategy}");
        assert!(to("cool") <= 1, "{strategy}");
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
    for (strategy, plan) in plans(&load, &group(&["t/hot", "t/other"])) {
        assert!(
            plan.moves.iter().any(|one| one.to.as_str() == "cold"),
            "{strategy}"
        );
    }
}

#[test]
fn what_is_pinned_excluded_or_recently_moved_stays() {
    let load = cluster_of_three();
    let lead = load.brokers["hot"].bundles.keys().next().unwrap().clone();
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
        for (strategy, plan) in plans(load, constraints) {
            assert!(
                plan.moves.iter().all(|one| one.bundle != lead),
                "{strategy}"
            );
            assert!(
                plan.brokers["hot"].kept.contains(&(lead.clone(), rule)),
                "{strategy}"
            );
        }
    }
}
