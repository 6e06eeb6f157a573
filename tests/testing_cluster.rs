//! The cluster for the tests of embedders, used as an embedder would: hooks of its own, a broker of
//! files that must not be open twice, and everything that goes wrong.
#![cfg(test)]

use deedbook::channel::{CommandError, Completion, Ignore, OwnershipHandler};
use deedbook::ids::{BrokerId, BundleId, Cuts, Fence, KeyRange, Namespace};
use deedbook::protocol::{Action, Mine, Refused, Request};
use deedbook::testing::{Cluster, Faults};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).unwrap()
}

fn namespace() -> Namespace {
    Namespace::new("acme/files").unwrap()
}

fn whole() -> BundleId {
    BundleId::new(namespace(), KeyRange::FULL)
}

/// What a hook was called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Acquire,
    Release,
    Split,
}

/// What hooks do when they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Obey,
    /// Keeps the completion: the test ends the hook.
    Keep,
    FailOnce(Call),
    PanicOnce(Call),
}

type Told = (String, Call, Fence, Option<Completion>);

/// The embedder's hooks: they tell the test of each call.
struct Files {
    name: &'static str,
    manner: Manner,
    failed: Arc<AtomicBool>,
    tell: Sender<Told>,
}

impl Files {
    fn called(&self, call: Call, fence: Fence, done: Completion) {
        let kept = match self.manner {
            Manner::Keep => Some(done),
            Manner::FailOnce(which)
                if which == call && !self.failed.swap(true, Ordering::Relaxed) =>
            {
                done.failed();
                None
            }
            Manner::PanicOnce(which)
                if which == call && !self.failed.swap(true, Ordering::Relaxed) =>
            {
                self.tell
                    .send((self.name.to_owned(), call, fence, None))
                    .unwrap();
                panic!("a hook panics, as this test wants");
            }
            _ => {
                done.done();
                None
            }
        };
        self.tell
            .send((self.name.to_owned(), call, fence, kept))
            .unwrap();
    }
}

impl OwnershipHandler for Files {
    fn acquire(&self, _: &BundleId, fence: Fence, done: Completion) {
        self.called(Call::Acquire, fence, done);
    }

    fn release(&self, _: &BundleId, fence: Fence, _: Option<&BrokerId>, done: Completion) {
        self.called(Call::Release, fence, done);
    }

    fn split(&self, _: &BundleId, fence: Fence, _: &[BundleId], done: Completion) {
        self.called(Call::Split, fence, done);
    }
}

struct Scene {
    cluster: Cluster,
    told: Receiver<Told>,
}

impl Scene {
    /// Brokers with their manners; the first owns all keys, if its hooks let it.
    fn new(brokers: &[(&'static str, Manner)]) -> Self {
        let (tell, told) = mpsc::channel();
        let mut builder = Cluster::builder(3);
        for &(name, manner) in brokers {
            let (tell, failed) = (tell.clone(), Arc::new(AtomicBool::new(false)));
            builder = builder.handled_by(broker(name), move || Files {
                name,
                manner,
                failed: Arc::clone(&failed),
                tell: tell.clone(),
            });
        }
        let mut cluster = builder.build().unwrap();
        assert!(cluster.advance_until_ready(LIMIT).unwrap());
        let create = Request::CreateNamespace {
            namespace: namespace(),
            cuts: None,
            expected: None,
        };
        let first = broker(brokers[0].0);
        cluster.command(&first, create).unwrap().unwrap();
        // All others read of it.
        cluster.advance(seconds(1)).unwrap();
        Self { cluster, told }
    }

    fn ask(&mut self, name: &str, action: Action) {
        self.cluster.ask(&broker(name), request(action));
    }

    fn own(mut self, name: &str) -> Self {
        let answer = self.cluster.command(&broker(name), request(assign(name)));
        answer.unwrap().unwrap();
        // All others read of it.
        self.cluster.advance(seconds(1)).unwrap();
        self
    }

    fn told(&self) -> Vec<(String, Call, Fence)> {
        let told = self.told.try_iter();
        told.map(|(name, call, fence, _)| (name, call, fence))
            .collect()
    }

    fn calls(&self) -> Vec<(String, Call)> {
        self.told()
            .into_iter()
            .map(|(name, call, _)| (name, call))
            .collect()
    }

    fn until_mine(&mut self, name: &str) {
        let name = broker(name);
        let mine = |cluster: &Cluster| cluster.is_mine(&name, &whole()).is_some();
        assert!(self.cluster.advance_until(LIMIT, mine).unwrap(), "{name}");
    }

    fn mine(&self, name: &str) -> Option<Mine> {
        self.cluster.mine(&broker(name), &whole())
    }
}

fn request(action: Action) -> Request {
    Request::Bundle {
        bundle: whole(),
        expected: None,
        action,
    }
}

fn assign(name: &str) -> Action {
    Action::Assign {
        destination: Some(broker(name)),
    }
}

fn transfer(name: &str) -> Action {
    Action::Transfer {
        destination: broker(name),
    }
}

fn call(name: &str, call: Call) -> (String, Call) {
    (name.to_owned(), call)
}

#[test]
fn each_ownership_is_one_acquire_and_one_release() {
    let obey = Manner::Obey;
    let mut scene = Scene::new(&[("a", obey), ("b", obey)]).own("a");
    let moved = scene.cluster.command(&broker("b"), request(transfer("b")));
    moved.unwrap().unwrap();
    scene.until_mine("b");
    let cuts = Cuts::even(KeyRange::FULL, 2).unwrap();
    let split = scene
        .cluster
        .command(&broker("a"), request(Action::Split { cuts }));
    split.unwrap().unwrap();
    scene.cluster.advance(seconds(5)).unwrap();
    let mut calls = scene.calls();
    let children = calls.split_off(4);
    assert_eq!(
        calls,
        [
            call("a", Call::Acquire),
            call("a", Call::Release),
            call("b", Call::Acquire),
            call("b", Call::Split),
        ]
    );
    let of = |which| children.iter().filter(|(_, call)| *call == which).count();
    assert_eq!(
        (of(Call::Acquire), of(Call::Release)),
        (2, 1),
        "{children:?}"
    );
}

/// While the embedder prepares itself, nothing is served; it is from the moment that it says so.
#[test]
fn a_hook_that_takes_its_time_is_waited_for() {
    let mut scene = Scene::new(&[("a", Manner::Keep), ("b", Manner::Obey)]);
    scene.ask("b", assign("a"));
    scene.cluster.advance(seconds(20)).unwrap();
    let (name, call, fence, done) = scene.told.try_recv().unwrap();
    assert_eq!((name.as_str(), call), ("a", Call::Acquire));
    assert!(!matches!(scene.mine("a"), Some(Mine::Yes { .. })));
    done.unwrap().done();
    scene.until_mine("a");
    assert_eq!(scene.mine("a"), Some(Mine::Yes { fence }));
    assert_eq!(scene.calls(), []);
}

/// A hook that never ends costs the broker its session, so that somebody else may serve.
#[test]
fn a_hook_that_never_completes_gives_the_bundle_to_another() {
    let mut scene = Scene::new(&[("a", Manner::Keep), ("b", Manner::Obey)]);
    scene.ask("b", assign("a"));
    scene.until_mine("b");
    let calls = scene.told();
    let acquired = calls
        .iter()
        .filter(|(name, call, _)| name == "a" && *call == Call::Acquire);
    assert_eq!(
        acquired.count(),
        1,
        "never twice for one ownership: {calls:?}"
    );
    assert!(!matches!(scene.mine("a"), Some(Mine::Yes { .. })));
}

fn after_one_bad_hook(manner: Manner, which: Call) -> Vec<(String, Call)> {
    let mut scene = Scene::new(&[("a", manner), ("b", Manner::Obey)]);
    scene.ask("b", assign("a"));
    scene.cluster.advance(seconds(5)).unwrap();
    if which == Call::Release {
        scene.ask("b", transfer("b"));
    }
    if which == Call::Split {
        let cuts = Cuts::even(KeyRange::FULL, 2).unwrap();
        scene.ask("b", Action::Split { cuts });
    }
    scene.cluster.advance(LIMIT).unwrap();
    scene.cluster.come_to_rest().unwrap();
    scene.calls()
}

/// What cannot be acquired is given up; it was not acquired, so there is nothing to release.
#[test]
fn a_failing_acquire_gives_the_bundle_up() {
    for manner in [
        Manner::FailOnce(Call::Acquire),
        Manner::PanicOnce(Call::Acquire),
    ] {
        let calls = after_one_bad_hook(manner, Call::Acquire);
        assert_eq!(calls.first(), Some(&call("a", Call::Acquire)), "{manner:?}");
        let released = calls.iter().any(|(_, call)| *call == Call::Release);
        assert!(!released, "{manner:?}: {calls:?}");
    }
}

/// A release that fails has ended all the same: the next owner is not kept waiting.
#[test]
fn a_failing_release_holds_up_nobody() {
    for manner in [
        Manner::FailOnce(Call::Release),
        Manner::PanicOnce(Call::Release),
    ] {
        let calls = after_one_bad_hook(manner, Call::Release);
        let expected = [
            call("a", Call::Acquire),
            call("a", Call::Release),
            call("b", Call::Acquire),
        ];
        assert_eq!(calls, expected, "{manner:?}");
    }
}

/// A split that fails is tried again, as its children are chosen once and for all.
#[test]
fn a_failing_split_is_tried_again() {
    for manner in [
        Manner::FailOnce(Call::Split),
        Manner::PanicOnce(Call::Split),
    ] {
        let calls = after_one_bad_hook(manner, Call::Split);
        let splits = calls
            .iter()
            .filter(|(_, call)| *call == Call::Split)
            .count();
        assert_eq!(splits, 2, "{manner:?}: {calls:?}");
        let acquired = calls
            .iter()
            .filter(|(_, call)| *call == Call::Acquire)
            .count();
        assert_eq!(
            acquired, 3,
            "{manner:?}: the parent, then each child once: {calls:?}"
        );
    }
}

#[test]
fn a_killed_process_is_replaced_and_its_next_one_begins_anew() {
    let obey = Manner::Obey;
    let mut scene = Scene::new(&[("a", obey), ("b", obey)]).own("a");
    scene.cluster.crash(&broker("a"));
    scene.until_mine("b");
    scene.cluster.add_broker(&broker("a"));
    assert!(scene.cluster.advance_until_ready(LIMIT).unwrap());
    scene
        .cluster
        .command(&broker("b"), request(transfer("a")))
        .unwrap()
        .unwrap();
    scene.until_mine("a");
    let told = scene.told();
    let fences: Vec<Fence> = told
        .iter()
        .filter(|(_, call, _)| *call == Call::Acquire)
        .map(|(_, _, fence)| *fence)
        .collect();
    assert_eq!(fences.len(), 3, "{told:?}");
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
}

#[test]
fn a_process_that_starts_again_at_once_takes_its_bundle_back_with_a_new_fence() {
    let obey = Manner::Obey;
    let mut scene = Scene::new(&[("a", obey)]).own("a");
    let before = scene.told();
    scene.cluster.restart(&broker("a"));
    let restarted = scene.cluster.now();
    scene.until_mine("a");
    let after = scene.told();
    assert_eq!(after.len(), 1, "{after:?}");
    assert!(after[0].2 > before[0].2, "{after:?}");
    // Somebody of the same name may still serve: it is waited for as for anybody else.
    assert!(scene.cluster.now().since(restarted) >= seconds(9));
}

/// Two processes of one name: the cluster checks after each event that they never both serve.
#[test]
fn a_zombie_of_the_same_name_never_serves_beside_its_successor() {
    let obey = Manner::Obey;
    let mut scene = Scene::new(&[("a", obey), ("b", obey)]).own("a");
    scene.cluster.replace(&broker("a"), seconds(60));
    scene.until_mine("a");
    scene.cluster.advance(seconds(120)).unwrap();
    scene.cluster.come_to_rest().unwrap();
}

#[test]
fn whoever_cannot_reach_the_registry_doubts_and_whoever_stood_still_too() {
    let obey = Manner::Obey;
    for trouble in [Cluster::cut_registry, Cluster::pause] {
        let mut scene = Scene::new(&[("a", obey), ("b", obey)]).own("a");
        trouble(&mut scene.cluster, &broker("a"), seconds(60));
        scene.until_mine("b");
        let doubts = scene.mine("a");
        assert!(matches!(doubts, None | Some(Mine::Unknown)), "{doubts:?}");
        scene.cluster.advance(seconds(120)).unwrap();
        assert!(matches!(scene.mine("a"), Some(Mine::No(_))));
        let calls = scene.calls();
        let released = calls
            .iter()
            .filter(|of| **of == call("a", Call::Release))
            .count();
        assert_eq!(released, 1, "what it had open is closed once: {calls:?}");
    }
}

/// Out of reach of the log it knows nothing new: it serves on, as nobody takes over from a living
/// broker, and a command at it ends in time without an outcome.
#[test]
fn whoever_cannot_reach_the_log_keeps_what_it_has_and_says_what_it_does_not_know() {
    let obey = Manner::Obey;
    let mut scene = Scene::new(&[("a", obey), ("b", obey)]).own("a");
    scene.cluster.cut_log(&broker("a"), seconds(200));
    let answer = scene
        .cluster
        .command(&broker("a"), request(transfer("b")))
        .unwrap();
    assert!(
        matches!(answer, Err(CommandError::TimedOut { .. })),
        "{answer:?}"
    );
    assert!(matches!(scene.mine("a"), Some(Mine::Yes { .. })));
    scene.cluster.advance(seconds(300)).unwrap();
    scene.cluster.come_to_rest().unwrap();
}

/// After its machine slept, a broker doubts at once, whatever the registry says.
#[test]
fn after_a_jump_of_its_clock_a_broker_is_not_certain() {
    let obey = Manner::Obey;
    let mut scene = Scene::new(&[("a", obey), ("b", obey)]).own("a");
    assert!(matches!(scene.mine("a"), Some(Mine::Yes { .. })));
    scene.cluster.jump_clock(&broker("a"), seconds(3_600));
    assert_eq!(scene.mine("a"), Some(Mine::Unknown));
    scene.cluster.advance(LIMIT).unwrap();
    scene.cluster.come_to_rest().unwrap();
    assert!(scene.cluster.owner(&whole()).is_some());
}

#[test]
fn who_closes_hands_over_and_a_command_that_cannot_be_is_refused() {
    let obey = Manner::Obey;
    let mut scene = Scene::new(&[("a", obey), ("b", obey)]).own("a");
    let refused = scene
        .cluster
        .command(&broker("b"), request(transfer("c")))
        .unwrap();
    assert!(
        matches!(
            refused,
            Err(CommandError::Refused(Refused::NotADestination { .. }))
        ),
        "{refused:?}"
    );
    scene.cluster.close(&broker("a"), seconds(30));
    scene.until_mine("b");
    scene.cluster.advance(seconds(30)).unwrap();
    assert_eq!(scene.cluster.close_report(&broker("a")).unwrap().left, []);
    let lost = scene
        .cluster
        .command(&broker("a"), request(transfer("b")))
        .unwrap();
    assert_eq!(lost, Err(CommandError::Closed));
}

/// The same seed and the same calls give the same run; another seed another one.
#[test]
fn a_run_depends_on_its_seed_alone() {
    let run = |seed: u64| {
        let mut builder = Cluster::builder(seed).faults(Faults::default());
        for name in ["a", "b", "c"] {
            builder = builder.handled_by(broker(name), || Ignore);
        }
        let mut cluster = builder.build().unwrap();
        cluster.advance(seconds(600)).unwrap();
        cluster.come_to_rest().unwrap();
        let lines: Vec<String> = cluster.trace().lines().map(str::to_owned).collect();
        (lines, cluster.event_count())
    };
    let runs: BTreeMap<u64, _> = (1..=3).map(|seed| (seed, run(seed))).collect();
    for (seed, first) in &runs {
        assert_eq!(run(*seed), *first, "seed {seed}");
    }
    assert_ne!(runs[&1], runs[&2]);
}
