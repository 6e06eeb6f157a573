//! Goal: the global planner keeps its promises beside those of every strategy: never worse than the
//! avg strategy, better the longer it thinks, and better than weighted moves. Method: random
//! clusters whose load follows the moves, judged by what brokers then report.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

#[path = "support/load.rs"]
mod load;
#[path = "support/weighted_moves.rs"]
mod weighted_moves;

use deedbook::planner::avg::{self, AvgShedder};
use deedbook::planner::global::{Config, GlobalPlanner};
use deedbook::planner::{ClusterLoad, Constraints, Measure, Mode, Plan, Shedder};
use load::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Due at once, and nothing too little to be moved.
fn eager() -> avg::Config {
    avg::Config {
        low_hits: 1,
        high_hits: 1,
        message_rate_min: 0.0,
        throughput_min: 0.0,
        ..avg::Config::default()
    }
}

fn planned(config: Config, load: &ClusterLoad) -> Plan {
    let mut planner = GlobalPlanner::new(config).unwrap();
    planner.plan(load, &Constraints::default())
}

/// A cluster after a plan.
fn after(load: &ClusterLoad, plan: &Plan, follows: Measure) -> ClusterLoad {
    let mut load = load.clone();
    carry_out(&mut load, plan, follows);
    load
}

fn follows() -> impl Strategy<Value = Measure> {
    prop_oneof![Just(Measure::Messages), Just(Measure::Bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the budget: once carried out, the potential is no higher than it would be with as
    /// many moves of the avg strategy, and if all is within the tolerance no more traffic moves
    /// than there.
    #[test]
    fn never_worse_than_the_avg_strategy(
        mut load in closed_cluster(2..51),
        moves_max in prop_oneof![Just(1_usize), Just(4), Just(1000)],
        follows in follows(),
    ) {
        settle(&mut load, follows);
        let mut avg = AvgShedder::new(eager()).unwrap();
        let mut of_avg = avg.plan(&load, &Constraints::default());
        of_avg.moves.truncate(moves_max);
        let plan = planned(Config { moves_max, avg: eager(), ..Config::default() }, &load);
        let [ours, theirs] = [&plan, &of_avg].map(|plan| potential(&after(&load, plan, follows)));
        prop_assert!(ours <= theirs * (1.0 + 1e-6), "{ours} > {theirs}");
    }

    /// Thought about for longer, a plan leaves less outside of the tolerance or, that being equal,
    /// moves less; without a thought it is that of the avg strategy.
    #[test]
    fn the_longer_it_thinks_the_better(mut load in closed_cluster(2..21)) {
        settle(&mut load, Measure::Messages);
        let plans = [0, 10, 100, 1000, 10_000, 100_000].map(|steps_max| {
            planned(Config { steps_max, avg: eager(), ..Config::default() }, &load)
        });
        let mut avg = AvgShedder::new(eager()).unwrap();
        let of_avg = avg.plan(&load, &Constraints::default());
        let bundles = |plan: &Plan| -> Vec<_> {
            plan.moves.iter().map(|one| (one.bundle.clone(), one.to.clone())).collect()
        };
        prop_assert_eq!(bundles(&plans[0]), bundles(&of_avg));
        let found = plans.iter().filter_map(|plan| plan.search);
        let figures = found.map(|found| (found.excess_after, found.moved_share));
        let figures: Vec<_> = figures.collect();
        for two in figures.windows(2) {
            let [(excess, moved), (excess_next, moved_next)] = [two[0], two[1]];
            let no_more = |a: f64, b: f64| a <= b * (1.0 + 1e-6) + 1e-6;
            prop_assert!(
                no_more(excess_next, excess)
                    && (excess_next < excess * (1.0 - 1e-6) || no_more(moved_next, moved)),
                "{figures:?}"
            );
        }
    }
}

/// On so many clusters.
const CLUSTERS: u32 = 60;

/// A point on the way of a plan: the score of the hottest broker, and the share of the load that
/// moved.
type Reached = (f64, f64);

/// One of the figures of all clusters.
type Column = fn(&Comparison) -> Reached;

/// What comes of a cluster.
struct Comparison {
    before: f64,
    ours: Reached,
    /// Without tolerance.
    exact: Reached,
    /// As low as weighted moves come with as much moved.
    theirs: Reached,
    /// What they move to come as low.
    as_low: Reached,
    theirs_in_the_end: Reached,
    of_avg: Reached,
}

/// The same clusters for both: one resource, which follows messages. Ours must end no hotter than
/// weighted moves do with as much moved, and must not move more than they do for what ours reaches.
#[test]
fn better_than_weighted_moves() {
    let mut runner = TestRunner::deterministic();
    let mut all = Vec::new();
    for index in 0..CLUSTERS {
        let load = one_resource(
            closed_cluster(2..31)
                .new_tree(&mut runner)
                .unwrap()
                .current(),
        );
        let found = compared(&load);
        let (points, moved) = found.ours;
        let (theirs, _) = found.theirs;
        let (_, as_low) = found.as_low;
        assert!(
            points < theirs && moved <= as_low,
            "cluster {index}: {points} points for {moved} of the load; weighted moves: {theirs} \
             points for as much, {as_low} for as few points"
        );
        all.push(found);
    }
    let before = all.iter().map(|of| of.before).sum::<f64>() / f64::from(CLUSTERS);
    println!("on average the hottest of {before:.1} points comes to");
    let lines: [(&str, Column); 6] = [
        ("global", |of| of.ours),
        ("global without tolerance", |of| of.exact),
        ("weighted moves, stopped at as much", |of| of.theirs),
        ("weighted moves, stopped as low", |of| of.as_low),
        ("weighted moves, in the end", |of| of.theirs_in_the_end),
        ("avg, one round", |of| of.of_avg),
    ];
    for (name, of) in lines {
        let sum = all
            .iter()
            .map(of)
            .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let [points, moved] = [sum.0, sum.1].map(|sum| sum / f64::from(CLUSTERS));
        println!("{points:.1} for {moved:.3} of the load: {name}");
    }
}

/// A cluster whose brokers have processors only.
fn one_resource(mut load: ClusterLoad) -> ClusterLoad {
    for broker in load.brokers.values_mut() {
        (broker.bandwidth_in, broker.bandwidth_out) = (None, None);
        for bundle in broker.bundles.values_mut().flatten() {
            let traffic = &mut bundle.short_term;
            traffic.throughput_in = traffic.message_rate_in * 1000.0;
            traffic.throughput_out = traffic.message_rate_out * 1000.0;
        }
    }
    settle(&mut load, Measure::Messages);
    load
}

fn compared(load: &ClusterLoad) -> Comparison {
    let avg = eager();
    let config = Config {
        avg,
        ..Config::default()
    };
    let exact = Config {
        tolerance_points: 0.0,
        ..config.clone()
    };
    let ours = reached(load, &planned(config, load));
    let stages = weighted_moves::rebalance(load);
    let of = |stage: &weighted_moves::Stage| (stage.hottest, stage.churn);
    let with_as_much = stages.iter().filter(|stage| stage.churn <= ours.1).map(of);
    let theirs = with_as_much
        .reduce(|a, b| if b.0 < a.0 { b } else { a })
        .unwrap();
    let end = stages.last().map(of).unwrap();
    let as_low = stages.iter().map(of).find(|stage| stage.0 <= ours.0);
    let mut avg = AvgShedder::new(eager()).unwrap();
    Comparison {
        before: hottest(load),
        ours,
        exact: reached(load, &planned(exact, load)),
        theirs,
        // Where they never come as low, what they move in the end is what counts.
        as_low: as_low.unwrap_or((end.0, end.1.max(ours.1))),
        theirs_in_the_end: end,
        of_avg: reached(load, &avg.plan(load, &Constraints::default())),
    }
}

fn reached(load: &ClusterLoad, plan: &Plan) -> Reached {
    let brokers = load.brokers.values();
    let all: f64 = brokers.map(|broker| broker.traffic.messages()).sum();
    let moved: f64 = plan.moves.iter().map(|one| one.load.messages()).sum();
    (hottest(&after(load, plan, Measure::Messages)), moved / all)
}

fn hottest(load: &ClusterLoad) -> f64 {
    let plan = plan(&mut shedder(Mode::Safe), load);
    let scores = plan
        .brokers
        .values()
        .filter_map(|verdict| verdict.score.as_ref());
    scores.map(|score| score.points).fold(0.0, f64::max)
}
