//! What every plan of a safe mode must keep to, whichever strategy makes it.
//!
//! A bundle moves only if its load is known and makes sense, nothing keeps it where it is, its
//! destination may have it, and both brokers are better off. Whatever was let through counts for
//! what comes after it.

use super::legality::{Legality, Passage};
use super::outlook::{Burden, Machine, Scores};
use super::{BrokerLoad, BundleLoad, ClusterLoad, Constraints, Kept, Measure, Move, Weights};
use crate::ids::{BrokerId, BundleId};
use std::collections::HashSet;

/// The rules, and what was let through.
#[derive(Debug)]
pub(super) struct Guard<'a> {
    pub(super) legality: Legality<'a>,
    /// What moves. Only asked for members, so that its order is never seen.
    moving: HashSet<&'a BundleId>,
}

/// A broker that may give or take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Party<'a> {
    pub(super) id: &'a BrokerId,
    pub(super) load: &'a BrokerLoad,
    /// What it is by now.
    pub(super) machine: Machine,
}

/// A bundle that may move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cargo<'a> {
    pub(super) bundle: &'a BundleId,
    pub(super) load: &'a BundleLoad,
    /// What it takes along.
    pub(super) burden: Burden,
}

/// Two brokers after one more move.
#[derive(Clone, Copy, Debug)]
pub(super) struct After {
    pub(super) source: Machine,
    pub(super) destination: Machine,
}

impl<'a> Party<'a> {
    /// A broker as it reports itself.
    pub(super) fn new(id: &'a BrokerId, load: &'a BrokerLoad, weights: Weights) -> Self {
        let machine = Machine::new(load, weights);
        Self { id, load, machine }
    }

    /// The score to be expected, in points, by the forecast in which it is higher.
    pub(super) fn score(&self) -> f64 {
        self.machine.scores().worst()
    }
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
    fn improves_on(&self, source: &Machine, destination: &Machine) -> bool {
        let potential = |a: Scores, b: Scores| a.squared().plus(b.squared());
        let (hot, cold) = (source.scores(), destination.scores());
        let (hot_after, cold_after) = (self.source.scores(), self.destination.scores());
        cold_after.worst() < hot.worst()
            && potential(hot_after, cold_after).improves_on(potential(hot, cold))
    }

    /// The move that comes to this, with the scores by one of the forecasts.
    pub(super) fn of(
        &self,
        cargo: &Cargo<'_>,
        (from, to): (&BrokerId, &BrokerId),
        shown: impl Fn(Scores) -> f64,
    ) -> Move {
        Move {
            bundle: cargo.bundle.clone(),
            from: from.clone(),
            to: to.clone(),
            load: cargo.load.short_term,
            from_score_after: shown(self.source.scores()),
            to_score_after: shown(self.destination.scores()),
        }
    }
}

impl<'a> Guard<'a> {
    /// Nothing has moved yet.
    pub(super) fn new(constraints: &'a Constraints, load: &'a ClusterLoad) -> Self {
        Self {
            legality: Legality::new(constraints, load),
            moving: HashSet::new(),
        }
    }

    /// Whether a bundle may move at all: its load, if so.
    pub(super) fn admit<'b>(
        &self,
        bundle: &'a BundleId,
        load: Option<&'b BundleLoad>,
    ) -> Result<&'b BundleLoad, Kept> {
        if let Some(kept) = self.legality.keep(bundle) {
            return Err(kept);
        }
        let load = load.ok_or(Kept::NoData)?;
        if !load.short_term.is_sound() {
            Err(Kept::UnsoundTraffic)
        } else if load.short_term.messages() == 0.0 && load.short_term.bytes() == 0.0 {
            Err(Kept::Idle)
        } else {
            Ok(load)
        }
    }

    /// What comes of one more bundle, or the rule that keeps it.
    pub(super) fn check(
        &mut self,
        cargo: &Cargo<'a>,
        from: &Party<'a>,
        to: &Party<'a>,
    ) -> Result<After, Kept> {
        let after = After::new(&from.machine, &to.machine, &cargo.burden);
        if after.improves_on(&from.machine, &to.machine) {
            self.permit(cargo, from, to).map(|()| after)
        } else {
            Err(Kept::WouldNotGain)
        }
    }

    /// Whether a bundle may go there, whatever comes of it.
    pub(super) fn permit(
        &mut self,
        cargo: &Cargo<'a>,
        from: &Party<'a>,
        to: &Party<'a>,
    ) -> Result<(), Kept> {
        if let Some(barred) = self.legality.bar(cargo.passage(from.id, to.id)) {
            Err(Kept::NoLegalDestination { barred })
        } else if to.load.bundles.contains_key(cargo.bundle) || self.is_moving(cargo.bundle) {
            Err(Kept::Disputed)
        } else {
            Ok(())
        }
    }

    /// Whether a bundle was let through, perhaps in the name of another broker that lists it too.
    pub(super) fn is_moving(&self, bundle: &BundleId) -> bool {
        self.moving.contains(bundle)
    }

    /// Lets a bundle through to a destination.
    pub(super) fn ship(&mut self, cargo: &Cargo<'a>, from: &'a BrokerId, to: &'a BrokerId) {
        self.pass(cargo.bundle, cargo.load.topics, (from, Some(to)));
    }

    /// Lets a bundle through, to a destination or to wherever placement will have it.
    pub(super) fn pass(
        &mut self,
        bundle: &'a BundleId,
        topics: u64,
        (from, to): (&'a BrokerId, Option<&'a BrokerId>),
    ) {
        if let Some(to) = to {
            self.legality.note(Passage {
                bundle,
                topics,
                from,
                to,
            });
        }
        self.moving.insert(bundle);
    }

    /// Takes back that a bundle was let through.
    pub(super) fn take_back(&mut self, cargo: &Cargo<'a>, from: &'a BrokerId, to: &'a BrokerId) {
        self.legality.note(cargo.passage(to, from));
        self.moving.remove(cargo.bundle);
    }
}

impl<'a> Cargo<'a> {
    const fn passage(&self, from: &'a BrokerId, to: &'a BrokerId) -> Passage<'a> {
        Passage {
            bundle: self.bundle,
            topics: self.load.topics,
            from,
            to,
        }
    }
}

/// Shows the score of a forecast.
pub(super) const fn by(follows: Measure) -> impl Fn(Scores) -> f64 {
    move |scores: Scores| scores.by(follows)
}
