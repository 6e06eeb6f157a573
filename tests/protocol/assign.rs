//! A free bundle is given to a broker.

use crate::scene::*;
use deedbook::ids::Position;
use deedbook::protocol::{Action, Answer, Refused, Request};
use deedbook::state::State;

#[test]
fn the_destination_owns_it_with_the_fence_of_the_choice() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let before = cluster.end();
    let answer = change(&mut cluster, "a", &bundle, assign("b"));
    let row = row(&cluster, &bundle);
    let position = row.version;
    let fence = Some(row.fence);
    assert_eq!(answer, Answer::Done { position, fence });
    assert_eq!(owner(&cluster, &bundle).unwrap(), "b");
    assert!(row.fence.get() >= before.get() && row.fence.get() < row.version.get());
    cluster.advance(seconds(1)).unwrap();
    assert_eq!(cluster.is_mine(&broker("b"), &bundle), Some(row.fence));
    assert_eq!(cluster.is_mine(&broker("a"), &bundle), None);
    assert_eq!(
        hooks(&cluster, &bundle),
        [("b acquire".to_owned(), row.fence)]
    );
}

#[test]
fn it_is_not_served_before_its_hook_has_ended() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    slow_hooks(&mut cluster, "b", 20_000);
    let bundle = bundle(0, 1);
    change(&mut cluster, "a", &bundle, assign("b"));
    cluster.advance(seconds(19)).unwrap();
    assert_eq!(cluster.is_mine(&broker("b"), &bundle), None);
    cluster.advance(seconds(2)).unwrap();
    assert!(cluster.is_mine(&broker("b"), &bundle).is_some());
}

#[test]
fn without_a_destination_placement_chooses() {
    let mut cluster = cluster(&["a", "b", "c"]);
    create(&mut cluster, 8);
    for index in 0..8 {
        let action = Action::Assign { destination: None };
        change(&mut cluster, "a", &bundle(index, 8), action);
    }
    let owners: std::collections::BTreeSet<_> = (0..8)
        .map(|index| owner(&cluster, &bundle(index, 8)))
        .collect();
    assert!(owners.len() > 1, "{owners:?}");
}

#[test]
fn of_two_who_choose_at_once_the_first_wins_and_the_other_hears_so_at_once() {
    let mut cluster = cluster(&["a", "b", "c"]);
    create(&mut cluster, 1);
    // The hook takes long: whoever lost must not wait for it.
    slow_hooks(&mut cluster, "a", 20_000);
    slow_hooks(&mut cluster, "b", 20_000);
    let bundle = bundle(0, 1);
    let tickets = [
        ask(&mut cluster, "a", &bundle, assign("a")),
        ask(&mut cluster, "b", &bundle, assign("b")),
    ];
    let asked = cluster.now();
    let answers = tickets.map(|ticket| wait(&mut cluster, ticket));
    let winner = owner(&cluster, &bundle).unwrap();
    let loser = if winner == "a" { 1 } else { 0 };
    assert!(matches!(answers[1 - loser], Answer::Done { .. }));
    let Answer::Conflict { row: Some(row), .. } = &answers[loser] else {
        panic!("{answers:?}");
    };
    let named = row.record.destination().cloned();
    let named = named.or_else(|| row.record.holder().map(|holder| holder.broker.clone()));
    assert_eq!(named, Some(broker(&winner)));
    let waited = cluster.ended_at(tickets[loser]).unwrap().since(asked);
    assert!(waited < seconds(1), "{waited:?}");
    assert_eq!(lines(&cluster, &["log ", "REJECTED"]).len(), 1);
}

#[test]
fn nothing_is_written_for_what_cannot_be() {
    let mut cluster = owned_by(&["a", "b"], &["a", "b"]);
    let first = bundle(0, 2);
    let end = cluster.end();
    let refused = |cluster: &mut _, action| match change(cluster, "a", &first, action) {
        Answer::Refused(refused) => refused,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(&mut cluster, assign("b")),
        Refused::WrongState {
            bundle: first.clone(),
            state: State::Owned
        }
    );
    assert_eq!(
        refused(&mut cluster, transfer("z")),
        Refused::NotADestination {
            broker: broker("z")
        }
    );
    assert_eq!(
        refused(&mut cluster, transfer("a")),
        Refused::OwnerAlready {
            broker: broker("a")
        }
    );
    let request = Request::Bundle {
        bundle: first.clone(),
        expected: Some(Position::new(1)),
        action: Action::Unload,
    };
    let answer = answer(&mut cluster, "a", request);
    assert!(
        matches!(answer, Answer::Refused(Refused::StaleVersion { .. })),
        "{answer:?}"
    );
    assert_eq!(cluster.end(), end);
}

/// B1: The record was written before this process began to read: it must act all the same, without
/// waiting for the leader's round.
#[test]
fn a_promise_found_in_replay_is_taken() {
    let mut cluster = cluster(&["a"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let author = cluster.members().leader_holder().unwrap().1;
    let next = deedbook::state::Record::Assigning {
        destination: broker("b"),
    };
    write(&mut cluster, author, None, &bundle, next).unwrap();
    cluster.add_broker(&broker("b"));
    until_owned(&mut cluster, seconds(1), &bundle, "b");
    cluster.advance(seconds(1)).unwrap();
    assert_eq!(hooks(&cluster, &bundle).len(), 1);
}
