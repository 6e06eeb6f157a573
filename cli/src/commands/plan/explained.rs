//! Everything about one bundle or one broker, as `plan --explain` prints it.

use super::found::{Broker, Moving, Pair, Unloading};
use super::text;
use crate::Error;
use deedbook::ids::{BrokerId, BundleId};
use deedbook::planner::{ClusterLoad, Mode, Rehearsed, Strategy};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// What is to be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Bundle(BundleId),
    Broker(BrokerId),
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // No broker's name has slashes.
        if text.contains('/') {
            let bundle = text.parse().map(Self::Bundle);
            bundle.map_err(|error: deedbook::ids::Error| error.to_string())
        } else {
            let broker = text.parse().map(Self::Broker);
            broker.map_err(|error: deedbook::ids::Error| error.to_string())
        }
    }
}

impl Display for Subject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundle(bundle) => bundle.fmt(f),
            Self::Broker(broker) => broker.fmt(f),
        }
    }
}

/// What `plan --explain` found. Its keys are described in docs/cli.md.
#[derive(Debug, Serialize)]
pub(super) struct Explained {
    explained: Vec<Explanation>,
}

#[derive(Debug, Serialize)]
struct Explanation {
    strategy: Strategy,
    mode: Mode,
    rounds: u32,
    bundle: Option<OfBundle>,
    broker: Option<OfBroker>,
}

#[derive(Debug, Serialize)]
struct OfBundle {
    bundle: BundleId,
    message_rate: Option<f64>,
    throughput: Option<f64>,
    topics: Option<u64>,
    rule: &'static str,
    text: String,
}

#[derive(Debug, Serialize)]
struct OfBroker {
    verdict: Broker,
    pairs: Vec<Pair>,
    gives: Vec<Moving>,
    gets: Vec<Moving>,
    unloads: Vec<Unloading>,
}

impl Explained {
    /// # Errors
    ///
    /// [`Error::NothingToExplain`] if no report has it.
    pub(super) fn new(
        subject: &Subject,
        rehearsed: &[Rehearsed],
        load: &ClusterLoad,
    ) -> Result<Self, Error> {
        let is_known = match subject {
            Subject::Bundle(bundle) => {
                let mut brokers = load.brokers.values();
                brokers.any(|of| of.bundles.contains_key(bundle))
            }
            Subject::Broker(broker) => load.brokers.contains_key(broker),
        };
        if !is_known {
            let name = subject.to_string();
            return Err(Error::NothingToExplain { name });
        }
        let explained = rehearsed.iter().map(|found| Explanation {
            strategy: found.settings.strategy(),
            mode: found.settings.mode(),
            rounds: found.rounds,
            bundle: match subject {
                Subject::Bundle(bundle) => Some(OfBundle::new(bundle, found, load)),
                Subject::Broker(_) => None,
            },
            broker: match subject {
                Subject::Bundle(_) => None,
                Subject::Broker(broker) => OfBroker::new(broker, found, load),
            },
        });
        Ok(Self {
            explained: explained.collect(),
        })
    }
}

impl OfBundle {
    fn new(bundle: &BundleId, found: &Rehearsed, load: &ClusterLoad) -> Self {
        let fate = found.plan.fate(bundle, load);
        let mut owned = load
            .brokers
            .values()
            .filter_map(|of| of.bundles.get(bundle));
        let known = owned.next().and_then(Option::as_ref);
        Self {
            bundle: bundle.clone(),
            message_rate: known.map(|known| known.short_term.messages()),
            throughput: known.map(|known| known.short_term.bytes()),
            topics: known.map(|known| known.topics),
            rule: fate.rule(),
            text: fate.to_string(),
        }
    }
}

impl OfBroker {
    fn new(broker: &BrokerId, found: &Rehearsed, load: &ClusterLoad) -> Option<Self> {
        let plan = &found.plan;
        let moves = plan.moves.iter().cloned().map(Moving::from);
        let moves: Vec<_> = moves.collect();
        let verdict = plan.brokers.get(broker)?.clone();
        let unloads = plan.unloads.iter().filter(|one| one.from == *broker);
        let unloads: Vec<_> = unloads.cloned().map(Unloading::from).collect();
        let verdict = Broker::new(broker.clone(), verdict, load, (&moves, &unloads));
        let pairs = plan.pairs.iter();
        let pairs = pairs.filter(|pair| pair.hot == *broker || pair.cold == *broker);
        let (gives, moves): (Vec<_>, Vec<_>) =
            moves.into_iter().partition(|one| one.from == *broker);
        let gets = moves.into_iter().filter(|one| one.to == *broker).collect();
        Some(Self {
            verdict,
            pairs: pairs.cloned().map(Pair::from).collect(),
            gives,
            gets,
            unloads,
        })
    }
}

impl Display for Explained {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, explanation) in self.explained.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            explanation.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            strategy,
            mode,
            rounds,
            ..
        } = self;
        writeln!(f, "strategy {strategy}, mode {mode}, round {rounds}\n")?;
        if let Some(of) = &self.bundle {
            let mut says = |what, text: &str| text::statement(f, what, text);
            says("bundle", &of.bundle.to_string())?;
            match (of.message_rate, of.throughput, of.topics) {
                (Some(messages), Some(bytes), Some(topics)) => {
                    says("bears", &text::traffic(messages, bytes, topics))?;
                }
                _ => says("bears", "nothing is known of its load")?,
            }
            says("so it", &of.text)?;
        }
        if let Some(of) = &self.broker {
            of.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for OfBroker {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        text::broker(f, &self.verdict, &self.pairs)?;
        for (title, moves) in [("gives", &self.gives), ("gets", &self.gets)] {
            if !moves.is_empty() {
                writeln!(f, "\nWhat it {title}, in this order\n")?;
                f.write_str(&text::moves(moves))?;
            }
        }
        if !self.unloads.is_empty() {
            writeln!(f, "\nWhat leaves it, to where placement will have it\n")?;
            f.write_str(&text::unloads(&self.unloads))?;
        }
        text::kept(f, &self.verdict, usize::MAX)
    }
}
