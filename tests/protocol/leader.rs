//! The leader's round: who is dead loses, who is slow does not.

use crate::scene::*;
use deedbook::ids::Epoch;
use deedbook::protocol::Action;
use deedbook::sim::{Cluster, Delays, Span};
use deedbook::state::{Record, State};

/// The bound of the design for a bundle whose holder is dead.
fn healed() -> std::time::Duration {
    config().session_ttl + config().takeover_delay() + config().monitor_interval
}

#[test]
fn what_a_dead_broker_owned_finds_an_owner() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b", "b", "c"]);
    let untouched = row(&cluster, &bundle(2, 3));
    let fence = row(&cluster, &bundle(0, 3)).fence;
    cluster.crash(&broker("b"));
    let crashed = cluster.now();
    let first = bundle(0, 3);
    let moved = |cluster: &Cluster| owner(cluster, &first).is_some_and(|owner| owner != "b");
    assert!(cluster.advance_until(healed(), moved).unwrap());
    // Not before its lease was over wherever it may be: the session, then the delay.
    let waited = cluster.now().since(crashed);
    assert!(waited >= config().takeover_delay(), "{waited:?}");
    cluster.advance(seconds(2)).unwrap();
    assert!(row(&cluster, &first).fence > fence);
    assert_ne!(owner(&cluster, &bundle(1, 3)).unwrap(), "b");
    assert_eq!(row(&cluster, &bundle(2, 3)), untouched);
}

#[test]
fn what_a_dead_broker_was_letting_go_of_goes_where_it_was_to() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b", "b"]);
    let [moved, unloaded] = [0, 1].map(|index| bundle(index, 2));
    slow_hooks(&mut cluster, "b", 50_000);
    ask(&mut cluster, "a", &moved, transfer("c"));
    ask(&mut cluster, "a", &unloaded, Action::Unload);
    until(&mut cluster, seconds(1), &unloaded, State::Releasing);
    cluster.crash(&broker("b"));
    until_owned(&mut cluster, healed(), &moved, "c");
    until(&mut cluster, seconds(1), &unloaded, State::Free);
}

#[test]
fn a_living_broker_that_is_slow_is_left_alone() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b", "b"]);
    let [moved, divided] = [0, 1].map(|index| bundle(index, 2));
    slow_hooks(&mut cluster, "b", 55_000);
    ask(&mut cluster, "a", &moved, transfer("c"));
    let cuts = halves(&divided);
    ask(&mut cluster, "a", &divided, Action::Split { cuts });
    cluster.advance(seconds(1)).unwrap();
    let rows = [&moved, &divided].map(|bundle| row(&cluster, bundle));
    cluster.advance(seconds(53)).unwrap();
    assert_eq!([&moved, &divided].map(|bundle| row(&cluster, bundle)), rows);
    until_owned(&mut cluster, seconds(5), &moved, "c");
    until(&mut cluster, seconds(5), &divided, State::Deleted);
}

/// E10: the destination lives, but does not take what it was promised.
#[test]
fn a_promise_that_is_not_kept_goes_to_another() {
    let delays = Delays {
        tail: Span::millis(300, 400),
        ..Delays::default()
    };
    let mut cluster = cluster_with(Cluster::builder(1).delays(delays), &["a", "b", "c"]);
    create(&mut cluster, 1);
    cluster.advance(seconds(2)).unwrap();
    let bundle = bundle(0, 1);
    // A slow tail is two hundred times slower.
    cluster.slow_tail(&broker("b"), seconds(600));
    cluster.advance(seconds(1)).unwrap();
    ask(&mut cluster, "a", &bundle, assign("b"));
    until(&mut cluster, seconds(2), &bundle, State::Assigning);
    let promised = cluster.now();
    let kept = |cluster: &Cluster| owner(cluster, &bundle).is_some_and(|owner| owner != "b");
    assert!(cluster.advance_until(seconds(62), kept).unwrap());
    let waited = cluster.now().since(promised);
    assert!(waited >= seconds(29), "{waited:?}");
}

#[test]
fn a_promise_to_a_dead_broker_goes_to_another_or_nobody() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let author = cluster.members().leader_holder().unwrap().1;
    let next = Record::Assigning {
        destination: broker("z"),
    };
    write(&mut cluster, author, None, &bundle, next).unwrap();
    until(
        &mut cluster,
        config().monitor_interval,
        &bundle,
        State::Owned,
    );
}

/// B2: The leader's override was on its way when the destination, which is dead by now, took the
/// bundle: the override does not count, and the next one does.
#[test]
fn an_override_that_loses_the_race_is_written_again() {
    let delays = Delays {
        log: Span::millis(300, 400),
        ..Delays::default()
    };
    let mut cluster = cluster_with(Cluster::builder(1).delays(delays), &["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let author = cluster.members().leader_holder().unwrap().1;
    let next = Record::Assigning {
        destination: broker("z"),
    };
    write(&mut cluster, author, None, &bundle, next).unwrap();
    let sent =
        |cluster: &Cluster| !lines(cluster, &["> append", "epoch", "Assigning ->"]).is_empty();
    assert!(
        cluster
            .advance_until(config().monitor_interval, sent)
            .unwrap()
    );
    let late = holder("z", 900);
    let owner = late.clone();
    write(&mut cluster, late, None, &bundle, Record::Owned { owner }).unwrap();
    cluster.advance(seconds(1)).unwrap();
    let rejected = lines(&cluster, &["log ", "REJECTED"]);
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(crate::scene::owner(&cluster, &bundle).unwrap(), "z");
    let healed_again =
        |cluster: &Cluster| crate::scene::owner(cluster, &bundle).is_some_and(|owner| owner != "z");
    assert!(cluster.advance_until(healed(), healed_again).unwrap());
}

#[test]
fn the_next_leader_acts_and_the_former_one_is_not_heard() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a", "b", "c"]);
    let first = leader(&cluster).unwrap();
    let (epoch, former) = cluster.members().leader_holder().unwrap();
    cluster.crash(&broker(&first));
    let index = ["a", "b", "c"]
        .iter()
        .position(|name| *name == first)
        .unwrap();
    let orphan = bundle(index, 3);
    let healed = healed() * 2;
    let moved = |cluster: &Cluster| owner(cluster, &orphan).is_some_and(|owner| owner != first);
    assert!(cluster.advance_until(healed, moved).unwrap());
    assert_ne!(leader(&cluster).unwrap(), first);
    let before = row(&cluster, &orphan);
    for stale in [epoch, Epoch::new(1)] {
        write(
            &mut cluster,
            former.clone(),
            Some(stale),
            &orphan,
            Record::Free,
        )
        .unwrap();
        assert_eq!(row(&cluster, &orphan), before);
    }
    assert_eq!(lines(&cluster, &["REJECTED", "epoch"]).len(), 2);
    // Each election was followed by one first word, in that order.
    let started = lines(&cluster, &["log ", ": leads"]);
    assert_eq!(started.len(), 2, "{started:?}");
}

/// Everybody is dead but one: it takes everything. Then it goes, too, and the next one does.
#[test]
fn the_last_one_standing_takes_everything() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a", "b", "c", "b", "a"]);
    for name in ["a", "b"] {
        cluster.crash(&broker(name));
    }
    cluster.advance(healed() * 2).unwrap();
    for index in 0..5 {
        assert_eq!(owner(&cluster, &bundle(index, 5)).unwrap(), "c");
    }
    cluster.crash(&broker("c"));
    cluster.add_broker(&broker("a"));
    cluster.advance(healed() * 2).unwrap();
    for index in 0..5 {
        assert_eq!(owner(&cluster, &bundle(index, 5)).unwrap(), "a");
    }
}

/// The answer to a campaign is lost: the registry knows a leader that does not know itself.
#[test]
fn a_leader_that_was_not_told_finds_out() {
    for seed in 0..20 {
        let mut builder = Cluster::builder(seed);
        for name in ["a", "b"] {
            builder = builder.broker(broker(name));
        }
        let mut cluster = builder.build().unwrap();
        let asks = |cluster: &Cluster| !lines(cluster, &["> campaign"]).is_empty();
        assert!(cluster.advance_until(seconds(10), asks).unwrap());
        let name = lines(&cluster, &["> campaign"])[0][..1].to_owned();
        cluster.cut_registry(&broker(&name), seconds(3));
        cluster.advance(seconds(20)).unwrap();
        let leader = leader(&cluster).unwrap();
        let protocol = cluster.protocol(&broker(&leader)).unwrap();
        assert!(protocol.epoch().is_some(), "seed {seed}");
    }
}

/// Somebody who does not know yet that a broker has left may promise it a bundle. Nobody waits a
/// whole period of the monitor for that.
#[test]
fn a_promise_to_one_that_has_left_does_not_wait_for_the_round() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a", "b"]);
    let first = leader(&cluster).unwrap();
    let gone = ["a", "b", "c"].into_iter().find(|name| *name != first);
    let gone = gone.unwrap();
    cluster.close(&broker(gone), seconds(10));
    cluster.advance(seconds(30)).unwrap();
    let bundle = bundle(0, 2);
    let author = cluster.members().leader_holder().unwrap().1;
    change(&mut cluster, &first, &bundle, Action::Unload);
    let next = Record::Assigning {
        destination: broker(gone),
    };
    write(&mut cluster, author, None, &bundle, next).unwrap();
    until(&mut cluster, seconds(3), &bundle, State::Owned);
    assert_ne!(owner(&cluster, &bundle).as_deref(), Some(gone));
}
