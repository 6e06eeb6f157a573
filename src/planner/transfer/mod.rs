//! The transfer strategy: the most loaded broker gives to the least loaded one what makes both
//! even, until the loads deviate little enough from their average.

mod config;
mod exchange;
mod safe;
mod skip;
mod statistics;

pub use config::Config;
pub use skip::Skip;
pub use statistics::{Statistics, Uneven};

use super::draft::Draft;
use super::unsettled::UnreportedMoves;
use super::{
    BrokerLoad, ClusterLoad, Constraints, Error, Hits, Mode, Plan, Score, Shedder, Stopped,
    Trigger, Weights, score,
};
use exchange::Exchange;
use statistics::{Ranking, Reporter};

/// Moves bundles from the most loaded brokers to the least loaded ones, a few brokers a round,
/// while the cluster is uneven: its loads deviate too much, one broker bears hardly anything, or
/// one bears far too much. That must hold for more than some rounds in a row.
///
/// In [`Mode::Reference`] it decides like Apache Pulsar. Brokers smooth their load themselves and
/// report their biggest bundles: see [`Smoothed`](super::Smoothed). Half of the difference in load
/// should go, taken for the same share of bytes; bundles leave in the order of the report up to the
/// first that is too big, unless bundles of the receiver in return make it fit, also ones that have
/// moved lately. Without [`Config::transfer`] they leave to where placement will have them.
///
/// Nothing moves while a report is missing, or was made too soon after the last move from its
/// broker. [`Mode::Safe`], the default, differs:
///
/// - it goes by what brokers report of their resources, in exact numbers, not by what they smooth
///   and choose themselves; all bundles are looked at, the biggest first, each one that still fits;
/// - what should go is taken for the same share of bytes, or of messages if there are no bytes;
/// - each bundle gets its destination, the least loaded broker that may have it, before anything
///   leaves, whatever [`Config::transfer`] says; nothing is swapped, as half of a swap alone would
///   do harm;
/// - a bundle moves only if the sum of the squares of both scores falls, whether cpu and memory
///   follow messages or bytes;
/// - a broker whose report is too old or too new takes no part; the others go on. So does one whose
///   report does not show a move yet, for three rounds at most.
#[derive(Clone, Debug, Default)]
pub struct TransferShedder {
    config: Config,
    hits: u32,
    statistics: Option<Statistics>,
    skipped: Option<Skip>,
    unreported: UnreportedMoves,
}

impl TransferShedder {
    /// A strategy that remembers nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            config,
            ..Self::default()
        })
    }

    /// How it decides.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// In how many rounds in a row the cluster was uneven, as far as that counts for the next.
    #[must_use]
    pub const fn hits(&self) -> u32 {
        self.hits
    }

    /// How even the loads were before anything moved in the last round; none if there were no
    /// reports to go by.
    #[must_use]
    pub const fn statistics(&self) -> Option<Statistics> {
        self.statistics
    }

    /// Why the last round decided nothing; none if it did.
    #[must_use]
    pub const fn skipped(&self) -> Option<Skip> {
        self.skipped
    }

    /// Ranks the brokers, unless their reports are not fit for it.
    fn rank<'a>(&self, draft: &mut Draft<'a>) -> Result<Ranking<'a>, Skip> {
        let (mut reporters, mut missing, mut cools_down) = (Vec::new(), false, false);
        for (broker, load) in draft.brokers() {
            let Some(smoothed) = &load.smoothed else {
                draft.stop(broker, Stopped::NoData);
                missing = true;
                continue;
            };
            let is_new = smoothed.age <= self.config.report_age_max;
            let since = smoothed
                .since_unload
                .filter(|since| *since < self.config.delay);
            if let (true, Some(since)) = (is_new, since) {
                let delay = self.config.delay;
                draft.stop(broker, Stopped::CoolDown { since, delay });
                cools_down = true;
            }
            reporters.push(Reporter {
                broker,
                load,
                smoothed,
            });
        }
        let none = reporters.is_empty();
        let ranking = Ranking::new(reporters, &self.config);
        if cools_down {
            Err(Skip::CoolDown)
        } else {
            match ranking {
                None if none => Err(Skip::NoReports),
                None => Err(Skip::OldReports),
                Some(_) if missing => Err(Skip::ReportMissing),
                Some(ranking) => Ok(ranking),
            }
        }
    }

    /// Lets one broker after the other give, while the cluster is uneven.
    fn shed(&mut self, draft: &mut Draft<'_>) -> Option<Skip> {
        let mut ranking = match self.rank(draft) {
            Ok(ranking) => ranking,
            Err(skip) => return Some(skip),
        };
        self.statistics = Some(ranking.statistics());
        self.hits = match ranking.uneven(&self.config) {
            Some(_) => self.hits.saturating_add(1),
            None => 0,
        };
        if self.hits <= self.config.rounds_exceeded {
            return Some(Skip::NotForLong);
        }
        let mut skip = Skip::NotForLong;
        while let (true, Some(why)) = (ranking.goes_on(&self.config), ranking.uneven(&self.config))
        {
            let (Some(top), Some(bottom)) = (ranking.take_top(), ranking.peek_bottom()) else {
                break;
            };
            draft.trigger(top.broker, Trigger::Uneven(why));
            match self.serve(draft, top, bottom) {
                Ok(load) => ranking.moved(top.smoothed.usage, bottom.smoothed.usage, load),
                // A report without bundles weighs more than one whose bundles must stay.
                Err(reason) if skip != Skip::BundlesUnknown => skip = reason,
                Err(_) => {}
            }
        }
        if draft.is_empty() {
            return Some(skip);
        }
        self.hits = 0;
        None
    }

    /// Lets one broker give to another; the load that goes.
    fn serve<'a>(
        &self,
        draft: &mut Draft<'a>,
        top: Reporter<'a>,
        bottom: Reporter<'a>,
    ) -> Result<f64, Skip> {
        let stopped = match top.smoothed.top_bundles.as_deref() {
            None | Some([]) => {
                draft.stop(top.broker, Stopped::BundlesUnknown);
                return Err(Skip::BundlesUnknown);
            }
            Some([_]) => Stopped::SoleReportedBundle,
            Some(_) => match Exchange::new(&self.config, top, bottom).choose(draft) {
                Some(load) => {
                    let hot = top.broker.clone();
                    let verdict = draft.verdict(bottom.broker);
                    if verdict.is_some_and(|verdict| verdict.triggered.is_none()) {
                        draft.stop(bottom.broker, Stopped::Colder { hot });
                    }
                    return Ok(load);
                }
                None => Stopped::NoBundleMayMove,
            },
        };
        draft.stop(top.broker, stopped);
        Err(Skip::NoBundles)
    }
}

impl TransferShedder {
    fn plan_like_the_reference(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let mut draft = Draft::new(load, constraints, score_of);
        for (broker, of) in draft.brokers() {
            draft.stop(broker, Stopped::NotItsTurn);
            if let (Some(verdict), Some(smoothed)) = (draft.verdict(broker), &of.smoothed) {
                verdict.smoothed = Some(smoothed.usage * 100.0);
            }
        }
        self.statistics = None;
        self.skipped = self.shed(&mut draft);
        self.explain(&mut draft);
        draft.finish()
    }

    /// Says of those whose turn did not come why it did not.
    fn explain(&self, draft: &mut Draft<'_>) {
        let needed = self.config.rounds_exceeded.saturating_add(1);
        let count = self.hits;
        draft.explain(&Stopped::NotItsTurn, || match self.skipped {
            Some(Skip::NotForLong) => Stopped::NotUnevenForLong(Hits { count, needed }),
            Some(skip) => Stopped::RoundSkipped(skip),
            None => Stopped::NotItsTurn,
        });
    }
}

impl Shedder for TransferShedder {
    fn plan(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        match self.config.mode {
            Mode::Safe => self.plan_safely(load, constraints),
            Mode::Reference => self.plan_like_the_reference(load, constraints),
        }
    }
}

/// Shown with the verdicts; it decides nothing.
fn score_of(load: &BrokerLoad) -> Option<Score> {
    score::score(load, Weights::default(), Mode::Reference)
}
