//! Apache Pulsar's own scenarios of the ownership channel (CH), one test a scenario, named as in
//! `docs/testing.md`. Where another test shows one already, the table there names that one.

use crate::scene::*;
use deedbook::ids::Epoch;
use deedbook::protocol::{Action, Answer, Mine, NotMine, Refused, Request};
use deedbook::sim::{Cluster, Outcome};
use deedbook::state::State;

fn served_by(answer: &Answer) -> &str {
    match answer {
        Answer::Served { broker, .. } => broker.as_str(),
        other => panic!("{other:?}"),
    }
}

fn leaders(cluster: &Cluster) -> Vec<String> {
    let brokers = cluster.running_brokers();
    let leads = brokers.filter(|broker| cluster.protocol(broker).unwrap().epoch().is_some());
    leads.map(ToString::to_string).collect()
}

/// Whoever leads leaves; the other leads in a higher epoch, and at each moment at most one does.
#[test]
fn ch_01_one_leads_and_the_next_is_another() {
    let mut cluster = cluster(&["a", "b"]);
    let (epoch, first) = cluster.members().leader_holder().unwrap();
    let first = first.broker.clone();
    assert_eq!(leaders(&cluster), [first.to_string()]);
    cluster.close(&first, seconds(10));
    let other = |cluster: &Cluster| {
        let (_, holder) = cluster.members().leader_holder()?;
        (holder.broker != first).then_some(())
    };
    assert!(
        cluster
            .advance_until(seconds(30), |cluster| other(cluster).is_some())
            .unwrap()
    );
    cluster.add_broker(&first);
    cluster.advance(seconds(10)).unwrap();
    let (next, second) = cluster.members().leader_holder().unwrap();
    assert_ne!(second.broker, first);
    assert!(next > epoch, "{next} after {epoch}");
    assert_eq!(leaders(&cluster), [second.broker.to_string()]);
}

/// Before a broker has a session and has read the log, everything is refused, and doubted.
#[test]
fn ch_02_nothing_is_taken_before_it_is_ready() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let bundle = bundle(0, 1);
    cluster.add_broker(&broker("c"));
    let asked = [assign("a"), Action::Unload, transfer("b")]
        .map(|action| ask(&mut cluster, "c", &bundle, action));
    for ticket in asked {
        let outcome = cluster.outcome(ticket);
        let refused = Outcome::Answered(Answer::Refused(Refused::NotReady));
        assert_eq!(outcome, Some(&refused));
    }
    assert_eq!(cluster.mine(&broker("c"), &bundle), Some(Mine::Unknown));
}

/// B25: The loser of a race to assign hears at once who won; afterwards both name the winner.
#[test]
fn ch_05_of_two_assignments_one_counts_and_both_hear_of_it() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let tickets = ["a", "b"].map(|name| ask(&mut cluster, name, &bundle, assign(name)));
    let answers = tickets.map(|ticket| wait(&mut cluster, ticket));
    let done = answers
        .iter()
        .filter(|answer| matches!(answer, Answer::Done { .. }));
    assert_eq!(done.count(), 1, "{answers:?}");
    cluster.advance(seconds(1)).unwrap();
    let winner = owner(&cluster, &bundle).unwrap();
    for name in ["a", "b"] {
        let ticket = locate(&mut cluster, name, &bundle);
        assert_eq!(served_by(&wait(&mut cluster, ticket)), winner);
    }
    let acquired = hooks(&cluster, &bundle);
    assert_eq!(acquired.len(), 1, "one hook: {acquired:?}");
}

/// The destination cannot reach the log: others name it, it does not name itself, and whoever asks
/// it is answered in time.
#[test]
fn ch_08_ch_26_a_destination_that_cannot_write_does_not_name_itself() {
    for from_owner in [true, false] {
        let mut cluster = cluster(&["a", "b"]);
        create(&mut cluster, 1);
        let bundle = bundle(0, 1);
        if from_owner {
            change(&mut cluster, "a", &bundle, assign("a"));
            cluster.advance(seconds(1)).unwrap();
        }
        cluster.cut_log(&broker("b"), seconds(20));
        let action = if from_owner {
            transfer("b")
        } else {
            assign("b")
        };
        ask(&mut cluster, "a", &bundle, action);
        until(&mut cluster, seconds(5), &bundle, State::Assigning);
        cluster.advance(seconds(1)).unwrap();
        let ticket = locate(&mut cluster, "a", &bundle);
        assert_eq!(served_by(&wait(&mut cluster, ticket)), "b");
        assert_eq!(cluster.is_mine(&broker("b"), &bundle), None);
        let asked = cluster.now();
        let ticket = locate(&mut cluster, "b", &bundle);
        wait(&mut cluster, ticket);
        let took = cluster.now().since(asked);
        assert!(took <= config().lookup_limit + seconds(1), "{took:?}");
        // In the end somebody owns it.
        until(&mut cluster, seconds(200), &bundle, State::Owned);
    }
}

/// A leader's round over living brokers and what is owned or was just divided writes nothing.
#[test]
fn ch_11_a_round_over_what_is_well_writes_nothing() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let parent = bundle(0, 1);
    let cuts = halves(&parent);
    change(&mut cluster, "a", &parent, Action::Split { cuts });
    cluster.advance(seconds(1)).unwrap();
    let end = cluster.end();
    cluster.advance(config().monitor_interval * 5).unwrap();
    assert_eq!(cluster.end(), end);
}

/// A broker that comes back in time, before the take-over, keeps others from taking its bundles.
#[test]
fn ch_13_ch_15_a_loss_is_not_acted_on_before_the_delay() {
    let mut cluster = owned_by(&["a", "b", "c"], &["c"]);
    let bundle = bundle(0, 1);
    cluster.crash(&broker("c"));
    let early = config().session_ttl + config().takeover_delay() - seconds(2);
    let crashed = cluster.now();
    let gone = |cluster: &Cluster| owner(cluster, &bundle).as_deref() != Some("c");
    assert!(!cluster.advance_until(early, gone).unwrap());
    assert!(cluster.advance_until(seconds(60), gone).unwrap());
    // The last renewal may be a third of its life old when it dies.
    let waited = cluster.now().since(crashed);
    assert!(waited >= config().takeover_delay(), "{waited:?}");
}

/// Both units of two brokers that die one after the other are owned by whoever is left, and only
/// the leader writes for the dead.
#[test]
fn ch_14_ch_17_ch_19_the_leader_alone_cleans_up() {
    let mut cluster = owned_by(&["a", "b", "c"], &["b", "c"]);
    let dead: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .filter(|name| leader(&cluster).as_deref() != Some(name))
        .collect();
    for name in &dead {
        cluster.crash(&broker(name));
        cluster.advance(seconds(90)).unwrap();
    }
    let left = leader(&cluster).unwrap();
    for index in 0..2 {
        assert_eq!(
            owner(&cluster, &bundle(index, 2)).as_deref(),
            Some(left.as_str())
        );
    }
    for name in dead {
        let forced = lines(&cluster, &["log", &format!("by {name}"), "epoch"]);
        assert_eq!(forced, [""; 0]);
    }
}

/// To assign what is owned is refused, with its state; the owner stays.
#[test]
fn ch_20_what_is_owned_is_not_assigned() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let bundle = bundle(0, 1);
    let before = row(&cluster, &bundle);
    let answer = change(&mut cluster, "b", &bundle, assign("b"));
    let state = State::Owned;
    let refused = Refused::WrongState {
        bundle: bundle.clone(),
        state,
    };
    assert_eq!(answer, Answer::Refused(refused));
    assert_eq!(row(&cluster, &bundle), before);
}

/// There Releasing may follow on nothing; here what nobody owns cannot be unloaded.
#[test]
fn ch_28_what_nobody_owns_is_not_unloaded() {
    let mut cluster = cluster(&["a", "b"]);
    create(&mut cluster, 1);
    let bundle = bundle(0, 1);
    let end = cluster.end();
    let answer = change(&mut cluster, "a", &bundle, Action::Unload);
    assert!(
        matches!(answer, Answer::Refused(Refused::WrongState { .. })),
        "{answer:?}"
    );
    assert_eq!(cluster.end(), end);
}

/// The owner cannot reach the log: the split stays under way, is not given to another while the
/// owner lives, and is finished when it reaches the log again.
#[test]
fn ch_29_ch_35_a_split_that_cannot_be_written_is_finished_later() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let parent = bundle(0, 1);
    let cuts = halves(&parent);
    cluster.cut_log(&broker("a"), seconds(100));
    ask(
        &mut cluster,
        "b",
        &parent,
        Action::Split { cuts: cuts.clone() },
    );
    until(&mut cluster, seconds(5), &parent, State::Splitting);
    cluster.advance(seconds(80)).unwrap();
    assert_eq!(state(&cluster, &parent), State::Splitting);
    until(&mut cluster, seconds(60), &parent, State::Deleted);
    for child in parent.children(&cuts) {
        assert_eq!(owner(&cluster, &child).as_deref(), Some("a"));
    }
}

/// Who says "mine", in each state; a broker that divides a bundle serves it on, one that lets go of
/// it does not.
#[test]
fn ch_31_ch_32_ch_64_who_says_mine_in_each_state() {
    let mut cluster = cluster(&["a", "b"]);
    let bundle = bundle(0, 1);
    let says = |cluster: &Cluster, name: &str| cluster.mine(&broker(name), &bundle).unwrap();
    assert_eq!(says(&cluster, "a"), Mine::No(NotMine::Absent));
    create(&mut cluster, 1);
    assert_eq!(says(&cluster, "a"), Mine::No(NotMine::NotHeld(State::Free)));
    slow_hooks(&mut cluster, "a", 5_000);
    ask(&mut cluster, "b", &bundle, assign("a"));
    until(&mut cluster, seconds(2), &bundle, State::Owned);
    cluster.advance(seconds(1)).unwrap();
    assert_eq!(says(&cluster, "a"), Mine::No(NotMine::Acquiring));
    cluster.advance(seconds(6)).unwrap();
    assert!(matches!(says(&cluster, "a"), Mine::Yes { .. }));
    assert!(matches!(says(&cluster, "b"), Mine::No(_)));
    let cuts = halves(&bundle);
    ask(&mut cluster, "b", &bundle, Action::Split { cuts });
    until(&mut cluster, seconds(2), &bundle, State::Splitting);
    cluster.advance(seconds(1)).unwrap();
    assert!(matches!(says(&cluster, "a"), Mine::Yes { .. }));
    until(&mut cluster, seconds(20), &bundle, State::Deleted);
    cluster.advance(seconds(1)).unwrap();
    assert!(matches!(says(&cluster, "a"), Mine::No(_)));
}

#[test]
fn ch_32_whoever_lets_go_does_not_say_mine() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 5_000);
    ask(&mut cluster, "b", &bundle, Action::Unload);
    until(&mut cluster, seconds(2), &bundle, State::Releasing);
    cluster.advance(seconds(1)).unwrap();
    assert!(matches!(
        cluster.mine(&broker("a"), &bundle),
        Some(Mine::No(_))
    ));
}

/// B10: the owner is dead and nobody else can take the bundle: it becomes free, and whoever waited
/// for its owner is answered.
#[test]
fn ch_45_with_nobody_left_to_take_it_it_is_free_and_waiters_end() {
    let mut cluster = owned_by(&["a", "b"], &["b"]);
    let bundle = bundle(0, 1);
    cluster.crash(&broker("b"));
    cluster.advance(config().session_ttl + seconds(4)).unwrap();
    let request = Request::Owner {
        bundle: bundle.clone(),
    };
    let ticket = cluster.ask(&broker("a"), request);
    let asked = cluster.now();
    // The only one left leaves too, and takes nothing any more.
    cluster.close(&broker("a"), seconds(25));
    let ended = cluster.advance_until(seconds(30), |cluster| cluster.outcome(ticket).is_some());
    assert!(ended.unwrap(), "{asked:?}");
}

/// Waiters of one unload share its entry, and each is answered.
#[test]
fn ch_56_many_who_ask_for_one_unload_share_it() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let bundle = bundle(0, 1);
    let end = cluster.end();
    let tickets: Vec<_> = (0..64)
        .map(|_| ask(&mut cluster, "b", &bundle, Action::Unload))
        .collect();
    for ticket in tickets {
        let answer = wait(&mut cluster, ticket);
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    }
    assert_eq!(cluster.end().get() - end.get(), 2, "Releasing and Free");
    assert_eq!(cluster.waiting_count(), 0);
}

/// Assigned, unloaded, assigned, moved: each ownership is one acquire and one release.
#[test]
fn ch_58_hooks_of_an_unload_and_a_transfer() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let bundle = bundle(0, 1);
    change(&mut cluster, "a", &bundle, Action::Unload);
    change(&mut cluster, "a", &bundle, assign("a"));
    cluster.advance(seconds(1)).unwrap();
    change(&mut cluster, "a", &bundle, transfer("b"));
    cluster.advance(seconds(1)).unwrap();
    let ran: Vec<String> = hooks(&cluster, &bundle)
        .into_iter()
        .map(|(hook, _)| hook)
        .collect();
    let expected = [
        "a acquire",
        "a release",
        "a acquire",
        "a release",
        "b acquire",
    ];
    assert_eq!(ran, expected);
}

#[test]
fn ch_59_a_transfer_to_the_owner_is_refused() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let answer = change(&mut cluster, "b", &bundle(0, 1), transfer("a"));
    let broker = broker("a");
    assert_eq!(answer, Answer::Refused(Refused::OwnerAlready { broker }));
}

/// B23: the lead goes to and fro quickly. In the end exactly one broker leads, in the highest
/// epoch, and heals what a dead broker left; no forced change of an older epoch counts.
#[test]
fn ch_67_ch_68_b23_a_lead_that_goes_to_and_fro_leaves_one_monitor() {
    let mut cluster = owned_by(&["a", "b", "c"], &["c"]);
    let bundle = bundle(0, 1);
    let mut epochs: Vec<Epoch> = Vec::new();
    for _ in 0..3 {
        let (epoch, holder) = cluster.members().leader_holder().unwrap();
        let leads = holder.broker.clone();
        epochs.push(epoch);
        cluster.pause(&leads, config().session_ttl + seconds(3));
        let other = |cluster: &Cluster| {
            cluster
                .members()
                .leader_holder()
                .is_some_and(|(now, _)| now > epoch)
        };
        assert!(cluster.advance_until(seconds(60), other).unwrap());
    }
    assert!(epochs.is_sorted_by(|one, next| one < next), "{epochs:?}");
    cluster.advance(seconds(60)).unwrap();
    assert_eq!(leaders(&cluster), [leader(&cluster).unwrap()]);
    let victim = owner(&cluster, &bundle).unwrap();
    cluster.crash(&broker(&victim));
    let healed = |cluster: &Cluster| owner(cluster, &bundle).is_some_and(|name| name != victim);
    assert!(cluster.advance_until(seconds(120), healed).unwrap());
}

/// A broker that leaves in order is owner no more, and exactly one other is.
#[test]
fn ch_71_whoever_leaves_is_owner_no_more() {
    let mut cluster = owned_by(&["a", "b", "c"], &["c"]);
    cluster.close(&broker("c"), seconds(30));
    cluster.advance(seconds(30)).unwrap();
    let next = owner(&cluster, &bundle(0, 1)).unwrap();
    assert_ne!(next, "c");
    let serving = ["a", "b"].map(|name| cluster.is_mine(&broker(name), &bundle(0, 1)));
    assert_eq!(serving.iter().flatten().count(), 1);
}
