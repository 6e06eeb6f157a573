//! Goal: every strategy in its safe mode, and the global planner, keep their promises on any
//! cluster: legal moves, each an improvement, no more than wanted, and quiet in the end (I12);
//! nothing depends on names, units or the order of the input. Method: clusters made up from seeds,
//! whose load follows the moves; constraints are judged by a second, simple rule.
//!
//! `DEEDBOOK_SEEDS=100..200 cargo test --test safe_modes` runs other seeds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;
#[path = "support/made_up_load.rs"]
mod made_up_load;

use deedbook::ids::{BrokerId, BundleId, Namespace};
use deedbook::planner::{
    BrokerVerdict, ClusterLoad, Constraints, Measure, Mode, Move, Plan, Settings, Stopped,
    Strategy, Traffic, Trigger,
};
use load::{carry_out, potential, settle};
use made_up_load::{below, cluster, constraints, eager, follows, for_each_seed};
use rand_chacha::rand_core::Rng;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// What one round decides, when nothing is waited for.
fn plan(settings: &Settings, load: &ClusterLoad, constraints: &Constraints) -> Plan {
    settings.clone().build().unwrap().plan(load, constraints)
}

/// A broker gives as much as was wanted of it at most, and who gives nothing says why.
fn assert_measured(plan: &Plan, case: &str) {
    let amounts = plan.brokers.values().filter_map(|verdict| verdict.amount);
    let amounts = amounts.chain(plan.pairs.iter().filter_map(|pair| pair.amount));
    for amount in amounts {
        assert!(
            amount.reached <= amount.wanted.max(0.0) * (1.0 + 1e-9) && amount.wanted.is_finite(),
            "{case}: {amount:?}"
        );
    }
    assert!(plan.unloads.is_empty(), "{case}: no destination");
    for (name, verdict) in &plan.brokers {
        let gives = plan.moves.iter().any(|one| one.from == *name);
        assert_eq!(verdict.stopped.is_none(), gives, "{case}: {name}");
    }
}

/// I12, E7: under constant load each move lowers the potential, and after finitely many there is
/// quiet; in half of the clusters under constraints.
#[test]
fn plans_converge() {
    let moved_by = RefCell::new(BTreeMap::<Strategy, usize>::new());
    for_each_seed("plans_converge", |dice| {
        let follows = follows(dice);
        let mut start = cluster(dice, 2..51);
        settle(&mut start, follows);
        let constraints = match below(dice, 2) {
            0 => Constraints::default(),
            _ => constraints(dice, &start),
        };
        for strategy in Strategy::ALL {
            let mut load = start.clone();
            let mut shedder = eager(strategy, dice).build().unwrap();
            let (mut quiet, mut rounds) = (0, 0);
            while quiet < 40 {
                rounds += 1;
                assert!(rounds < 4000, "{strategy}: still moving");
                let plan = shedder.plan(&load, &constraints);
                quiet = if plan.moves.is_empty() { quiet + 1 } else { 0 };
                assert_measured(&plan, strategy.name());
                *moved_by.borrow_mut().entry(strategy).or_default() += plan.moves.len();
                let mut moved = BTreeSet::new();
                for one in &plan.moves {
                    assert!(moved.insert(&one.bundle), "{strategy}: {one} again");
                    let before = potential(&load);
                    let moves = vec![one.clone()];
                    let single = Plan {
                        moves,
                        ..Plan::default()
                    };
                    carry_out(&mut load, &single, follows);
                    let after = potential(&load);
                    assert!(after < before, "{strategy}: {one}: {before} -> {after}");
                }
            }
        }
    });
    for (strategy, moves) in moved_by.into_inner() {
        assert!(moves > 0, "{strategy} never moved anything");
    }
}

/// Whatever the constraints, a plan keeps to them, move for move.
#[test]
fn every_plan_is_legal() {
    for_each_seed("every_plan_is_legal", |dice| {
        let mut load = cluster(dice, 2..21);
        settle(&mut load, Measure::Messages);
        for strategy in Strategy::ALL {
            let settings = eager(strategy, dice);
            let constraints = constraints(dice, &load);
            let mut load = load.clone();
            let bundles = load.brokers.values().flat_map(|of| of.bundles.keys());
            load.recently_moved = bundles
                .filter(|_| dice.next_u32().is_multiple_of(8))
                .cloned()
                .collect();
            let plan = plan(&settings, &load, &constraints);
            assert_measured(&plan, strategy.name());
            let mut owned: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
            for (broker, of) in &load.brokers {
                owned.insert(broker.clone(), of.bundles.keys().cloned().collect());
            }
            for one in &plan.moves {
                assert!(
                    !load.recently_moved.contains(&one.bundle),
                    "{strategy}: {one}"
                );
                if let Some(broken) = broken(&constraints, &load, &owned, one) {
                    panic!("{strategy}: {one}: {broken}\n{constraints:?}");
                }
                owned.get_mut(&one.from).unwrap().remove(&one.bundle);
                owned.get_mut(&one.to).unwrap().insert(one.bundle.clone());
            }
        }
    });
}

/// Whatever the constraints and the budget, the global planner leaves no more imbalance than as
/// many moves of the avg strategy.
#[test]
fn the_global_planner_is_never_worse_than_avg_under_constraints() {
    for_each_seed(
        "the_global_planner_is_never_worse_than_avg_under_constraints",
        |dice| {
            let follows = follows(dice);
            let mut load = cluster(dice, 2..31);
            settle(&mut load, follows);
            let constraints = constraints(dice, &load);
            let Settings::Global(config) = eager(Strategy::Global, dice) else {
                panic!("another strategy");
            };
            let mut of_avg = plan(&Settings::Avg(config.avg.clone()), &load, &constraints);
            of_avg.moves.truncate(config.moves_max);
            let moves_max = config.moves_max;
            let ours = plan(&Settings::Global(config), &load, &constraints);
            assert!(ours.moves.len() <= moves_max);
            let [ours, theirs] = [&ours, &of_avg].map(|plan| {
                let mut after = load.clone();
                carry_out(&mut after, plan, follows);
                potential(&after)
            });
            assert!(ours <= theirs * (1.0 + 1e-6), "{ours} > {theirs}");
        },
    );
}

/// The rule that a move breaks: written down once more, one sentence of the constraints each.
fn broken(
    constraints: &Constraints,
    load: &ClusterLoad,
    owned: &BTreeMap<BrokerId, BTreeSet<BundleId>>,
    one: &Move,
) -> Option<&'static str> {
    let namespace = one.bundle.namespace();
    if constraints.drained.contains(&one.to) || constraints.drained.contains(&one.from) {
        return Some("drained");
    }
    if constraints.pinned.contains(&one.bundle) {
        return Some("pinned");
    }
    if constraints.excluded_namespaces.contains(namespace) {
        return Some("excluded");
    }
    let allowed = match constraints.allowed.get(namespace) {
        Some(allowed) => {
            let there = |broker: &&BrokerId| {
                load.brokers.contains_key(*broker) && !constraints.drained.contains(*broker)
            };
            let few = allowed.primary.iter().filter(there).count() < allowed.primaries_min;
            allowed.primary.contains(&one.to) || few && allowed.secondary.contains(&one.to)
        }
        None => {
            let mut primaries = constraints
                .allowed
                .values()
                .flat_map(|allowed| &allowed.primary);
            !primaries.any(|broker| *broker == one.to)
        }
    };
    if !allowed {
        return Some("not allowed");
    }
    let version = |broker| constraints.versions.get(broker);
    if version(&one.to) < version(&one.from) {
        return Some("older version");
    }
    let of = |bundle: &BundleId| {
        load.brokers
            .values()
            .find_map(|of| of.bundles.get(bundle))
            .unwrap()
    };
    let topics = |bundle: &BundleId| of(bundle).map_or(0, |of| of.topics);
    let has: u64 = owned[&one.to].iter().map(topics).sum();
    if constraints
        .topics_max
        .is_some_and(|max| has + topics(&one.bundle) > max)
    {
        return Some("too many topics");
    }
    for group in constraints
        .anti_affinity
        .values()
        .filter(|group| group.contains(namespace))
    {
        let others = |broker: &BrokerId| {
            let namespaces: BTreeSet<&Namespace> =
                owned[broker].iter().map(BundleId::namespace).collect();
            let others = namespaces.into_iter().filter(|other| *other != namespace);
            others.filter(|other| group.contains(*other)).count()
        };
        if others(&one.to) > others(&one.from) {
            return Some("anti-affinity");
        }
    }
    None
}

/// Moves as a set, with names changed.
fn moves(plan: &Plan, rename: impl Fn(&str) -> String) -> BTreeSet<[String; 3]> {
    let moves = plan.moves.iter();
    let texts = |one: &Move| {
        [
            one.bundle.to_string(),
            one.from.to_string(),
            one.to.to_string(),
        ]
    };
    moves
        .map(|one| texts(one).map(|name| rename(&name)))
        .collect()
}

/// A cluster with other names.
fn renamed(load: &ClusterLoad, rename: impl Fn(&str) -> String) -> ClusterLoad {
    let mut again = ClusterLoad::default();
    for (name, of) in load.brokers.iter().rev() {
        let mut copy = of.clone();
        let bundles = of.bundles.iter().rev();
        let bundles = bundles.map(|(name, of)| (rename(&name.to_string()).parse().unwrap(), *of));
        copy.bundles = bundles.collect();
        again
            .brokers
            .insert(rename(name.as_str()).parse().unwrap(), copy);
    }
    again
}

/// The order in which brokers and bundles come, and what they are called, decide nothing but who of
/// two equals is chosen; and here are no equals.
#[test]
fn order_and_names_do_not_matter() {
    for_each_seed("order_and_names_do_not_matter", |dice| {
        let mut load = cluster(dice, 2..21);
        settle(&mut load, Measure::Messages);
        for strategy in Strategy::ALL {
            let settings = eager(strategy, dice);
            let none = Constraints::default();
            let first = plan(&settings, &load, &none);
            let same = renamed(&load, str::to_owned);
            assert_eq!(first, plan(&settings, &same, &none), "{strategy}");
            // Brokers and namespaces come in the reverse order.
            let rename = |name: &str| {
                let mut name = name.to_owned();
                let digit = name.find(|c: char| c.is_ascii_digit()).unwrap();
                let end = name[digit..].find(|c: char| !c.is_ascii_digit());
                let end = end.map_or(name.len(), |end| digit + end);
                let number: u32 = name[digit..end].parse().unwrap();
                name.replace_range(digit..end, &format!("{}", 999 - number));
                name
            };
            let other = renamed(&load, rename);
            let second = plan(&settings, &other, &none);
            assert_eq!(
                moves(&first, rename),
                moves(&second, str::to_owned),
                "{strategy}"
            );
        }
    });
}

fn four_times(traffic: Traffic) -> Traffic {
    let twice = traffic + traffic;
    twice + twice
}

/// Four times the load on machines four times as big, or the same load in other units, is the same.
#[test]
fn units_do_not_matter() {
    for_each_seed("units_do_not_matter", |dice| {
        let mut load = cluster(dice, 2..21);
        settle(&mut load, Measure::Bytes);
        let mut scaled = load.clone();
        let mut bigger = load.clone();
        for (name, of) in &mut scaled.brokers {
            of.traffic = four_times(of.traffic);
            let bigger = bigger.brokers.get_mut(name).unwrap();
            bigger.traffic = of.traffic;
            let resources = [
                &mut bigger.cpu,
                &mut bigger.bandwidth_in,
                &mut bigger.bandwidth_out,
            ];
            for resource in resources.into_iter().flatten() {
                resource.usage *= 4.0;
                resource.limit *= 4.0;
            }
            for (bundle, load) in &mut of.bundles {
                let load = load.as_mut().unwrap();
                load.short_term = four_times(load.short_term);
                bigger.bundles.insert(bundle.clone(), Some(*load));
            }
        }
        for strategy in Strategy::ALL {
            let settings = eager(strategy, dice);
            let none = Constraints::default();
            let plans = [&load, &scaled, &bigger].map(|load| plan(&settings, load, &none));
            let [first, second, third] = plans.map(|plan| moves(&plan, str::to_owned));
            assert_eq!(first, second, "{strategy}");
            assert_eq!(first, third, "{strategy}");
        }
    });
}

/// Whether a broker was found to be due, whatever came of it. That it is the most loaded of all is
/// no such finding.
fn is_due(name: &BrokerId, verdict: &BrokerVerdict, plan: &Plan) -> bool {
    let mut pairs = plan.pairs.iter().filter(|pair| pair.hot == *name);
    let most_loaded = |trigger: &Trigger| matches!(trigger, Trigger::MostLoaded { .. });
    verdict
        .triggered
        .as_ref()
        .is_some_and(|trigger| !most_loaded(trigger))
        || pairs.any(|pair| pair.low.suffice() || pair.high.suffice())
}

/// Two of the same cluster are as even as one: the same brokers are due in both, and if only so
/// many give in a round, somebody is due in both or in neither.
#[test]
fn two_of_the_same_cluster_are_as_even_as_one() {
    for_each_seed("two_of_the_same_cluster_are_as_even_as_one", |dice| {
        let mut load = cluster(dice, 2..21);
        settle(&mut load, Measure::Messages);
        let twin = |name: &str| format!("twin-{name}");
        let mut both = renamed(&load, twin);
        both.brokers.extend(load.brokers.clone());
        for strategy in Strategy::ALL {
            let settings = eager(strategy, dice);
            let none = Constraints::default();
            let due = |load: &ClusterLoad| {
                let plan = plan(&settings, load, &none);
                let due = plan
                    .brokers
                    .iter()
                    .filter(|(name, found)| is_due(name, found, &plan));
                due.map(|(name, _)| name.to_string())
                    .collect::<BTreeSet<_>>()
            };
            let (one, two) = (due(&load), due(&both));
            if matches!(strategy, Strategy::Uniform | Strategy::Transfer) {
                assert_eq!(one.is_empty(), two.is_empty(), "{strategy}");
            } else {
                let expected = one
                    .iter()
                    .flat_map(|name| [name.clone(), twin(name)])
                    .collect();
                assert_eq!(two, expected, "{strategy}");
            }
        }
    });
}

/// Numbers that make no sense move nothing of what they are about, and nothing goes wrong.
#[test]
fn senseless_numbers_decide_nothing() {
    let senseless = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -1.0,
        1e308,
        -0.0,
    ];
    for_each_seed("senseless_numbers_decide_nothing", |dice| {
        let mut load = cluster(dice, 2..9);
        settle(&mut load, Measure::Messages);
        for of in load.brokers.values_mut() {
            let mut pick = || senseless[dice.next_u32() as usize % senseless.len()];
            let (number, other) = (pick(), pick());
            match dice.next_u32() % 6 {
                0 => of.traffic.message_rate_in = number,
                1 => of.cpu.as_mut().unwrap().usage = number,
                2 => of.cpu.as_mut().unwrap().limit = 0.0,
                3 => {
                    let all = [&mut of.cpu, &mut of.bandwidth_in, &mut of.bandwidth_out];
                    for resource in all.into_iter().flatten() {
                        (resource.usage, resource.limit) = (number, other);
                    }
                }
                4 => {
                    for bundle in of.bundles.values_mut().flatten() {
                        bundle.short_term.throughput_out = number;
                    }
                }
                _ => {}
            }
        }
        for strategy in Strategy::ALL {
            let plan = plan(&eager(strategy, dice), &load, &Constraints::default());
            assert_eq!(plan.brokers.len(), load.brokers.len(), "{strategy}");
            for one in &plan.moves {
                let (from, to) = (&load.brokers[&one.from], &load.brokers[&one.to]);
                assert!(one.load.is_sound(), "{strategy}: {one}");
                assert!(
                    from.traffic.is_sound() && to.traffic.is_sound(),
                    "{strategy}: {one}"
                );
                assert!(
                    one.from_score_after.is_finite() && one.to_score_after.is_finite(),
                    "{strategy}: {one}"
                );
            }
        }
    });
}

/// The rules of a cluster in which nobody is left.
#[test]
fn nobody_and_a_single_broker_are_quiet() {
    for_each_seed("nobody_and_a_single_broker_are_quiet", |dice| {
        for brokers in [0..1, 1..2] {
            let mut load = cluster(dice, brokers);
            settle(&mut load, Measure::Messages);
            for strategy in Strategy::ALL {
                let plan = plan(&eager(strategy, dice), &load, &Constraints::default());
                assert!(plan.moves.is_empty(), "{strategy}");
                let silent = |stopped: &Option<Stopped>| stopped.is_none();
                let mut stopped = plan.brokers.values().map(|verdict| &verdict.stopped);
                assert!(!stopped.any(silent), "{strategy}");
            }
        }
    });
}

/// A broker that has left and comes back begins anew: what it was before does not count.
#[test]
fn who_has_left_is_forgotten() {
    for strategy in Strategy::ALL {
        let mut shedder = strategy.settings(Mode::Safe).build().unwrap();
        let mut fresh = strategy.settings(Mode::Safe).build().unwrap();
        let hot = load::cluster_with_bundles(&[("a", 90.0), ("b", 10.0), ("c", 10.0)]);
        let without = load::cluster_with_bundles(&[("b", 10.0), ("c", 10.0)]);
        let back = load::cluster_with_bundles(&[("a", 12.0), ("b", 10.0), ("c", 10.0)]);
        let none = Constraints::default();
        shedder.plan(&hot, &none);
        for _ in 0..4 {
            shedder.plan(&without, &none);
            fresh.plan(&without, &none);
        }
        let [one, other] = [&mut shedder, &mut fresh].map(|shedder| shedder.plan(&back, &none));
        assert_eq!(one, other, "{strategy}");
    }
}
