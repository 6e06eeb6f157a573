//! Goal: the avg strategy sheds when it should, and says why when it does not. Method: small
//! clusters whose decisions can be worked out by hand.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;

use deedbook::planner::avg::{AvgShedder, Config, Mode};
use deedbook::planner::{BrokerLoad, Constraints, Kept, Measure, Plan, Resource, Shedder, Stopped};
use load::*;
use std::collections::{BTreeMap, BTreeSet};

/// Who sheds to whom, and how many bundles.
fn routes(plan: &Plan) -> BTreeMap<(String, String), usize> {
    let mut routes = BTreeMap::new();
    for planned in &plan.moves {
        let route = (planned.from.to_string(), planned.to.to_string());
        *routes.entry(route).or_insert(0) += 1;
    }
    routes
}

/// In which rounds of a series of differences between two brokers something is shed.
fn shedding_rounds(mode: Mode, differences: &[f64]) -> Vec<usize> {
    let mut shedder = shedder(mode);
    let mut rounds = Vec::new();
    for (index, difference) in differences.iter().enumerate() {
        let load = cluster_with_bundles(&[("a", 20.0), ("b", 20.0 + difference)]);
        if !plan(&mut shedder, &load).moves.is_empty() {
            rounds.push(index + 1);
        }
    }
    rounds
}

/// A4: a difference of at least the low threshold must last eight rounds in a row, one of at least
/// the high threshold two.
#[test]
fn hits_must_come_in_a_row() {
    let series = |parts: &[(f64, usize)]| -> Vec<f64> {
        parts
            .iter()
            .flat_map(|&(difference, rounds)| vec![difference; rounds])
            .collect()
    };
    for mode in [Mode::Safe, Mode::Reference] {
        let sheds = |parts: &[(f64, usize)]| shedding_rounds(mode, &series(parts));
        assert_eq!(sheds(&[(30.0, 7), (14.0, 1), (30.0, 8)]), [16], "{mode:?}");
        assert_eq!(
            sheds(&[(30.0, 8)]),
            [8],
            "a difference between both thresholds: {mode:?}"
        );
        assert_eq!(
            sheds(&[(15.0, 8)]),
            [8],
            "exactly the low threshold: {mode:?}"
        );
        assert_eq!(sheds(&[(14.9, 20)]), [0usize; 0], "just below it: {mode:?}");
        assert_eq!(sheds(&[(45.0, 2)]), [2], "{mode:?}");
        assert_eq!(
            sheds(&[(41.0, 1), (39.0, 1), (41.0, 1)]),
            [0usize; 0],
            "{mode:?}"
        );
        // The one over the high threshold counts as a low hit too: the eighth round it is.
        let alternating: Vec<_> = [45.0, 30.0].repeat(4);
        assert_eq!(shedding_rounds(mode, &alternating), [8], "{mode:?}");
    }
    // In single precision 60 of 100 less 20 of 100 is more than 40: both modes agree.
    assert_eq!(shedding_rounds(Mode::Safe, &[40.0; 2]), [2]);
    assert_eq!(shedding_rounds(Mode::Reference, &[40.0; 2]), [2]);
}

/// 90 and 10: half of the difference goes in round 2, and then both are even for good.
#[test]
fn a_lopsided_pair_is_even_after_two_rounds_and_stays_so() {
    for mode in [Mode::Safe, Mode::Reference] {
        let mut load = cluster_with_bundles(&[("a", 90.0), ("b", 10.0)]);
        let mut shedder = shedder(mode);
        assert!(plan(&mut shedder, &load).moves.is_empty());
        let second = plan(&mut shedder, &load);
        // Bundles of 9,000 msg/s each, 40,000 wanted: four fit.
        assert_eq!(second.moves.len(), 4, "{mode:?}");
        assert_eq!(stopped(&second, "a"), None);
        let last = second.moves.last().unwrap();
        assert!((last.from_score_after - 54.0).abs() < 1e-4, "{last}");
        assert!((last.to_score_after - 46.0).abs() < 1e-4, "{last}");
        carry_out(&mut load, &second, Measure::Messages);
        for _ in 0..100 {
            assert!(plan(&mut shedder, &load).moves.is_empty(), "{mode:?}");
        }
    }
}

/// 40, 40, 40, 40, 69, 70: both hot brokers shed in round 8, to two different ones.
#[test]
fn two_hot_brokers_shed_to_two_cool_ones() {
    let usages = [
        ("a", 40.0),
        ("b", 40.0),
        ("c", 40.0),
        ("d", 40.0),
        ("e", 69.0),
        ("f", 70.0),
    ];
    let load = cluster_with_bundles(&usages);
    for mode in [Mode::Safe, Mode::Reference] {
        let mut shedder = shedder(mode);
        for _ in 0..7 {
            assert!(plan(&mut shedder, &load).moves.is_empty());
        }
        let eighth = plan(&mut shedder, &load);
        let routes: Vec<_> = routes(&eighth).into_keys().collect();
        // Ties go by name: the first two of the four.
        let expected = [("e", "b"), ("f", "a")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(routes, expected, "{mode:?}");
    }
}

/// S1: 20, 35, 50: the one in the middle has no partner, and the other two are 30 apart.
#[test]
fn the_one_in_the_middle_takes_no_part() {
    let load = cluster_with_bundles(&[("a", 20.0), ("b", 35.0), ("c", 50.0)]);
    for mode in [Mode::Safe, Mode::Reference] {
        let mut shedder = shedder(mode);
        for _ in 0..7 {
            let plan = plan(&mut shedder, &load);
            assert_eq!(stopped(&plan, "b"), Some(Stopped::Middle));
            assert!(!shedder.hits().contains_key(&broker("b")));
        }
        let eighth = plan(&mut shedder, &load);
        assert_eq!(
            routes(&eighth).into_keys().collect::<Vec<_>>(),
            [("c".into(), "a".into())]
        );
    }
}

/// S2: 20, 50, 30 for seven rounds, then the last two swap: the reference sheds from `c` in the
/// first round in which it is hot, with the hits of its partner.
#[test]
fn nobody_sheds_for_the_hits_of_its_partner() {
    let before = cluster_with_bundles(&[("a", 20.0), ("b", 50.0), ("c", 30.0)]);
    let after = cluster_with_bundles(&[("a", 20.0), ("b", 30.0), ("c", 50.0)]);
    for (mode, rounds_after) in [(Mode::Reference, 1), (Mode::Safe, 8)] {
        let mut shedder = shedder(mode);
        for _ in 0..7 {
            assert!(plan(&mut shedder, &before).moves.is_empty());
        }
        for round in 1..=rounds_after {
            let plan = plan(&mut shedder, &after);
            assert_eq!(
                !plan.moves.is_empty(),
                round == rounds_after,
                "{mode:?} {round}"
            );
        }
    }
}

#[test]
fn who_has_left_starts_anew() {
    let both = cluster_with_bundles(&[("a", 20.0), ("b", 50.0)]);
    let alone = cluster_with_bundles(&[("a", 20.0)]);
    let mut shedder = shedder(Mode::Safe);
    for _ in 0..7 {
        plan(&mut shedder, &both);
    }
    assert_eq!(
        stopped(&plan(&mut shedder, &alone), "a"),
        Some(Stopped::Middle)
    );
    assert!(shedder.hits().is_empty());
    assert!(plan(&mut shedder, &both).moves.is_empty());
}

/// In the reference who has left goes on with its hits when it comes back, unless there was a round
/// in which nobody was far apart; in the safe mode it starts anew either way.
#[test]
fn hits_of_who_has_left_wait_for_a_quiet_round() {
    let both = cluster_with_bundles(&[("a", 20.0), ("b", 50.0)]);
    let others = cluster_with_bundles(&[("a", 20.0), ("c", 50.0)]);
    let quiet = cluster_with_bundles(&[("a", 20.0), ("c", 20.0)]);
    for mode in [Mode::Reference, Mode::Safe] {
        for (between, kept) in [(&others, true), (&quiet, false)] {
            let mut shedder = shedder(mode);
            for _ in 0..6 {
                assert!(plan(&mut shedder, &both).moves.is_empty());
            }
            plan(&mut shedder, between);
            let sheds = [(); 2].map(|()| !plan(&mut shedder, &both).moves.is_empty());
            let goes_on = kept && mode == Mode::Reference;
            assert_eq!(sheds, [goes_on, false], "{mode:?}");
        }
    }
}

/// One broker at 90 and nine around 30 that change places in every round; and five around 60
/// against five around 30. Partners change all the time, and shedding must not wait for that.
#[test]
fn noise_among_partners_does_not_put_off_what_is_due() {
    for (hot, hot_points) in [(1, 60.0), (5, 60.0)] {
        let mut shedder = shedder(Mode::Safe);
        let mut first = None;
        for round in 1u32..=8 {
            // A noise of up to two points that repeats nowhere: multiples of an irrational number.
            let noise = |i: u32| (f64::from(i * 31 + round * 7) * 0.618_033_988_75).fract() * 4.0;
            let names: Vec<_> = (0..10).map(|i| format!("b{i}")).collect();
            let points = |i: u32| if i < hot { hot_points } else { 30.0 } - 2.0 + noise(i);
            let usages: Vec<_> = names
                .iter()
                .zip(0..)
                .map(|(name, i)| (name.as_str(), points(i)))
                .collect();
            let plan = plan(&mut shedder, &cluster_with_bundles(&usages));
            if !plan.moves.is_empty() {
                first.get_or_insert(round);
            }
        }
        assert_eq!(first, Some(8), "{hot} hot brokers");
    }
}

/// E8: nine idle brokers and one with a bundle of 10 MB/s: to move it would only move the problem.
#[test]
fn one_big_bundle_stays() {
    for ratio in [0.5, 1.0] {
        let mut load = cluster(&[]);
        for index in 0..10 {
            let busy = index == 0;
            let mut broker_load = BrokerLoad {
                bandwidth_in: Some(Resource::new(if busy { 5.0 } else { 0.0 }, 10.0)),
                traffic: bytes(if busy { 1e7 } else { 0.0 }),
                ..BrokerLoad::default()
            };
            for i in 0..10 {
                let rate = if busy && i == 0 { 1e7 } else { 0.0 };
                broker_load
                    .bundles
                    .insert(bundle(index * 10 + i), bundle_load(bytes(rate)));
            }
            load.brokers
                .insert(broker(&format!("b{index}")), broker_load);
        }
        let config = Config {
            unload_ratio_max: ratio,
            ..Config::default()
        };
        let mut shedder = AvgShedder::new(config).unwrap();
        for _ in 0..20 {
            assert!(plan(&mut shedder, &load).moves.is_empty());
        }
        let last = plan(&mut shedder, &load);
        let reason = stopped(&last, "b0").unwrap();
        let fits = ratio == 1.0;
        assert_eq!(
            matches!(reason, Stopped::WouldNotGain { .. }),
            fits,
            "{reason}"
        );
        assert_eq!(
            matches!(reason, Stopped::NoBundleFits { .. }),
            !fits,
            "{reason}"
        );
        let kept = &last.brokers[&broker("b0")].kept;
        assert_eq!(kept.len(), 10);
        assert_eq!(
            kept.iter().filter(|(_, kept)| *kept == Kept::Idle).count(),
            9
        );
    }
}

/// S3: with the whole difference to move, the reference lets a sole bundle wander; the safe mode
/// does not.
#[test]
fn a_sole_bundle_does_not_wander() {
    let mut load = cluster(&[("a", 60.0), ("b", 0.0)]);
    let hot = load.brokers.get_mut(&broker("a")).unwrap();
    hot.bundles
        .insert(bundle(0), bundle_load(messages(60_000.0)));
    for (mode, moves) in [(Mode::Reference, 1), (Mode::Safe, 0)] {
        let config = Config {
            mode,
            unload_ratio_max: 1.0,
            ..Config::default()
        };
        let mut shedder = AvgShedder::new(config).unwrap();
        plan(&mut shedder, &load);
        assert_eq!(plan(&mut shedder, &load).moves.len(), moves, "{mode:?}");
    }
}

/// A14: what two brokers 600 msg/s apart are told: the minimum is in the way, round after round.
#[test]
fn the_rule_that_blocks_is_named() {
    let mut load = cluster(&[("a", 70.0), ("b", 20.0)]);
    load.brokers.get_mut(&broker("a")).unwrap().traffic = messages(1000.0);
    load.brokers.get_mut(&broker("b")).unwrap().traffic = messages(400.0);
    let mut shedder = shedder(Mode::Safe);
    let first = stopped(&plan(&mut shedder, &load), "a")
        .unwrap()
        .to_string();
    assert!(
        first.contains("1 of 8 over the low threshold, 1 of 2"),
        "{first}"
    );
    for _ in 0..10 {
        let plan = plan(&mut shedder, &load);
        let reason = stopped(&plan, "a").unwrap().to_string();
        assert!(
            reason.contains("wanted 300.0 msg/s, below the minimum of 1000"),
            "{reason}"
        );
        let reason = stopped(&plan, "b").unwrap().to_string();
        assert!(reason.contains("a is the hotter"), "{reason}");
    }
}

#[test]
fn a_broker_without_a_usable_report_takes_no_part() {
    let mut load = cluster_with_bundles(&[("a", 90.0), ("b", 10.0), ("c", 0.0)]);
    let lost = load.brokers.get_mut(&broker("c")).unwrap();
    lost.cpu = Some(Resource::new(f64::NAN, 100.0));
    let mut shedder = shedder(Mode::Safe);
    plan(&mut shedder, &load);
    let second = plan(&mut shedder, &load);
    assert_eq!(stopped(&second, "c"), Some(Stopped::NoData));
    assert_eq!(
        routes(&second).into_keys().collect::<Vec<_>>(),
        [("a".into(), "b".into())]
    );
}

/// What must stay, stays, and says why.
#[test]
fn bundles_that_must_stay_say_why() {
    let mut load = cluster_with_bundles(&[("a", 90.0), ("b", 10.0), ("c", 0.0)]);
    load.recently_moved.insert(bundle(0));
    let hot = load.brokers.get_mut(&broker("a")).unwrap();
    hot.bundles.insert(bundle(1), None);
    hot.bundles
        .insert(bundle(2), bundle_load(messages(f64::NAN)));
    let constraints = Constraints {
        drained: BTreeSet::from([broker("c")]),
        pinned: BTreeSet::from([bundle(3)]),
        ..Constraints::default()
    };
    let mut shedder = shedder(Mode::Safe);
    shedder.plan(&load, &constraints);
    let plan = shedder.plan(&load, &constraints);
    let kept: BTreeMap<_, _> = plan.brokers[&broker("a")].kept.iter().cloned().collect();
    assert_eq!(kept[&bundle(0)], Kept::RecentlyMoved);
    assert_eq!(kept[&bundle(1)], Kept::NoData);
    assert_eq!(kept[&bundle(2)], Kept::UnsoundTraffic);
    assert_eq!(kept[&bundle(3)], Kept::Pinned);
    assert_eq!(stopped(&plan, "c"), Some(Stopped::Drained));
    assert_eq!(plan.moves.len(), 4);
    assert!(plan.moves.iter().all(|planned| planned.to == broker("b")));
}

/// Two lists of the same bundle: nobody knows who owns it, so it moves once at most, and not to one
/// that lists it already.
#[test]
fn a_bundle_that_two_brokers_list_moves_once_at_most() {
    for mode in [Mode::Safe, Mode::Reference] {
        let mut load = cluster_with_bundles(&[("a", 90.0), ("b", 88.0), ("c", 10.0), ("d", 12.0)]);
        let shared: Vec<_> = load.brokers[&broker("a")]
            .bundles
            .clone()
            .into_iter()
            .collect();
        load.brokers
            .get_mut(&broker("b"))
            .unwrap()
            .bundles
            .extend(shared.clone());
        load.brokers
            .get_mut(&broker("c"))
            .unwrap()
            .bundles
            .extend(shared.into_iter().take(1));
        let mut shedder = shedder(mode);
        plan(&mut shedder, &load);
        let second = plan(&mut shedder, &load);
        let moved: BTreeSet<_> = second.moves.iter().map(|planned| &planned.bundle).collect();
        assert_eq!(moved.len(), second.moves.len(), "{mode:?}");
        assert!(second.moves.len() > 4, "{mode:?}");
        assert!(
            second
                .moves
                .iter()
                .all(|m| m.to != broker("c") || m.bundle != bundle(0))
        );
    }
}

/// E8: a destination whose report does not show what it was given gets no more meanwhile.
#[test]
fn one_destination_is_not_flooded_before_it_reports() {
    let config = Config {
        high_hits: 1,
        ..Config::default()
    };
    let mut shedder = AvgShedder::new(config).unwrap();
    let load = cluster_with_bundles(&[("a", 90.0), ("b", 30.0), ("c", 10.0)]);
    let first = plan(&mut shedder, &load);
    assert_eq!(
        routes(&first).into_keys().collect::<Vec<_>>(),
        [("a".into(), "c".into())]
    );
    // Now `b` is hot as well, and the reports of the other two are old.
    let mut later = load.clone();
    later.brokers.get_mut(&broker("b")).unwrap().cpu = Some(Resource::new(90.0, 100.0));
    for _ in 0..3 {
        let plan = plan(&mut shedder, &later);
        assert!(plan.moves.is_empty());
        assert_eq!(stopped(&plan, "c"), Some(Stopped::Unsettled));
    }
    // The move never showed: it is taken for lost.
    assert!(!plan(&mut shedder, &later).moves.is_empty());
}

#[test]
fn huge_numbers_move_nothing_by_accident() {
    let mut load = cluster_with_bundles(&[("a", 90.0), ("b", 10.0)]);
    for (usage, limit) in [
        (1e300, 1.0),
        (1e300, 1e300),
        (1e-300, 1e-300),
        (1e200, 1e-100),
    ] {
        load.brokers.get_mut(&broker("a")).unwrap().cpu = Some(Resource::new(usage, limit));
        let mut shedder = shedder(Mode::Safe);
        for _ in 0..10 {
            for planned in plan(&mut shedder, &load).moves {
                assert!(planned.from_score_after.is_finite(), "{planned}");
                assert!(planned.to_score_after.is_finite(), "{planned}");
            }
        }
    }
}
