//! The balancer on its own thread: a strategy that panics, one that takes its time, moves of the
//! leader before, and the end of the channel.
#![cfg(test)]

use deedbook::balance::{self, Balancer, Pace, Rounds, Switch};
use deedbook::channel::{Balancing, Channel, Cluster, Completion, OwnershipHandler};
use deedbook::clock::BootClock;
use deedbook::ids::{BrokerId, BundleId, Fence, KeyRange, LogId, Namespace};
use deedbook::log::MemoryLog;
use deedbook::planner::{BrokerLoad, ClusterLoad, Constraints, Move, Plan, Shedder, Traffic};
use deedbook::protocol::Answer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Far more than anything here takes; reaching it is a failure.
const LIMIT: Duration = Duration::from_secs(30);

/// A session that outlives every pause of a busy machine.
const LONG: Duration = Duration::from_secs(20);

fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).unwrap()
}

fn whole() -> BundleId {
    BundleId::new(Namespace::new("acme/orders").unwrap(), KeyRange::FULL)
}

fn cluster() -> Cluster {
    let clock = Arc::new(BootClock);
    let log = Arc::new(MemoryLog::new(LogId::new(7), clock.clone()));
    Cluster::embedded(log, clock, LONG)
}

/// Keeps every release, and so holds up whoever is moved.
struct NeverLetsGo(std::sync::mpsc::Sender<Completion>);

impl OwnershipHandler for NeverLetsGo {
    fn acquire(&self, _: &BundleId, _: Fence, done: Completion) {
        done.done();
    }
    fn release(&self, _: &BundleId, _: Fence, _: Option<&BrokerId>, done: Completion) {
        let _ = self.0.send(done);
    }
}

fn start(
    name: &str,
    cluster: &Cluster,
    shedder: impl Shedder + 'static,
    handler: impl OwnershipHandler,
) -> Channel {
    let config = balance::Config::default();
    let balancer = Balancer::new(Box::new(shedder), Constraints::default(), config);
    let mut pace = Pace::default();
    pace.interval = Duration::from_millis(5);
    let channel = Channel::builder(broker(name))
        .cluster(cluster.clone())
        .handler(handler)
        .balance(Rounds::new(balancer, pace))
        .start()
        .unwrap();
    assert!(channel.wait_ready(LIMIT));
    channel
}

/// Looks until it is so; a test that waits for ever is killed.
fn until(channel: &Channel, wanted: impl Fn(&Balancing) -> bool) -> Balancing {
    loop {
        let found = channel.status().balancing.unwrap();
        if wanted(&found) {
            return found;
        }
        thread::yield_now();
    }
}

#[derive(Clone, Debug)]
struct Panics(Arc<AtomicUsize>);

impl Shedder for Panics {
    fn plan(&mut self, _: &ClusterLoad, _: &Constraints) -> Plan {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("a strategy of somebody's own")
    }
}

#[test]
fn a_strategy_that_panics_ends_balancing_and_nothing_else() {
    let asked = Arc::new(AtomicUsize::new(0));
    let cluster = cluster();
    let a = start(
        "a:1",
        &cluster,
        Panics(Arc::clone(&asked)),
        deedbook::channel::Ignore,
    );
    let found = until(&a, |balancing| balancing.failed);
    assert_eq!(found.switch, Switch::Off);
    // It is not asked again, even if somebody turns balancing on.
    a.switch_balancing(Switch::On);
    let namespace = whole().namespace().clone();
    a.create_namespace(&namespace, None)
        .wait()
        .unwrap()
        .unwrap();
    let assigned = a.assign(&whole()).wait().unwrap();
    assert!(assigned.is_ok(), "{assigned:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(!a.status().poisoned);
    assert!(a.close(LIMIT).wait().unwrap().left.is_empty());
}

/// Moves the one bundle to `b`.
#[derive(Clone, Debug)]
struct ToB;

impl Shedder for ToB {
    fn plan(&mut self, load: &ClusterLoad, _: &Constraints) -> Plan {
        let has = |name: &str| load.brokers.get(&broker(name));
        let own = has("a:1").is_some_and(|of| of.bundles.contains_key(&whole()));
        if !own || has("b:1").is_none() || load.recently_moved.contains(&whole()) {
            return Plan::default();
        }
        Plan {
            moves: vec![Move {
                bundle: whole(),
                from: broker("a:1"),
                to: broker("b:1"),
                load: Traffic::default(),
                from_score_after: 0.0,
                to_score_after: 0.0,
            }],
            ..Plan::default()
        }
    }
}

/// `a` owns the one bundle and leads, and both report it.
fn two(cluster: &Cluster, handler: impl OwnershipHandler) -> (Channel, Channel) {
    let a = start("a:1", cluster, ToB, handler);
    let namespace = whole().namespace().clone();
    a.create_namespace(&namespace, None)
        .wait()
        .unwrap()
        .unwrap();
    let own = a.on(&whole()).assign(broker("a:1")).wait();
    own.unwrap().unwrap();
    let b = start("b:1", cluster, ToB, deedbook::channel::Ignore);
    a.report_load(BrokerLoad {
        bundles: [(whole(), None)].into(),
        ..BrokerLoad::default()
    });
    b.report_load(BrokerLoad::default());
    (a, b)
}

#[test]
fn a_move_that_the_end_of_the_channel_cuts_off_has_a_report_too() {
    let (sender, held) = std::sync::mpsc::channel();
    let (a, _b) = two(&cluster(), NeverLetsGo(sender));
    let begun = until(&a, |balancing| !balancing.under_way.is_empty());
    assert_eq!(begun.reports.len(), 0);
    a.close(Duration::ZERO).wait().unwrap();
    let ended = until(&a, |balancing| balancing.under_way.is_empty());
    let answers: Vec<&Answer> = ended.reports.iter().map(|report| &report.answer).collect();
    assert_eq!(answers, [&Answer::Closed]);
    assert_eq!(ended.moves.get("closed"), Some(&1));
    drop(held);
}

#[test]
fn whoever_leads_next_leaves_alone_what_was_moved_before() {
    let (a, b) = two(&cluster(), deedbook::channel::Ignore);
    until(&a, |balancing| balancing.moves.get("done") == Some(&1));
    // It comes back by hand, and the leader changes.
    let back = b.transfer(&whole(), &broker("a:1")).wait().unwrap();
    let position = back.unwrap().position;
    b.refresh(position).wait().unwrap();
    let moved = b.rehearse_balancing().unwrap();
    assert_eq!(moved.moves, [], "it knows, though it never led");
    assert!(b.balancing().unwrap().last.is_none());
}

/// Plans until it is told to stop.
#[derive(Clone, Debug)]
struct TakesItsTime {
    began: Arc<AtomicBool>,
    enough: Arc<AtomicBool>,
}

impl Shedder for TakesItsTime {
    fn plan(&mut self, _: &ClusterLoad, _: &Constraints) -> Plan {
        self.began.store(true, Ordering::SeqCst);
        while !self.enough.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        Plan::default()
    }
}

/// While a round is planned, everything else goes on: what is asked, and the status.
#[test]
fn a_plan_that_takes_its_time_holds_up_nobody() {
    let strategy = TakesItsTime {
        began: Arc::default(),
        enough: Arc::default(),
    };
    let a = start(
        "a:1",
        &cluster(),
        strategy.clone(),
        deedbook::channel::Ignore,
    );
    while !strategy.began.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    let namespace = whole().namespace().clone();
    a.create_namespace(&namespace, None)
        .wait()
        .unwrap()
        .unwrap();
    a.assign(&whole()).wait().unwrap().unwrap();
    let balancing = a.status().balancing.unwrap();
    assert!(balancing.last.is_none(), "it is still being planned");
    strategy.enough.store(true, Ordering::SeqCst);
    until(&a, |balancing| balancing.last.is_some());
}
