//! What brokers on real threads tell of themselves: events by the crate `tracing`, and a status as
//! metrics by the crate `metrics`. Names and fields are those of docs/observability.md, which
//! `tests/docs.rs` compares with the source; here they come out.
#![cfg(test)]
#![expect(
    clippy::disallowed_types,
    reason = "the lock that collects belongs to the test"
)]

use deedbook::channel::{Channel, Cluster, METRICS, MetricKind, Status};
use deedbook::ids::{BrokerId, BundleId, Cuts, KeyRange, Namespace};
use metrics::{Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder};
use metrics::{SharedString, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span;

/// Far more than anything here takes; reaching it is a failure.
const LIMIT: Duration = Duration::from_secs(30);

/// An event: its name, and its fields as they are shown.
type Event = (&'static str, BTreeMap<&'static str, String>);

/// Keeps all events of the library.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Event>>>);

struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl tracing::Subscriber for Collector {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "deedbook"
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        let mut events = self.0.lock().unwrap();
        events.push((event.metadata().name(), fields.0));
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Keeps the newest number of each metric, by name and labels.
#[derive(Clone, Default)]
struct Numbers(Arc<Mutex<BTreeMap<String, f64>>>);

struct Cell(Numbers, String);

impl Cell {
    fn set_to(&self, value: f64) {
        let mut numbers = self.0.0.lock().unwrap();
        numbers.insert(self.1.clone(), value);
    }
}

impl CounterFn for Cell {
    fn increment(&self, _: u64) {
        unreachable!("a status holds totals");
    }
    fn absolute(&self, value: u64) {
        self.set_to(value as f64);
    }
}

impl GaugeFn for Cell {
    fn increment(&self, _: f64) {
        unreachable!("a status holds what is");
    }
    fn decrement(&self, _: f64) {
        unreachable!("a status holds what is");
    }
    fn set(&self, value: f64) {
        self.set_to(value);
    }
}

impl Numbers {
    fn cell(&self, key: &Key) -> Arc<Cell> {
        let labels = key.labels();
        let labels = labels.map(|label| format!(" {}={}", label.key(), label.value()));
        let name = key.name().to_owned() + &labels.collect::<String>();
        Arc::new(Cell(self.clone(), name))
    }
}

impl Recorder for Numbers {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }
    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

fn start(name: &str, cluster: &Cluster) -> Channel {
    let broker = BrokerId::new(name).unwrap();
    let channel = Channel::builder(broker).cluster(cluster.clone()).start();
    let channel = channel.unwrap();
    assert!(channel.wait_ready(LIMIT));
    channel
}

/// What a recorder gets of the status of `b:1`, which holds two bundles and has read one refusal.
fn compare_with_metrics(status: &Status) {
    let numbers = Numbers::default();
    metrics::with_local_recorder(&numbers, || status.record());
    let numbers = numbers.0.lock().unwrap().clone();
    let number = |name: &str| numbers.get(&format!("{name} broker=b:1")).copied();
    assert_eq!(number("deedbook_ready"), Some(1.0));
    assert_eq!(number("deedbook_owned_bundles"), Some(2.0));
    let next = status.next.get() as f64;
    assert_eq!(number("deedbook_log_position"), Some(next));
    assert!(number("deedbook_log_lag_seconds").is_some_and(|lag| lag < 5.0));
    let conflicts = "deedbook_conflicts_total broker=b:1 reason=namespace_exists";
    assert_eq!(numbers.get(conflicts), Some(&1.0));
    // Each sample comes through, and of each kind that its row says.
    assert_eq!(numbers.len(), status.samples().len());
    let balances = |name: &str| name.starts_with("deedbook_balance");
    let present: BTreeSet<&str> = status.samples().iter().map(|s| s.metric.name).collect();
    let seldom = ["deedbook_in_flight_bundles", "deedbook_look_ups_total"];
    for metric in METRICS {
        let expected = !balances(metric.name) && !seldom.contains(&metric.name);
        assert!(present.contains(metric.name) || !expected, "{metric:?}");
        let is_total = metric.name.ends_with("_total");
        assert_eq!(is_total, metric.kind == MetricKind::Counter, "{metric:?}");
    }
}

/// One broker begins, owns something, refuses to be the second, and closes.
#[test]
fn what_happens_is_told_by_events_and_how_things_stand_by_metrics() {
    let collector = Collector::default();
    tracing::subscriber::set_global_default(collector.clone()).unwrap();
    let cluster = Cluster::memory();
    let a = start("a:1", &cluster);
    let b = start("b:1", &cluster);
    let namespace = Namespace::new("acme/orders").unwrap();
    let done = a.create_namespace(&namespace, None).wait().unwrap();
    let created = done.unwrap().position;
    // A second creation stands in the log, and does not count.
    b.create_namespace(&namespace, None)
        .wait()
        .unwrap()
        .unwrap_err();
    let bundle = BundleId::new(namespace, KeyRange::FULL);
    let assigned = a.on(&bundle).assign(BrokerId::new("a:1").unwrap());
    let position = assigned.wait().unwrap().unwrap().position;
    // The second one knows both, since it came later.
    b.refresh(position).wait().unwrap();
    let moved = b.transfer(&bundle, &BrokerId::new("b:1").unwrap());
    moved.wait().unwrap().unwrap();
    // It is divided once it is served: hooks have ended by then.
    let halves = Cuts::even(KeyRange::FULL, 2).unwrap();
    b.split(&bundle, halves).wait().unwrap().unwrap();

    compare_with_metrics(&b.status());
    let report = a.close(LIMIT).wait().unwrap();
    assert_eq!(report.left, []);
    drop((a, b));
    let events = collector.0.lock().unwrap().clone();
    let told = |name: &str, field: &str, value: &str| {
        let mut events = events.iter();
        let is_it = |(told, fields): &Event| {
            *told == name && fields.get(field).is_some_and(|shown| shown == value)
        };
        assert!(events.any(is_it), "{name} {field}={value}: {events:?}");
    };
    told("deedbook.session.began", "broker", "a:1");
    told("deedbook.lead.began", "broker", "a:1");
    told("deedbook.lead.acts", "broker", "a:1");
    told("deedbook.broker.ready", "ready", "true");
    told("deedbook.bundle.changed", "position", &created.to_string());
    told("deedbook.bundle.changed", "after", "Assigning");
    told("deedbook.hook.began", "kind", "acquire");
    told("deedbook.hook.began", "kind", "release");
    told("deedbook.question.answered", "outcome", "conflict");
    told("deedbook.broker.closed", "left", "0");
    let names: BTreeSet<&str> = events.iter().map(|(name, _)| *name).collect();
    assert!(names.contains("deedbook.entry.rejected"), "{names:?}");
    assert!(names.contains("deedbook.hook.done"), "{names:?}");
}
