//! Bundles that stay too big are split by the strategy, each split ends in a report, and a split
//! that fails is tried again: the scenarios of Apache Pulsar's own tests of its split manager and
//! scheduler, from data, and scenes beside them.

use super::scene::*;
use deedbook::balance::{
    Balancer, Config, Order, Pace, Reported, Rounds, SplitReport, Splitter, Switch,
};
use deedbook::ids::{BundleId, Epoch};
use deedbook::planner::split::{self, SplitPlan, Topics};
use deedbook::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, Constraints, Mode, Strategy, Traffic,
};
use deedbook::protocol::{Action, Answer, Refused, Request};
use deedbook::sim::{Cluster, Outcome};
use deedbook::state::State;
use serde_json::Value;
use std::collections::BTreeMap;

/// What every owner would report if each of its bundles bore so many messages and ten topics.
fn load(cluster: &Cluster, rate: f64) -> ClusterLoad {
    let bundle_load = BundleLoad {
        short_term: Traffic {
            message_rate_in: rate,
            ..Traffic::default()
        },
        topics: 10,
        ..BundleLoad::default()
    };
    let mut load = ClusterLoad::default();
    for (bundle, row) in cluster.table().rows() {
        if let Some(holder) = row.record.holder() {
            let broker = load.brokers.entry(holder.broker.clone()).or_default();
            broker.bundles.insert(bundle.clone(), Some(bundle_load));
        }
    }
    load
}

fn splitter(hits: u32) -> Splitter {
    Splitter::new(split::Config {
        hits,
        ..split::Config::default()
    })
    .unwrap()
}

fn round(splitter: &mut Splitter, cluster: &Cluster, rate: f64) -> SplitPlan {
    splitter.round(cluster.table(), load(cluster, rate), Topics::new())
}

/// Asks for what is due through the protocol of `a`, and says how each ended.
fn carry_out(splitter: &mut Splitter, cluster: &mut Cluster) -> Vec<SplitReport> {
    let due = splitter.due();
    let asked: Vec<_> = due
        .iter()
        .map(|order| cluster.ask(&broker("a"), order.request()))
        .collect();
    let ended = due.iter().zip(asked);
    ended
        .map(|(order, ticket)| {
            let answer = wait(cluster, ticket);
            splitter.on_answer(&order.split.bundle, answer).unwrap()
        })
        .collect()
}

fn is_done(report: &SplitReport) -> bool {
    matches!(report.answer, Answer::Done { .. })
}

/// A namespace of two bundles: too big for four rounds both are split, and so on until they are
/// small enough, or the namespace is full.
#[test]
fn a_bundle_that_stays_too_big_is_split_until_it_is_not() {
    let mut cluster = owned_by(&["a", "b"], &["a", "b"]);
    let mut splitter = splitter(3);
    for _ in 0..3 {
        let plan = round(&mut splitter, &cluster, 50_000.0);
        assert!(plan.splits.is_empty() && plan.whole.len() == 2, "{plan:?}");
    }
    assert_eq!(round(&mut splitter, &cluster, 50_000.0).splits.len(), 2);
    let reports = carry_out(&mut splitter, &mut cluster);
    assert!(reports.len() == 2 && reports.iter().all(is_done));
    cluster.advance(seconds(1)).unwrap();
    let live = load(&cluster, 0.0).brokers;
    let cut = |side: &str| -> Vec<_> {
        let bundles = live[&broker(side)].bundles.keys();
        bundles.map(|bundle| bundle.range().to_string()).collect()
    };
    assert_eq!(cut("a"), ["0x00000000_0x40000000", "0x40000000_0x80000000"]);
    assert_eq!(cut("b"), ["0x80000000_0xbfffffff", "0xbfffffff_0xffffffff"]);
    // Half of the load each: no longer too big, and nothing is remembered.
    for _ in 0..9 {
        let plan = round(&mut splitter, &cluster, 25_000.0);
        assert_eq!(plan, SplitPlan::default());
    }
    assert_eq!(splitter.under_way().count(), 0);
}

/// The reports are older than the table: the parent is in it, and is no bundle any more.
#[test]
fn an_old_report_splits_nothing_twice() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let mut splitter = splitter(0);
    let old = load(&cluster, 50_000.0);
    let plan = splitter.round(cluster.table(), old.clone(), Topics::new());
    assert_eq!(plan.splits.len(), 1);
    assert!(is_done(&carry_out(&mut splitter, &mut cluster)[0]));
    let plan = splitter.round(cluster.table(), old, Topics::new());
    assert_eq!(plan, SplitPlan::default());
}

/// A split that is planned is not for a bundle that changed since.
#[test]
fn what_changed_since_it_was_planned_is_left_alone() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let mut splitter = splitter(0);
    round(&mut splitter, &cluster, 50_000.0);
    for destination in ["b", "a"] {
        let action = transfer(destination);
        change(&mut cluster, "a", &bundle(0, 1), action);
        cluster.advance(seconds(1)).unwrap();
    }
    let report = &carry_out(&mut splitter, &mut cluster)[0];
    let stale = matches!(report.answer, Answer::Refused(Refused::StaleVersion { .. }));
    assert!(stale, "{report:?}");
    assert_eq!(owner(&cluster, &bundle(0, 1)).as_deref(), Some("a"));
}

fn row(id: &str) -> Value {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../data/peer/split_manager.json")).unwrap();
    rows.into_iter().find(|row| row["id"] == id).unwrap()
}

/// One split that ends so; none of it is in flight then, and it was counted once.
fn ends(id: &str, answer: Answer) {
    let row = row(id);
    let cluster = owned_by(&["a", "b"], &["a"]);
    let mut splitter = splitter(0);
    round(&mut splitter, &cluster, 50_000.0);
    let due = splitter.due();
    assert_eq!((due.len(), splitter.under_way().count()), (1, 1));
    let parent = &due[0].split.bundle;
    let report = splitter.on_answer(parent, answer).unwrap();
    assert!(!is_done(&report), "{}", row["expected"]["result"]);
    let left = splitter.under_way().count();
    assert_eq!(left, 0);
    let expected = row["expected"].get("in_flight_after");
    assert!(expected.is_none_or(|expected| *expected == left));
    assert!(splitter.on_answer(parent, Answer::Closed).is_none(), "once");
    // Too big for long enough anew, it is tried again.
    assert_eq!(round(&mut splitter, &cluster, 50_000.0).splits.len(), 1);
}

#[test]
fn sp_31_what_could_not_be_written_has_failed() {
    ends("SP-31", Answer::Refused(Refused::NoDestination));
}

#[test]
fn sp_32_what_takes_too_long_has_timed_out() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    // The hook does not end within the limit of the row.
    let limit = seconds(row("SP-32")["setup"]["timeout_s"].as_u64().unwrap());
    slow_hooks(&mut cluster, "a", 10_000);
    let mut splitter = splitter(0);
    round(&mut splitter, &cluster, 50_000.0);
    let order = &splitter.due()[0];
    let deadline = Some(limit);
    let ticket = cluster.ask_within(&broker("a"), order.request(), deadline);
    let answer = wait(&mut cluster, ticket);
    assert!(matches!(answer, Answer::TimedOut { .. }), "{answer:?}");
    ends("SP-32", answer);
}

#[test]
fn sp_34_what_something_else_took_over_has_failed() {
    ends("SP-34", Answer::Superseded { row: None });
}

#[test]
fn sp_35_who_closes_ends_its_splits() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    slow_hooks(&mut cluster, "a", 10_000);
    let mut splitter = splitter(0);
    round(&mut splitter, &cluster, 50_000.0);
    let order = &splitter.due()[0];
    let ticket = cluster.ask(&broker("b"), order.request());
    cluster.advance(seconds(1)).unwrap();
    cluster.close(&broker("b"), seconds(5));
    let limit = seconds(60);
    let ended = cluster.advance_until(limit, |cluster| cluster.outcome(ticket).is_some());
    assert!(ended.unwrap());
    match cluster.outcome(ticket) {
        Some(Outcome::Answered(answer)) => ends("SP-35", answer.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sp_37_all_are_tried_although_the_first_fails() {
    let row = row("SP-37");
    let cluster = owned_by(&["a", "b"], &["a", "a"]);
    let mut splitter = splitter(0);
    round(&mut splitter, &cluster, 50_000.0);
    let due = splitter.due();
    assert_eq!(row["expected"]["published_attempts"], due.len());
    let failed = due.iter().filter_map(|order| {
        let refused = Answer::Refused(Refused::NoDestination);
        splitter.on_answer(&order.split.bundle, refused)
    });
    let failed = failed.filter(|report| !is_done(report)).count();
    assert_eq!(row["expected"]["counter"]["count"], failed);
}

/// Off or paused the strategy is not asked: no round counts as a hit.
#[test]
fn sp_38_switched_off_the_strategy_is_not_asked() {
    let cluster = owned_by(&["a", "b"], &["a"]);
    let mut splitter = splitter(1);
    for switch in [Switch::Off, Switch::Paused] {
        splitter.switch(switch);
        for _ in 0..3 {
            assert_eq!(
                round(&mut splitter, &cluster, 50_000.0),
                SplitPlan::default()
            );
        }
    }
    splitter.switch(Switch::On);
    assert!(round(&mut splitter, &cluster, 50_000.0).splits.is_empty());
    assert_eq!(round(&mut splitter, &cluster, 50_000.0).splits.len(), 1);
    splitter.switch(Switch::Paused);
    assert!(splitter.due().is_empty());
    splitter.switch(Switch::On);
    assert_eq!(splitter.due().len(), 1, "what was planned waited");
}

/// The owner alone runs the hook, and what is left of a deleted namespace is in nobody's way.
#[test]
fn sp_28_a_split_by_configuration_and_once_more_in_a_new_namespace() {
    let mut cluster = cluster(&["a", "b"]);
    let parent = bundle(0, 1);
    let strategy = split::SplitStrategy::new(split::Config::default()).unwrap();
    let cuts = strategy.cut(&parent, &[], 1).unwrap();
    assert_eq!(cuts.as_slice(), [0x7fff_ffff]);
    for times in [1, 2] {
        create(&mut cluster, 1);
        change(&mut cluster, "a", &parent, assign("a"));
        cluster.advance(seconds(1)).unwrap();
        let action = Action::Split { cuts: cuts.clone() };
        let answer = change(&mut cluster, "b", &parent, action);
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
        cluster.advance(seconds(1)).unwrap();
        let live = cluster.table().rows();
        let live = live.filter(|(bundle, _)| state(&cluster, bundle) == State::Owned);
        assert_eq!(live.count(), 2);
        let hooks = hooks(&cluster, &parent);
        let splits = hooks.iter().filter(|(hook, _)| hook.contains("split"));
        assert_eq!(splits.count(), times);
        assert!(
            hooks.iter().all(|(hook, _)| hook.starts_with("a ")),
            "{hooks:?}"
        );
        let delete = Request::DeleteNamespace {
            namespace: namespace(),
            expected: None,
        };
        let answer = answer_of(&mut cluster, delete);
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
        cluster.advance(seconds(1)).unwrap();
    }
}

fn answer_of(cluster: &mut Cluster, request: Request) -> Answer {
    answer(cluster, "a", request)
}

#[test]
fn sp_29_a_range_that_is_none_is_refused() {
    assert!("t/n/invalid".parse::<BundleId>().is_err());
}

/// In the rounds of the leader: one bundle is split or moved, never both at once, and each ends in
/// a report of its own.
#[test]
fn the_leader_splits_in_its_rounds() {
    let mut cluster = owned_by(&["a", "b"], &["a", "a", "a"]);
    let shedder = Strategy::Overload.settings(Mode::Safe).build().unwrap();
    let balancer = Balancer::new(shedder, Constraints::default(), Config::default());
    let mut rounds = Rounds::new(balancer, Pace::default()).splitting(splitter(0));
    rounds.lead(cluster.now(), Some(Epoch::new(1)));
    let mut reported = load(&cluster, 10_000.0);
    let hot = reported.brokers.get_mut(&broker("a")).unwrap();
    // One is too big, and all are too many: without the split the biggest would move.
    for (index, rate) in [50_000.0, 10_000.0, 10_000.0].into_iter().enumerate() {
        let of = hot.bundles.get_mut(&bundle(index, 3)).unwrap();
        of.as_mut().unwrap().short_term.message_rate_in = rate;
    }
    hot.traffic.message_rate_in = 70_000.0;
    hot.cpu = Some(deedbook::planner::Resource::new(95.0, 100.0));
    let idle = BrokerLoad {
        cpu: Some(deedbook::planner::Resource::new(5.0, 100.0)),
        ..BrokerLoad::default()
    };
    reported.brokers.insert(broker("b"), idle);
    let reports = |load: &ClusterLoad, cluster: &Cluster| -> Vec<Reported> {
        let of = load.brokers.clone().into_iter();
        of.map(|(broker, load)| Reported {
            broker,
            load,
            at: cluster.now(),
        })
        .collect()
    };
    let picture = rounds.look(
        cluster.now(),
        cluster.table(),
        reports(&reported, &cluster),
        |_| true,
    );
    let plan = rounds.plan(&picture);
    rounds.begin(cluster.now(), cluster.table(), picture, plan);
    assert_eq!(rounds.last().unwrap().splits.splits.len(), 1);
    let due = rounds.due();
    let mut kinds = BTreeMap::new();
    for order in &due {
        let is_split = matches!(order, Order::Split(_));
        assert!(kinds.insert(order.bundle().clone(), is_split).is_none());
    }
    assert!(kinds[&bundle(0, 3)]);
    assert!(kinds.values().any(|is_split| !is_split), "{due:?}");
    // Until it ends the split bundle is in no other round.
    let picture = rounds.look(
        cluster.now(),
        cluster.table(),
        reports(&reported, &cluster),
        |_| true,
    );
    let looked_at = &picture.load.brokers[&broker("a")].bundles;
    assert!(!looked_at.contains_key(&bundle(0, 3)));
    for order in &due {
        let ticket = cluster.ask(&broker("a"), order.request());
        let answer = wait(&mut cluster, ticket);
        rounds.on_answer(cluster.now(), order.bundle(), answer);
    }
    assert!(rounds.split_reports().all(is_done));
    assert_eq!(rounds.split_reports().count(), 1);
    assert_eq!(rounds.reports().count(), due.len() - 1);
    assert_eq!(state(&cluster, &bundle(0, 3)), State::Deleted);
}
