//! Load reports as the planner's load.

use super::load::{BrokerLoad, BundleLoad, ClusterLoad, Resource};
use crate::reports::{self, Cluster, LoadReport};
use std::collections::BTreeMap;

/// The load that brokers reported.
///
/// A resource without a known limit is one that was not reported. Reports hold one average of each
/// bundle's traffic, the short-term one. Usage and limit keep the unit of the report, since only
/// their ratio counts here; traffic is in messages and bytes a second in both places.
///
/// # Examples
///
/// ```
/// use deedbook::planner::ClusterLoad;
/// use deedbook::reports::{merge, read};
///
/// let text = r#"{ "name": "broker-1:8080", "cpu": { "usage": 400, "limit": 800 } }"#;
/// let reading = read(&mut serde_json::Deserializer::from_str(text))?;
/// let load = ClusterLoad::from(&merge([reading], None)?);
/// let cpu = load.brokers[&"broker-1:8080".parse()?].cpu;
/// assert_eq!(cpu.and_then(|cpu| cpu.ratio()), Some(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl From<&Cluster> for ClusterLoad {
    fn from(cluster: &Cluster) -> Self {
        let brokers = cluster.reports.iter();
        Self {
            brokers: brokers
                .map(|(id, report)| (id.clone(), report.into()))
                .collect(),
            ..Self::default()
        }
    }
}

impl From<&LoadReport> for BrokerLoad {
    fn from(report: &LoadReport) -> Self {
        let resource = |usage: Option<reports::Usage>| {
            usage.map(|usage| Resource::new(usage.usage(), usage.limit()))
        };
        let bundles = report.bundles.iter();
        Self {
            cpu: resource(report.resources.cpu),
            memory: resource(report.resources.memory),
            direct_memory: resource(report.resources.direct_memory),
            bandwidth_in: resource(report.resources.bandwidth_in),
            bandwidth_out: resource(report.resources.bandwidth_out),
            traffic: report.traffic,
            long_term: None,
            bundles: bundles
                .map(|(id, stats)| (id.clone(), stats.map(Into::into)))
                .collect(),
            preallocated: BTreeMap::new(),
            smoothed: None,
        }
    }
}

impl From<reports::BundleStats> for BundleLoad {
    fn from(stats: reports::BundleStats) -> Self {
        Self {
            short_term: stats.traffic,
            long_term: None,
            topics: stats.topics,
            producers: stats.producers,
            consumers: stats.consumers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BrokerId;
    use crate::reports::{Traffic, merge, read};

    #[test]
    fn each_number_finds_its_place() {
        let usage = |usage| format!("{{\"usage\": {usage}, \"limit\": 10}}");
        let bundle = "acme/orders/0x00000000_0xffffffff";
        let silent = "acme/other/0x00000000_0xffffffff";
        let text = format!(
            "{{\"name\": \"b:1\", \"cpu\": {}, \"memory\": {}, \"directMemory\": {}, \
             \"bandwidthIn\": {}, \"bandwidthOut\": null, \"msgRateIn\": 5, \"msgRateOut\": 6, \
             \"msgThroughputIn\": 7, \"msgThroughputOut\": 8, \
             \"bundles\": [{bundle:?}, {silent:?}], \
             \"lastStats\": {{{bundle:?}: {{\"msgRateIn\": 9, \"msgRateOut\": 10, \
             \"msgThroughputIn\": 11, \"msgThroughputOut\": 12, \"topics\": 13, \
             \"producerCount\": 14, \"consumerCount\": 15}}}}}}",
            usage(1),
            usage(2),
            usage(3),
            usage(4),
        );
        let reading = read(&mut serde_json::Deserializer::from_str(&text)).unwrap();
        let load = ClusterLoad::from(&merge([reading], None).unwrap());
        let traffic = |numbers: [f64; 4]| Traffic {
            message_rate_in: numbers[0],
            message_rate_out: numbers[1],
            throughput_in: numbers[2],
            throughput_out: numbers[3],
        };
        let of_bundle = BundleLoad {
            short_term: traffic([9.0, 10.0, 11.0, 12.0]),
            long_term: None,
            topics: 13,
            producers: 14,
            consumers: 15,
        };
        let expected = BrokerLoad {
            cpu: Some(Resource::new(1.0, 10.0)),
            memory: Some(Resource::new(2.0, 10.0)),
            direct_memory: Some(Resource::new(3.0, 10.0)),
            bandwidth_in: Some(Resource::new(4.0, 10.0)),
            bandwidth_out: None,
            traffic: traffic([5.0, 6.0, 7.0, 8.0]),
            long_term: None,
            bundles: [
                (bundle.parse().unwrap(), Some(of_bundle)),
                (silent.parse().unwrap(), None),
            ]
            .into(),
            preallocated: BTreeMap::new(),
            smoothed: None,
        };
        assert_eq!(load.brokers[&BrokerId::new("b:1").unwrap()], expected);
        assert_eq!(load.brokers.len(), 1);
    }
}
