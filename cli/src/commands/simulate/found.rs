//! What `simulate` found, in the form in which it is printed.

use deedbook::balance::SplitReport;
use deedbook::ids::BundleId;
use deedbook::planner::Plan;
use deedbook::protocol::Answer;
use deedbook::sim::play::{Compacted, Ending, Round};
use deedbook::sim::scenario::Happening;
use serde::Serialize;

/// What a simulation found.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    pub(super) scenario: String,
    pub(super) about: String,
    pub(super) seed: u64,
    pub(super) notes: Vec<String>,
    pub(super) rounds: Vec<RoundFound>,
    pub(super) moves: usize,
    pub(super) splits: usize,
    pub(super) interrupted: bool,
    pub(super) end: Option<EndFound>,
}

#[derive(Debug, Serialize)]
pub(super) struct RoundFound {
    pub(super) round: u32,
    pub(super) at_s: u64,
    /// What happened before it.
    pub(super) events: Vec<String>,
    /// The living ones.
    pub(super) brokers: Vec<BrokerFound>,
    /// Points of the hottest minus points of the coldest.
    pub(super) spread: Option<f64>,
    pub(super) moves: Vec<MoveFound>,
    pub(super) splits: Vec<SplitFound>,
    /// The compaction in the middle of a transfer, if it fell into this round.
    pub(super) compacted: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct BrokerFound {
    pub(super) broker: String,
    /// In points; none if nothing usable is known.
    pub(super) score: Option<f64>,
    pub(super) bundles: usize,
}

/// Entries that did not count, for one reason.
#[derive(Debug, Serialize)]
pub(super) struct RejectedFound {
    pub(super) reason: &'static str,
    pub(super) count: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct MoveFound {
    pub(super) bundle: String,
    pub(super) from: String,
    pub(super) to: Option<String>,
    pub(super) messages_per_s: f64,
    pub(super) bytes_per_s: f64,
    /// Whether it was made.
    pub(super) done: bool,
    pub(super) outcome: String,
}

#[derive(Debug, Serialize)]
pub(super) struct SplitFound {
    pub(super) bundle: String,
    pub(super) broker: String,
    /// Why.
    pub(super) reason: String,
    /// At which keys.
    pub(super) cuts: Vec<String>,
    /// Whether it was made.
    pub(super) done: bool,
    pub(super) outcome: String,
}

#[derive(Debug, Serialize)]
pub(super) struct EndFound {
    pub(super) brokers: Vec<BrokerFound>,
    pub(super) spread: Option<f64>,
    pub(super) log: String,
    pub(super) records: u64,
    pub(super) rejected: Vec<RejectedFound>,
    pub(super) horizon: Option<u64>,
    pub(super) digest_of_whole_history: String,
    pub(super) digest_of_compacted: String,
    pub(super) agree: bool,
}

pub(super) fn is_done(answer: &Answer) -> bool {
    matches!(answer, Answer::Done { .. })
}

/// How a move ended, in words.
fn outcome(answer: &Answer) -> String {
    match answer {
        Answer::Done { position, .. } => format!("done at {position}"),
        Answer::Conflict { rejection, .. } => format!("conflict: {rejection}"),
        Answer::Superseded { .. } => "superseded".to_owned(),
        Answer::Refused(refused) => format!("refused: {refused}"),
        Answer::TimedOut { .. } => "not known in time".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn happened(event: &Happening) -> String {
    match event {
        Happening::Lose(broker) => format!("{broker} dies"),
        Happening::Return(broker) => format!("{broker} comes back"),
        Happening::Drain(broker) => format!("{broker} hands over and leaves"),
    }
}

/// The brokers as the strategy scores them.
fn brokers(plan: &Plan) -> Vec<BrokerFound> {
    let verdicts = plan.brokers.iter();
    let found = verdicts.map(|(name, verdict)| BrokerFound {
        broker: name.to_string(),
        score: verdict.score.as_ref().map(|score| score.points),
        bundles: verdict.bundles,
    });
    found.collect()
}

/// The points of the hottest and of the coldest.
pub(super) fn extremes(brokers: &[BrokerFound]) -> Option<(f64, f64)> {
    let known = || brokers.iter().filter_map(|broker| broker.score);
    Some((known().reduce(f64::max)?, known().reduce(f64::min)?))
}

fn spread(brokers: &[BrokerFound]) -> Option<f64> {
    extremes(brokers).map(|(hottest, coldest)| hottest - coldest)
}

impl RoundFound {
    pub(super) fn new(round: &Round) -> Self {
        let brokers = brokers(&round.plan);
        let planned = |bundle: &BundleId| {
            round
                .plan
                .moves
                .iter()
                .find(move |planned| planned.bundle == *bundle)
        };
        let moves = round.moves.iter().map(|made| {
            let load = planned(&made.transfer.bundle)
                .map(|planned| planned.load)
                .unwrap_or_default();
            MoveFound {
                bundle: made.transfer.bundle.to_string(),
                from: made.transfer.from.to_string(),
                to: made.transfer.to.as_ref().map(ToString::to_string),
                messages_per_s: load.messages(),
                bytes_per_s: load.bytes(),
                done: is_done(&made.answer),
                outcome: outcome(&made.answer),
            }
        });
        Self {
            round: round.number,
            at_s: round.at.as_secs(),
            events: round.events.iter().map(happened).collect(),
            spread: spread(&brokers),
            brokers,
            moves: moves.collect(),
            splits: round.splits.iter().map(SplitFound::from).collect(),
            compacted: round.compacted.as_ref().map(|compacted| {
                let Compacted {
                    bundle,
                    row,
                    horizon,
                } = compacted;
                format!(
                    "{bundle} was {} when the log was compacted up to {horizon}",
                    row.record
                )
            }),
        }
    }
}

impl From<&SplitReport> for SplitFound {
    fn from(report: &SplitReport) -> Self {
        let split = &report.order.split;
        let cuts = split.cuts.as_slice().iter();
        Self {
            bundle: split.bundle.to_string(),
            broker: split.broker.to_string(),
            reason: split.reason.to_string(),
            cuts: cuts.map(|cut| format!("{cut:#010x}")).collect(),
            done: is_done(&report.answer),
            outcome: outcome(&report.answer),
        }
    }
}

impl EndFound {
    pub(super) fn new(last: &Plan, ending: &Ending, log: String) -> Self {
        let brokers = brokers(last);
        let rejected = ending.rejected.iter();
        Self {
            spread: spread(&brokers),
            brokers,
            log,
            records: ending.end.get().saturating_sub(1),
            rejected: rejected
                .map(|(&reason, &count)| RejectedFound { reason, count })
                .collect(),
            horizon: ending.horizon.map(|horizon| horizon.get()),
            digest_of_whole_history: ending.whole.to_string(),
            digest_of_compacted: ending.compacted.to_string(),
            agree: ending.agrees(),
        }
    }
}
