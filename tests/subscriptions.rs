//! Goal: whoever subscribes to a table on real threads arrives at it, at any pace, and holds up
//! nobody. Method: a channel and a follower that change faster than a subscriber reads, and copies
//! that are kept from nothing but the updates.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests may stop at the first surprise"
)]

use deedbook::channel::{Channel, Cluster, Follower, Subscription, SubscriptionConfig, Update};
use deedbook::ids::{BundleId, Cuts, KeyRange, Namespace};
use deedbook::receive::{Closed, Ended, MemoryLimit};
use deedbook::state::Row;
use deedbook::table::Table;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Far more than anything here takes; reaching it is a failure.
const LIMIT: Duration = Duration::from_secs(30);

type Copy = BTreeMap<BundleId, Row>;

fn start() -> (Cluster, Channel) {
    let cluster = Cluster::memory();
    let builder = Channel::builder("a:1".parse().unwrap()).cluster(cluster.clone());
    let channel = builder.start().unwrap();
    assert!(channel.wait_ready(LIMIT));
    (cluster, channel)
}

fn narrow() -> SubscriptionConfig {
    let mut config = SubscriptionConfig::default();
    config.size_max = 3;
    config
}

fn namespace(index: usize) -> Namespace {
    format!("t/n{index}").parse().unwrap()
}

/// A namespace of sixteen bundles each; the first of them deleted again.
fn work(channel: &Channel) {
    for index in 0..4 {
        let cuts = Cuts::even(KeyRange::FULL, 16);
        let created = channel.create_namespace(&namespace(index), cuts);
        created.wait().unwrap().unwrap();
    }
    let deleted = channel.delete_namespace(&namespace(0));
    deleted.wait().unwrap().unwrap();
}

fn copied(table: &Table) -> Copy {
    let rows = table.rows();
    rows.map(|(bundle, row)| (bundle.clone(), row.clone()))
        .collect()
}

/// Takes an update over; says whether it was a lag.
fn take_over(copy: &mut Copy, update: Update) -> bool {
    let (changes, is_lag) = match update {
        Update::Changed(change) => (vec![change], false),
        Update::Lagged { changes, .. } => (changes, true),
    };
    for change in changes {
        assert_eq!(copy.get(&change.bundle), change.before.as_ref());
        match change.after {
            Some(row) => copy.insert(change.bundle, row),
            None => copy.remove(&change.bundle),
        };
    }
    is_lag
}

/// Everything that is there; whether there was a lag.
fn drain(subscription: &Subscription, copy: &mut Copy) -> bool {
    let mut lagged = false;
    while let Ok(Some(update)) = subscription.try_next() {
        lagged |= take_over(copy, update);
    }
    lagged
}

/// Nobody reads while a channel works; nothing waits for that, and what is kept is little.
#[test]
fn a_subscriber_that_never_reads_holds_up_nothing_and_arrives_in_the_end() {
    let (cluster, channel) = start();
    let follower = Follower::open(&cluster).unwrap();
    let followed = follower.subscribe(&narrow());
    let subscription = channel.subscribe_with(&narrow());
    work(&channel);
    let end = channel.status().next;
    assert!(follower.wait_for(end.previous(), LIMIT));
    assert_eq!((subscription.status().len, followed.status().len), (4, 4));

    let report = channel.close(LIMIT).wait();
    assert!(report.is_ok());
    let expected = copied(&channel.snapshot());
    assert_eq!(expected.len(), 3 * 16);
    for (subscription, is_over) in [(&subscription, true), (&followed, false)] {
        let mut copy = Copy::new();
        assert!(
            drain(subscription, &mut copy),
            "three of many were kept one by one"
        );
        assert_eq!(copy, expected);
        if is_over {
            // The end of the channel is told after that it has closed.
            assert_eq!(subscription.next_for(LIMIT), Err(Closed));
        } else {
            assert_eq!(subscription.try_next(), Ok(None));
        }
    }
    drop(follower);
    assert_eq!(followed.try_next(), Err(Closed));
}

/// One that reads while the channel works, one that listens, and one that is awaited.
#[test]
fn subscribers_of_every_form_arrive_at_the_same_table() {
    let (_cluster, channel) = start();
    let limit = MemoryLimit::new(1 << 20);
    let mut config = narrow();
    config.limit = Some(limit.clone());
    let (told, heard) = mpsc::channel();
    let subscription = channel.subscribe_with(&config);
    let listener = subscription.listen(move |update| told.send(update).unwrap());
    let reads = channel.subscribe_with(&config);
    let awaits = channel.subscribe();
    let reader = std::thread::spawn(move || {
        let mut copy = Copy::new();
        while let Ok(update) = reads.next_for(LIMIT) {
            take_over(&mut copy, update.expect("the channel ends before that"));
        }
        copy
    });
    work(&channel);
    channel.close(LIMIT).wait().unwrap();
    let expected = copied(&channel.snapshot());
    assert_eq!(reader.join().unwrap(), expected);
    assert_eq!(listener.unwrap().wait(), Ended::Closed);
    let mut copy = Copy::new();
    for update in heard {
        take_over(&mut copy, update);
    }
    assert_eq!(copy, expected);

    let mut copy = Copy::new();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Ok(update)) = pin!(awaits.next_async()).poll(&mut context) {
        assert!(!take_over(&mut copy, update), "it had room for all");
    }
    assert_eq!(copy, expected);
    drop(awaits);
    assert_eq!(limit.used(), 0);
}

/// Whoever subscribes and then takes a snapshot may be told again what is in it, and ends up right.
#[test]
fn a_snapshot_and_the_changes_behind_it_make_the_table() {
    let (_cluster, channel) = start();
    let started = std::sync::Barrier::new(2);
    let copy = std::thread::scope(|scope| {
        let subscriber = scope.spawn(|| {
            started.wait();
            let subscription = channel.subscribe();
            let mut copy = copied(&channel.snapshot());
            while let Ok(update) = subscription.next_for(LIMIT) {
                let Some(Update::Changed(change)) = update else {
                    panic!("there is room, and the channel ends in time");
                };
                match change.after {
                    Some(row) => copy.insert(change.bundle, row),
                    None => copy.remove(&change.bundle),
                };
            }
            copy
        });
        started.wait();
        work(&channel);
        channel.close(LIMIT).wait().unwrap();
        subscriber.join().unwrap()
    });
    assert_eq!(copy, copied(&channel.snapshot()));
}
