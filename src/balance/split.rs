//! Splits of bundles that stay too big: from load and table to requests, and what became of them.

use super::owned;
use super::rounds::Switch;
use crate::ids::{BundleId, Cuts, Namespace, Position};
use crate::planner::split::{
    Config, Split, SplitPlan, SplitStrategy, Surroundings, TopicLoad, Topics,
};
use crate::planner::{ClusterLoad, Error};
use crate::protocol::{Action, Answer, Refused, Request};
use crate::state::{Record, Row, State, View};
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// A split, ready to be asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitOrder {
    /// What to split, where and why.
    pub split: Split,
    /// The version of its row when it was planned.
    pub expected: Position,
}

/// What became of a split.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitReport {
    /// The split.
    pub order: SplitOrder,
    /// How it ended: [`Answer::Done`] if it was made.
    pub answer: Answer,
}

/// Splits bundles that stay too big, round by round, by the reports that it is given: an owner
/// gives it its own, a leader those of all brokers.
///
/// Reports may be older than the table: what a broker does not own any more is left out, and what
/// is being split waits. A split that fails is tried again once its bundle was too big for long
/// enough anew.
///
/// # Examples
///
/// ```
/// use deedbook::balance::Splitter;
/// use deedbook::planner::ClusterLoad;
/// use deedbook::planner::split::{Config, Topics};
/// use deedbook::table::Table;
///
/// let mut splitter = Splitter::new(Config::default())?;
/// let plan = splitter.round(&Table::default(), ClusterLoad::default(), Topics::new());
/// assert!(plan.splits.is_empty() && splitter.due().is_empty());
/// # Ok::<(), deedbook::planner::Error>(())
/// ```
#[derive(Debug)]
pub struct Splitter {
    strategy: SplitStrategy,
    /// The strategy as it was before the first round.
    fresh: SplitStrategy,
    switch: Switch,
    planned: Vec<SplitOrder>,
    under_way: BTreeMap<BundleId, SplitOrder>,
}

impl SplitOrder {
    /// What to ask of the protocol.
    #[must_use]
    pub fn request(&self) -> Request {
        Request::Bundle {
            bundle: self.split.bundle.clone(),
            expected: Some(self.expected),
            action: Action::Split {
                cuts: self.split.cuts.clone(),
            },
        }
    }
}

impl Splitter {
    /// One that has seen nothing yet, and is switched on.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the configuration holds a number that it cannot work with.
    pub fn new(config: Config) -> Result<Self, Error> {
        let strategy = SplitStrategy::new(config)?;
        Ok(Self {
            fresh: strategy.clone(),
            strategy,
            switch: Switch::On,
            planned: Vec::new(),
            under_way: BTreeMap::new(),
        })
    }

    /// Turns it on or off, or has it wait. While it is not on, the strategy is not asked.
    pub fn switch(&mut self, switch: Switch) {
        self.switch = switch;
        if switch == Switch::Off {
            self.planned.clear();
        }
    }

    /// Plans one round. What is left of the round before is dropped: this one saw more.
    pub fn round(&mut self, table: &Table, mut load: ClusterLoad, topics: Topics) -> SplitPlan {
        if self.switch != Switch::On {
            return SplitPlan::default();
        }
        for (broker, reported) in &mut load.brokers {
            let bundles = &mut reported.bundles;
            bundles.retain(|bundle, _| owned(table, broker, bundle).is_some());
        }
        let splitting = table.in_flight();
        let splitting = splitting.filter(|(_, row)| matches!(row.record, Record::Splitting { .. }));
        let splitting = splitting.map(|(bundle, _)| bundle.clone());
        let around = Surroundings {
            topics,
            splitting: splitting.chain(self.under_way.keys().cloned()).collect(),
            bundles: counts(&load, table),
        };
        let plan = self.strategy.plan(&load, &around);
        let order = |split: &Split| {
            let expected = table.get(&split.bundle)?.version;
            let split = split.clone();
            Some(SplitOrder { split, expected })
        };
        self.planned = plan.splits.iter().filter_map(order).collect();
        plan
    }

    /// The splits to ask for now, the most urgent first.
    pub fn due(&mut self) -> Vec<SplitOrder> {
        if self.switch != Switch::On {
            return Vec::new();
        }
        let due = std::mem::take(&mut self.planned);
        let asked = due.iter().cloned();
        self.under_way
            .extend(asked.map(|order| (order.split.bundle.clone(), order)));
        due
    }

    /// Takes in how a split ended.
    pub fn on_answer(&mut self, bundle: &BundleId, answer: Answer) -> Option<SplitReport> {
        let order = self.under_way.remove(bundle)?;
        Some(SplitReport { order, answer })
    }

    /// The splits that were asked for and have not ended.
    pub fn under_way(&self) -> impl Iterator<Item = &SplitOrder> {
        self.under_way.values()
    }

    /// Forgets what is planned, and for how long bundles were too big; what is under way goes on.
    pub(super) fn start_anew(&mut self) {
        self.planned.clear();
        self.strategy = self.fresh.clone();
    }
}

/// How many bundles the namespaces in the reports have.
fn counts(load: &ClusterLoad, table: &Table) -> BTreeMap<Namespace, usize> {
    let bundles = load.brokers.values().flat_map(|of| of.bundles.keys());
    let namespaces: BTreeSet<_> = bundles.map(BundleId::namespace).collect();
    let counted = namespaces.into_iter();
    counted
        .map(|namespace| (namespace.clone(), count(table, namespace)))
        .collect()
}

/// How many bundles a namespace has. Parents that are split already do not count.
fn count(table: &Table, namespace: &Namespace) -> usize {
    let is_part = |(_, row): &(&BundleId, &Row)| row.record != Record::Deleted;
    table.rows_of(namespace).filter(is_part).count()
}

/// Where the strategy cuts one bundle that somebody wants to have split at once, by what is known
/// of its topics; and the version of the row by which this was decided.
///
/// # Errors
///
/// [`Refused`], if nobody owns the bundle or it stays whole.
///
/// # Examples
///
/// ```
/// use deedbook::balance::find_cuts;
/// use deedbook::planner::split::{Config, SplitStrategy};
/// use deedbook::protocol::Refused;
/// use deedbook::table::Table;
///
/// let strategy = SplitStrategy::new(Config::default()).unwrap();
/// let bundle = "acme/orders/0x00000000_0xffffffff".parse().unwrap();
/// let refused = find_cuts(&strategy, &bundle, &[], &Table::default()).unwrap_err();
/// assert!(matches!(refused, Refused::Absent { .. }));
/// ```
pub fn find_cuts(
    strategy: &SplitStrategy,
    bundle: &BundleId,
    topics: &[TopicLoad],
    table: &Table,
) -> Result<(Position, Cuts), Refused> {
    let bundle = bundle.clone();
    let Some(row) = table.get(&bundle) else {
        let covering = table.covering(&bundle);
        return Err(Refused::Absent { bundle, covering });
    };
    let state = row.record.state();
    if state != State::Owned {
        return Err(Refused::WrongState { bundle, state });
    }
    let count = count(table, bundle.namespace());
    match strategy.cut(&bundle, topics, count) {
        Ok(cuts) => Ok((row.version, cuts)),
        Err(why) => Err(Refused::StaysWhole { bundle, why }),
    }
}
