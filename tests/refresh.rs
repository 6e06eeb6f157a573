//! Waiting for a position of the log on a channel, on real threads.

#![cfg(test)]

use deedbook::channel::{Channel, Cluster};
use deedbook::clock::BootClock;
use deedbook::ids::{BundleId, Holder, KeyRange, LogId, Namespace, Position, SessionToken};
use deedbook::log::{Append, EventLog, Guard, MemoryLog};
use deedbook::pending::Abandoned;
use deedbook::state::{Body, Entry};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Far more than anything here takes; reaching it is a failure.
const LIMIT: Duration = Duration::from_secs(30);

/// Who waits for a position sees what stands there, also if it was rejected, and is not held up by
/// asking while it is told of it.
#[test]
fn a_refresh_ends_once_the_effect_is_visible() {
    let clock = Arc::new(BootClock);
    let log = Arc::new(MemoryLog::new(LogId::new(7), clock.clone()));
    let cluster = Cluster::embedded(log.clone(), clock, LIMIT);
    let start = |name: &str| {
        let channel = Channel::builder(name.parse().unwrap()).cluster(cluster.clone());
        let channel = channel.start().unwrap();
        assert!(channel.wait_ready(LIMIT), "{name} is ready");
        channel
    };
    let (a, b) = (start("a"), start("b"));
    let namespace: Namespace = "acme/orders".parse().unwrap();
    let whole = BundleId::new(namespace.clone(), KeyRange::FULL);
    let (sender, heard) = mpsc::channel();
    let listening = b.clone();
    b.listen(move |bundle, row| {
        let version = row.unwrap().version;
        let refreshed = listening.refresh(version).wait();
        let _ = sender.send((refreshed, listening.row(bundle).unwrap().version, version));
    });
    let created = a
        .create_namespace(&namespace, None)
        .wait()
        .unwrap()
        .unwrap();
    let created = created.position;
    let refreshed = b.refresh(created);
    assert_eq!(refreshed.wait_for(LIMIT), Some(Ok(())));
    assert!(b.row(&whole).is_some());
    let (inside, row, version) = heard.recv_timeout(LIMIT).unwrap();
    assert_eq!((inside, row, version), (Ok(()), created, created));

    // An entry that is rejected has been applied, too.
    let wrong = Entry {
        author: Holder::new("x".parse().unwrap(), SessionToken::new(1)),
        counter: 1,
        epoch: None,
        body: Body::DeleteNamespace {
            namespace: Namespace::new("acme/unknown").unwrap(),
            applied: created,
        },
    };
    let appended = log.append(Append {
        entry: Arc::new(wrong),
        guard: Guard::None,
    });
    let rejected = appended.wait().unwrap().unwrap().position;
    assert_eq!(b.refresh(rejected).wait_for(LIMIT), Some(Ok(())));
    assert!(b.status().next > rejected);

    let never = b.refresh(Position::new(1_000_000));
    b.close(LIMIT).wait().unwrap();
    assert_eq!(never.wait(), Err(Abandoned));
}
