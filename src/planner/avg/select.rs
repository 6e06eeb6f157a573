//! Which bundles of the hotter broker go to the colder one.

use super::config::Config;
use crate::ids::BundleId;
use crate::planner::guard::{After, Cargo, Guard, Party, by};
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
    pub(super) hot: Party<'a>,
    pub(super) cold: Party<'a>,
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
    pub(super) fn choose(mut self) -> Chosen {
        let mut chosen = Chosen::default();
        let candidates = self.candidates(&mut chosen.kept);
        let measure = self.wanted.measure;
        let mut remaining = self.wanted.amount;
        // Machines change; what a bundle takes along is a share of what was reported.
        let reported = self.hot.machine;
        for Candidate {
            bundle,
            load,
            traffic,
        } in candidates
        {
            let cargo = || Cargo {
                bundle,
                load,
                burden: reported.burden_of(&load.short_term),
            };
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
            } else {
                self.check(cargo())
            };
            match outcome {
                Ok((cargo, after)) => {
                    remaining -= traffic;
                    chosen.reached += traffic;
                    self.guard.ship(&cargo, self.hot.id, self.cold.id);
                    let ids = (self.hot.id, self.cold.id);
                    chosen.moves.push(after.of(&cargo, ids, by(measure)));
                    self.hot.machine = after.source;
                    self.cold.machine = after.destination;
                }
                Err(kept) => chosen.kept.push((bundle.clone(), kept)),
            }
        }
        chosen
    }

    /// Whether a bundle that fits may go, and what comes of it.
    fn check(&mut self, cargo: Cargo<'a>) -> Result<(Cargo<'a>, After), Kept> {
        let after = match self.mode {
            Mode::Safe => self.guard.check(&cargo, &self.hot, &self.cold)?,
            Mode::Reference => {
                self.guard.permit(&cargo, &self.hot, &self.cold)?;
                After::new(&self.hot.machine, &self.cold.machine, &cargo.burden)
            }
        };
        Ok((cargo, after))
    }

    /// The bundles that may move, biggest first, ties by name. The others go to `kept`.
    fn candidates(&self, kept: &mut Vec<(BundleId, Kept)>) -> Vec<Candidate<'a>> {
        let mut candidates = Vec::with_capacity(self.hot.load.bundles.len());
        kept.reserve(self.hot.load.bundles.len());
        for (bundle, load) in &self.hot.load.bundles {
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
        bundle: &'a BundleId,
        load: Option<&'b BundleLoad>,
    ) -> Result<&'b BundleLoad, Kept> {
        match self.mode {
            Mode::Safe => self.guard.admit(bundle, load),
            Mode::Reference => match self.guard.legality.keep(bundle) {
                Some(kept) => Err(kept),
                None => load.ok_or(Kept::NoData),
            },
        }
    }
}
