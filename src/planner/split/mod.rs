//! Which bundles are too big, and where to cut them.

mod algorithm;
mod config;
mod reason;

pub use algorithm::{
    PartLimits, SplitAlgorithm, TopicLoad, cut_at_positions, cut_by_topic_count, cut_by_traffic,
    cut_in_the_middle,
};
pub use config::Config;
pub use reason::{SplitReason, Whole};

use super::{BundleLoad, ClusterLoad, Error};
use crate::ids::{BrokerId, BundleId, Cuts, Namespace};
use crate::state::PARTS_MAX;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of single topics, by bundle. Only some algorithms need it.
pub type Topics = BTreeMap<BundleId, Vec<TopicLoad>>;

/// What a round knows beside the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// What is known of single topics.
    pub topics: Topics,
    /// The bundles that are being split.
    pub splitting: BTreeSet<BundleId>,
    /// How many bundles each namespace has; one that is not listed has those of the reports.
    pub bundles: BTreeMap<Namespace, usize>,
}

/// A bundle that should be split.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Which one.
    pub bundle: BundleId,
    /// Who owns it.
    pub broker: BrokerId,
    /// Where to cut it.
    pub cuts: Cuts,
    /// Why.
    pub reason: SplitReason,
}

/// What should be split, and why the other bundles that are too big stay whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitPlan {
    /// The splits, the most urgent first.
    pub splits: Vec<Split>,
    /// The others that are too big.
    pub whole: BTreeMap<BundleId, Whole>,
}

/// Finds bundles that stay too big, like the default strategy of Apache Pulsar.
///
/// A bundle that exceeds its limit most comes first, then the one with the wider range, then names
/// decide.
#[derive(Clone, Debug)]
pub struct SplitStrategy {
    config: Config,
    /// For how many rounds in a row each bundle was too big.
    hits: BTreeMap<BundleId, u32>,
}

/// A bundle that is too big and may be split.
struct Candidate<'a> {
    bundle: &'a BundleId,
    broker: &'a BrokerId,
    reason: SplitReason,
}

impl SplitStrategy {
    /// One that has seen nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            config,
            hits: BTreeMap::new(),
        })
    }

    /// One round, by the load of all brokers or of one.
    pub fn plan(&mut self, load: &ClusterLoad, around: &Surroundings) -> SplitPlan {
        let mut plan = SplitPlan::default();
        let mut candidates = self.candidates(load, around, &mut plan.whole);
        candidates.sort_by(|a, b| {
            let by_excess = b.reason.excess().total_cmp(&a.reason.excess());
            let width = |one: &Candidate<'_>| one.bundle.range().width();
            let by_width = width(b).cmp(&width(a));
            by_excess.then(by_width).then(a.bundle.cmp(b.bundle))
        });
        let mut counts = count_by_namespace(load);
        counts.extend(around.bundles.iter().map(|(space, count)| (space, *count)));
        for candidate in candidates {
            let count = counts.entry(candidate.bundle.namespace()).or_insert(0);
            let overlaps = |split: &Split| split.bundle.overlaps(candidate.bundle);
            let decided = if plan.splits.iter().any(overlaps) {
                Err(Whole::Splitting)
            } else if plan.splits.len() >= self.config.splits_per_round_max {
                Err(Whole::RoundFull)
            } else {
                let known = around.topics.get(candidate.bundle);
                let known = known.map_or(&[][..], Vec::as_slice);
                self.cut(candidate.bundle, known, *count)
            };
            match decided {
                Ok(cuts) => {
                    *count += cuts.as_slice().len();
                    self.hits.remove(candidate.bundle);
                    plan.splits.push(Split {
                        bundle: candidate.bundle.clone(),
                        broker: candidate.broker.clone(),
                        cuts,
                        reason: candidate.reason,
                    });
                }
                Err(whole) => {
                    plan.whole.insert(candidate.bundle.clone(), whole);
                }
            }
        }
        plan
    }

    /// Counts who is too big, and takes those that have been for long enough.
    fn candidates<'a>(
        &mut self,
        load: &'a ClusterLoad,
        around: &Surroundings,
        whole: &mut BTreeMap<BundleId, Whole>,
    ) -> Vec<Candidate<'a>> {
        let mut hits_before = std::mem::take(&mut self.hits);
        let mut candidates = Vec::new();
        for (broker, of) in &load.brokers {
            for (bundle, reported) in &of.bundles {
                let Some(reported) = reported else { continue };
                let Some(reason) = self.excess(reported) else {
                    if !reported.short_term.is_sound() {
                        whole.insert(bundle.clone(), Whole::UnsoundTraffic);
                    }
                    continue;
                };
                if around.splitting.iter().any(|other| other.overlaps(bundle)) {
                    whole.insert(bundle.clone(), Whole::Splitting);
                } else if reported.topics < 2 || have_one_key(around.topics.get(bundle)) {
                    whole.insert(bundle.clone(), Whole::OneTopic);
                } else {
                    let hits = hits_before.remove(bundle).unwrap_or(0).saturating_add(1);
                    self.hits.insert(bundle.clone(), hits);
                    let needed = self.config.hits;
                    if hits > needed {
                        candidates.push(Candidate {
                            bundle,
                            broker,
                            reason,
                        });
                    } else {
                        whole.insert(bundle.clone(), Whole::Hits { hits, needed });
                    }
                }
            }
        }
        candidates
    }

    /// The first limit that a bundle exceeds.
    fn excess(&self, load: &BundleLoad) -> Option<SplitReason> {
        let config = &self.config;
        let sessions = load.producers.saturating_add(load.consumers);
        if load.topics > config.topics_max {
            return Some(SplitReason::Topics {
                topics: load.topics,
                max: config.topics_max,
            });
        }
        if sessions > config.sessions_max {
            return Some(SplitReason::Sessions {
                sessions,
                max: config.sessions_max,
            });
        }
        if !load.short_term.is_sound() {
            return None;
        }
        let (rate, bytes) = (load.short_term.messages(), load.short_term.bytes());
        if rate > config.message_rate_max {
            return Some(SplitReason::MessageRate {
                rate,
                max: config.message_rate_max,
            });
        }
        (bytes > config.bandwidth_max).then_some(SplitReason::Bandwidth {
            bytes,
            max: config.bandwidth_max,
        })
    }

    /// Where to cut a bundle of a namespace that has so many, whether or not it is too big: at the
    /// first places, if there is not room for more parts.
    ///
    /// # Errors
    ///
    /// Why it stays whole.
    pub fn cut(&self, bundle: &BundleId, known: &[TopicLoad], count: usize) -> Result<Cuts, Whole> {
        let max = self.config.namespace_bundles_max;
        let room = max.saturating_sub(count);
        if room == 0 {
            return Err(Whole::NamespaceFull { max });
        }
        let cuts = self.config.cuts(bundle.range(), known);
        let cuts = cuts.ok_or(Whole::NoCut)?;
        let most = room.min(PARTS_MAX - 1);
        let first: Vec<_> = cuts.as_slice().iter().take(most).copied().collect();
        Cuts::new(first).map_err(|_| Whole::NoCut)
    }
}

/// Whether it is known that no cut parts the topics of a bundle.
fn have_one_key(topics: Option<&Vec<TopicLoad>>) -> bool {
    topics.is_some_and(|topics| {
        let mut keys = topics.iter().map(|topic| topic.key);
        let first = keys.next();
        keys.all(|key| Some(key) == first)
    })
}

/// How many bundles each namespace has, by the reports.
fn count_by_namespace(load: &ClusterLoad) -> BTreeMap<&Namespace, usize> {
    let mut counts = BTreeMap::new();
    let bundles = load.brokers.values().flat_map(|of| of.bundles.keys());
    for bundle in bundles.collect::<BTreeSet<_>>() {
        *counts.entry(bundle.namespace()).or_insert(0) += 1;
    }
    counts
}
