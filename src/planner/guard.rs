//! What every plan of a safe mode must keep to, whichever strategy makes it.
//!
//! A bundle moves only if its load is known and makes sense, nothing keeps it where it is, its
//! destination may have it, and both brokers are better off. Whatever was let through counts for
//! what comes after it.

use super::legality::{Legality, Passage};
use super::outlook::{Burden, Machine, Scores};
use super::{BrokerLoad, BundleLoad, ClusterLoad, Constraints, Kept, Measure, Move, Weights};
use crate::ids::{BrokerId, BundleId};
use std::collections::{BTreeMap, HashSet};

/// The rules, and the cluster as it will be once all that was let through has moved.
#[derive(Debug)]
pub(super) struct Guard<'a> {
    weights: Weights,
    legality: Legality<'a>,
    /// Brokers that have given or got something.
    changed: BTreeMap<&'a BrokerId, Machine>,
    /// What moves. Only asked for members, so that its order is never seen.
    moving: HashSet<&'a BundleId>,
}

/// Two brokers, one of which may give to the other.
#[derive(Debug)]
pub(super) struct Route<'g, 'a> {
    guard: &'g mut Guard<'a>,
    from: (&'a BrokerId, &'a BrokerLoad),
    to: (&'a BrokerId, &'a BrokerLoad),
    /// The source as it reports itself: what a bundle takes along is a share of that.
    reported: Machine,
    source: Machine,
    destination: Machine,
}

/// Two brokers after one more move.
#[derive(Clone, Copy, Debug)]
pub(super) struct After {
    pub(super) source: Machine,
    pub(super) destination: Machine,
}

impl After {
    /// What comes of moving a burden.
    pub(super) fn new(source: &Machine, destination: &Machine, burden: &Burden) -> Self {
        Self {
            source: source.without(burden),
            destination: destination.with(burden),
        }
    }

    /// Whether this is better than it was: the sum of the squares of both scores falls, whether
    /// cpu and memory follow messages or bytes, and the destination is less hot than the source
    /// was.
    pub(super) fn improves_on(&self, source: &Machine, destination: &Machine) -> bool {
        let potential = |a: Scores, b: Scores| a.squared().plus(b.squared());
        let (hot, cold) = (source.scores(), destination.scores());
        let (hot_after, cold_after) = (self.source.scores(), self.destination.scores());
        cold_after.worst() < hot.worst()
            && potential(hot_after, cold_after).improves_on(potential(hot, cold))
    }
}

impl<'a> Guard<'a> {
    /// Nothing has moved yet.
    pub(super) fn new(
        weights: Weights,
        constraints: &'a Constraints,
        load: &'a ClusterLoad,
    ) -> Self {
        Self {
            weights,
            legality: Legality::new(constraints, load),
            changed: BTreeMap::new(),
            moving: HashSet::new(),
        }
    }

    /// Two brokers as they are by now.
    pub(super) fn route(
        &mut self,
        from: (&'a BrokerId, &'a BrokerLoad),
        to: (&'a BrokerId, &'a BrokerLoad),
    ) -> Route<'_, 'a> {
        let reported = Machine::new(from.1, self.weights);
        let source = self.changed.get(from.0).copied().unwrap_or(reported);
        let destination = self.machine(to);
        Route {
            guard: self,
            from,
            to,
            reported,
            source,
            destination,
        }
    }

    /// One broker as it is by now.
    pub(super) fn machine(&self, broker: (&BrokerId, &BrokerLoad)) -> Machine {
        let changed = self.changed.get(broker.0).copied();
        changed.unwrap_or_else(|| Machine::new(broker.1, self.weights))
    }

    /// The rule that keeps a bundle where it is whatever it bears, if there is one.
    pub(super) fn keep(&self, bundle: &BundleId) -> Option<Kept> {
        self.legality.keep(bundle)
    }

    /// Whether a bundle may move at all: its load, if so.
    pub(super) fn admit<'b>(
        &self,
        bundle: &BundleId,
        load: Option<&'b BundleLoad>,
    ) -> Result<&'b BundleLoad, Kept> {
        admit(&self.legality, bundle, load)
    }
}

/// Whether a bundle may move at all: its load, if so.
pub(super) fn admit<'b>(
    legality: &Legality<'_>,
    bundle: &BundleId,
    load: Option<&'b BundleLoad>,
) -> Result<&'b BundleLoad, Kept> {
    if let Some(kept) = legality.keep(bundle) {
        return Err(kept);
    }
    let load = load.ok_or(Kept::NoData)?;
    if load.short_term.is_sound() {
        Ok(load)
    } else {
        Err(Kept::UnsoundTraffic)
    }
}

impl<'a> Route<'_, 'a> {
    /// What comes of one more bundle, or the rule that keeps it.
    pub(super) fn check(&mut self, bundle: &'a BundleId, load: &BundleLoad) -> Result<After, Kept> {
        let after = self.foresee(load);
        if !after.improves_on(&self.source, &self.destination) {
            return Err(Kept::WouldNotGain);
        }
        if let Some(barred) = self.guard.legality.bar(self.passage(bundle, load)) {
            return Err(Kept::NoLegalDestination { barred });
        }
        if self.is_disputed(bundle) {
            return Err(Kept::Disputed);
        }
        Ok(after)
    }

    /// What comes of one more bundle, allowed or not.
    pub(super) fn foresee(&self, load: &BundleLoad) -> After {
        let burden = self.reported.burden_of(&load.short_term);
        After::new(&self.source, &self.destination, &burden)
    }

    /// Whether the destination lists the bundle too, or another broker does that gives it already.
    pub(super) fn is_disputed(&self, bundle: &BundleId) -> bool {
        self.to.1.bundles.contains_key(bundle) || self.guard.moving.contains(bundle)
    }

    /// Lets a bundle through, and shows the scores by one of the forecasts.
    pub(super) fn take(
        &mut self,
        bundle: &'a BundleId,
        load: &BundleLoad,
        after: &After,
        shown: Measure,
    ) -> Move {
        self.guard.legality.note(self.passage(bundle, load));
        self.guard.moving.insert(bundle);
        self.source = after.source;
        self.destination = after.destination;
        Move {
            bundle: bundle.clone(),
            from: self.from.0.clone(),
            to: self.to.0.clone(),
            load: load.short_term,
            from_score_after: after.source.scores().by(shown),
            to_score_after: after.destination.scores().by(shown),
        }
    }

    const fn passage(&self, bundle: &'a BundleId, load: &BundleLoad) -> Passage<'a> {
        Passage {
            bundle,
            topics: load.topics,
            from: self.from.0,
            to: self.to.0,
        }
    }
}

impl Drop for Route<'_, '_> {
    fn drop(&mut self) {
        self.guard.changed.insert(self.from.0, self.source);
        self.guard.changed.insert(self.to.0, self.destination);
    }
}
