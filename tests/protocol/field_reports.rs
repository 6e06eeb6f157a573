//! What was reported of other ownership channels, one test a report, named as in `docs/testing.md`.
//! Where another test shows it already, the table there names that one.

use crate::scene::*;
use deedbook::protocol::{Action, Answer, Request};
use deedbook::sim::Cluster;
use deedbook::state::{Record, State};

fn served_by(answer: &Answer) -> &str {
    match answer {
        Answer::Served { broker, .. } => broker.as_str(),
        other => panic!("{other:?}"),
    }
}

/// The broker that does not lead, among these.
fn follower(cluster: &Cluster, names: &[&'static str]) -> &'static str {
    let leads = leader(cluster).unwrap();
    names.iter().copied().rfind(|name| *name != leads).unwrap()
}

/// B6: a broker that was away meets the horizon: between what it knew and what it reads next its
/// bundle went from hand to hand. Its own hook is released once, that of the last owner runs once,
/// and of those between nobody is left with it.
#[test]
fn b6_after_a_jump_each_hook_runs_once() {
    let names = ["a", "b", "c"];
    let mut cluster = owned_by(&names, &["a", "b", "c"]);
    let slow = follower(&cluster, &names);
    let index = names.iter().position(|name| *name == slow).unwrap();
    let bundle = bundle(index, 3);
    let others: Vec<_> = names.into_iter().filter(|name| *name != slow).collect();
    let before = hooks(&cluster, &bundle).len();
    // It stands still long enough to lose its session, and its bundles with it.
    cluster.pause(&broker(slow), seconds(120));
    let taken = |cluster: &Cluster| owner(cluster, &bundle).is_some_and(|name| name != slow);
    assert!(cluster.advance_until(seconds(110), taken).unwrap());
    for destination in [others[1], others[0], others[1]] {
        cluster.advance(seconds(2)).unwrap();
        if owner(&cluster, &bundle).as_deref() != Some(destination) {
            let answer = change(&mut cluster, others[0], &bundle, transfer(destination));
            assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
        }
    }
    cluster.compact_now().unwrap().unwrap();
    cluster.advance(seconds(200)).unwrap();
    let last = owner(&cluster, &bundle).unwrap();
    assert_ne!(last, slow);
    assert!(
        !lines(&cluster, &[slow, "jumped to"]).is_empty(),
        "it jumped"
    );
    let ran = hooks(&cluster, &bundle).split_off(before);
    let of = |hook: String| ran.iter().filter(|(name, _)| *name == hook).count();
    assert_eq!(of(format!("{slow} release")), 1, "{ran:?}");
    assert_eq!(of(format!("{slow} acquire")), 0, "{ran:?}");
    let fence = row(&cluster, &bundle).fence;
    let last_hook = (format!("{last} acquire"), fence);
    assert_eq!(
        ran.iter().filter(|hook| **hook == last_hook).count(),
        1,
        "{ran:?}"
    );
    assert_eq!(cluster.is_mine(&broker(&last), &bundle), Some(fence));
    assert_eq!(cluster.is_mine(&broker(slow), &bundle), None);
}

/// B7: a look-up that meets a promise which nobody keeps ends, at its limit at the latest.
#[test]
fn b7_a_look_up_in_the_middle_of_an_assignment_ends() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "b", 3_600_000);
    let destination = broker("b");
    let author = cluster.members().leader_holder().unwrap().1.clone();
    cluster.crash(&broker("b"));
    write(
        &mut cluster,
        author,
        None,
        &bundle,
        Record::Assigning { destination },
    )
    .unwrap();
    let asked = cluster.now();
    let ticket = locate(&mut cluster, "a", &bundle);
    wait(&mut cluster, ticket);
    let took = cluster.now().since(asked);
    assert!(took <= config().lookup_limit, "{took:?}");
}

fn delete(cluster: &mut Cluster, name: &str) {
    let namespace = namespace();
    let request = Request::DeleteNamespace {
        namespace,
        expected: None,
    };
    let answer = answer(cluster, name, request);
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
}

/// B8: a namespace is deleted and created again; its bundles can be split at once, though a parent
/// of before waited for its removal. A bundle that is only unloaded stays free.
#[test]
fn b8_a_namespace_that_is_created_again_begins_anew() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let parent = bundle(0, 1);
    let cuts = halves(&parent);
    let split = || Action::Split { cuts: cuts.clone() };
    change(&mut cluster, "b", &parent, split());
    assert_eq!(
        state(&cluster, &parent),
        State::Deleted,
        "it waits for its removal"
    );
    let child = parent.children(&cuts).next().unwrap();
    change(&mut cluster, "b", &child, Action::Unload);
    assert_eq!(state(&cluster, &child), State::Free);
    let asked = cluster.now();
    delete(&mut cluster, "a");
    assert_eq!(
        cluster.table().row_count(),
        0,
        "free and deleted ones are gone with it"
    );
    create(&mut cluster, 1);
    change(&mut cluster, "a", &parent, assign("a"));
    cluster.advance(seconds(1)).unwrap();
    let answer = change(&mut cluster, "b", &parent, split());
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    assert_eq!(state(&cluster, &parent), State::Deleted);
    let took = cluster.now().since(asked);
    assert!(took < config().tombstone_delay / 100, "{took:?}");
}

/// B11: of an owned bundle, one that has long been free, a parent that has long been deleted and
/// one that was promised a moment ago, the leader's round removes the parent alone. There what is
/// free is removed too; here it stays, as the key space must stay whole.
#[test]
fn b11_the_round_removes_what_is_deleted_and_nothing_else() {
    let mut cluster = owned_by(&["a", "b"], &["a", "a", "b", "b"]);
    let [owned, free, parent, promised] = [0, 1, 2, 3].map(|index| bundle(index, 4));
    change(&mut cluster, "a", &free, Action::Unload);
    let cuts = halves(&parent);
    change(&mut cluster, "a", &parent, Action::Split { cuts });
    change(&mut cluster, "a", &promised, Action::Unload);
    let kept = [&owned, &free].map(|bundle| row(&cluster, bundle));
    let late = config().tombstone_delay - seconds(30);
    cluster.advance(late).unwrap();
    assert_eq!(state(&cluster, &parent), State::Deleted);
    slow_hooks(&mut cluster, "b", 200_000);
    ask(&mut cluster, "a", &promised, assign("b"));
    cluster.advance(seconds(1)).unwrap();
    until(&mut cluster, seconds(180), &parent, State::Init);
    assert_eq!([&owned, &free].map(|bundle| row(&cluster, bundle)), kept);
    let state = state(&cluster, &promised);
    assert!(matches!(state, State::Assigning | State::Owned), "{state}");
    assert_eq!(cluster.table().row_count(), 5, "two halves, three others");
}

/// E2: a tombstone is removed in the end, though nothing else is ever written, the log is compacted
/// again and again, and the leader, who counts from when it first saw it, is replaced once.
#[test]
fn e2_a_tombstone_is_removed_although_nothing_is_written() {
    let names = ["a", "b", "c"];
    let mut cluster = owned_by(&names, &["a"]);
    let parent = bundle(0, 1);
    let cuts = halves(&parent);
    change(&mut cluster, "a", &parent, Action::Split { cuts });
    let divided = cluster.now();
    cluster.advance(config().tombstone_delay / 2).unwrap();
    let first = leader(&cluster).unwrap();
    cluster.crash(&broker(&first));
    let mut rounds = 0;
    while state(&cluster, &parent) == State::Deleted {
        cluster.advance(seconds(60)).unwrap();
        if let Some(compacted) = cluster.compact_now() {
            compacted.unwrap();
        }
        rounds += 1;
        assert!(rounds < 200, "it lingers");
    }
    let stood = cluster.now().since(divided);
    let limit = config().tombstone_delay * 3 / 2 + seconds(300);
    assert!(stood >= config().tombstone_delay - seconds(60), "{stood:?}");
    assert!(stood <= limit, "{stood:?}");
    cluster.compact_now().unwrap().unwrap();
    assert_eq!(cluster.table().row_count(), 2);
}

/// B1: what was promised, let go of or divided before a broker read of it is taken up in replay,
/// without the leader's round, and each hook runs once.
#[test]
fn b1_replay_takes_up_what_is_in_flight() {
    let mut cluster = owned_by(&["a", "b"], &["a", "a"]);
    let [released, divided] = [0, 1].map(|index| bundle(index, 2));
    cluster.cut_log(&broker("a"), seconds(20));
    ask(&mut cluster, "b", &released, transfer("b"));
    let cuts = halves(&divided);
    ask(&mut cluster, "b", &divided, Action::Split { cuts });
    until(&mut cluster, seconds(5), &divided, State::Splitting);
    until(&mut cluster, seconds(5), &released, State::Releasing);
    cluster.advance(seconds(15)).unwrap();
    until_owned(&mut cluster, seconds(10), &released, "b");
    until(&mut cluster, seconds(10), &divided, State::Deleted);
    cluster.advance(seconds(2)).unwrap();
    for bundle in [&released, &divided] {
        let ran = hooks(&cluster, bundle);
        let releases = ran.iter().filter(|(hook, _)| hook == "a release").count();
        assert_eq!(releases, 1, "{ran:?}");
    }
}

/// B21: a hundred orphans are healed though no more than a few are under way at once.
#[test]
fn b21_a_hundred_orphans_are_healed_a_few_at_once() {
    let owners: Vec<&str> = std::iter::repeat_n("c", 100).collect();
    let mut cluster = owned_by(&["a", "b", "c"], &owners);
    cluster.crash(&broker("c"));
    let of_c = |cluster: &Cluster| {
        (0..100)
            .filter(|index| owner(cluster, &bundle(*index, 100)).as_deref() == Some("c"))
            .count()
    };
    let in_flight_max = config().overrides_max;
    let mut left = of_c(&cluster);
    let limit = cluster.now().after(seconds(200));
    while left > 0 && cluster.now() < limit {
        cluster
            .advance(std::time::Duration::from_millis(1))
            .unwrap();
        let now = of_c(&cluster);
        assert!(left - now <= in_flight_max, "{} at once", left - now);
        left = now;
    }
    assert_eq!(left, 0);
    let ticket = locate(&mut cluster, "a", &bundle(0, 100));
    assert!(!served_by(&wait(&mut cluster, ticket)).is_empty());
}

/// B14: the last broker closes: what it was promised and what it owns are free, nothing becomes
/// owned afterwards, and it takes no longer than a few seconds.
#[test]
fn b14_the_last_broker_closes() {
    let mut cluster = cluster(&["a"]);
    create(&mut cluster, 2);
    let [promised, owned] = [0, 1].map(|index| bundle(index, 2));
    change(&mut cluster, "a", &owned, assign("a"));
    let author = cluster.members().leader_holder().unwrap().1.clone();
    let destination = broker("a");
    write(
        &mut cluster,
        author,
        None,
        &promised,
        Record::Assigning { destination },
    )
    .unwrap();
    cluster.close(&broker("a"), seconds(30));
    let closed = |cluster: &Cluster| cluster.close_report(&broker("a")).is_some();
    assert!(cluster.advance_until(seconds(5), closed).unwrap());
    assert_eq!(cluster.close_report(&broker("a")).unwrap().left, []);
    for bundle in [&promised, &owned] {
        assert_eq!(state(&cluster, bundle), State::Free);
    }
}

/// B16: whoever loses its session while it runs registers again; whoever leaves does not.
#[test]
fn b16_a_lost_session_is_begun_anew_unless_it_was_given_up() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let session = cluster.members().session_of(&broker("b"));
    cluster.cut_registry(&broker("b"), config().session_ttl + seconds(2));
    cluster.advance(config().session_ttl + seconds(10)).unwrap();
    let next = cluster.members().session_of(&broker("b"));
    assert!(next > session, "{next:?} after {session:?}");
    cluster.close(&broker("b"), seconds(10));
    cluster.advance(seconds(60)).unwrap();
    assert_eq!(cluster.members().session_of(&broker("b")), None);
}

/// B17: many bundles and slow hooks: closing keeps its deadline, and says what is left.
#[test]
fn b17_closing_keeps_its_deadline_and_lists_what_is_left() {
    let owners: Vec<&str> = std::iter::repeat_n("b", 200).collect();
    let mut cluster = owned_by(&["a", "b"], &owners);
    slow_hooks(&mut cluster, "b", 40_000);
    let asked = cluster.now();
    cluster.close(&broker("b"), seconds(10));
    let closed = |cluster: &Cluster| cluster.close_report(&broker("b")).is_some();
    assert!(cluster.advance_until(seconds(30), closed).unwrap());
    let took = cluster.now().since(asked);
    assert!(took <= seconds(11), "by its own clock ten: {took:?}");
    assert_eq!(cluster.close_report(&broker("b")).unwrap().left.len(), 200);
    cluster.advance(seconds(1)).unwrap();
    assert_eq!(
        cluster.members().session_of(&broker("b")),
        None,
        "its session is ended"
    );
}

/// B27: all that can be asked of a broker says the same after each step of a busy history.
#[test]
fn b27_all_questions_have_one_answer() {
    let mut cluster = owned_by(&["a", "b", "c"], &["a", "b", "c", "a"]);
    for step in 0..60_usize {
        let bundle = bundle(step % 4, 4);
        let destination = ["a", "b", "c"][(step * 7) % 3];
        if let Some(owner) = owner(&cluster, &bundle)
            && owner != destination
        {
            ask(&mut cluster, "a", &bundle, transfer(destination));
        }
        cluster
            .advance(std::time::Duration::from_millis(50))
            .unwrap();
        for name in ["a", "b", "c"] {
            let protocol = cluster.protocol(&broker(name)).unwrap();
            let held: Vec<_> = protocol.held().map(|(bundle, _)| bundle.clone()).collect();
            for index in 0..4 {
                let bundle = crate::scene::bundle(index, 4);
                if cluster.is_mine(&broker(name), &bundle).is_some() {
                    assert!(held.contains(&bundle), "{name} {bundle} at step {step}");
                }
            }
        }
    }
    cluster.advance(seconds(5)).unwrap();
    for index in 0..4 {
        let bundle = bundle(index, 4);
        let owner = owner(&cluster, &bundle).unwrap();
        for name in ["a", "b", "c"] {
            assert_eq!(
                cluster.is_mine(&broker(name), &bundle).is_some(),
                name == owner
            );
            let ticket = locate(&mut cluster, name, &bundle);
            assert_eq!(served_by(&wait(&mut cluster, ticket)), owner);
        }
    }
}
