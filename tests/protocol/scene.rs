//! Short ways to set a scene and to see what happened in it.

use deedbook::ids::{
    BrokerId, BundleId, Cuts, Epoch, Fence, Holder, KeyRange, Namespace, SessionToken,
};
use deedbook::log::AppendResult;
use deedbook::protocol::{Action, Answer, Config, Request, Ticket};
use deedbook::sim::{Builder, Cluster, HookPlan, Outcome, Span};
use deedbook::state::{Body, Change, Entry, Record, Row, State};
use std::time::Duration;

pub(crate) const NAMESPACE: &str = "t/n";

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).unwrap()
}

pub(crate) fn namespace() -> Namespace {
    Namespace::new(NAMESPACE).unwrap()
}

/// The `index`-th of `parts` equal bundles of the namespace.
pub(crate) fn bundle(index: usize, parts: u32) -> BundleId {
    if parts == 1 {
        return BundleId::new(namespace(), KeyRange::FULL);
    }
    let cuts = Cuts::even(KeyRange::FULL, parts).unwrap();
    let range = cuts.parts(KeyRange::FULL).nth(index).unwrap();
    BundleId::new(namespace(), range)
}

pub(crate) fn halves(bundle: &BundleId) -> Cuts {
    Cuts::even(bundle.range(), 2).unwrap()
}

pub(crate) fn config() -> Config {
    Config::default()
}

/// A cluster of these brokers, which are ready.
pub(crate) fn cluster(brokers: &[&str]) -> Cluster {
    cluster_with(Cluster::builder(1), brokers)
}

pub(crate) fn cluster_with(mut builder: Builder, brokers: &[&str]) -> Cluster {
    for name in brokers {
        builder = builder.broker(broker(name));
    }
    let mut cluster = builder.build().unwrap();
    cluster.advance(seconds(5)).unwrap();
    cluster
}

/// As [`cluster`], with the namespace in `parts` bundles, each owned by the broker named for it.
pub(crate) fn owned_by(brokers: &[&str], owners: &[&str]) -> Cluster {
    own(cluster(brokers), owners)
}

pub(crate) fn own(mut cluster: Cluster, owners: &[&str]) -> Cluster {
    let parts = u32::try_from(owners.len()).unwrap();
    create(&mut cluster, parts);
    for (index, owner) in owners.iter().enumerate() {
        let action = assign(owner);
        let answer = change(&mut cluster, owner, &bundle(index, parts), action);
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    }
    cluster.advance(seconds(1)).unwrap();
    cluster
}

pub(crate) fn create(cluster: &mut Cluster, parts: u32) {
    let request = Request::CreateNamespace {
        namespace: namespace(),
        cuts: Cuts::even(KeyRange::FULL, parts),
        expected: None,
    };
    let first = cluster.running_brokers().next().unwrap().clone();
    let answer = answer(cluster, first.as_str(), request);
    assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    // All others read of it.
    cluster.advance(seconds(1)).unwrap();
}

pub(crate) fn assign(destination: &str) -> Action {
    let destination = Some(broker(destination));
    Action::Assign { destination }
}

pub(crate) fn transfer(destination: &str) -> Action {
    let destination = broker(destination);
    Action::Transfer { destination }
}

pub(crate) fn ask(cluster: &mut Cluster, name: &str, bundle: &BundleId, action: Action) -> Ticket {
    let request = Request::Bundle {
        bundle: bundle.clone(),
        expected: None,
        action,
    };
    cluster.ask(&broker(name), request)
}

pub(crate) fn locate(cluster: &mut Cluster, name: &str, bundle: &BundleId) -> Ticket {
    let request = Request::Locate {
        namespace: namespace(),
        key: bundle.range().lower(),
    };
    cluster.ask(&broker(name), request)
}

/// Waits for the answer.
pub(crate) fn wait(cluster: &mut Cluster, ticket: Ticket) -> Answer {
    let limit = seconds(600);
    let ended = cluster.advance_until(limit, |cluster| cluster.outcome(ticket).is_some());
    assert!(ended.unwrap(), "an answer within {limit:?}");
    match cluster.outcome(ticket) {
        Some(Outcome::Answered(answer)) => answer.clone(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn answer(cluster: &mut Cluster, name: &str, request: Request) -> Answer {
    let ticket = cluster.ask(&broker(name), request);
    wait(cluster, ticket)
}

pub(crate) fn change(
    cluster: &mut Cluster,
    name: &str,
    bundle: &BundleId,
    action: Action,
) -> Answer {
    let ticket = ask(cluster, name, bundle, action);
    wait(cluster, ticket)
}

pub(crate) fn row(cluster: &Cluster, bundle: &BundleId) -> Row {
    cluster.table().get(bundle).cloned().unwrap()
}

pub(crate) fn state(cluster: &Cluster, bundle: &BundleId) -> State {
    Row::state_of(cluster.table().get(bundle))
}

/// The broker that owns it, as the whole log says.
pub(crate) fn owner(cluster: &Cluster, bundle: &BundleId) -> Option<String> {
    match cluster.table().get(bundle)?.record {
        Record::Owned { ref owner } => Some(owner.broker.to_string()),
        _ => None,
    }
}

/// Lets time pass until the bundle is in the state.
pub(crate) fn until(cluster: &mut Cluster, limit: Duration, bundle: &BundleId, wanted: State) {
    let came = cluster.advance_until(limit, |cluster| state(cluster, bundle) == wanted);
    let found = cluster.table().get(bundle);
    assert!(came.unwrap(), "{wanted} within {limit:?}, found {found:?}");
}

pub(crate) fn until_owned(cluster: &mut Cluster, limit: Duration, bundle: &BundleId, name: &str) {
    let is_owned = |cluster: &Cluster| owner(cluster, bundle).as_deref() == Some(name);
    let came = cluster.advance_until(limit, is_owned).unwrap();
    let found = cluster.table().get(bundle);
    assert!(came, "owned by {name} within {limit:?}, found {found:?}");
}

/// The lines of the trace that contain all of `parts`, without time.
pub(crate) fn lines(cluster: &Cluster, parts: &[&str]) -> Vec<String> {
    let all = cluster.trace().lines();
    let found = all.filter(|line| parts.iter().all(|part| line.contains(part)));
    let without_time = |line: &str| line.split_once(' ').unwrap().1.to_owned();
    found.map(without_time).collect()
}

/// The hooks that ran for the bundle, in order: `broker acquire`, with the fence.
pub(crate) fn hooks(cluster: &Cluster, bundle: &BundleId) -> Vec<(String, Fence)> {
    let lines = lines(cluster, &["> hook", &format!(" {bundle} fence")]);
    let parse = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        let name = words[0].split('.').next().unwrap();
        let fence = words.iter().position(|word| *word == "fence").unwrap() + 1;
        (
            format!("{name} {}", words[4]),
            words[fence].parse().unwrap(),
        )
    };
    lines.iter().map(parse).collect()
}

pub(crate) fn slow_hooks(cluster: &mut Cluster, name: &str, millis: u64) {
    let plan = HookPlan {
        takes: Span::millis(millis, millis),
        failing_per_mille: 0,
    };
    cluster.set_hooks(&broker(name), plan);
}

/// Who leads, as the log says.
pub(crate) fn leader(cluster: &Cluster) -> Option<String> {
    let (_, holder) = cluster.members().leader_holder()?;
    Some(holder.broker.to_string())
}

pub(crate) fn holder(name: &str, session: u64) -> Holder {
    Holder::new(broker(name), SessionToken::new(session))
}

/// Somebody writes a change into the log who is none of the cluster's brokers.
pub(crate) fn write(
    cluster: &mut Cluster,
    author: Holder,
    epoch: Option<Epoch>,
    bundle: &BundleId,
    next: Record,
) -> AppendResult {
    let change = Change {
        bundle: bundle.clone(),
        expected: Row::version_of(cluster.table().get(bundle)),
        next: Some(next),
    };
    let counter = 1_000_000 + cluster.end().get();
    cluster.append(Entry {
        author,
        counter,
        epoch,
        body: Body::Changes(vec![change]),
    })
}
