//! Namespaces are created and deleted.

use crate::scene::*;
use deedbook::ids::Position;
use deedbook::protocol::{Action, Answer, Refused, Request};
use deedbook::sim::Cluster;
use deedbook::state::Rejection;

fn delete() -> Request {
    let namespace = namespace();
    Request::DeleteNamespace {
        namespace,
        expected: None,
    }
}

fn is_gone(cluster: &Cluster) -> bool {
    cluster.table().facts().namespaces.is_empty() && cluster.table().row_count() == 0
}

#[test]
fn of_two_who_create_it_one_does() {
    let mut cluster = cluster(&["a", "b"]);
    let request = || Request::CreateNamespace {
        namespace: namespace(),
        cuts: None,
        expected: None,
    };
    let tickets = ["a", "b"].map(|name| cluster.ask(&broker(name), request()));
    let answers = tickets.map(|ticket| wait(&mut cluster, ticket));
    let exists = Rejection::NamespaceExists {
        namespace: namespace(),
    };
    let lost = |answer: &&Answer| match answer {
        Answer::Conflict { rejection, .. } => *rejection == exists,
        _ => false,
    };
    assert_eq!(answers.iter().filter(lost).count(), 1, "{answers:?}");
}

/// Owned, free, promised, on its way and being divided: everything ends, and soon.
#[test]
fn deleting_ends_whatever_its_bundles_are_doing() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a", "b", "b", "b", "c"]);
    let [_, unloaded, moved, divided, _] = [0, 1, 2, 3, 4].map(|index| bundle(index, 5));
    change(&mut cluster, "a", &unloaded, Action::Unload);
    slow_hooks(&mut cluster, "b", 5_000);
    ask(&mut cluster, "a", &moved, transfer("c"));
    let cuts = halves(&divided);
    ask(&mut cluster, "a", &divided, Action::Split { cuts });
    cluster.advance(seconds(1)).unwrap();
    let asked = cluster.now();
    let ticket = cluster.ask(&broker("c"), delete());
    let waits = locate(&mut cluster, "a", &unloaded);
    let answer = wait(&mut cluster, ticket);
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    assert!(is_gone(&cluster));
    // The hooks take three times five seconds one after the other; the rest does not.
    let took = cluster.now().since(asked);
    assert!(took <= seconds(25), "{took:?}");
    wait(&mut cluster, waits);
    cluster.advance(seconds(10)).unwrap();
    for name in ["a", "b", "c"] {
        assert_eq!(cluster.protocol(&broker(name)).unwrap().held().count(), 0);
    }
}

#[test]
fn deleting_ends_although_the_leader_dies_in_the_middle() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        slow_hooks(&mut cluster, name, 5_000);
    }
    let first = leader(&cluster).unwrap();
    let other = ["a", "b", "c"]
        .into_iter()
        .find(|name| *name != first)
        .unwrap();
    let ticket = cluster.ask(&broker(other), delete());
    cluster.advance(seconds(2)).unwrap();
    cluster.crash(&broker(&first));
    let limit = config().session_ttl + config().takeover_delay() + config().monitor_interval;
    assert!(cluster.advance_until(limit, is_gone).unwrap());
    let answer = wait(&mut cluster, ticket);
    assert!(
        matches!(answer, Answer::Done { .. } | Answer::TimedOut { .. }),
        "{answer:?}"
    );
}

#[test]
fn nothing_begins_in_a_namespace_that_is_being_deleted() {
    let mut cluster = owned_by(&["a", "b"], &["a", "b"]);
    slow_hooks(&mut cluster, "a", 10_000);
    slow_hooks(&mut cluster, "b", 10_000);
    cluster.ask(&broker("a"), delete());
    cluster.advance(seconds(1)).unwrap();
    let bundle = bundle(0, 2);
    for action in [
        transfer("b"),
        Action::Split {
            cuts: halves(&bundle),
        },
    ] {
        let answer = change(&mut cluster, "b", &bundle, action);
        assert!(
            matches!(answer, Answer::Refused(_) | Answer::Conflict { .. }),
            "{answer:?}"
        );
    }
    let again = answer(&mut cluster, "b", delete());
    assert!(matches!(again, Answer::Done { .. }), "{again:?}");
    let gone = answer(&mut cluster, "b", delete());
    let unknown = Refused::UnknownNamespace {
        namespace: namespace(),
    };
    assert_eq!(gone, Answer::Refused(unknown));
}

/// Whoever waits for the end of a namespace must hear of it also if it reads of it in a snapshot.
#[test]
fn a_deletion_that_was_jumped_over_is_answered() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a"]);
    let first = leader(&cluster).unwrap();
    let lagging = ["a", "b", "c"]
        .into_iter()
        .find(|name| *name != first)
        .unwrap();
    let other = ["a", "b", "c"]
        .into_iter()
        .rfind(|name| *name != first)
        .unwrap();
    let ticket = cluster.ask(&broker(other), delete());
    cluster
        .advance(std::time::Duration::from_millis(300))
        .unwrap();
    let ticket_late = cluster.ask(&broker(lagging), delete());
    cluster
        .advance(std::time::Duration::from_millis(1))
        .unwrap();
    cluster.pause(&broker(lagging), seconds(6));
    wait(&mut cluster, ticket);
    cluster.compact_now().unwrap().unwrap();
    let answer = wait(&mut cluster, ticket_late);
    assert!(!lines(&cluster, &["> jumped to"]).is_empty());
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
}

/// Its version is that of its bundle that changed last.
#[test]
fn a_namespace_that_changed_since_it_was_seen_is_left_alone() {
    let mut cluster = cluster(&["a", "b"]);
    let create = |expected| Request::CreateNamespace {
        namespace: namespace(),
        cuts: None,
        expected: Some(expected),
    };
    let stale = |expected, found| {
        Answer::Refused(Refused::StaleNamespace {
            namespace: namespace(),
            expected,
            found,
        })
    };
    let version = |cluster: &Cluster| {
        let protocol = cluster.protocol(&broker("b")).unwrap();
        protocol.version_of(&namespace())
    };
    assert_eq!(version(&cluster), Position::ZERO);
    let early = answer(&mut cluster, "b", create(Position::new(7)));
    assert_eq!(early, stale(Position::new(7), Position::ZERO));
    let created = answer(&mut cluster, "b", create(Position::ZERO));
    assert!(matches!(created, Answer::Done { .. }), "{created:?}");
    let seen = version(&cluster);
    let again = answer(&mut cluster, "b", create(Position::ZERO));
    assert_eq!(again, stale(Position::ZERO, seen));

    change(&mut cluster, "b", &bundle(0, 1), assign("b"));
    let delete = |expected| Request::DeleteNamespace {
        namespace: namespace(),
        expected: Some(expected),
    };
    let end = cluster.end();
    let late = answer(&mut cluster, "b", delete(seen));
    assert_eq!(late, stale(seen, version(&cluster)));
    assert_eq!(cluster.end(), end, "nothing was written");
    let now = version(&cluster);
    let deleted = answer(&mut cluster, "b", delete(now));
    assert!(matches!(deleted, Answer::Done { .. }), "{deleted:?}");
    assert!(is_gone(&cluster));
}
