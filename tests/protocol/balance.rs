//! The leader's loop: rounds when they are due, fresh reports alone, moves within limits, and a
//! report of each.

use super::scene::*;
use deedbook::balance::{
    Balancer, Config, Order, Pace, Recent, Reported, Rounds, Switch, Transfer,
};
use deedbook::clock::Tick;
use deedbook::ids::{BrokerId, BundleId, Epoch, Position};
use deedbook::log::{Payload, TailItem};
use deedbook::planner::{
    BrokerLoad, ClusterLoad, Constraints, Move, Plan, Shedder, Traffic, Unload,
};
use deedbook::protocol::{Answer, Refused};
use deedbook::sim::{Cluster, Outcome};
use deedbook::state::State;
use deedbook::table::Table;
use std::collections::BTreeSet;
use std::time::Duration;

const BROKERS: [&str; 3] = ["a:1", "b:1", "c:1"];

/// Moves every bundle that `a` has to `b` and `c` in turn, and counts its rounds: what it
/// remembers.
#[derive(Clone, Debug, Default)]
struct AwayFromA {
    rounds: usize,
}

impl Shedder for AwayFromA {
    fn plan(&mut self, load: &ClusterLoad, _: &Constraints) -> Plan {
        self.rounds += 1;
        let a = broker("a:1");
        let Some(reported) = load.brokers.get(&a) else {
            return Plan::default();
        };
        let bundles = reported.bundles.keys();
        let free = bundles.filter(|bundle| !load.recently_moved.contains(*bundle));
        let others: Vec<&BrokerId> = load.brokers.keys().filter(|name| **name != a).collect();
        let moves = free.zip(others.into_iter().cycle());
        let moves = moves.map(|(bundle, to)| Move {
            bundle: bundle.clone(),
            from: a.clone(),
            to: to.clone(),
            load: Traffic::default(),
            from_score_after: self.rounds as f64,
            to_score_after: 0.0,
        });
        Plan {
            moves: moves.collect(),
            ..Plan::default()
        }
    }
}

fn rounds(configure: impl FnOnce(&mut Config)) -> Rounds {
    let mut config = Config::default();
    configure(&mut config);
    let shedder = Box::new(AwayFromA::default());
    let balancer = Balancer::new(shedder, Constraints::default(), config);
    Rounds::new(balancer, Pace::default())
}

/// `a` owns this many bundles.
fn scene(count: usize) -> Cluster {
    own(cluster(&BROKERS), &vec!["a:1"; count])
}

/// What all brokers report now, as the table has it.
fn reports(cluster: &Cluster) -> Vec<Reported> {
    let of = |name: &&str| {
        let rows = cluster.table().rows();
        let own = rows.filter(|(_, row)| {
            row.record
                .holder()
                .is_some_and(|h| h.broker == broker(name))
        });
        Reported {
            broker: broker(name),
            load: BrokerLoad {
                bundles: own.map(|(bundle, _)| (bundle.clone(), None)).collect(),
                ..BrokerLoad::default()
            },
            at: cluster.now(),
        }
    };
    BROKERS.iter().map(of).collect()
}

fn lead(rounds: &mut Rounds, cluster: &Cluster, epoch: u64) {
    rounds.lead(cluster.now(), Some(Epoch::new(epoch)));
}

/// Plans a round by these reports, and says which moves it plans.
fn round(rounds: &mut Rounds, cluster: &Cluster, reports: Vec<Reported>) -> Plan {
    let picture = rounds.look(cluster.now(), cluster.table(), reports, |_| true);
    let plan = rounds.plan(&picture);
    rounds.begin(cluster.now(), cluster.table(), picture, plan.clone());
    plan
}

/// Carries these out to their end, through the protocol of `a`.
fn carry_out(rounds: &mut Rounds, cluster: &mut Cluster, due: &[Order]) {
    for order in due {
        let ticket = cluster.ask(&broker("a:1"), order.request());
        let answer = wait(cluster, ticket);
        assert_eq!(
            cluster.outcome(ticket),
            Some(&Outcome::Answered(answer.clone()))
        );
        rounds.on_answer(cluster.now(), order.bundle(), answer);
    }
}

fn bundles(plan: &Plan) -> BTreeSet<BundleId> {
    plan.moves
        .iter()
        .map(|planned| planned.bundle.clone())
        .collect()
}

#[test]
fn who_leads_plans_at_once_and_then_in_turn_and_nobody_else_does() {
    let mut rounds = rounds(|_| {});
    assert!(!rounds.is_due(Tick::from_nanos(u64::MAX)));
    assert_eq!(rounds.next_wake(), None);

    let cluster = scene(2);
    lead(&mut rounds, &cluster, 1);
    assert!(rounds.is_due(cluster.now()));
    round(&mut rounds, &cluster, reports(&cluster));
    let next = cluster.now().after(seconds(60));
    assert_eq!(rounds.next_wake(), Some(next));
    assert!(!rounds.is_due(cluster.now().after(seconds(59))));
    assert!(rounds.is_due(next));

    // It hears again that it leads: that begins no round.
    lead(&mut rounds, &cluster, 1);
    assert!(!rounds.is_due(cluster.now()));
    rounds.lead(cluster.now(), None);
    assert!(!rounds.is_due(next));
    assert_eq!(
        rounds.due(),
        [],
        "what is planned is another leader's by now"
    );
}

#[test]
fn planned_moves_are_made_and_each_ends_in_a_report() {
    let mut cluster = scene(2);
    let mut rounds = rounds(|_| {});
    lead(&mut rounds, &cluster, 1);
    let plan = round(&mut rounds, &cluster, reports(&cluster));
    assert_eq!(plan.moves.len(), 2);
    let due = rounds.due();
    assert_eq!(rounds.under_way().count(), 2);
    carry_out(&mut rounds, &mut cluster, &due);
    assert_eq!(owner(&cluster, &bundle(0, 2)).as_deref(), Some("b:1"));
    assert_eq!(owner(&cluster, &bundle(1, 2)).as_deref(), Some("c:1"));
    assert_eq!(rounds.under_way().count(), 0);
    let answers: Vec<&Answer> = rounds.reports().map(|report| &report.answer).collect();
    assert!(
        matches!(answers[..], [Answer::Done { .. }, Answer::Done { .. }]),
        "{answers:?}"
    );
}

#[test]
fn reports_that_are_too_old_and_brokers_that_are_no_destination_take_no_part() {
    let mut cluster = scene(2);
    let old = reports(&cluster);
    cluster.advance(seconds(181)).unwrap();
    let mut all = reports(&cluster);
    all[1] = old[1].clone();
    let mut rounds = rounds(|_| {});
    lead(&mut rounds, &cluster, 1);
    let now = cluster.now();
    let is_candidate = |name: &BrokerId| *name != broker("c:1");
    let picture = rounds.look(now, cluster.table(), all, is_candidate);
    assert_eq!(picture.stale, [broker("b:1")]);
    assert_eq!(picture.leaving, [broker("c:1")]);
    assert_eq!(picture.load.brokers.len(), 1);
    assert_eq!(
        rounds.plan(&picture).moves,
        [],
        "there is nobody to move to"
    );

    // One that is just as old as it may be counts.
    let mut edge = reports(&cluster);
    edge[1].at = Tick::from_nanos(edge[1].at.nanos() - 180 * 1_000_000_000);
    let picture = rounds.look(now, cluster.table(), edge, |_| true);
    assert_eq!(picture.stale, []);
}

#[test]
fn moves_are_made_within_the_limits_of_a_round_at_once_and_of_a_broker() {
    let mut cluster = scene(8);
    let mut rounds = rounds(|config| {
        config.moves_per_round_max = 6;
        config.moves_at_once_max = 4;
        config.moves_per_broker_max = 3;
    });
    lead(&mut rounds, &cluster, 1);
    let plan = round(&mut rounds, &cluster, reports(&cluster));
    assert_eq!(plan.moves.len(), 8);
    // All of them leave `a`.
    let due = rounds.due();
    assert_eq!(due.len(), 3);
    assert_eq!(rounds.due(), []);
    carry_out(&mut rounds, &mut cluster, &due[..1]);
    assert_eq!(rounds.under_way().count(), 2);
    let next = rounds.due();
    assert_eq!(next.len(), 1, "one ended, so that one more is begun");
    carry_out(&mut rounds, &mut cluster, &due[1..]);
    carry_out(&mut rounds, &mut cluster, &next);
    let rest = rounds.due();
    carry_out(&mut rounds, &mut cluster, &rest);
    assert_eq!(
        rounds.reports().count(),
        6,
        "no more than a round may begin"
    );
    assert_eq!(rounds.planned(), 0);
}

#[test]
fn a_bundle_that_moved_is_left_alone_until_its_load_has_settled() {
    let mut cluster = scene(1);
    let mut rounds = rounds(|config| config.cool_down = seconds(600));
    lead(&mut rounds, &cluster, 1);
    round(&mut rounds, &cluster, reports(&cluster));
    let due = rounds.due();
    carry_out(&mut rounds, &mut cluster, &due);
    let moved = cluster.now();
    // Somebody brings it back.
    let action = transfer("a:1");
    change(&mut cluster, "b:1", &bundle(0, 1), action);
    cluster.advance(seconds(60)).unwrap();
    let plan = round(&mut rounds, &cluster, reports(&cluster));
    assert_eq!(plan.moves, []);
    let rest = seconds(600) - cluster.now().since(moved) + Duration::from_millis(1);
    cluster.advance(rest).unwrap();
    let plan = round(&mut rounds, &cluster, reports(&cluster));
    assert_eq!(bundles(&plan), [bundle(0, 1)].into());
}

#[test]
fn a_bundle_that_changed_since_it_was_planned_is_left_alone() {
    let mut cluster = scene(1);
    let mut rounds = rounds(|_| {});
    lead(&mut rounds, &cluster, 1);
    round(&mut rounds, &cluster, reports(&cluster));
    for destination in ["c:1", "a:1"] {
        let action = transfer(destination);
        change(&mut cluster, "a:1", &bundle(0, 1), action);
        cluster.advance(seconds(1)).unwrap();
    }
    let due = rounds.due();
    carry_out(&mut rounds, &mut cluster, &due);
    let report = rounds.reports().next().unwrap();
    let stale = |answer: &Answer| matches!(answer, Answer::Refused(Refused::StaleVersion { .. }));
    assert!(stale(&report.answer), "{report:?}");
    assert_eq!(owner(&cluster, &bundle(0, 1)).as_deref(), Some("a:1"));
    // It did not move: it may be chosen again at once.
    let plan = round(&mut rounds, &cluster, reports(&cluster));
    assert_eq!(bundles(&plan), [bundle(0, 1)].into());
}

#[test]
fn a_report_older_than_the_table_moves_nothing_that_moved_since() {
    let mut cluster = scene(2);
    let before = reports(&cluster);
    change(&mut cluster, "a:1", &bundle(0, 2), transfer("b:1"));
    cluster.advance(seconds(1)).unwrap();
    let mut rounds = rounds(|_| {});
    lead(&mut rounds, &cluster, 1);
    let plan = round(&mut rounds, &cluster, before);
    assert_eq!(bundles(&plan), [bundle(1, 2)].into());
}

#[test]
fn paused_it_waits_and_switched_off_it_forgets() {
    let cluster = scene(4);
    let mut rounds = rounds(|config| config.moves_at_once_max = 1);
    lead(&mut rounds, &cluster, 1);
    round(&mut rounds, &cluster, reports(&cluster));
    let first = rounds.due();
    assert_eq!(first.len(), 1);
    rounds.switch(Switch::Paused);
    let late = cluster.now().after(seconds(3600));
    assert!(!rounds.is_due(late));
    let refused = Answer::Refused(Refused::NoDestination);
    rounds.on_answer(cluster.now(), first[0].bundle(), refused);
    assert_eq!(
        rounds.reports().count(),
        1,
        "what was asked for is followed"
    );
    assert_eq!(rounds.due(), []);
    assert_eq!(rounds.planned(), 3);
    rounds.switch(Switch::On);
    assert_eq!(rounds.due().len(), 1, "what was planned goes on");
    rounds.switch(Switch::Off);
    assert_eq!(rounds.planned(), 0);
    assert_eq!(rounds.next_wake(), None);
    rounds.switch(Switch::On);
    assert!(rounds.is_due(late));
}

#[test]
fn a_dry_run_says_what_the_next_round_does_and_leaves_no_trace() {
    let cluster = scene(3);
    let mut rounds = rounds(|_| {});
    // Whoever does not lead can do it too.
    let picture = rounds.look(cluster.now(), cluster.table(), reports(&cluster), |_| true);
    let rehearsed = rounds.rehearse(&picture);
    assert_eq!(rehearsed, rounds.rehearse(&picture));
    assert_eq!((rounds.planned(), rounds.due().len()), (0, 0));
    assert!(rounds.last().is_none());
    lead(&mut rounds, &cluster, 1);
    // The plan says in which round of the strategy it was made: the first, still.
    assert_eq!(round(&mut rounds, &cluster, reports(&cluster)), rehearsed);
    assert_eq!(rehearsed.moves[0].from_score_after, 1.0);
}

#[test]
fn a_new_time_as_leader_begins_without_memory() {
    let cluster = scene(3);
    let mut rounds = rounds(|_| {});
    for (epoch, expected) in [(1, 1.0), (1, 2.0), (2, 1.0)] {
        lead(&mut rounds, &cluster, epoch);
        let plan = round(&mut rounds, &cluster, reports(&cluster));
        assert_eq!(plan.moves[0].from_score_after, expected);
        assert_eq!(rounds.last().unwrap().epoch, Epoch::new(epoch));
    }
}

/// Takes one bundle from `a`, and says not where to.
#[derive(Clone, Debug)]
struct OffA;

impl Shedder for OffA {
    fn plan(&mut self, load: &ClusterLoad, _: &Constraints) -> Plan {
        let a = broker("a:1");
        let bundles = load.brokers.get(&a).into_iter();
        let bundles = bundles.flat_map(|reported| reported.bundles.keys());
        let unload = |bundle: &BundleId| Unload {
            bundle: bundle.clone(),
            from: a.clone(),
            load: Traffic::default(),
        };
        Plan {
            unloads: bundles.take(1).map(unload).collect(),
            ..Plan::default()
        }
    }
}

#[test]
fn a_plan_that_only_unloads_is_carried_out_and_whoever_looks_up_next_has_it_placed() {
    let mut cluster = scene(2);
    let balancer = Balancer::new(Box::new(OffA), Constraints::default(), Config::default());
    let mut rounds = Rounds::new(balancer, Pace::default());
    lead(&mut rounds, &cluster, 1);
    round(&mut rounds, &cluster, reports(&cluster));
    let due = rounds.due();
    assert_eq!(due.len(), 1);
    let [
        Order::Move(Transfer {
            bundle: moved, to, ..
        }),
    ] = &due[..]
    else {
        panic!("{due:?}");
    };
    assert_eq!((moved, to), (&bundle(0, 2), &None));
    carry_out(&mut rounds, &mut cluster, &due);
    assert_eq!(state(&cluster, &bundle(0, 2)), State::Free);
    let report = rounds.reports().next().unwrap();
    assert!(matches!(report.answer, Answer::Done { .. }), "{report:?}");
    assert_eq!(rounds.moves().get("done"), Some(&1));

    let ticket = locate(&mut cluster, "b:1", &bundle(0, 2));
    wait(&mut cluster, ticket);
    cluster.advance(seconds(1)).unwrap();
    assert!(owner(&cluster, &bundle(0, 2)).is_some());
}

/// Follows the log as every broker does, and notes what it says of moves.
fn follow(cluster: &Cluster, recent: &mut Recent) {
    let leader = cluster.members().leader().unwrap().session;
    let mut table = Table::default();
    let mut tail = cluster.log().tail(Position::ZERO.next()).unwrap();
    while let Some(item) = tail.poll().unwrap() {
        if let TailItem::Payload {
            position,
            payload: Payload::Entry(entry),
        } = item
        {
            table.apply(position, &entry).unwrap();
            recent.note(cluster.now(), Some(leader), position, &entry, &table);
        } else if let TailItem::Payload { position, .. } = item {
            table.skip(position);
        }
    }
}

/// A strategy that knows only of its own moves would move the same bundle again.
#[test]
fn a_bundle_that_an_earlier_leader_moved_is_left_alone_too() {
    let mut cluster = scene(3);
    let first = leader(&cluster).unwrap();
    let others = BROKERS.iter().filter(|name| **name != first);
    let other = *others.collect::<Vec<_>>()[1];
    // One is moved by the leader, another by hand at somebody else.
    change(&mut cluster, &first, &bundle(0, 3), transfer("b:1"));
    cluster.advance(seconds(1)).unwrap();
    change(&mut cluster, &first, &bundle(0, 3), transfer("a:1"));
    change(&mut cluster, other, &bundle(1, 3), transfer("b:1"));
    cluster.advance(seconds(1)).unwrap();
    change(&mut cluster, other, &bundle(1, 3), transfer("a:1"));
    cluster.advance(seconds(1)).unwrap();

    let mut rounds = rounds(|config| config.cool_down = seconds(600));
    let mut recent = Recent::new(rounds.cool_down());
    follow(&cluster, &mut recent);
    lead(&mut rounds, &cluster, 2);
    rounds.note_moved(&recent);
    let plan = round(&mut rounds, &cluster, reports(&cluster));
    assert_eq!(bundles(&plan), [bundle(1, 3), bundle(2, 3)].into());
    cluster.advance(seconds(601)).unwrap();
    let plan = round(&mut rounds, &cluster, reports(&cluster));
    assert_eq!(plan.moves.len(), 3, "it has cooled down");
}
