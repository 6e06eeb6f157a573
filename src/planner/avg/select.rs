//! Which bundles of the hotter broker go to the colder one.

use super::config::Config;
use super::forecast::Forecasts;
use crate::ids::{BrokerId, BundleId};
use crate::planner::{
    BrokerLoad, BundleLoad, ClusterLoad, Constraints, Kept, Measure, Mode, Move, Wanted,
};
use std::collections::BTreeSet;

/// How much should move by each measure: a share of what the hotter broker has more.
pub(super) fn wanted(hot: &BrokerLoad, cold: &BrokerLoad, config: &Config) -> (Wanted, Wanted) {
    let wanted = |measure: Measure, minimum| Wanted {
        measure,
        amount: (measure.of(&hot.traffic) - measure.of(&cold.traffic)) * config.unload_ratio_max,
        minimum,
    };
    (
        wanted(Measure::Messages, config.message_rate_min),
        wanted(Measure::Bytes, config.throughput_min),
    )
}

/// Everything that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection<'a> {
    pub(super) config: &'a Config,
    pub(super) constraints: &'a Constraints,
    pub(super) load: &'a ClusterLoad,
    /// What moves already in this round.
    pub(super) planned: &'a BTreeSet<BundleId>,
    pub(super) hot: (&'a BrokerId, &'a BrokerLoad),
    pub(super) cold: (&'a BrokerId, &'a BrokerLoad),
    pub(super) wanted: Wanted,
}

/// What was chosen, and why the rest was not.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) moves: Vec<Move>,
    pub(super) kept: Vec<(BundleId, Kept)>,
    /// How much moves, in the measure that was wanted.
    pub(super) reached: f64,
}

/// A bundle that may move, with its traffic in the measure that was wanted.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    bundle: &'a BundleId,
    load: &'a BundleLoad,
    traffic: f64,
}

impl<'a> Selection<'a> {
    /// Biggest bundle first, each one that still fits.
    pub(super) fn choose(&self) -> Chosen {
        let mut chosen = Chosen::default();
        let measure = self.wanted.measure;
        let mut remaining = self.wanted.amount;
        let mut forecast = Forecasts::new(self.hot.1, self.cold.1, measure, self.config.weights);
        for candidate in self.candidates(&mut chosen.kept) {
            let Candidate {
                bundle,
                load,
                traffic,
            } = candidate;
            let next = forecast.with(load.short_term);
            let fits = traffic <= remaining;
            let kept = if traffic == 0.0 {
                Some(Kept::Idle)
            } else if traffic > 0.0 && !fits {
                Some(Kept::TooBig {
                    traffic,
                    remaining,
                    measure,
                })
            } else if !(traffic > 0.0 && fits) {
                // Not a number, or negative: only the reference lets it come this far.
                Some(Kept::UnsoundTraffic)
            } else if self.must_gain() && !next.improve_on(&forecast) {
                Some(Kept::WouldNotGain)
            } else {
                None
            };
            if let Some(kept) = kept {
                chosen.kept.push((bundle.clone(), kept));
                continue;
            }
            remaining -= traffic;
            chosen.reached += traffic;
            forecast = next;
            chosen.moves.push(self.move_of(bundle, load, &forecast));
        }
        chosen
    }

    const fn must_gain(&self) -> bool {
        matches!(self.config.mode, Mode::Safe)
    }

    /// The bundles that may move, biggest first, ties by name. The others go to `kept`.
    fn candidates(&self, kept: &mut Vec<(BundleId, Kept)>) -> Vec<Candidate<'a>> {
        let mut candidates = Vec::with_capacity(self.hot.1.bundles.len());
        for (bundle, load) in &self.hot.1.bundles {
            match self.admit(bundle, load.as_ref()) {
                Ok(load) => candidates.push(Candidate {
                    bundle,
                    load,
                    traffic: self.wanted.measure.of(&load.short_term),
                }),
                Err(reason) => kept.push((bundle.clone(), reason)),
            }
        }
        // The sort is stable, and the bundles come in the order of their names.
        candidates.sort_by(|a, b| b.traffic.total_cmp(&a.traffic));
        candidates
    }

    fn admit<'b>(
        &self,
        bundle: &BundleId,
        load: Option<&'b BundleLoad>,
    ) -> Result<&'b BundleLoad, Kept> {
        if let Some(kept) = self.constraints.keep(bundle) {
            return Err(kept);
        }
        if self.load.recently_moved.contains(bundle) {
            return Err(Kept::RecentlyMoved);
        }
        if self.cold.1.bundles.contains_key(bundle) || self.planned.contains(bundle) {
            return Err(Kept::Disputed);
        }
        let load = load.ok_or(Kept::NoData)?;
        if self.config.mode == Mode::Safe && !load.short_term.is_sound() {
            return Err(Kept::UnsoundTraffic);
        }
        Ok(load)
    }

    fn move_of(&self, bundle: &BundleId, load: &BundleLoad, after: &Forecasts) -> Move {
        let scores = after.scores();
        Move {
            bundle: bundle.clone(),
            from: self.hot.0.clone(),
            to: self.cold.0.clone(),
            load: load.short_term,
            from_score_after: scores.hot,
            to_score_after: scores.cold,
        }
    }
}
