//! What brokers would report: load that follows ownership.
//!
//! Built from one set of reports, it gives back those very numbers for the ownership that they were
//! written under, and says what the same traffic would do under any other. The use of a resource is
//! what an idle broker uses plus a cost for each message or byte that passes; the cost is each
//! broker's own, so that a weak machine stays weak.

use crate::ids::{BrokerId, BundleId};
use crate::planner::{BrokerLoad, BundleLoad, ClusterLoad, Resource, Traffic};
use crate::state::{Record, Row};
use crate::table::Table;
use std::collections::BTreeMap;

/// Load that follows ownership.
#[derive(Clone, Debug)]
pub struct LoadModel {
    brokers: BTreeMap<BrokerId, BrokerModel>,
    bundles: BTreeMap<BundleId, BundleLoad>,
}

/// What one broker's resources do under traffic.
#[derive(Clone, Copy, Debug)]
struct BrokerModel {
    cpu: Option<Line>,
    memory: Option<Resource>,
    direct_memory: Option<Line>,
    bandwidth_in: Option<Line>,
    bandwidth_out: Option<Line>,
    /// Traffic that the reports did not tell of by bundle: it stays where it is.
    own: Traffic,
}

/// The use of one resource: `idle` plus `cost` for each unit of what drives it.
#[derive(Clone, Copy, Debug)]
struct Line {
    idle: f64,
    cost: f64,
    limit: f64,
}

/// What drives the use of a resource.
type Driver = fn(&Traffic) -> f64;

/// Which part of a report a resource is.
type Part = fn(&BrokerLoad) -> Option<Resource>;

impl Line {
    fn at(self, traffic: f64) -> Resource {
        Resource::new(self.idle + self.cost * traffic, self.limit)
    }
}

impl LoadModel {
    /// The model that gives back `reports` for the ownership in them.
    ///
    /// How much an idle broker uses is read off the brokers without traffic, as a share of the
    /// limit; without such a broker it is nothing. A broker without traffic, or one that uses less
    /// than an idle one, gets the average cost.
    #[must_use]
    pub fn from_reports(reports: &ClusterLoad) -> Self {
        let cpu = lines(reports, |load| load.cpu, Traffic::messages);
        let direct_memory = lines(reports, |load| load.direct_memory, Traffic::bytes);
        let bandwidth_in = lines(reports, |load| load.bandwidth_in, |t| t.throughput_in);
        let bandwidth_out = lines(reports, |load| load.bandwidth_out, |t| t.throughput_out);
        let model = |(broker, load): (&BrokerId, &BrokerLoad)| {
            let bundles = load.bundles.values().flatten();
            let told = bundles.map(|bundle| bundle.short_term).sum();
            let model = BrokerModel {
                cpu: cpu.get(broker).copied(),
                memory: load.memory,
                direct_memory: direct_memory.get(broker).copied(),
                bandwidth_in: bandwidth_in.get(broker).copied(),
                bandwidth_out: bandwidth_out.get(broker).copied(),
                own: beyond(&load.traffic, &told),
            };
            (broker.clone(), model)
        };
        let bundles = reports.brokers.values().flat_map(|load| &load.bundles);
        Self {
            brokers: reports.brokers.iter().map(model).collect(),
            bundles: bundles
                .map(|(b, load)| (b.clone(), load.unwrap_or_default()))
                .collect(),
        }
    }

    /// Sets what one bundle bears from now on.
    pub fn set(&mut self, bundle: &BundleId, load: BundleLoad) {
        self.bundles.insert(bundle.clone(), load);
    }

    /// What one bundle bears. The child of a bundle bears its share of the keys.
    #[must_use]
    pub fn bundle(&self, bundle: &BundleId) -> BundleLoad {
        if let Some(load) = self.bundles.get(bundle) {
            return *load;
        }
        let parent = self
            .bundles
            .iter()
            .find(|(parent, _)| parent.overlaps(bundle));
        parent.map_or_else(BundleLoad::default, |(parent, load)| {
            #[expect(clippy::cast_precision_loss, reason = "widths are at most 2^32")]
            let share = bundle.range().width() as f64 / parent.range().width() as f64;
            let count = |of: u64| (of as f64 * share).round() as u64;
            BundleLoad {
                short_term: scaled(&load.short_term, share),
                long_term: None,
                topics: count(load.topics),
                producers: count(load.producers),
                consumers: count(load.consumers),
            }
        })
    }

    /// What the brokers of which `is_alive` is true would report under the ownership in `table`.
    #[must_use]
    pub fn at(&self, table: &Table, is_alive: impl Fn(&BrokerId) -> bool) -> ClusterLoad {
        let mut owned: BTreeMap<&BrokerId, BTreeMap<BundleId, Option<BundleLoad>>> =
            BTreeMap::new();
        for (bundle, row) in table.rows() {
            if let Some(broker) = server(row) {
                owned
                    .entry(broker)
                    .or_default()
                    .insert(bundle.clone(), Some(self.bundle(bundle)));
            }
        }
        let alive = self.brokers.iter().filter(|(broker, _)| is_alive(broker));
        let brokers = alive.map(|(broker, model)| {
            (
                broker.clone(),
                model.report(owned.remove(broker).unwrap_or_default()),
            )
        });
        ClusterLoad {
            brokers: brokers.collect(),
            ..ClusterLoad::default()
        }
    }
}

impl BrokerModel {
    fn report(&self, bundles: BTreeMap<BundleId, Option<BundleLoad>>) -> BrokerLoad {
        let told = bundles.values().flatten().map(|bundle| bundle.short_term);
        let traffic = told.sum::<Traffic>() + self.own;
        BrokerLoad {
            cpu: self.cpu.map(|line| line.at(traffic.messages())),
            memory: self.memory,
            direct_memory: self.direct_memory.map(|line| line.at(traffic.bytes())),
            bandwidth_in: self.bandwidth_in.map(|line| line.at(traffic.throughput_in)),
            bandwidth_out: self
                .bandwidth_out
                .map(|line| line.at(traffic.throughput_out)),
            traffic,
            bundles,
            ..BrokerLoad::default()
        }
    }
}

/// Who bears the load of a bundle.
fn server(row: &Row) -> Option<&BrokerId> {
    match &row.record {
        Record::Owned { owner: holder }
        | Record::Splitting {
            source: Some(holder),
            ..
        } => Some(&holder.broker),
        _ => None,
    }
}

/// The line of one resource for each broker that reports it.
fn lines(reports: &ClusterLoad, part: Part, driver: Driver) -> BTreeMap<BrokerId, Line> {
    let known: Vec<(&BrokerId, Resource, f64)> = (reports.brokers.iter())
        .filter_map(|(broker, load)| Some((broker, part(load)?, driver(&load.traffic))))
        .filter(|(_, resource, _)| resource.ratio().is_some())
        .collect();
    let quiet = known.iter().filter(|(_, _, traffic)| *traffic <= 0.0);
    let idle = quiet
        .filter_map(|(_, resource, _)| resource.ratio())
        .reduce(f64::min);
    let idle = idle.unwrap_or(0.0);
    let cost = |resource: &Resource, traffic: f64| {
        ((resource.usage - idle * resource.limit) / traffic).max(0.0)
    };
    let busy: Vec<f64> = (known.iter())
        .filter(|(_, _, traffic)| *traffic > 0.0)
        .map(|(_, resource, traffic)| cost(resource, *traffic))
        .filter(|cost| *cost > 0.0)
        .collect();
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are far fewer brokers than 2^52"
    )]
    let average = if busy.is_empty() {
        0.0
    } else {
        busy.iter().sum::<f64>() / busy.len() as f64
    };
    let line = |(broker, resource, traffic): (&BrokerId, Resource, f64)| {
        let own = if traffic > 0.0 {
            cost(&resource, traffic)
        } else {
            0.0
        };
        // A broker that uses less than an idle one tells nothing of its cost; nor does an idle one.
        // Neither may use less than nothing when its traffic goes.
        let most = if traffic > 0.0 {
            resource.usage / traffic
        } else {
            f64::INFINITY
        };
        let cost = if own > 0.0 { own } else { average.min(most) };
        let idle = resource.usage - cost * traffic;
        let line = Line {
            idle,
            cost,
            limit: resource.limit,
        };
        (broker.clone(), line)
    };
    known.into_iter().map(line).collect()
}

/// What `whole` has beyond `part`; nothing where it has less.
fn beyond(whole: &Traffic, part: &Traffic) -> Traffic {
    Traffic {
        message_rate_in: (whole.message_rate_in - part.message_rate_in).max(0.0),
        message_rate_out: (whole.message_rate_out - part.message_rate_out).max(0.0),
        throughput_in: (whole.throughput_in - part.throughput_in).max(0.0),
        throughput_out: (whole.throughput_out - part.throughput_out).max(0.0),
    }
}

fn scaled(traffic: &Traffic, by: f64) -> Traffic {
    Traffic {
        message_rate_in: traffic.message_rate_in * by,
        message_rate_out: traffic.message_rate_out * by,
        throughput_in: traffic.throughput_in * by,
        throughput_out: traffic.throughput_out * by,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Fence, Holder, Position, SessionToken};
    use crate::state::{Facts, Phase};

    fn broker(name: &str) -> BrokerId {
        BrokerId::new(name).unwrap()
    }

    fn bundle(range: &str) -> BundleId {
        format!("t/n/{range}").parse().unwrap()
    }

    fn traffic(messages: f64) -> Traffic {
        Traffic {
            message_rate_in: messages,
            ..Traffic::default()
        }
    }

    fn table(owners: &[(&str, &str)]) -> Table {
        let mut facts = Facts::default();
        facts.namespaces.insert("t/n".parse().unwrap(), Phase::Live);
        let rows = owners.iter().map(|(range, owner)| {
            let owner = Holder::new(broker(owner), SessionToken::new(1));
            let record = Record::Owned { owner };
            let row = Row {
                record,
                version: Position::new(1),
                fence: Fence::new(1),
            };
            (bundle(range), row)
        });
        Table::from_snapshot(Position::new(2), facts, rows).unwrap()
    }

    /// A busy broker with two bundles of 300 and 100 messages, and an idle one that uses a tenth.
    fn reports() -> ClusterLoad {
        let load = |messages| {
            Some(BundleLoad {
                short_term: traffic(messages),
                ..BundleLoad::default()
            })
        };
        let busy = BrokerLoad {
            cpu: Some(Resource::new(90.0, 100.0)),
            traffic: traffic(400.0),
            bundles: BTreeMap::from([
                (bundle("0x00000000_0x80000000"), load(300.0)),
                (bundle("0x80000000_0xffffffff"), load(100.0)),
            ]),
            ..BrokerLoad::default()
        };
        let idle = BrokerLoad {
            cpu: Some(Resource::new(20.0, 200.0)),
            ..BrokerLoad::default()
        };
        let brokers = BTreeMap::from([(broker("busy"), busy), (broker("idle"), idle)]);
        ClusterLoad {
            brokers,
            ..ClusterLoad::default()
        }
    }

    fn cpu(load: &ClusterLoad, name: &str) -> f64 {
        load.brokers[&broker(name)].cpu.unwrap().usage
    }

    #[test]
    fn the_reports_come_back_under_their_own_ownership() {
        let model = LoadModel::from_reports(&reports());
        let table = table(&[
            ("0x00000000_0x80000000", "busy"),
            ("0x80000000_0xffffffff", "busy"),
        ]);
        assert_eq!(model.at(&table, |_| true), reports());
    }

    #[test]
    fn load_follows_a_bundle_at_the_cost_of_its_new_broker() {
        let model = LoadModel::from_reports(&reports());
        let table = table(&[
            ("0x00000000_0x80000000", "busy"),
            ("0x80000000_0xffffffff", "idle"),
        ]);
        let load = model.at(&table, |_| true);
        // An idle broker uses a tenth: 10 of 100. The other 80 are 0.2 for each of 400 messages.
        assert!((cpu(&load, "busy") - 70.0).abs() < 1e-9);
        assert!((cpu(&load, "idle") - 40.0).abs() < 1e-9);
        let lost = model.at(&table, |name| *name != broker("idle"));
        assert_eq!(lost.brokers.len(), 1);
    }

    #[test]
    fn a_broker_that_uses_less_than_an_idle_one_still_pays_for_what_it_gets() {
        let mut reports = reports();
        let cool = BrokerLoad {
            cpu: Some(Resource::new(5.0, 100.0)),
            traffic: traffic(10.0),
            ..BrokerLoad::default()
        };
        reports.brokers.insert(broker("cool"), cool);
        let model = LoadModel::from_reports(&reports);
        let table = table(&[
            ("0x00000000_0x80000000", "busy"),
            ("0x80000000_0xffffffff", "cool"),
        ]);
        // 0.2 for each message, as the busy broker pays: 5 for its own 10 and 100 more.
        assert!((cpu(&model.at(&table, |_| true), "cool") - 25.0).abs() < 1e-9);
    }

    #[test]
    fn a_child_bears_its_share_of_the_keys() {
        let model = LoadModel::from_reports(&reports());
        let quarter = model.bundle(&bundle("0x00000000_0x20000000"));
        assert!((quarter.short_term.message_rate_in - 75.0).abs() < 1e-9);
        let mut model = model;
        let load = BundleLoad {
            topics: 100,
            producers: 40,
            consumers: 8,
            ..BundleLoad::default()
        };
        model.set(&bundle("0x00000000_0x80000000"), load);
        let quarter = model.bundle(&bundle("0x00000000_0x20000000"));
        let counted = (quarter.topics, quarter.producers, quarter.consumers);
        assert_eq!(counted, (25, 10, 2));
    }
}
