//! What a broker counts, and whom its leader waits for.

use super::scene::*;
use deedbook::protocol::{Answer, Request};
use deedbook::sim::Cluster;
use deedbook::state::{Record, State};

fn look_ups(cluster: &Cluster, name: &str, outcome: &str) -> u64 {
    let counters = cluster.protocol(&broker(name)).unwrap().counters();
    counters.look_ups.get(outcome).copied().unwrap_or_default()
}

#[test]
fn look_ups_are_counted_by_outcome_and_those_that_had_to_wait_once() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let ask = Request::Owner {
        bundle: bundle.clone(),
    };
    assert!(matches!(
        answer(&mut cluster, "a", ask.clone()),
        Answer::Nobody { .. }
    ));
    assert_eq!(look_ups(&cluster, "a", "nobody"), 1);
    let counters = cluster.protocol(&broker("a")).unwrap().counters();
    assert_eq!(counters.look_ups_deferred, 0);

    // The one that has it assigned waits through several changes of the row.
    let ticket = locate(&mut cluster, "a", &bundle);
    assert!(matches!(wait(&mut cluster, ticket), Answer::Served { .. }));
    assert!(matches!(
        answer(&mut cluster, "a", ask),
        Answer::Served { .. }
    ));
    assert_eq!(look_ups(&cluster, "a", "served"), 2);
    let counters = cluster.protocol(&broker("a")).unwrap().counters();
    assert_eq!(counters.look_ups_deferred, 1);
    assert_eq!(
        counters.commands.keys().collect::<Vec<_>>(),
        [&"done"],
        "the namespace"
    );
    let others = cluster.protocol(&broker("b")).unwrap().counters();
    assert!(others.look_ups.is_empty());
}

#[test]
fn commands_conflicts_and_hooks_are_counted() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "b", 300);
    let first = ask(&mut cluster, "a", &bundle, assign("b"));
    let second = ask(&mut cluster, "b", &bundle, assign("a"));
    let answers = [first, second].map(|ticket| wait(&mut cluster, ticket));
    let lost = answers
        .iter()
        .filter(|answer| matches!(answer, Answer::Conflict { .. }));
    assert_eq!(lost.count(), 1, "{answers:?}");
    cluster.advance(seconds(1)).unwrap();
    // Everybody read the entry that did not count; whoever asked got the answer.
    for name in ["a", "b"] {
        let counters = cluster.protocol(&broker(name)).unwrap().counters();
        assert_eq!(counters.conflicts, [("stale_version", 1)].into());
    }
    let owner = owner(&cluster, &bundle).unwrap();
    let hooks = &cluster.protocol(&broker(&owner)).unwrap().counters().hooks;
    assert_eq!(hooks["acquire"].count, 1);
    assert_eq!(hooks["acquire"].failed, 0);
    assert_eq!(hooks["acquire"].total, hooks["acquire"].longest);
}

#[test]
fn the_leader_says_whom_it_waits_for_since_when_and_until_when() {
    let mut cluster = owned_by(&["a", "b"], &["a", "b"]);
    let leads = leader(&cluster).unwrap();
    let dies = if leads == "a" { "b" } else { "a" };
    let theirs = bundle(usize::from(dies == "b"), 2);
    let Record::Owned { owner: holder } = row(&cluster, &theirs).record else {
        panic!("owned");
    };
    assert!(
        cluster
            .protocol(&broker(&leads))
            .unwrap()
            .waits()
            .is_empty()
    );
    cluster.crash(&broker(dies));
    let waits = |cluster: &Cluster| cluster.protocol(&broker(&leads)).unwrap().waits();
    let seen = cluster.advance_until(seconds(60), |cluster| !waits(cluster).is_empty());
    assert!(seen.unwrap());
    let wait = waits(&cluster).remove(0);
    assert_eq!((wait.holder, wait.bundles), (holder, 1));
    let seen = cluster.now();
    // By the leader's own clock, which has another beginning.
    assert_eq!(wait.until, wait.since.after(config().takeover_delay()));

    // Nothing is taken before the session is over for certain, however fast that clock is, and
    // nobody is waited for afterwards.
    until_owned(&mut cluster, seconds(60), &theirs, &leads);
    assert!(cluster.now().since(seen) >= config().session_ttl);
    cluster.advance(seconds(20)).unwrap();
    assert_eq!(waits(&cluster), []);
    let protocol = cluster.protocol(&broker(&leads)).unwrap();
    assert_eq!(protocol.counters().overrides, 1);
    assert_eq!(protocol.counters().clean_ups, 0);
    assert!(protocol.in_flight().is_empty());
    assert_eq!(state(&cluster, &theirs), State::Owned);
}
