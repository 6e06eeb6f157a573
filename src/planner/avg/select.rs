//! Which bundles of the hotter broker go to the colder one.

use super::config::Config;
use crate::ids::{BrokerId, BundleId};
use crate::planner::guard::Guard;
use crate::planner::{BrokerLoad, BundleLoad, Kept, Measure, Mode, Move, Wanted};

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
#[derive(Debug)]
pub(super) struct Selection<'r, 'a> {
    pub(super) mode: Mode,
    pub(super) guard: &'r mut Guard<'a>,
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

impl<'a> Selection<'_, 'a> {
    /// Biggest bundle first, each one that still fits.
    pub(super) fn choose(self) -> Chosen {
        let mut chosen = Chosen::default();
        let candidates = self.candidates(&mut chosen.kept);
        let measure = self.wanted.measure;
        let mut remaining = self.wanted.amount;
        let mut route = self.guard.route(self.hot, self.cold);
        for Candidate {
            bundle,
            load,
            traffic,
        } in candidates
        {
            let outcome = if traffic == 0.0 {
                Err(Kept::Idle)
            } else if traffic > remaining {
                Err(Kept::TooBig {
                    traffic,
                    remaining,
                    measure,
                })
            } else if !(traffic > 0.0 && traffic <= remaining) {
                // Not a number, or negative: only the reference lets it come this far.
                Err(Kept::UnsoundTraffic)
            } else if self.mode == Mode::Safe {
                route.check(bundle, load)
            } else if route.is_disputed(bundle) {
                Err(Kept::Disputed)
            } else {
                Ok(route.foresee(load))
            };
            match outcome {
                Ok(after) => {
                    remaining -= traffic;
                    chosen.reached += traffic;
                    chosen.moves.push(route.take(bundle, load, &after, measure));
                }
                Err(kept) => chosen.kept.push((bundle.clone(), kept)),
            }
        }
        chosen
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
        match self.mode {
            Mode::Safe => self.guard.admit(bundle, load),
            Mode::Reference => match self.guard.keep(bundle) {
                Some(kept) => Err(kept),
                None => load.ok_or(Kept::NoData),
            },
        }
    }
}
