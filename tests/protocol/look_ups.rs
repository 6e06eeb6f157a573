//! Who serves a key: now, or as soon as that is known.

use crate::scene::*;
use deedbook::protocol::{Action, Answer, Refused, Request};
use deedbook::sim::{Cluster, Delays, Outcome, Span};
use deedbook::state::State;

fn server(answer: &Answer) -> &str {
    match answer {
        Answer::Served { broker, .. } => broker.as_str(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_free_bundle_is_assigned_once_however_many_ask() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let end = cluster.end();
    let tickets: Vec<_> = (0..1_000)
        .map(|_| locate(&mut cluster, "a", &bundle))
        .collect();
    let answers: Vec<Answer> = tickets
        .into_iter()
        .map(|ticket| wait(&mut cluster, ticket))
        .collect();
    let owner = server(&answers[0]).to_owned();
    assert!(answers.iter().all(|answer| server(answer) == owner));
    cluster.advance(seconds(2)).unwrap();
    assert_eq!(cluster.end().get() - end.get(), 2, "Assigning and Owned");
    assert_eq!(crate::scene::owner(&cluster, &bundle), Some(owner));
}

#[test]
fn look_ups_at_all_brokers_name_the_same_owner() {
    let mut cluster = cluster(&["a", "b", "c"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let tickets = ["a", "b", "c"].map(|name| locate(&mut cluster, name, &bundle));
    let answers = tickets.map(|ticket| wait(&mut cluster, ticket));
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[1], answers[2]);
}

/// B10: A dead broker is not named: the look-up waits for the leader's word.
#[test]
fn a_look_up_waits_while_the_owner_is_dead() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b"]);
    let bundle = bundle(0, 1);
    cluster.crash(&broker("b"));
    cluster.advance(config().session_ttl + seconds(4)).unwrap();
    assert_eq!(
        owner(&cluster, &bundle).unwrap(),
        "b",
        "nobody took over yet"
    );
    let ticket = locate(&mut cluster, "c", &bundle);
    cluster.advance(seconds(2)).unwrap();
    assert_eq!(cluster.outcome(ticket), None);
    let answer = wait(&mut cluster, ticket);
    assert_ne!(server(&answer), "b");
}

/// B10: When its time is over, whoever waits hears what was known.
#[test]
fn a_look_up_ends_although_nobody_takes_over() {
    let mut cluster = owned_by(&["a", "b"], &["b"]);
    let bundle = bundle(0, 1);
    cluster.crash(&broker("b"));
    cluster.advance(config().session_ttl + seconds(4)).unwrap();
    let request = Request::Owner {
        bundle: bundle.clone(),
    };
    let limit = Some(seconds(3));
    let ticket = cluster.ask_within(&broker("a"), request, limit);
    let asked = cluster.now();
    let answer = wait(&mut cluster, ticket);
    let Answer::TimedOut {
        last_seen: Some(row),
    } = answer
    else {
        panic!("{answer:?}");
    };
    assert_eq!(row.record.holder().unwrap().broker, broker("b"));
    // By its own clock, which may be slow.
    assert!(cluster.now().since(asked) <= seconds(4));
}

#[test]
fn the_destination_answers_once_it_owns_the_bundle() {
    let delays = Delays {
        log: Span::millis(500, 600),
        ..Delays::default()
    };
    let builder = Cluster::builder(1).delays(delays);
    let mut cluster = cluster_with(builder, &["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    ask(&mut cluster, "a", &bundle, assign("b"));
    until(&mut cluster, seconds(2), &bundle, State::Assigning);
    cluster
        .advance(std::time::Duration::from_millis(50))
        .unwrap();
    let tickets = ["a", "b"].map(|name| locate(&mut cluster, name, &bundle));
    cluster
        .advance(std::time::Duration::from_millis(50))
        .unwrap();
    assert!(matches!(
        cluster.outcome(tickets[0]),
        Some(Outcome::Answered(_))
    ));
    assert_eq!(cluster.outcome(tickets[1]), None);
    let answers = tickets.map(|ticket| wait(&mut cluster, ticket));
    assert_eq!(answers.each_ref().map(server), ["b", "b"]);
    assert_eq!(state(&cluster, &bundle), State::Owned);
}

#[test]
fn in_a_transfer_the_destination_is_named() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 5_000);
    ask(&mut cluster, "c", &bundle, transfer("b"));
    cluster.advance(seconds(1)).unwrap();
    let ticket = locate(&mut cluster, "c", &bundle);
    let answer = wait(&mut cluster, ticket);
    assert_eq!(server(&answer), "b");
    assert_eq!(state(&cluster, &bundle), State::Releasing);
}

#[test]
fn what_is_being_unloaded_is_assigned_once_it_is_free() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 5_000);
    ask(&mut cluster, "c", &bundle, Action::Unload);
    cluster.advance(seconds(1)).unwrap();
    let ticket = locate(&mut cluster, "c", &bundle);
    let request = Request::Owner {
        bundle: bundle.clone(),
    };
    let answer_now = answer(&mut cluster, "b", request);
    assert!(
        matches!(answer_now, Answer::Nobody { .. }),
        "{answer_now:?}"
    );
    let answer = wait(&mut cluster, ticket);
    assert!(!server(&answer).is_empty());
}

#[test]
fn absent_bundles_and_namespaces_are_said_to_be_so() {
    let mut cluster = owned_by(&["a", "b"], &["a", "b"]);
    let whole = bundle(0, 1);
    let request = Request::Owner {
        bundle: whole.clone(),
    };
    let covering = vec![bundle(0, 2), bundle(1, 2)];
    let absent = Refused::Absent {
        bundle: whole,
        covering,
    };
    assert_eq!(answer(&mut cluster, "a", request), Answer::Refused(absent));
    let namespace = deedbook::ids::Namespace::new("t/other").unwrap();
    let request = Request::Locate {
        namespace: namespace.clone(),
        key: 1,
    };
    let unknown = Refused::UnknownNamespace { namespace };
    assert_eq!(answer(&mut cluster, "a", request), Answer::Refused(unknown));
}

/// B28: the end of a look-up must not depend on another look-up: each one alone sets going what it
/// needs.
#[test]
fn a_lost_race_to_assign_is_answered_by_its_winner() {
    let mut cluster = cluster(&["a", "b", "c"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let looked_up = locate(&mut cluster, "c", &bundle);
    ask(&mut cluster, "a", &bundle, assign("a"));
    ask(&mut cluster, "b", &bundle, assign("b"));
    let answer = wait(&mut cluster, looked_up);
    cluster.advance(seconds(2)).unwrap();
    assert_eq!(server(&answer), owner(&cluster, &bundle).unwrap());
}
