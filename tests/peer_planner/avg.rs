//! The avg strategy: rounds of shedding, and where what was shed goes.

use super::vectors::avg::{Avg, Knobs};
use super::vectors::cluster::{Broker, Cluster, Pair, Shown};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Scenario {
    id: String,
    setup: Setup,
    expected: Expected,
}

#[derive(Deserialize)]
struct Setup {
    config: Config,
    brokers: Vec<PeerBroker>,
}

#[derive(Deserialize)]
struct Config {
    low_threshold: f64,
    high_threshold: f64,
    hit_count_high: i32,
    hit_count_low: i32,
    max_unload_ratio: f64,
    min_unload_messages: f64,
    min_unload_throughput: f64,
}

#[derive(Deserialize)]
struct PeerBroker {
    broker: String,
    cpu: Pair,
    rate_in: f64,
    rate_out: f64,
    bundles: Vec<PeerBundle>,
}

#[derive(Deserialize)]
struct PeerBundle {
    bundle: String,
    rate_in: f64,
    rate_out: f64,
}

#[derive(Deserialize)]
struct Expected {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    unload_count: BTreeMap<String, usize>,
    /// Where each bundle goes that was unloaded.
    placement: Option<String>,
}

impl Config {
    fn knobs(&self) -> Knobs {
        Knobs {
            low_threshold: self.low_threshold,
            high_threshold: self.high_threshold,
            hit_count_low: self.hit_count_low,
            hit_count_high: self.hit_count_high,
            max_unload_ratio: self.max_unload_ratio,
            min_unload_messages: self.min_unload_messages,
            min_unload_throughput: self.min_unload_throughput,
            ..Knobs::default()
        }
    }
}

impl Setup {
    fn cluster(&self) -> Cluster {
        let mut shown = Shown::default();
        for broker in &self.brokers {
            let mut bundles = Vec::new();
            for PeerBundle {
                bundle,
                rate_in,
                rate_out,
            } in &broker.bundles
            {
                bundles.push(bundle.clone());
                let rates = [*rate_in, *rate_out, 0.0, 0.0];
                shown.bundles.insert(bundle.clone(), Some(rates));
            }
            let reported = Broker {
                cpu: Some(broker.cpu),
                rate: [broker.rate_in, broker.rate_out],
                bundles: Some(bundles),
                ..Broker::default()
            };
            shown.brokers.insert(broker.broker.clone(), reported);
        }
        let mut cluster = Cluster::default();
        cluster.show(shown);
        cluster
    }
}

fn end_as_there(id: &str) {
    let scenarios: Vec<Scenario> = super::read("avg_shedder.json");
    let ids: Vec<_> = scenarios.iter().map(|scenario| &scenario.id).collect();
    assert_eq!(ids, ["AV-01", "AV-02"]);
    let scenario = scenarios.iter().find(|scenario| scenario.id == id);
    let Scenario {
        setup, expected, ..
    } = scenario.unwrap();
    let cluster = setup.cluster();
    let candidates: Vec<_> = cluster.brokers.keys().cloned().collect();
    let mut avg = Avg::new(&setup.config.knobs()).unwrap();
    for (run, expected) in expected.runs.iter().enumerate() {
        let shed = avg.shed(&cluster).unwrap();
        let counts: BTreeMap<_, _> = shed
            .unload
            .iter()
            .map(|(broker, bundles)| (broker.clone(), bundles.len()))
            .collect();
        assert_eq!(counts, expected.unload_count, "run {run}");
        for bundle in shed.unload.values().flatten() {
            let placed = avg.place(bundle, &candidates).unwrap();
            assert_eq!(placed, expected.placement, "run {run}, {bundle}");
        }
    }
}

#[test]
fn av_01_two_rounds_over_the_high_threshold() {
    end_as_there("AV-01");
}

#[test]
fn av_02_six_rounds_at_the_low_threshold() {
    end_as_there("AV-02");
}
