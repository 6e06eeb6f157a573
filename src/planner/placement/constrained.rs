//! Placement that keeps to the constraints, whatever chooses.

use super::Placement;
use crate::ids::{BrokerId, BundleId};
use crate::planner::rules::{Census, Rules};
use crate::planner::{Barred, ClusterLoad, Constraints, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// For so many reports a bundle that nobody reports is remembered.
const REPORTS_KEPT: u32 = 2;

/// What a bundle is taken to hold whose topics nobody has reported: the one that is asked for.
const UNKNOWN_TOPICS: u64 = 1;

/// Lets another placement choose among those candidates only that may have the bundle.
///
/// - Nobody gets anything who is being drained, is none of the brokers that the namespace may use,
///   or would have too many topics. If that leaves nobody, the bundle is not placed.
/// - Of the others those remain that run the newest version, and of these those that have the
///   fewest other namespaces of the bundle's anti-affinity group: Apache Pulsar's filters, in their
///   order.
/// - The namespace of a broker's heartbeats goes to that broker alone.
/// - Pinned bundles and excluded namespaces are placed like others: such a bundle stays where it is
///   for as long as it is somewhere.
///
/// What a broker has is what was last [reported](Placement::observe) and what was placed since.
///
/// # Examples
///
/// ```
/// use deedbook::ids::BrokerId;
/// use deedbook::planner::{AtRandom, Constrained, Constraints, Placement};
///
/// let brokers: Vec<BrokerId> = vec!["broker-1:8080".parse()?, "broker-2:8080".parse()?];
/// let mut constraints = Constraints::default();
/// constraints.drained.insert(brokers[0].clone());
/// let mut placement = Constrained::new(Box::new(AtRandom::new(1)), constraints);
/// let bundle = "acme/orders/0x00000000_0xffffffff".parse()?;
/// assert_eq!(placement.place(&bundle, &brokers).as_ref(), brokers.last());
/// assert_eq!(placement.place(&bundle, &brokers[..1]), None);
/// # Ok::<(), deedbook::ids::Error>(())
/// ```
#[derive(Debug)]
pub struct Constrained {
    inner: Box<dyn Placement>,
    constraints: Constraints,
    counted: BTreeMap<BrokerId, Census>,
    /// Where each bundle is, of those that count.
    whereabouts: BTreeMap<BundleId, Whereabouts>,
}

#[derive(Debug)]
struct Whereabouts {
    broker: BrokerId,
    topics: u64,
    /// It was placed there and is not reported yet.
    placed: bool,
    reports_left: u32,
}

impl Constrained {
    /// The placement `inner` under constraints. It has been shown no load yet.
    #[must_use]
    pub fn new(inner: Box<dyn Placement>, constraints: Constraints) -> Self {
        Self {
            inner,
            constraints,
            counted: BTreeMap::new(),
            whereabouts: BTreeMap::new(),
        }
    }

    /// Why each of the candidates that may not have a bundle may not. One that runs an
    /// [older version](Barred::OlderVersion) than another, or has more of its
    /// [anti-affinity group](Barred::AntiAffinity), is passed over for that one.
    #[must_use]
    pub fn barred(&self, bundle: &BundleId, candidates: &[BrokerId]) -> BTreeMap<BrokerId, Barred> {
        let rules = Rules::new(&self.constraints, candidates.iter());
        let mut barred = BTreeMap::new();
        let mut legal = Vec::new();
        for broker in candidates {
            match self.bar(&rules, bundle, broker) {
                Some(rule) => {
                    barred.insert(broker.clone(), rule);
                }
                None => legal.push(broker),
            }
        }
        let mut prefer = |rank: &dyn Fn(&BrokerId) -> usize, rule| {
            let best = legal.iter().map(|broker| rank(broker)).min();
            legal.retain(|broker| {
                let is_best = Some(rank(broker)) == best;
                if !is_best {
                    barred.insert((*broker).clone(), rule);
                }
                is_best
            });
        };
        let versions: BTreeSet<_> = self.constraints.versions.values().collect();
        let newer = |broker: &BrokerId| {
            let newer = |version: &&&_| Some(**version) > rules.version(broker);
            versions.iter().rev().take_while(newer).count()
        };
        prefer(&newer, Barred::OlderVersion);
        let relatives = |broker: &BrokerId| {
            let census = self.counted.get(broker);
            census.map_or(0, |of| rules.relatives(bundle.namespace(), of))
        };
        prefer(&relatives, Barred::AntiAffinity);
        barred
    }

    /// The rule that bars a bundle from a broker whatever there is beside it.
    fn bar(&self, rules: &Rules<'_>, bundle: &BundleId, broker: &BrokerId) -> Option<Barred> {
        if let Some(rule) = rules.bar(bundle.namespace(), broker) {
            return Some(rule);
        }
        let max = self.constraints.topics_max?;
        let known = self.whereabouts.get(bundle);
        if known.is_some_and(|known| known.broker == *broker) {
            return None;
        }
        let has = self.counted.get(broker).map_or(0, |census| census.topics);
        let more = known.map_or(UNKNOWN_TOPICS, |known| known.topics);
        (has.saturating_add(more) > max).then_some(Barred::TooManyTopics { max })
    }

    /// Takes note that a bundle goes to a broker.
    fn note(&mut self, bundle: &BundleId, broker: &BrokerId) {
        let rules = Rules::new(&self.constraints, std::iter::empty());
        if !rules.counts(bundle.namespace()) {
            return;
        }
        let before = self.whereabouts.get(bundle);
        if before.is_some_and(|before| before.broker == *broker) {
            return;
        }
        let topics = before.map_or(UNKNOWN_TOPICS, |before| before.topics);
        if let Some(census) = before.and_then(|before| self.counted.get_mut(&before.broker)) {
            census.remove(bundle.namespace(), topics);
        }
        let census = self.counted.entry(broker.clone()).or_default();
        rules.add(census, bundle.namespace(), topics);
        let now = Whereabouts {
            broker: broker.clone(),
            topics,
            placed: true,
            reports_left: REPORTS_KEPT,
        };
        self.whereabouts.insert(bundle.clone(), now);
    }
}

impl Placement for Constrained {
    fn place(&mut self, bundle: &BundleId, candidates: &[BrokerId]) -> Option<BrokerId> {
        let barred = self.barred(bundle, candidates);
        let legal: Vec<_> = candidates
            .iter()
            .filter(|broker| !barred.contains_key(*broker))
            .cloned()
            .collect();
        let chosen = self.inner.place(bundle, &legal)?;
        self.note(bundle, &chosen);
        Some(chosen)
    }

    fn observe(&mut self, load: &ClusterLoad) {
        self.inner.observe(load);
        let rules = Rules::new(&self.constraints, std::iter::empty());
        let brokers = load.brokers.iter();
        self.counted = brokers
            .map(|(broker, of)| (broker.clone(), rules.census(Some(of))))
            .collect();
        let mut before = std::mem::take(&mut self.whereabouts);
        for (broker, of) in &load.brokers {
            let counting = |(bundle, _): &(&BundleId, _)| rules.counts(bundle.namespace());
            for (bundle, of) in of.bundles.iter().filter(counting) {
                let reported = Whereabouts {
                    broker: broker.clone(),
                    topics: of.as_ref().map_or(0, |of| of.topics),
                    placed: false,
                    reports_left: REPORTS_KEPT,
                };
                before.remove(bundle);
                self.whereabouts.insert(bundle.clone(), reported);
            }
        }
        for (bundle, mut kept) in before {
            kept.reports_left = kept.reports_left.saturating_sub(1);
            if kept.reports_left == 0 {
                continue;
            }
            if kept.placed
                && let Some(census) = self.counted.get_mut(&kept.broker)
            {
                rules.add(census, bundle.namespace(), kept.topics);
            }
            self.whereabouts.insert(bundle, kept);
        }
    }

    fn adopt(&mut self, plan: &Plan) {
        self.inner.adopt(plan);
    }
}
