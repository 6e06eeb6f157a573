//! A bundle is divided.

use crate::scene::*;
use deedbook::ids::{BundleId, Fence};
use deedbook::protocol::{Action, Answer};
use deedbook::state::State;

fn split(bundle: &BundleId) -> Action {
    Action::Split {
        cuts: halves(bundle),
    }
}

fn children(bundle: &BundleId) -> [BundleId; 2] {
    let cuts = halves(bundle);
    let children: Vec<_> = bundle.children(&cuts).collect();
    children.try_into().unwrap()
}

#[test]
fn the_source_owns_the_children_and_lets_go_of_the_parent_once() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let parent = bundle(0, 1);
    let fence = row(&cluster, &parent).fence;
    let answer = change(&mut cluster, "b", &parent, split(&parent));
    let divided = row(&cluster, &parent).version;
    let done = Answer::Done {
        position: divided,
        fence: None,
    };
    assert_eq!(answer, done);
    assert_eq!(state(&cluster, &parent), State::Deleted);
    cluster.advance(seconds(1)).unwrap();
    for child in children(&parent) {
        let row = row(&cluster, &child);
        assert_eq!((row.version, row.fence), (divided, Fence::at(divided)));
        assert_eq!(cluster.is_mine(&broker("a"), &child), Some(row.fence));
        assert_eq!(
            hooks(&cluster, &child),
            [("a acquire".to_owned(), row.fence)]
        );
    }
    let expected = ["a acquire", "a split", "a release"].map(|hook| (hook.to_owned(), fence));
    assert_eq!(hooks(&cluster, &parent), expected);
    assert_eq!(cluster.is_mine(&broker("a"), &parent), None);
}

#[test]
fn the_parent_is_served_while_its_split_is_prepared() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let parent = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 5_000);
    ask(&mut cluster, "b", &parent, split(&parent));
    cluster.advance(seconds(4)).unwrap();
    assert_eq!(state(&cluster, &parent), State::Splitting);
    assert!(cluster.is_mine(&broker("a"), &parent).is_some());
    let ticket = locate(&mut cluster, "b", &parent);
    let answer = wait(&mut cluster, ticket);
    assert!(matches!(answer, Answer::Served { broker, .. } if broker.as_str() == "a"));
}

/// B22: the cuts stand in the log: whoever finishes the split makes the same children, once.
#[test]
fn a_split_is_finished_after_its_broker_came_back() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let parent = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 5_000);
    ask(&mut cluster, "b", &parent, split(&parent));
    until(&mut cluster, seconds(1), &parent, State::Splitting);
    cluster.restart(&broker("a"));
    // What was in its session is over with it; other cuts are not heard any more.
    let other = Action::Split {
        cuts: deedbook::ids::Cuts::even(parent.range(), 3).unwrap(),
    };
    let answer = change(&mut cluster, "b", &parent, other);
    assert!(
        matches!(answer, Answer::Refused(_) | Answer::Conflict { .. }),
        "{answer:?}"
    );
    until(&mut cluster, seconds(120), &parent, State::Deleted);
    cluster.advance(seconds(10)).unwrap();
    for child in children(&parent) {
        assert_eq!(state(&cluster, &child), State::Owned);
    }
    assert_eq!(lines(&cluster, &["log ", "=> Deleted"]).len(), 1);
}

#[test]
fn a_split_of_a_dead_broker_is_finished_by_another() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b"]);
    let parent = bundle(0, 1);
    let before = row(&cluster, &parent).fence;
    slow_hooks(&mut cluster, "b", 5_000);
    ask(&mut cluster, "a", &parent, split(&parent));
    until(&mut cluster, seconds(1), &parent, State::Splitting);
    cluster.crash(&broker("b"));
    let limit = config().session_ttl + config().takeover_delay() + config().monitor_interval;
    until(&mut cluster, limit, &parent, State::Deleted);
    cluster.advance(seconds(2)).unwrap();
    for child in children(&parent) {
        let row = row(&cluster, &child);
        let owner = owner(&cluster, &child).unwrap();
        assert_ne!(owner, "b");
        assert!(row.fence > before);
        assert!(cluster.is_mine(&broker(&owner), &child).is_some());
    }
}

#[test]
fn two_who_ask_for_the_same_split_share_it() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let parent = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 2_000);
    let first = ask(&mut cluster, "a", &parent, split(&parent));
    cluster.advance(seconds(1)).unwrap();
    let second = ask(&mut cluster, "b", &parent, split(&parent));
    let answers = [first, second].map(|ticket| wait(&mut cluster, ticket));
    assert_eq!(answers[0], answers[1]);
    assert_eq!(lines(&cluster, &["log ", "=> Splitting"]).len(), 1);
}

/// E1: the parent's end leaves the table after a while, and nothing else does.
#[test]
fn only_old_tombstones_are_removed() {
    let mut config = config();
    config.tombstone_delay = seconds(120);
    let builder = deedbook::sim::Cluster::builder(1).config(config);
    let mut cluster = own(cluster_with(builder, &["a", "b"]), &["a", "b", "a"]);
    let [owned, free, parent] = [0, 1, 2].map(|index| bundle(index, 3));
    change(&mut cluster, "a", &free, Action::Unload);
    change(&mut cluster, "a", &parent, split(&parent));
    let divided = cluster.now();
    until(&mut cluster, seconds(300), &parent, State::Init);
    let stood = cluster.now().since(divided);
    // The leader's clock may be fast.
    assert!(stood >= seconds(118), "{stood:?}");
    assert!(stood <= seconds(120 + 61), "{stood:?}");
    assert_eq!(state(&cluster, &owned), State::Owned);
    assert_eq!(state(&cluster, &free), State::Free);
    cluster.advance(seconds(300)).unwrap();
    assert_eq!(cluster.table().row_count(), 4);
}
