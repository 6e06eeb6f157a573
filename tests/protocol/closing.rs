//! A broker leaves in order.

use crate::scene::*;
use deedbook::protocol::{Action, Answer};
use deedbook::sim::Cluster;
use deedbook::state::{Record, State};

fn has_closed(name: &str) -> impl Fn(&Cluster) -> bool {
    let name = broker(name);
    move |cluster| cluster.close_report(&name).is_some()
}

/// B15.
#[test]
fn everything_is_handed_over_before_it_ends() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a", "a", "b"]);
    let first = leader(&cluster).unwrap();
    let bundles: Vec<_> = (0..3).map(|index| bundle(index, 3)).collect();
    for bundle in &bundles {
        if owner(&cluster, bundle).unwrap() != first {
            change(&mut cluster, "a", bundle, transfer(&first));
        }
    }
    cluster.advance(seconds(2)).unwrap();
    let closing = cluster.now();
    cluster.close(&broker(&first), seconds(60));
    assert!(
        cluster
            .advance_until(seconds(60), has_closed(&first))
            .unwrap()
    );
    let took = cluster.now().since(closing);
    assert!(took < seconds(10), "{took:?}");
    assert!(
        cluster
            .close_report(&broker(&first))
            .unwrap()
            .left
            .is_empty()
    );
    cluster.advance(seconds(2)).unwrap();
    for bundle in &bundles {
        let owner = owner(&cluster, bundle).unwrap();
        assert_ne!(owner, first);
        assert!(cluster.is_mine(&broker(&owner), bundle).is_some());
    }
    // First known to leave, then let go, then no leader, then gone.
    let done = |what: &str| {
        let all: Vec<String> = cluster.trace().lines().map(str::to_owned).collect();
        let of_broker = |line: &String| line.contains(&format!(" {first}.")) && line.contains(what);
        all.iter()
            .rposition(of_broker)
            .unwrap_or_else(|| panic!("{what}"))
    };
    let order = ["> drain", "release", "> resign", "> leave", "> closed"].map(done);
    assert!(order.is_sorted(), "{order:?}");
    assert!(lines(&cluster, &["log ", &format!("Owned by {first}")]).len() <= 3);
    cluster.advance(seconds(10)).unwrap();
    assert_ne!(leader(&cluster).unwrap(), first);
}

/// Nobody is left to take anything: what is promised and what is owned becomes free, and nothing is
/// owned afterwards. B14.
#[test]
fn the_last_broker_leaves_everything_free() {
    let mut cluster = owned_by(&["a"], &["a", "a"]);
    let [owned, promised] = [0, 1].map(|index| bundle(index, 2));
    change(&mut cluster, "a", &promised, Action::Unload);
    let author = cluster.members().leader_holder().unwrap().1;
    let next = Record::Assigning {
        destination: broker("a"),
    };
    cluster.close(&broker("a"), seconds(5));
    write(&mut cluster, author, None, &promised, next).unwrap();
    let end = cluster.end();
    assert!(cluster.advance_until(seconds(5), has_closed("a")).unwrap());
    assert_eq!(state(&cluster, &owned), State::Free);
    assert_eq!(state(&cluster, &promised), State::Free);
    assert!(cluster.close_report(&broker("a")).unwrap().left.is_empty());
    let claims = lines(&cluster, &["log ", "=> Owned"]);
    let late = |line: &&String| {
        let position: u64 = line.split(' ').nth(1).unwrap().parse().unwrap();
        position >= end.get()
    };
    assert_eq!(claims.iter().filter(late).count(), 0, "{claims:?}");
}

#[test]
fn the_deadline_is_kept_whatever_is_left() {
    let mut cluster = owned_by(&["a", "b"], &["b", "b"]);
    slow_hooks(&mut cluster, "b", 50_000);
    let closing = cluster.now();
    cluster.close(&broker("b"), seconds(10));
    assert!(cluster.advance_until(seconds(11), has_closed("b")).unwrap());
    let took = cluster.now().since(closing);
    // A part of the time is kept for ending the session.
    assert!(took <= seconds(9), "{took:?}");
    assert_eq!(cluster.close_report(&broker("b")).unwrap().left.len(), 2);
    cluster.advance(seconds(1)).unwrap();
    let names: Vec<_> = cluster.members().sessions().values().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let limit = config().takeover_delay() + config().monitor_interval;
    for index in 0..2 {
        until_owned(&mut cluster, limit, &bundle(index, 2), "a");
    }
}

#[test]
fn whoever_asks_a_broker_that_leaves_is_sent_away_and_whoever_waits_is_answered() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "b", 3_000);
    let waits = ask(&mut cluster, "b", &bundle, transfer("c"));
    cluster.advance(seconds(1)).unwrap();
    cluster.close(&broker("b"), seconds(30));
    let refused = change(&mut cluster, "b", &bundle, Action::Unload);
    assert!(matches!(refused, Answer::Refused(_)), "{refused:?}");
    let answer = wait(&mut cluster, waits);
    assert!(
        matches!(answer, Answer::Done { .. } | Answer::Closed),
        "{answer:?}"
    );
    cluster.advance(seconds(5)).unwrap();
    assert_eq!(owner(&cluster, &bundle).unwrap(), "c");
    assert!(has_closed("b")(&cluster));
}

/// B25: B2: A broker that leaves is no destination: not for placement, and not by name.
#[test]
fn nobody_is_sent_to_a_broker_that_leaves() {
    let mut cluster = owned_by(&["a", "b"], &["b", "a"]);
    slow_hooks(&mut cluster, "b", 20_000);
    cluster.close(&broker("b"), seconds(60));
    cluster.advance(seconds(5)).unwrap();
    let answer = change(&mut cluster, "a", &bundle(1, 2), transfer("b"));
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
}

/// Its appends get lost most of the time: it tries again as long as it has time.
#[test]
fn what_could_not_be_written_is_written_again() {
    let mut cluster = owned_by(&["a", "b"], &["b", "b", "b"]);
    cluster.lose_appends(&broker("b"), seconds(20));
    cluster.close(&broker("b"), seconds(120));
    assert!(
        cluster
            .advance_until(seconds(120), has_closed("b"))
            .unwrap()
    );
    assert!(cluster.close_report(&broker("b")).unwrap().left.is_empty());
    cluster.advance(seconds(2)).unwrap();
    for index in 0..3 {
        assert_eq!(owner(&cluster, &bundle(index, 3)).unwrap(), "a");
    }
}
