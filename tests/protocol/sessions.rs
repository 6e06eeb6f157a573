//! Sessions are certain, doubtful, lost and begun anew.

use crate::scene::*;
use deedbook::clock::Tick;
use deedbook::ids::{Position, SessionToken};
use deedbook::log::{AppendError, Doubt, Member, Members, Payload, TailItem};
use deedbook::planner::AtRandom;
use deedbook::protocol::{Action, Answer, Effect, Input, Protocol, RegistryAnswer};
use deedbook::registry::Error;
use std::time::Duration;

/// Without renewal a broker stops saying "mine" before its session can be over for others; it lets
/// go, begins anew, and takes back what still names it, with a new fence.
#[test]
fn a_lost_session_is_doubted_released_and_begun_anew() {
    let mut cluster = owned_by(&["a", "b"], &["b"]);
    let bundle = bundle(0, 1);
    let first = row(&cluster, &bundle).fence;
    assert!(cluster.is_mine(&broker("b"), &bundle).is_some());
    cluster.cut_registry(&broker("b"), config().session_ttl + seconds(2));
    let pending = ask(&mut cluster, "a", &bundle, Action::Unload);
    wait(&mut cluster, pending);
    change(&mut cluster, "a", &bundle, assign("b"));
    cluster.advance(config().session_ttl).unwrap();
    assert_eq!(cluster.is_mine(&broker("b"), &bundle), None, "in doubt");
    until_owned(&mut cluster, seconds(30), &bundle, "b");
    cluster.advance(seconds(20)).unwrap();
    let last = row(&cluster, &bundle).fence;
    assert!(last > first);
    assert_eq!(cluster.is_mine(&broker("b"), &bundle), Some(last));
    let hooks = hooks(&cluster, &bundle);
    let acquired = hooks.iter().filter(|(hook, _)| hook == "b acquire").count();
    let released = hooks.iter().filter(|(hook, _)| hook == "b release").count();
    assert_eq!(acquired, released + 1, "{hooks:?}");
}

#[test]
fn whoever_waits_at_a_broker_that_loses_its_session_hears_that_the_outcome_is_unknown() {
    let mut cluster = owned_by(&["a", "b"], &["a"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "a", 50_000);
    let ticket = ask(&mut cluster, "b", &bundle, transfer("b"));
    cluster.advance(seconds(1)).unwrap();
    cluster.cut_registry(&broker("b"), seconds(15));
    let answer = wait(&mut cluster, ticket);
    assert!(
        matches!(&answer, Answer::Unknown { last_seen: Some(_) }),
        "{answer:?}"
    );
}

/// E9: a process that has the name of a dead one is not that one: it owns nothing by the old
/// record, and waits until the other cannot serve any more, wherever it may be.
#[test]
fn a_new_incarnation_takes_over_after_the_delay_with_a_new_fence() {
    let mut cluster = owned_by(&["a"], &["a"]);
    let bundle = bundle(0, 1);
    let before = row(&cluster, &bundle);
    cluster.restart(&broker("a"));
    let restarted = cluster.now();
    let changed = |cluster: &deedbook::sim::Cluster| row(cluster, &bundle) != before;
    let mut served_early = false;
    assert!(
        cluster
            .advance_until(seconds(60), |cluster| {
                served_early |= cluster.is_mine(&broker("a"), &bundle).is_some();
                changed(cluster)
            })
            .unwrap()
    );
    assert!(!served_early);
    let waited = cluster.now().since(restarted);
    // By its own clock, which may be fast.
    assert!(
        waited >= config().takeover_delay().mul_f64(0.99),
        "{waited:?}"
    );
    cluster.advance(seconds(5)).unwrap();
    let after = row(&cluster, &bundle);
    assert!(after.fence > before.fence);
    assert_eq!(cluster.is_mine(&broker("a"), &bundle), Some(after.fence));
}

/// E9: the old incarnation was letting go: the new one finishes that without waiting for a round of
/// the leader.
#[test]
fn a_new_incarnation_finishes_what_the_old_one_let_go_of() {
    let mut cluster = owned_by(&["a", "b"], &["b"]);
    let bundle = bundle(0, 1);
    slow_hooks(&mut cluster, "b", 30_000);
    ask(&mut cluster, "a", &bundle, transfer("a"));
    until(
        &mut cluster,
        seconds(1),
        &bundle,
        deedbook::state::State::Releasing,
    );
    cluster.restart(&broker("b"));
    slow_hooks(&mut cluster, "b", 10);
    let limit = config().takeover_delay() + seconds(3);
    until_owned(&mut cluster, limit, &bundle, "a");
}

/// A zombie wakes up beside its replacement. Storage and the checker of one owner see to the rest.
#[test]
fn a_zombie_does_not_serve() {
    let mut cluster = owned_by(&["a", "b"], &["b"]);
    let bundle = bundle(0, 1);
    cluster.pause(&broker("b"), seconds(40));
    let taken = |cluster: &deedbook::sim::Cluster| owner(cluster, &bundle).as_deref() == Some("a");
    assert!(cluster.advance_until(seconds(39), taken).unwrap());
    cluster.advance(seconds(40)).unwrap();
    assert_eq!(cluster.is_mine(&broker("b"), &bundle), None);
    assert!(cluster.is_mine(&broker("a"), &bundle).is_some());
    let hooks = hooks(&cluster, &bundle);
    let last = hooks.last().unwrap();
    assert_eq!(last.0, "b release", "{hooks:?}");
}

/// Of two processes of one name that both live, the newer one has the name; the other stands by, so
/// that they do not end each other's sessions without end, and takes over when it is gone. B16.
#[test]
fn two_processes_of_one_name_do_not_fight() {
    let mut cluster = owned_by(&["a", "b"], &["b"]);
    let bundle = bundle(0, 1);
    cluster.replace(&broker("b"), seconds(30));
    cluster.advance(seconds(60)).unwrap();
    let (session, end) = (cluster.members().session_of(&broker("b")), cluster.end());
    cluster.advance(seconds(600)).unwrap();
    assert_eq!(cluster.members().session_of(&broker("b")), session);
    assert_eq!(cluster.end(), end, "nobody registers again");
    assert!(cluster.is_mine(&broker("b"), &bundle).is_some());
    // The newer process dies; the one that stood by begins a session in its place.
    cluster.crash(&broker("b"));
    let next = |cluster: &deedbook::sim::Cluster| {
        let now = cluster.members().session_of(&broker("b"));
        now.is_some() && now > session
    };
    assert!(cluster.advance_until(seconds(60), next).unwrap());
}

/// Whoever waits for a bundle must not wait for ever: a hook beyond its limit costs the session.
#[test]
fn a_hook_that_exceeds_its_limit_ends_the_session() {
    let mut cluster = owned_by(&["a", "b"], &["b"]);
    let bundle = bundle(0, 1);
    let session = row(&cluster, &bundle).record.holder().unwrap().session;
    slow_hooks(&mut cluster, "b", 1_000_000_000);
    ask(&mut cluster, "a", &bundle, transfer("a"));
    cluster.advance(config().hook_limit + seconds(2)).unwrap();
    assert!(!cluster.members().is_alive(session));
    let limit = config().takeover_delay() + config().monitor_interval;
    until_owned(&mut cluster, limit, &bundle, "a");
    assert!(cluster.protocol(&broker("b")).unwrap().session().is_some());
}

/// Drives one brain through an outage of the registry and counts what it asks for.
fn requests_in_outage(minutes: u64) -> (usize, Tick) {
    let error = || Error::Unavailable(AppendError::Unknown(Doubt::NoAnswer));
    let (mut protocol, mut effects) = Protocol::start(
        broker("a"),
        config(),
        Box::new(AtRandom::default()),
        Tick::ZERO,
    );
    let end = Tick::ZERO.after(seconds(60 * minutes));
    let (mut now, mut asked) = (Tick::ZERO, 0);
    let mut answers: std::collections::BTreeSet<(Tick, Tick)> = Default::default();
    loop {
        for effect in effects {
            if matches!(effect, Effect::Register) {
                asked += 1;
                // No two answers take the same time.
                let takes = Duration::from_millis(500 + 37 * (asked as u64 % 41));
                answers.insert((now.after(takes), now));
            }
        }
        let answer = answers
            .first()
            .copied()
            .filter(|(at, _)| protocol.next_wake().is_none_or(|wake| *at <= wake));
        let input = match answer {
            Some((at, sent_at)) => {
                answers.pop_first();
                now = at;
                let result = Err(error());
                Input::Registry(RegistryAnswer::Registered { sent_at, result })
            }
            None => {
                now = protocol.next_wake().unwrap();
                Input::Wake
            }
        };
        if now >= end || asked > 100_000 {
            return (asked, now);
        }
        effects = protocol.step(now, input);
    }
}

#[test]
fn an_outage_of_the_registry_is_met_with_patience() {
    let (asked, now) = requests_in_outage(10);
    let seconds = now.since(Tick::ZERO).as_secs();
    assert!(asked as u64 <= seconds, "{asked} requests in {seconds} s");
    assert!(asked >= 100, "but it keeps asking: {asked}");
}

/// Each new session brings its renewals; those of the ones before must not go on beside them.
#[test]
fn sessions_that_come_and_go_leave_no_timers_behind() {
    let mut cluster = cluster(&["a", "b"]);
    for _ in 0..20 {
        cluster.cut_registry(&broker("b"), config().session_ttl + seconds(2));
        cluster.advance(config().session_ttl * 2).unwrap();
    }
    cluster.advance(seconds(30)).unwrap();
    let minute_ago = cluster.now().nanos() / 1_000_000_000;
    cluster.advance(seconds(60)).unwrap();
    let time = |line: &str| line.split('.').next().unwrap().parse::<u64>().unwrap();
    let renewals = cluster
        .trace()
        .lines()
        .filter(|line| line.contains("b.1 > renew"));
    let renewed = renewals.filter(|line| time(line) >= minute_ago).count();
    let due = 60 / config().renew_interval().as_secs();
    assert!(
        (due - 3..=due + 1).contains(&(renewed as u64)),
        "{renewed} renewals in a minute"
    );
}

/// Whoever reads of many members at once asks for the list once, and once more for those it read of
/// while the answer was on its way.
#[test]
fn a_backlog_of_members_is_one_question() {
    let placement = Box::new(AtRandom::default());
    let now = Tick::ZERO;
    let (mut protocol, _) = Protocol::start(broker("a"), config(), placement, now);
    let next = Position::new(1);
    protocol.step(now, Input::Tail(TailItem::CaughtUp { next }));
    let mut asked = Vec::new();
    for position in 1..=100 {
        let session = SessionToken::new(position);
        let item = TailItem::Payload {
            position: Position::new(position),
            payload: Payload::Member(Member::Left { session }),
        };
        asked.extend(requests(&protocol.step(now, Input::Tail(item))));
    }
    assert_eq!(asked.len(), 1);
    let mut answer = |request| {
        let result = Ok(Members::default());
        let answer = RegistryAnswer::Members { request, result };
        requests(&protocol.step(now, Input::Registry(answer)))
    };
    let again = answer(asked[0]);
    assert_eq!(again.len(), 1, "what was read of meanwhile");
    assert_eq!(answer(again[0]), [0; 0]);
}

/// The member lists that are asked for.
fn requests(effects: &[Effect]) -> Vec<u64> {
    let lists = effects.iter().filter_map(|effect| match effect {
        Effect::ListMembers { request } => Some(*request),
        _ => None,
    });
    lists.collect()
}
