//! A broker is emptied on request.

use crate::scene::*;
use deedbook::ids::{BundleId, SessionToken};
use deedbook::protocol::{Answer, Refused, Request};
use deedbook::sim::Cluster;
use deedbook::state::State;

fn drain(name: &str) -> Request {
    Request::Drain {
        broker: broker(name),
        expected: None,
    }
}

/// What a broker holds or was promised, as the whole log says.
fn load(cluster: &Cluster, name: &str) -> Vec<BundleId> {
    let rows = cluster.table().rows();
    let concerned = rows.filter(|(_, row)| {
        let held = row.record.holder();
        held.is_some_and(|holder| holder.broker == broker(name))
            || row.record.destination() == Some(&broker(name))
    });
    concerned.map(|(bundle, _)| bundle.clone()).collect()
}

fn session(cluster: &Cluster, name: &str) -> SessionToken {
    cluster.members().session_of(&broker(name)).unwrap()
}

#[test]
fn a_broker_gives_everything_away_and_whoever_asked_hears_when_it_is_empty() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a", "a", "a", "b"]);
    slow_hooks(&mut cluster, "a", 2_000);
    // Two ask, and share what comes of it.
    let tickets = ["b", "c"].map(|name| cluster.ask(&broker(name), drain("a")));
    cluster.advance(seconds(1)).unwrap();
    assert_eq!(load(&cluster, "a").len(), 3, "its hooks take their time");
    for ticket in tickets {
        let answer = wait(&mut cluster, ticket);
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
        assert_eq!(load(&cluster, "a"), []);
    }
    cluster.advance(seconds(2)).unwrap();
    for index in 0..4 {
        let bundle = bundle(index, 4);
        let owner = owner(&cluster, &bundle).unwrap();
        assert_ne!(owner, "a");
        assert!(cluster.is_mine(&broker(&owner), &bundle).is_some());
    }
    // It is a member all the same, and takes commands.
    let refused = change(&mut cluster, "a", &bundle(0, 4), transfer("a"));
    let not_to_it = Answer::Refused(Refused::NotADestination {
        broker: broker("a"),
    });
    assert_eq!(refused, not_to_it);
}

/// The list of members says that a broker is being emptied before the log has told what it got.
#[test]
fn who_reads_the_log_late_calls_nobody_empty() {
    let mut cluster = owned_by(&["a", "b", "c"], &["c"]);
    let moved = bundle(0, 1);
    cluster.slow_tail(&broker("b"), seconds(5));
    ask(&mut cluster, "a", &moved, transfer("a"));
    until_owned(&mut cluster, seconds(1), &moved, "a");
    slow_hooks(&mut cluster, "a", 2_000);
    let ticket = cluster.ask(&broker("b"), drain("a"));
    let answer = wait(&mut cluster, ticket);
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    assert_eq!(load(&cluster, "a"), []);
}

#[test]
fn a_broker_that_is_emptied_gets_nothing_and_may_lead_on() {
    let mut cluster = owned_by(&["a", "b"], &["a", "b", "b", "b"]);
    let first = leader(&cluster).unwrap();
    let other = if first == "a" { "b" } else { "a" };
    let answer = answer(&mut cluster, &first, drain(&first));
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    cluster.advance(seconds(1)).unwrap();
    for index in 0..4 {
        let bundle = bundle(index, 4);
        assert_eq!(owner(&cluster, &bundle).as_deref(), Some(other));
    }
    assert_eq!(leader(&cluster).as_deref(), Some(first.as_str()));
    // Whatever is placed goes elsewhere, even if it is asked.
    let bundle = bundle(0, 4);
    change(
        &mut cluster,
        &first,
        &bundle,
        deedbook::protocol::Action::Unload,
    );
    let ticket = locate(&mut cluster, &first, &bundle);
    wait(&mut cluster, ticket);
    cluster.advance(seconds(1)).unwrap();
    assert_eq!(owner(&cluster, &bundle).as_deref(), Some(other));
    // As leader it gives nothing to itself either: there is nobody else.
    cluster.crash(&broker(other));
    cluster.advance(seconds(120)).unwrap();
    assert_eq!(state(&cluster, &bundle), State::Free);
}

#[test]
fn what_is_promised_to_it_goes_on_to_others() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "b", 3_000);
    let moved = ask(&mut cluster, "c", &bundle, transfer("a"));
    cluster.advance(seconds(1)).unwrap();
    assert_eq!(state(&cluster, &bundle), State::Releasing);
    let answer = answer(&mut cluster, "c", drain("a"));
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    assert_eq!(load(&cluster, "a"), []);
    let answer = wait(&mut cluster, moved);
    assert!(matches!(answer, Answer::Superseded { .. }), "{answer:?}");
    cluster.advance(seconds(10)).unwrap();
    assert_ne!(owner(&cluster, &bundle).unwrap(), "a");
}

#[test]
fn what_is_left_when_the_time_is_over_is_listed_and_goes_later() {
    let mut cluster = owned_by(&["a", "b"], &["a", "b", "a"]);
    slow_hooks(&mut cluster, "a", 20_000);
    let ticket = cluster.ask_within(&broker("b"), drain("a"), Some(seconds(5)));
    let mut left = vec![bundle(0, 3), bundle(2, 3)];
    left.sort();
    assert_eq!(wait(&mut cluster, ticket), Answer::NotEmpty { left });
    cluster.advance(seconds(30)).unwrap();
    assert_eq!(load(&cluster, "a"), []);
    let again = answer(&mut cluster, "b", drain("a"));
    assert!(matches!(again, Answer::Done { .. }), "{again:?}");
}

#[test]
fn whoever_is_no_member_or_has_another_session_is_not_emptied() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let refused = answer(&mut cluster, "b", drain("nobody"));
    let expected = Answer::Refused(Refused::NotAMember {
        broker: broker("nobody"),
    });
    assert_eq!(refused, expected);
    let before = session(&cluster, "a");
    cluster.restart(&broker("a"));
    cluster.advance(seconds(30)).unwrap();
    let request = |expected| Request::Drain {
        broker: broker("a"),
        expected: Some(expected),
    };
    let refused = answer(&mut cluster, "b", request(before));
    let found = session(&cluster, "a");
    let other = Answer::Refused(Refused::OtherSession {
        broker: broker("a"),
        expected: before,
        found,
    });
    assert_eq!(refused, other);
    let done = answer(&mut cluster, "b", request(found));
    assert!(matches!(done, Answer::Done { .. }), "{done:?}");
}

/// The process knows, whatever happens to its session.
#[test]
fn a_broker_stays_empty_in_its_next_session_until_its_process_ends() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let bundle = bundle(0, 1);
    answer(&mut cluster, "b", drain("a"));
    let before = session(&cluster, "a");
    cluster.pause(&broker("a"), seconds(30));
    cluster.advance(seconds(60)).unwrap();
    assert!(session(&cluster, "a") > before, "it began another session");
    let refused = change(&mut cluster, "b", &bundle, transfer("a"));
    assert!(matches!(refused, Answer::Refused(_)), "{refused:?}");

    cluster.restart(&broker("a"));
    cluster.advance(seconds(30)).unwrap();
    let moved = change(&mut cluster, "b", &bundle, transfer("a"));
    assert!(matches!(moved, Answer::Done { .. }), "{moved:?}");
}

#[test]
fn another_process_of_the_name_ends_the_wait() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    slow_hooks(&mut cluster, "a", 30_000);
    let ticket = cluster.ask(&broker("b"), drain("a"));
    cluster.advance(seconds(1)).unwrap();
    cluster.restart(&broker("a"));
    let answer = wait(&mut cluster, ticket);
    assert_eq!(answer, Answer::Superseded { row: None });
}

#[test]
fn without_anybody_else_what_it_had_is_free() {
    let mut cluster = owned_by(&["a"], &["a", "a"]);
    let answer = answer(&mut cluster, "a", drain("a"));
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    for index in 0..2 {
        assert_eq!(state(&cluster, &bundle(index, 2)), State::Free);
    }
    let ticket = locate(&mut cluster, "a", &bundle(0, 2));
    let answer = wait(&mut cluster, ticket);
    assert_eq!(answer, Answer::Refused(Refused::NoDestination));
}

/// The list of members says who is emptied, and an answer of the registry may get lost.
#[test]
fn a_request_that_the_registry_did_not_get_is_made_again() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    cluster.cut_registry(&broker("b"), seconds(4));
    let ticket = cluster.ask(&broker("b"), drain("a"));
    cluster.advance(seconds(3)).unwrap();
    assert_eq!(load(&cluster, "a").len(), 1, "nobody has told it");
    let answer = wait(&mut cluster, ticket);
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
}
