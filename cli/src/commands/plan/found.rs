//! What `plan` found, in the form in which it is printed.

use super::rounds::Rounds;
use deedbook::ids::{BrokerId, BundleId};
use deedbook::planner::avg::Mode;
use deedbook::planner::{
    BrokerVerdict, ClusterLoad, Hits, Kept, Measure, Move, PairVerdict, Stopped,
};
use deedbook::reports;
use serde::{Serialize, Serializer};

/// What `plan` found. Its keys are described in docs/cli.md.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    pub(super) mode: Mode,
    /// How many rounds saw the load; something moves in the last one, or nothing ever does.
    pub(super) rounds: u32,
    pub(super) brokers: Vec<Broker>,
    pub(super) pairs: Vec<Pair>,
    pub(super) moves: Vec<Moving>,
    pub(super) notes: Vec<Note>,
}

#[derive(Debug, Serialize)]
pub(super) struct Broker {
    pub(super) broker: BrokerId,
    pub(super) score: Option<f64>,
    /// The expected score after all moves.
    pub(super) score_after: Option<f64>,
    pub(super) resource: Option<String>,
    pub(super) unknown_resources: Vec<String>,
    pub(super) message_rate: f64,
    pub(super) throughput: f64,
    pub(super) bundles: usize,
    pub(super) stopped: Option<Rule>,
    pub(super) kept: Vec<Staying>,
}

/// A rule by its name, and in words with its numbers.
#[derive(Debug, Serialize)]
pub(super) struct Rule {
    pub(super) rule: &'static str,
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Staying {
    pub(super) bundle: BundleId,
    #[serde(flatten)]
    pub(super) rule: Rule,
}

#[derive(Debug, Serialize)]
pub(super) struct Pair {
    pub(super) hot: BrokerId,
    pub(super) cold: BrokerId,
    pub(super) difference: f64,
    pub(super) low_hits: Count,
    pub(super) high_hits: Count,
    pub(super) amount: Option<Amount>,
}

#[derive(Debug, Serialize)]
pub(super) struct Count {
    pub(super) count: u32,
    pub(super) needed: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct Amount {
    #[serde(serialize_with = "measure_as_text")]
    pub(super) measure: Measure,
    pub(super) wanted: f64,
    pub(super) reached: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Moving {
    pub(super) bundle: BundleId,
    pub(super) from: BrokerId,
    pub(super) to: BrokerId,
    pub(super) message_rate: f64,
    pub(super) throughput: f64,
    pub(super) from_score_after: f64,
    pub(super) to_score_after: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Note {
    pub(super) broker: BrokerId,
    pub(super) kind: &'static str,
    pub(super) bundle: Option<BundleId>,
    pub(super) text: String,
}

impl Found {
    pub(super) fn new(
        mode: Mode,
        load: &ClusterLoad,
        rounds: Rounds,
        notes: Vec<reports::Note>,
    ) -> Self {
        let (count, plan) = rounds.into_plan();
        let moves: Vec<_> = plan.moves.into_iter().map(Moving::from).collect();
        let brokers = plan.brokers.into_iter();
        let brokers = brokers
            .map(|(broker, verdict)| Broker::new(broker, verdict, load, &moves))
            .collect();
        Self {
            mode,
            rounds: count,
            brokers,
            pairs: plan.pairs.into_iter().map(Pair::from).collect(),
            moves,
            notes: notes.into_iter().map(Note::from).collect(),
        }
    }
}

impl Broker {
    fn new(broker: BrokerId, verdict: BrokerVerdict, load: &ClusterLoad, moves: &[Moving]) -> Self {
        let traffic = load
            .brokers
            .get(&broker)
            .map(|load| load.traffic)
            .unwrap_or_default();
        let score = verdict.score.as_ref().map(|score| score.points);
        let unknown = verdict.score.iter().flat_map(|score| &score.unknown);
        let unknown_resources = unknown.map(ToString::to_string).collect();
        let resource = verdict.score.as_ref().and_then(|score| score.resource);
        let after = moves
            .iter()
            .rev()
            .find_map(|moving| moving.score_after(&broker));
        let kept = verdict.kept.into_iter();
        Self {
            score,
            score_after: after.or(score),
            resource: resource.map(|resource| resource.to_string()),
            unknown_resources,
            message_rate: traffic.messages(),
            throughput: traffic.bytes(),
            bundles: verdict.bundles,
            stopped: verdict.stopped.as_ref().map(Rule::from),
            kept: kept.map(Staying::from).collect(),
            broker,
        }
    }
}

impl Moving {
    /// What this move leaves of a broker's score, if it is one of the two.
    fn score_after(&self, broker: &BrokerId) -> Option<f64> {
        if self.from == *broker {
            Some(self.from_score_after)
        } else if self.to == *broker {
            Some(self.to_score_after)
        } else {
            None
        }
    }
}

impl From<Move> for Moving {
    fn from(moving: Move) -> Self {
        Self {
            message_rate: moving.load.messages(),
            throughput: moving.load.bytes(),
            bundle: moving.bundle,
            from: moving.from,
            to: moving.to,
            from_score_after: moving.from_score_after,
            to_score_after: moving.to_score_after,
        }
    }
}

impl From<&Stopped> for Rule {
    fn from(stopped: &Stopped) -> Self {
        Self {
            rule: stopped.rule(),
            text: stopped.to_string(),
        }
    }
}

impl From<(BundleId, Kept)> for Staying {
    fn from((bundle, kept): (BundleId, Kept)) -> Self {
        let rule = Rule {
            rule: kept.rule(),
            text: kept.to_string(),
        };
        Self { bundle, rule }
    }
}

impl From<PairVerdict> for Pair {
    fn from(pair: PairVerdict) -> Self {
        Self {
            hot: pair.hot,
            cold: pair.cold,
            difference: pair.difference,
            low_hits: pair.low.into(),
            high_hits: pair.high.into(),
            amount: pair.amount.map(|amount| Amount {
                measure: amount.measure,
                wanted: amount.wanted,
                reached: amount.reached,
            }),
        }
    }
}

impl From<Hits> for Count {
    fn from(hits: Hits) -> Self {
        Self {
            count: hits.count,
            needed: hits.needed,
        }
    }
}

impl From<reports::Note> for Note {
    fn from(note: reports::Note) -> Self {
        Self {
            kind: note.what.kind(),
            bundle: note.what.bundle().cloned(),
            text: note.what.to_string(),
            broker: note.broker,
        }
    }
}

fn measure_as_text<S: Serializer>(measure: &Measure, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(measure)
}
