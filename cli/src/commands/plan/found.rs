//! What `plan` found, in the form in which it is printed.

use super::splits::Splits;
use deedbook::ids::{BrokerId, BundleId};
use deedbook::planner::{
    self, BrokerVerdict, ClusterLoad, Hits, Kept, Measure, Mode, Move, PairVerdict, Rehearsed,
    SearchVerdict, Stopped, Strategy, Trigger, Unload,
};
use deedbook::reports;
use serde::{Serialize, Serializer};

/// What `plan` found. Its keys are described in docs/cli.md.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    pub(super) strategy: Strategy,
    pub(super) mode: Mode,
    /// How many rounds saw the load; something moves in the last one, or nothing ever does.
    pub(super) rounds: u32,
    pub(super) brokers: Vec<Broker>,
    pub(super) pairs: Vec<Pair>,
    pub(super) moves: Vec<Moving>,
    pub(super) unloads: Vec<Unloading>,
    pub(super) search: Option<Search>,
    pub(super) splits: Splits,
    pub(super) notes: Vec<Note>,
}

#[derive(Debug, Serialize)]
pub(super) struct Broker {
    pub(super) broker: BrokerId,
    pub(super) score: Option<f64>,
    /// The expected score after all moves.
    pub(super) score_after: Option<f64>,
    /// The score with its history, where the strategy goes by that.
    pub(super) smoothed: Option<f64>,
    pub(super) resource: Option<String>,
    pub(super) unknown_resources: Vec<String>,
    pub(super) message_rate: f64,
    pub(super) throughput: f64,
    pub(super) bundles: usize,
    pub(super) triggered: Option<Rule>,
    pub(super) amount: Option<Amount>,
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
pub(super) struct Unloading {
    pub(super) bundle: BundleId,
    pub(super) from: BrokerId,
    pub(super) message_rate: f64,
    pub(super) throughput: f64,
}

/// What a search over the whole cluster found.
#[derive(Debug, Serialize)]
pub(super) struct Search {
    pub(super) level: f64,
    pub(super) imbalance_before: f64,
    pub(super) imbalance_after: f64,
    pub(super) imbalance_after_avg: f64,
    pub(super) moved_share: f64,
    pub(super) moved_share_avg: f64,
    pub(super) above_before: usize,
    pub(super) above_after: usize,
    pub(super) steps: u64,
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
        load: &ClusterLoad,
        rehearsed: Rehearsed,
        splits: Splits,
        notes: Vec<reports::Note>,
    ) -> Self {
        let Rehearsed {
            settings,
            rounds,
            plan,
            ..
        } = rehearsed;
        let moves: Vec<_> = plan.moves.into_iter().map(Moving::from).collect();
        let unloads: Vec<_> = plan.unloads.into_iter().map(Unloading::from).collect();
        let brokers = plan.brokers.into_iter();
        let brokers = brokers
            .map(|(broker, verdict)| Broker::new(broker, verdict, load, (&moves, &unloads)))
            .collect();
        Self {
            strategy: settings.strategy(),
            mode: settings.mode(),
            rounds,
            brokers,
            pairs: plan.pairs.into_iter().map(Pair::from).collect(),
            moves,
            unloads,
            search: plan.search.map(Search::from),
            splits,
            notes: notes.into_iter().map(Note::from).collect(),
        }
    }
}

impl Broker {
    pub(super) fn new(
        broker: BrokerId,
        verdict: BrokerVerdict,
        load: &ClusterLoad,
        (moves, unloads): (&[Moving], &[Unloading]),
    ) -> Self {
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
        // What comes of what leaves it is known once there is a destination.
        let open = unloads.iter().any(|leaving| leaving.from == broker);
        let kept = verdict.kept.into_iter();
        Self {
            score,
            score_after: after.or(score).filter(|_| !open),
            smoothed: verdict.smoothed,
            resource: resource.map(|resource| resource.to_string()),
            unknown_resources,
            message_rate: traffic.messages(),
            throughput: traffic.bytes(),
            bundles: verdict.bundles,
            triggered: verdict.triggered.as_ref().map(Rule::from),
            amount: verdict.amount.map(Amount::from),
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

impl From<Unload> for Unloading {
    fn from(leaving: Unload) -> Self {
        Self {
            message_rate: leaving.load.messages(),
            throughput: leaving.load.bytes(),
            bundle: leaving.bundle,
            from: leaving.from,
        }
    }
}

impl From<SearchVerdict> for Search {
    fn from(search: SearchVerdict) -> Self {
        Self {
            level: search.level,
            imbalance_before: search.potential_before,
            imbalance_after: search.potential_after,
            imbalance_after_avg: search.potential_after_avg,
            moved_share: search.moved_share,
            moved_share_avg: search.moved_share_avg,
            above_before: search.above_before,
            above_after: search.above_after,
            steps: search.steps,
        }
    }
}

impl From<planner::Amount> for Amount {
    fn from(amount: planner::Amount) -> Self {
        Self {
            measure: amount.measure,
            wanted: amount.wanted,
            reached: amount.reached,
        }
    }
}

impl From<&Trigger> for Rule {
    fn from(trigger: &Trigger) -> Self {
        Self {
            rule: trigger.rule(),
            text: trigger.to_string(),
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
            amount: pair.amount.map(Amount::from),
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
