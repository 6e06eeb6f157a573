//! A plan while it is made, by a strategy that looks at one broker at a time.

use super::guard::Guard;
use super::legality::Passage;
use super::{
    Amount, BrokerLoad, BrokerVerdict, BundleLoad, ClusterLoad, Constraints, Kept, Measure, Move,
    Plan, Score, Stopped, Trigger, Unload,
};
use crate::ids::{BrokerId, BundleId};
use std::collections::BTreeSet;

/// A plan while it is made.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) load: &'a ClusterLoad,
    constraints: &'a Constraints,
    pub(super) plan: Plan,
    pub(super) guard: Guard<'a>,
}

/// Where a bundle goes, and what that makes of both scores, in points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination<'a> {
    pub(super) broker: &'a BrokerId,
    pub(super) from_score_after: f64,
    pub(super) to_score_after: f64,
}

/// A bundle that may move, with its traffic in the measure that is wanted.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    bundle: &'a BundleId,
    load: &'a BundleLoad,
    traffic: f64,
}

impl<'a> Draft<'a> {
    /// Nothing was chosen yet. Brokers that are being drained take no part.
    pub(super) fn new(
        load: &'a ClusterLoad,
        constraints: &'a Constraints,
        score: impl Fn(&BrokerLoad) -> Option<Score>,
    ) -> Self {
        let verdict = |(broker, of): (&BrokerId, &BrokerLoad)| {
            let drained = constraints.drained.contains(broker);
            let verdict = BrokerVerdict {
                score: score(of),
                bundles: of.bundles.len(),
                stopped: drained.then_some(Stopped::Drained),
                ..BrokerVerdict::default()
            };
            (broker.clone(), verdict)
        };
        let plan = Plan {
            brokers: load.brokers.iter().map(verdict).collect(),
            ..Plan::default()
        };
        Self {
            load,
            constraints,
            plan,
            guard: Guard::new(constraints, load),
        }
    }

    /// The brokers that take part, in the order of their names.
    pub(super) fn brokers(&self) -> impl Iterator<Item = (&'a BrokerId, &'a BrokerLoad)> + use<'a> {
        let constraints = self.constraints;
        let brokers = self.load.brokers.iter();
        brokers.filter(move |(broker, _)| !constraints.drained.contains(*broker))
    }

    /// Those of them that have a score, with their points. The others are stopped, and so is who is
    /// unsettled.
    pub(super) fn standings(
        &mut self,
        unsettled: &BTreeSet<BrokerId>,
    ) -> Vec<(&'a BrokerId, &'a BrokerLoad, f64)> {
        let mut standings = Vec::with_capacity(self.load.brokers.len());
        for (broker, of) in self.brokers() {
            let score = self.verdict(broker).and_then(|found| found.score.as_ref());
            match score.map(|score| score.points) {
                _ if unsettled.contains(broker) => self.stop(broker, Stopped::Unsettled),
                Some(points) => standings.push((broker, of, points)),
                None => self.stop(broker, Stopped::NoData),
            }
        }
        standings
    }

    /// What was found about a broker so far.
    pub(super) fn verdict(&mut self, broker: &BrokerId) -> Option<&mut BrokerVerdict> {
        self.plan.brokers.get_mut(broker)
    }

    /// Writes down why nothing leaves a broker.
    pub(super) fn stop(&mut self, broker: &BrokerId, stopped: Stopped) {
        if let Some(verdict) = self.verdict(broker) {
            verdict.stopped = Some(stopped);
        }
    }

    /// Takes a bundle that may move: to a destination, or to wherever placement will have it.
    pub(super) fn take(
        &mut self,
        bundle: (&'a BundleId, &BundleLoad),
        from: &'a BrokerId,
        to: Option<&Destination<'a>>,
    ) {
        let to_id = to.map(|to| to.broker);
        self.guard.pass(bundle.0, bundle.1.topics, (from, to_id));
        let (bundle, load) = (bundle.0, bundle.1.short_term);
        let (bundle, from) = (bundle.clone(), from.clone());
        match to {
            Some(to) => self.plan.moves.push(Move {
                bundle,
                from,
                to: to.broker.clone(),
                load,
                from_score_after: to.from_score_after,
                to_score_after: to.to_score_after,
            }),
            None => self.plan.unloads.push(Unload { bundle, from, load }),
        }
    }

    /// Writes down why something is to leave a broker.
    pub(super) fn trigger(&mut self, broker: &BrokerId, trigger: Trigger) {
        if let Some(verdict) = self.verdict(broker) {
            verdict.triggered = Some(trigger);
            verdict.stopped = None;
        }
    }

    /// Puts a better reason in the place of another, wherever that was written down.
    pub(super) fn explain(&mut self, instead_of: &Stopped, better: impl Fn() -> Stopped) {
        for verdict in self.plan.brokers.values_mut() {
            if verdict.stopped.as_ref() == Some(instead_of) {
                verdict.stopped = Some(better());
            }
        }
    }

    /// Whether nothing was chosen yet.
    pub(super) fn is_empty(&self) -> bool {
        self.plan.moves.is_empty() && self.plan.unloads.is_empty()
    }

    /// Goes through a broker's bundles, biggest first, and takes each one that `keep` has no reason
    /// against. The last bundle that a broker owns is never looked at.
    pub(super) fn shed(
        &mut self,
        (broker, of): (&'a BrokerId, &'a BrokerLoad),
        (measure, wanted): (Measure, f64),
        mut keep: impl FnMut(f64) -> Option<Kept>,
    ) {
        match of.bundles.len() {
            0 => return self.stop(broker, Stopped::NoBundles),
            1 => return self.stop(broker, Stopped::SoleBundle),
            _ => {}
        }
        let (candidates, mut kept) = self.candidates(broker, of, measure);
        let mut amount = Amount {
            measure,
            wanted,
            reached: 0.0,
        };
        let before = self.plan.unloads.len();
        for candidate in candidates {
            if let Some(reason) = keep(candidate.traffic) {
                kept.push((candidate.bundle.clone(), reason));
                continue;
            }
            amount.reached += candidate.traffic;
            self.take((candidate.bundle, candidate.load), broker, None);
        }
        let none = self.plan.unloads.len() == before;
        if let Some(verdict) = self.verdict(broker) {
            verdict.stopped = none.then_some(Stopped::NoBundleMayMove);
            verdict.amount = Some(amount);
            verdict.kept = kept;
        }
    }

    /// The bundles that may move, biggest first, ties by name; and why the others may not.
    fn candidates(
        &mut self,
        broker: &'a BrokerId,
        of: &'a BrokerLoad,
        measure: Measure,
    ) -> (Vec<Candidate<'a>>, Vec<(BundleId, Kept)>) {
        let (mut candidates, mut kept) = (Vec::with_capacity(of.bundles.len()), Vec::new());
        for (bundle, load) in &of.bundles {
            match self.admit((broker, None), bundle, load.as_ref()) {
                Ok(load) => candidates.push(Candidate {
                    bundle,
                    load,
                    traffic: measure.of(&load.short_term),
                }),
                Err(reason) => kept.push((bundle.clone(), reason)),
            }
        }
        // The sort is stable, and the bundles come in the order of their names.
        candidates.sort_by(|a, b| b.traffic.total_cmp(&a.traffic));
        (candidates, kept)
    }

    /// A bundle that may move from one broker to another, or to wherever placement will have it; or
    /// the rule that keeps it.
    pub(super) fn admit<'b>(
        &mut self,
        way: (&'a BrokerId, Option<&'a BrokerId>),
        bundle: &'a BundleId,
        load: Option<&'b BundleLoad>,
    ) -> Result<&'b BundleLoad, Kept> {
        if let Some(kept) = self.guard.legality.keep(bundle) {
            return Err(kept);
        }
        self.offer(way, bundle, load)
    }

    /// A bundle that may move in return for another, or the rule that keeps it: it may have moved
    /// lately.
    pub(super) fn offer<'b>(
        &mut self,
        (from, to): (&'a BrokerId, Option<&'a BrokerId>),
        bundle: &'a BundleId,
        load: Option<&'b BundleLoad>,
    ) -> Result<&'b BundleLoad, Kept> {
        if let Some(kept) = self.constraints.keep(bundle) {
            return Err(kept);
        }
        if self.guard.is_moving(bundle) {
            return Err(Kept::Disputed);
        }
        let load = load.ok_or(Kept::NoData)?;
        let topics = load.topics;
        let passage = |to| Passage {
            bundle,
            topics,
            from,
            to,
        };
        let legality = &mut self.guard.legality;
        let barred = match to {
            Some(to) => legality.bar(passage(to)),
            None => legality.bar_everywhere(passage(from)),
        };
        match barred {
            Some(barred) => Err(Kept::NoLegalDestination { barred }),
            None => Ok(load),
        }
    }

    /// The plan, made.
    pub(super) fn finish(self) -> Plan {
        self.plan
    }
}

/// Takes bundles until enough is collected, and at least one: what goes over is up to a bundle.
pub(super) fn until(wanted: f64) -> impl FnMut(f64) -> Option<Kept> {
    let (mut collected, mut any) = (0.0, false);
    move |traffic| {
        let missing = collected < wanted;
        if any && !missing {
            return Some(Kept::NotNeeded);
        }
        collected += traffic;
        any = true;
        None
    }
}
