//! The thread that compacts.

use crate::cluster::{Cluster, smallest_steps};
use crate::refusals::{Fault, Faulty};
use crate::support::at;
use deedbook::compactor::{Compactor, Config, End, Error};
use deedbook::log::SnapshotError;
use std::time::Duration;

#[test]
fn it_compacts_when_asked_to_and_says_why_not() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 4);
    let compactor = Compactor::start(cluster.shared(), smallest_steps()).unwrap();
    let report = compactor
        .request(cluster.epoch, End::CaughtUp)
        .wait()
        .unwrap();
    assert_eq!(report.unwrap().horizon_after, cluster.table.next());
    let old = cluster.epoch;
    cluster.elect(1);
    let refused = compactor.request(old, End::CaughtUp).wait().unwrap();
    assert_eq!(refused, Err(Error::Publish(SnapshotError::Fenced)));
    // A failure is no reason to stop.
    let report = compactor
        .request(cluster.epoch, End::CaughtUp)
        .wait()
        .unwrap();
    assert_eq!(report.unwrap().horizon_after, cluster.table.next());
    compactor.stop();
    cluster.check_snapshot();
}

#[test]
fn while_paused_requests_wait_together() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let compactor = Compactor::start(cluster.shared(), Config::default()).unwrap();
    compactor.pause();
    let first = compactor.request(cluster.epoch, End::At(at(2)));
    cluster.elect(2);
    let second = compactor.request(cluster.epoch, End::CaughtUp);
    assert_eq!(first.wait_for(Duration::ZERO), None);
    assert_eq!(cluster.horizon(), at(0));
    compactor.resume();
    let report = second.wait().unwrap().unwrap();
    assert_eq!(report.horizon_after, cluster.table.next());
    assert_eq!(first.wait().unwrap(), Ok(report));
}

#[test]
fn what_is_not_done_when_it_stops_is_answered() {
    let cluster = Cluster::new();
    let compactor = Compactor::start(cluster.shared(), Config::default()).unwrap();
    compactor.pause();
    let waiting = compactor.request(cluster.epoch, End::CaughtUp);
    compactor.stop();
    assert_eq!(waiting.wait().unwrap(), Err(Error::Stopped));
    assert_eq!(cluster.horizon(), at(0));
}

#[test]
fn after_a_panic_it_refuses_everything() {
    let cluster = Cluster::new();
    let log = Faulty::new(&cluster.log, Fault::Panic);
    let compactor = Compactor::start(log.clone(), Config::default()).unwrap();
    for _ in 0..3 {
        let request = compactor.request(cluster.epoch, End::CaughtUp);
        assert_eq!(request.wait().unwrap(), Err(Error::Panicked));
        log.repair();
    }
    compactor.stop();
    assert_eq!(cluster.horizon(), at(0));
}
