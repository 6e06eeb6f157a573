//! Three brokers in one process, on real threads: assign, transfer, unload, split, the loss of a
//! broker, its return.

#![cfg(test)]

use deedbook::balance::{self, Balancer, Pace, Rounds, Switch};
use deedbook::channel::{
    Channel, Cluster, CommandError, CommandResult, Completion, Follower, OwnershipHandler,
};
use deedbook::clock::BootClock;
use deedbook::compactor::Policy;
use deedbook::ids::{BrokerId, BundleId, Cuts, Fence, KeyRange, LogId, Namespace, Position};
use deedbook::log::{EventLog, MemoryLog, ReadError};
use deedbook::pending::{Abandoned, Pending};
use deedbook::planner::{BrokerLoad, ClusterLoad, Constraints, Move, Plan, Shedder, Traffic};
use deedbook::protocol::{Answer, Config, Mine, Refused};
use deedbook::state::{Record, Row, State};
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Far more than anything here takes; reaching it is a failure.
const LIMIT: Duration = Duration::from_secs(30);

/// A session that outlives every pause of a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// A session that is over soon, and still outlives a pause of a second.
const SHORT: Duration = Duration::from_secs(2);

/// Tells of each hook through a queue.
struct Told(mpsc::Sender<String>);

impl OwnershipHandler for Told {
    fn acquire(&self, bundle: &BundleId, _: Fence, done: Completion) {
        let _ = self.0.send(format!("acquire {}", bundle.range()));
        done.done();
    }

    fn release(&self, bundle: &BundleId, _: Fence, to: Option<&BrokerId>, done: Completion) {
        let to = to.map_or("nobody", BrokerId::as_str);
        let _ = self.0.send(format!("release {} to {to}", bundle.range()));
        done.done();
    }

    fn split(&self, bundle: &BundleId, _: Fence, children: &[BundleId], done: Completion) {
        let _ = self
            .0
            .send(format!("split {} into {}", bundle.range(), children.len()));
        done.done();
    }
}

struct Brokers {
    cluster: Cluster,
    channels: BTreeMap<&'static str, (Channel, mpsc::Receiver<String>)>,
}

impl Brokers {
    fn start(names: &[&'static str], ttl: Duration) -> Self {
        let clock = Arc::new(BootClock);
        let log = Arc::new(MemoryLog::new(LogId::new(7), clock.clone()));
        let cluster = Cluster::embedded(log, clock, ttl);
        let mut brokers = Self {
            cluster,
            channels: BTreeMap::new(),
        };
        for name in names {
            brokers.add(name);
        }
        brokers
    }

    fn add(&mut self, name: &'static str) {
        let (sender, told) = mpsc::channel();
        let mut config = Config::default();
        config.takeover_margin = Duration::from_millis(50);
        let channel = Channel::builder(broker(name))
            .cluster(self.cluster.clone())
            .handler(Told(sender))
            .config(config)
            .start()
            .unwrap();
        assert!(channel.wait_ready(LIMIT), "{name} is ready");
        self.channels.insert(name, (channel, told));
    }

    /// Gives the whole key space to a broker, as soon as the others know that it is there.
    fn assign(&self, by: &str, to: &str) {
        self.patiently(|| self.get(by).on(&whole()).assign(broker(to)));
    }

    /// Moves the whole key space to a broker, as soon as the others know that it is there.
    fn transfer(&self, by: &str, to: &str) {
        self.patiently(|| self.get(by).on(&whole()).transfer(broker(to)));
    }

    /// Asks until the destination is known to live.
    fn patiently(&self, ask: impl Fn() -> Pending<CommandResult>) {
        loop {
            match ask().wait().unwrap() {
                Err(CommandError::Refused(Refused::NotADestination { .. })) => {}
                ended => {
                    ended.unwrap();
                    return;
                }
            }
        }
    }

    fn get(&self, name: &str) -> &Channel {
        &self.channels[name].0
    }

    /// The next thing that the broker's hooks told.
    fn told(&self, name: &str) -> String {
        self.channels[name].1.recv_timeout(LIMIT).unwrap()
    }
}

fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).unwrap()
}

fn namespace() -> Namespace {
    Namespace::new("acme/orders").unwrap()
}

fn whole() -> BundleId {
    BundleId::new(namespace(), KeyRange::FULL)
}

fn owned_by(name: &str) -> impl Fn(Option<&Row>) -> bool + Send + 'static + use<> {
    let name = broker(name);
    move |row| {
        row.is_some_and(
            |row| matches!(&row.record, Record::Owned { owner } if owner.broker == name),
        )
    }
}

/// Waits until every broker has read what makes the row as wanted.
fn everywhere(
    brokers: &Brokers,
    bundle: &BundleId,
    wanted: impl Fn(Option<&Row>) -> bool + Send + Clone + 'static,
) {
    for (channel, _) in brokers.channels.values() {
        let seen = channel.wait_until(bundle, wanted.clone());
        seen.wait_for(LIMIT)
            .expect("in time")
            .expect("not abandoned");
    }
}

#[test]
fn a_bundle_is_assigned_moved_freed_and_divided() {
    let brokers = Brokers::start(&["a", "b", "c"], LONG);
    let a = brokers.get("a");
    a.create_namespace(&namespace(), None)
        .wait()
        .unwrap()
        .unwrap();
    brokers.assign("a", "b");
    assert_eq!(brokers.told("b"), "acquire 0x00000000_0xffffffff");

    // A transfer that is complete has let go on one side and begun on the other.
    let version = a.row(&whole()).unwrap().version;
    brokers.patiently(|| a.on(&whole()).expecting(version).transfer(broker("c")));
    assert_eq!(brokers.told("b"), "release 0x00000000_0xffffffff to c");
    assert_eq!(brokers.told("c"), "acquire 0x00000000_0xffffffff");
    assert!(!matches!(
        brokers.get("b").is_mine(&whole()),
        Mine::Yes { .. }
    ));
    let stale = a.on(&whole()).expecting(version).unload().wait().unwrap();
    assert!(
        matches!(
            stale,
            Err(CommandError::Refused(Refused::StaleVersion { .. }))
        ),
        "the version is an old one: {stale:?}"
    );

    let cuts = Cuts::even(KeyRange::FULL, 2).unwrap();
    a.split(&whole(), cuts).wait().unwrap().unwrap();
    assert_eq!(brokers.told("c"), "split 0x00000000_0xffffffff into 2");
    let mut rest: Vec<String> = (0..3).map(|_| brokers.told("c")).collect();
    rest.sort();
    assert_eq!(
        rest,
        [
            "acquire 0x00000000_0x80000000",
            "acquire 0x80000000_0xffffffff",
            "release 0x00000000_0xffffffff to nobody",
        ]
    );
    let low: BundleId = "acme/orders/0x00000000_0x80000000".parse().unwrap();
    a.unload(&low).wait().unwrap().unwrap();
    assert_eq!(a.row(&low).unwrap().record, Record::Free);
    let refused = a.transfer(&low, &broker("nobody")).wait().unwrap();
    assert!(
        matches!(refused, Err(CommandError::Refused(_))),
        "{refused:?}"
    );
}

#[test]
fn a_thousand_look_ups_cost_one_assignment() {
    let brokers = Brokers::start(&["a", "b"], LONG);
    let a = brokers.get("a");
    a.create_namespace(&namespace(), None)
        .wait()
        .unwrap()
        .unwrap();
    let before = a.status().next;
    let asked: Vec<_> = (0..1000)
        .map(|key| a.locate_key(&namespace(), key, LIMIT))
        .collect();
    let owners: Vec<_> = asked
        .iter()
        .map(|owner| owner.wait().unwrap().unwrap())
        .collect();
    assert!(owners.iter().all(|owner| owner.broker.is_some()));
    everywhere(&brokers, &whole(), |row| Row::state_of(row) == State::Owned);
    // Assigning and Owned, and perhaps an election with its first word.
    let changes = a.status().next.get() - before.get();
    assert!(changes <= 4, "{changes} entries for a thousand look-ups");
}

/// A listener runs on the channel's own thread, which can answer nobody meanwhile.
#[test]
fn who_serves_a_bundle_is_told_while_the_channels_own_thread_is_busy() {
    let brokers = Brokers::start(&["a"], LONG);
    let a = brokers.get("a");
    a.create_namespace(&namespace(), None)
        .wait()
        .unwrap()
        .unwrap();
    brokers.assign("a", "a");
    let owned = a.wait_until(&whole(), owned_by("a"));
    owned.wait_for(LIMIT).expect("in time").unwrap();
    let (sender, answers) = mpsc::channel();
    let asked = a.clone();
    a.listen(move |_, _| {
        let _ = sender.send(asked.owner(&whole()).get());
    });
    let other = Namespace::new("acme/other").unwrap();
    a.create_namespace(&other, None).wait().unwrap().unwrap();
    let answer = answers.recv_timeout(LIMIT).unwrap();
    let owner = answer.expect("at once").unwrap().unwrap();
    assert_eq!((owner.bundle, owner.broker), (whole(), Some(broker("a"))));
    a.close(LIMIT).wait().unwrap();
}

#[test]
fn a_lost_broker_is_replaced_and_comes_back_as_another_session() {
    let mut brokers = Brokers::start(&["a", "b"], SHORT);
    let a = brokers.get("a").clone();
    a.create_namespace(&namespace(), None)
        .wait()
        .unwrap()
        .unwrap();
    brokers.assign("a", "b");
    let fence_of_b = a.row(&whole()).unwrap().fence;

    // Dropping the last handle is as if the process had died: nobody says goodbye.
    brokers.channels.remove("b");
    let healed = a.wait_until(&whole(), owned_by("a"));
    let row = healed
        .wait_for(LIMIT)
        .expect("healed in time")
        .unwrap()
        .unwrap();
    assert!(
        row.fence > fence_of_b,
        "whoever comes later has the higher fence"
    );
    assert_eq!(brokers.told("a"), "acquire 0x00000000_0xffffffff");

    brokers.add("b");
    brokers.transfer("a", "b");
    let b = brokers.get("b");
    let mine = b.wait_until(&whole(), owned_by("b")).wait_for(LIMIT);
    assert!(mine.is_some());
    assert_eq!(brokers.told("b"), "acquire 0x00000000_0xffffffff");
}

#[test]
fn closing_hands_over_and_the_last_one_frees() {
    let brokers = Brokers::start(&["a", "b"], LONG);
    let a = brokers.get("a");
    let b = brokers.get("b");
    a.create_namespace(&namespace(), Cuts::even(KeyRange::FULL, 4))
        .wait()
        .unwrap()
        .unwrap();
    let bundles: Vec<BundleId> = a.read(|table| table.rows().map(|(b, _)| b.clone()).collect());
    for bundle in &bundles {
        a.on(bundle).assign(broker("a")).wait().unwrap().unwrap();
    }
    let report = a.close(LIMIT).wait().unwrap();
    assert!(report.left.is_empty(), "{report:?}");
    for bundle in &bundles {
        b.wait_until(bundle, owned_by("b"))
            .wait_for(LIMIT)
            .expect("handed over")
            .unwrap();
    }
    let refused = a.unload(&bundles[0]).wait().unwrap();
    assert_eq!(refused, Err(CommandError::Closed));
    let never = a.wait_until(&bundles[0], |_| false).wait_for(LIMIT);
    assert_eq!(never, Some(Err(Abandoned)), "nobody waits for ever");

    let report = b.close(LIMIT).wait().unwrap();
    assert!(report.left.is_empty(), "{report:?}");
    let free = b.read(|table| table.rows().all(|(_, row)| row.record == Record::Free));
    assert!(free, "nobody is left to own them");
}

#[test]
fn the_leader_keeps_the_log_short_and_newcomers_start_from_its_snapshot() {
    let clock = Arc::new(BootClock);
    let log = Arc::new(MemoryLog::new(LogId::new(7), clock.clone()));
    let cluster = Cluster::embedded(log.clone(), clock, LONG);
    let mut policy = Policy::default();
    policy.entries_max = 20;
    policy.interval_min = Duration::ZERO;
    let start = |name| {
        let builder = Channel::builder(broker(name)).cluster(cluster.clone());
        let channel = builder.compaction(policy.clone()).start().unwrap();
        assert!(channel.wait_ready(LIMIT), "{name} is ready");
        channel
    };
    let a = start("a");
    a.create_namespace(&namespace(), None)
        .wait()
        .unwrap()
        .unwrap();
    let horizon = || log.snapshot().unwrap().map(|snapshot| snapshot.horizon());
    let trimmed = || matches!(log.tail(Position::new(1)), Err(ReadError::Trimmed { .. }));
    // Each turn of assigning and unloading is four entries. A broker whose tail falls behind the
    // horizon meanwhile does not learn what became of its commands; that is no failure here.
    let end = a.status().next.get() + 100_000;
    while !trimmed() && a.status().next.get() < end {
        let _ = a.assign(&whole()).wait();
        let _ = a.unload(&whole()).wait();
    }
    assert!(trimmed(), "horizon {:?}, end {}", horizon(), log.end());

    while a.row(&whole()).unwrap().record != Record::Free {
        let _ = a.unload(&whole()).wait();
    }

    let b = start("b");
    assert_eq!(b.row(&whole()), a.row(&whole()));
    let follower = Follower::open(&cluster).unwrap();
    assert!(follower.wait_for(log.end().previous(), LIMIT));
    assert_eq!(follower.row(&whole()), a.row(&whole()));
}

#[cfg(unix)]
#[test]
fn a_cluster_on_files_remembers_and_a_restarted_broker_takes_back_what_was_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let fence = {
        let cluster = Cluster::file(folder.path()).unwrap();
        let a = Channel::builder(broker("a"))
            .cluster(cluster)
            .start()
            .unwrap();
        assert!(a.wait_ready(LIMIT));
        a.create_namespace(&namespace(), None)
            .wait()
            .unwrap()
            .unwrap();
        a.assign(&whole()).wait().unwrap().unwrap();
        a.row(&whole()).unwrap().fence
        // Dropped, not closed: as if the process had died.
    };
    let cluster = Cluster::file(folder.path()).unwrap();
    // The lock on the files proves that the old process is gone: nobody has to wait for it.
    let a = Channel::builder(broker("a"))
        .cluster(cluster.clone())
        .start()
        .unwrap();
    assert!(a.wait_ready(LIMIT));
    let taken = a.wait_until(&whole(), move |row| {
        row.is_some_and(|row| row.fence > fence)
    });
    let row = taken.wait_for(LIMIT).expect("in time").unwrap().unwrap();
    assert!(matches!(row.record, Record::Owned { .. }), "{row:?}");
    let follower = Follower::open(&cluster).unwrap();
    assert!(follower.wait_for(row.version, LIMIT));
    assert_eq!(follower.row(&whole()), Some(row));
}

/// Moves one bundle from the broker with more to the one without any.
#[derive(Clone, Debug)]
struct OneToTheIdle;

impl Shedder for OneToTheIdle {
    fn plan(&mut self, load: &ClusterLoad, _: &Constraints) -> Plan {
        let busy = load.brokers.iter().find(|(_, of)| of.bundles.len() > 1);
        let idle = load.brokers.iter().find(|(_, of)| of.bundles.is_empty());
        let (Some((from, of)), Some((to, _))) = (busy, idle) else {
            return Plan::default();
        };
        let bundles = of.bundles.keys().take(1);
        let moves = bundles.map(|bundle| Move {
            bundle: bundle.clone(),
            from: from.clone(),
            to: to.clone(),
            load: Traffic::default(),
            from_score_after: 0.0,
            to_score_after: 0.0,
        });
        Plan {
            moves: moves.collect(),
            ..Plan::default()
        }
    }
}

/// The leader balances by what the brokers report, once it is switched on; a dry run moves nothing.
#[test]
fn the_leader_balances_by_the_reports_of_all() {
    let clock = Arc::new(BootClock);
    let log = Arc::new(MemoryLog::new(LogId::new(7), clock.clone()));
    let cluster = Cluster::embedded(log, clock, LONG);
    let start = |name: &str| {
        let config = balance::Config::default();
        let balancer = Balancer::new(Box::new(OneToTheIdle), Constraints::default(), config);
        let mut pace = Pace::default();
        pace.interval = Duration::from_millis(20);
        let channel = Channel::builder(broker(name))
            .cluster(cluster.clone())
            .balance(Rounds::new(balancer, pace))
            .start()
            .unwrap();
        assert!(channel.switch_balancing(Switch::Off));
        assert!(channel.wait_ready(LIMIT));
        channel
    };
    let (a, b) = (start("a"), start("b"));
    let cuts = Cuts::even(KeyRange::FULL, 2).unwrap();
    let created = a.create_namespace(&namespace(), Some(cuts.clone())).wait();
    created.unwrap().unwrap();
    let parts = cuts.parts(KeyRange::FULL);
    let bundles: Vec<BundleId> = parts
        .map(|range| BundleId::new(namespace(), range))
        .collect();
    for bundle in &bundles {
        a.on(bundle).assign(broker("a")).wait().unwrap().unwrap();
    }
    a.report_load(BrokerLoad {
        bundles: bundles
            .iter()
            .map(|bundle| (bundle.clone(), None))
            .collect(),
        ..BrokerLoad::default()
    });
    b.report_load(BrokerLoad::default());

    let plan = loop {
        // Until `a` knows that `b` is there.
        let plan = a.rehearse_balancing().unwrap();
        if !plan.moves.is_empty() {
            break plan;
        }
    };
    assert_eq!(plan.moves[0].to, broker("b"));
    assert_eq!(a.owned(), bundles, "it was a dry run");
    assert!(a.balancing().unwrap().last.is_none());

    let moved = a.wait_until(&bundles[0], owned_by("b"));
    for channel in [&a, &b] {
        channel.switch_balancing(Switch::On);
    }
    assert!(moved.wait_for(LIMIT).is_some(), "in time");
    // Whoever leads has the report, as soon as the answer has reached it.
    let report = loop {
        let all = [&a, &b].map(|channel| channel.balancing().unwrap().reports);
        if let Some(report) = all.concat().pop() {
            break report;
        }
    };
    assert!(matches!(report.answer, Answer::Done { .. }), "{report:?}");
    assert_eq!(report.transfer.bundle, bundles[0]);
}
