//! An owned bundle is moved to another broker, or taken from its owner.

use crate::scene::*;
use deedbook::protocol::{Action, Answer};
use deedbook::state::{Record, State};

#[test]
fn the_source_lets_go_before_the_destination_begins() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a"]);
    let bundle = bundle(0, 1);
    let first = row(&cluster, &bundle).fence;
    slow_hooks(&mut cluster, "a", 3_000);
    let end = cluster.end();
    let asked = cluster.now();
    let answer = change(&mut cluster, "c", &bundle, transfer("b"));
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    assert!(cluster.now().since(asked) >= seconds(3));
    cluster.advance(seconds(1)).unwrap();
    let second = row(&cluster, &bundle).fence;
    assert!(second > first);
    let expected = [
        ("a acquire", first),
        ("a release", first),
        ("b acquire", second),
    ];
    assert_eq!(
        hooks(&cluster, &bundle),
        expected.map(|(hook, fence)| (hook.to_owned(), fence))
    );
    assert_eq!(
        lines(&cluster, &["> hook", "release", " to b"]).len(),
        1,
        "clients can be sent there"
    );
    let written = cluster.end().get() - end.get();
    assert_eq!(written, 3, "Releasing, Assigning, Owned");
}

#[test]
fn unloading_leaves_it_free() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let bundle = bundle(0, 1);
    let answer = change(&mut cluster, "b", &bundle, Action::Unload);
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    assert_eq!(state(&cluster, &bundle), State::Free);
    assert!(lines(&cluster, &["> hook", "release", " to "]).is_empty());
    let hooks = hooks(&cluster, &bundle);
    assert_eq!(hooks.len(), 2, "{hooks:?}");
}

#[test]
fn whoever_asks_the_same_meanwhile_gets_the_same_answer() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 3_000);
    let end = cluster.end();
    let mut tickets = vec![ask(&mut cluster, "c", &bundle, transfer("b"))];
    tickets.push(ask(&mut cluster, "c", &bundle, transfer("b")));
    cluster.advance(seconds(1)).unwrap();
    tickets.push(ask(&mut cluster, "a", &bundle, transfer("b")));
    let other = ask(&mut cluster, "c", &bundle, transfer("c"));
    assert!(matches!(wait(&mut cluster, other), Answer::Refused(_)));
    let answers: Vec<Answer> = tickets
        .into_iter()
        .map(|ticket| wait(&mut cluster, ticket))
        .collect();
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    assert!(matches!(answers[0], Answer::Done { .. }));
    assert_eq!(cluster.end().get() - end.get(), 3);
}

#[test]
fn of_a_transfer_and_an_unload_at_once_one_conflicts() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a"]);
    let bundle = bundle(0, 1);
    let tickets = [
        ask(&mut cluster, "b", &bundle, transfer("b")),
        ask(&mut cluster, "c", &bundle, Action::Unload),
    ];
    let answers = tickets.map(|ticket| wait(&mut cluster, ticket));
    let done = |answer: &&Answer| matches!(answer, Answer::Done { .. });
    let conflict = |answer: &&Answer| matches!(answer, Answer::Conflict { row: Some(_), .. });
    assert_eq!(answers.iter().filter(done).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(conflict).count(), 1, "{answers:?}");
}

#[test]
fn a_destination_that_dies_is_replaced() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 3_000);
    let ticket = ask(&mut cluster, "a", &bundle, transfer("b"));
    until(&mut cluster, seconds(1), &bundle, State::Releasing);
    cluster.crash(&broker("b"));
    until(&mut cluster, seconds(10), &bundle, State::Assigning);
    // The rest of the dead session, and the way there.
    let limit = config().session_ttl + config().monitor_interval + seconds(5);
    until(&mut cluster, limit, &bundle, State::Owned);
    assert_ne!(owner(&cluster, &bundle).unwrap(), "b");
    let answer = wait(&mut cluster, ticket);
    assert!(matches!(answer, Answer::Superseded { .. }), "{answer:?}");
}

/// E10: someone chose a destination for an owner's bundle whose answer comes late: it was
/// overridden meanwhile, and its late word is not heard.
#[test]
fn a_late_release_after_an_override_changes_nothing() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b"]);
    let bundle = bundle(0, 1);
    let source = row(&cluster, &bundle).record.holder().unwrap().clone();
    slow_hooks(&mut cluster, "b", 3_000);
    ask(&mut cluster, "a", &bundle, transfer("c"));
    until(&mut cluster, seconds(1), &bundle, State::Releasing);
    cluster.crash(&broker("b"));
    until(&mut cluster, seconds(60), &bundle, State::Owned);
    let before = row(&cluster, &bundle);
    let next = Record::Assigning {
        destination: broker("c"),
    };
    write(&mut cluster, source, None, &bundle, next).unwrap();
    assert_eq!(row(&cluster, &bundle), before);
}

#[test]
fn a_hook_that_cannot_acquire_gives_the_bundle_up() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let failing = deedbook::sim::HookPlan {
        takes: deedbook::sim::Span::millis(10, 10),
        failing_per_mille: 1_000,
    };
    cluster.set_hooks(&broker("b"), failing);
    change(&mut cluster, "a", &bundle, assign("b"));
    until(&mut cluster, seconds(2), &bundle, State::Free);
    let hooks = hooks(&cluster, &bundle);
    assert_eq!(
        hooks.len(),
        1,
        "nothing was acquired, nothing is released: {hooks:?}"
    );
}
