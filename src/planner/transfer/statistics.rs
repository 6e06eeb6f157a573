//! How even the loads of all brokers are, before and while bundles are chosen.

use super::config::Config;
use crate::ids::BrokerId;
use crate::planner::{BrokerLoad, Smoothed, score};

/// The loads of all brokers, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Their average, 1.0 being a resource used up to its limit.
    pub average: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

/// The broker at one end of a ranking.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    /// A ratio.
    pub(super) usage: f64,
    /// Bytes a second.
    pub(super) throughput: f64,
}

/// A broker with a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reporter<'a> {
    pub(super) broker: &'a BrokerId,
    pub(super) load: &'a BrokerLoad,
    pub(super) smoothed: &'a Smoothed,
}

/// Brokers by their load, of which the most loaded are taken one by one, and the least loaded
/// looked at until one has received something.
#[derive(Debug)]
pub(super) struct Ranking<'a> {
    /// The least loaded first, ties by name. Those with old reports are among them.
    brokers: Vec<Reporter<'a>>,
    bottom: usize,
    top: usize,
    served: usize,
    count: f64,
    squares: f64,
    statistics: Statistics,
}

impl Statistics {
    /// Of loads as they are, in whatever order.
    pub(super) fn of_all(loads: impl Iterator<Item = f64> + Clone) -> Self {
        let average = score::average(loads.clone());
        let squares = loads.map(|load| (load - average) * (load - average));
        let deviation = score::average(squares).sqrt();
        Self { average, deviation }
    }

    /// Why something should move from the most loaded broker to the least loaded one; none if
    /// nothing should.
    pub(super) fn uneven(&self, top: End, bottom: End, config: &Config) -> Option<Uneven> {
        let share = config.underloaded_share();
        let underloaded =
            bottom.usage < self.average * share || bottom.throughput < top.throughput * share;
        let overloaded = top.usage > config.limit_points / 100.0
            && top.usage > self.average + config.deviation_target;
        if self.deviation > config.deviation_target {
            Some(Uneven::Deviation)
        } else if underloaded {
            Some(Uneven::Underloaded)
        } else if overloaded {
            Some(Uneven::Overloaded)
        } else {
            None
        }
    }

    fn of(sum: f64, squares: f64, count: f64) -> Self {
        let average = sum / count;
        let deviation = (squares / count - average * average).sqrt();
        Self { average, deviation }
    }
}

impl<'a> Ranking<'a> {
    /// Ranks brokers; none if no report is new enough.
    pub(super) fn new(mut brokers: Vec<Reporter<'a>>, config: &Config) -> Option<Self> {
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        for Reporter { smoothed, .. } in &brokers {
            if smoothed.age <= config.report_age_max {
                sum += smoothed.usage;
                squares += smoothed.usage * smoothed.usage;
                count += 1.0;
            }
        }
        brokers.sort_by(|a, b| a.smoothed.usage.total_cmp(&b.smoothed.usage));
        (count > 0.0).then(|| Self {
            bottom: 0,
            top: brokers.len(),
            served: 0,
            count,
            squares,
            statistics: Statistics::of(sum, squares, count),
            brokers,
        })
    }

    pub(super) const fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Whether one more may give.
    pub(super) fn goes_on(&self, config: &Config) -> bool {
        self.served < config.brokers_max && self.bottom + 1 < self.top
    }

    /// The most loaded broker that was not taken yet.
    pub(super) fn peek_top(&self) -> Option<Reporter<'a>> {
        let index = self.top.checked_sub(1)?;
        self.brokers.get(index).copied()
    }

    /// Takes it.
    pub(super) fn take_top(&mut self) -> Option<Reporter<'a>> {
        let top = self.peek_top()?;
        self.top -= 1;
        Some(top)
    }

    /// The least loaded broker that has received nothing yet.
    pub(super) fn peek_bottom(&self) -> Option<Reporter<'a>> {
        self.brokers.get(self.bottom).copied()
    }

    /// Why something should move now; none if nothing should.
    pub(super) fn uneven(&self, config: &Config) -> Option<Uneven> {
        let end = |reporter: Option<Reporter<'_>>| {
            reporter.map(|reporter| End {
                usage: reporter.smoothed.usage,
                throughput: reporter.smoothed.throughput,
            })
        };
        match (end(self.peek_top()), end(self.peek_bottom())) {
            (Some(top), Some(bottom)) => self.statistics.uneven(top, bottom, config),
            _ if self.statistics.deviation > config.deviation_target => Some(Uneven::Deviation),
            _ => None,
        }
    }

    /// Takes in that some load goes from one broker to the least loaded one. The average stays.
    pub(super) fn moved(&mut self, from: f64, to: f64, load: f64) {
        let (from_after, to_after) = ((from - load).max(0.0), to + load);
        self.squares -= from * from + to * to;
        self.squares += from_after * from_after + to_after * to_after;
        let average = self.statistics.average;
        let variance = self.squares / self.count - average * average;
        self.statistics.deviation = variance.abs().sqrt();
        self.bottom += 1;
        self.served += 1;
    }
}

/// By what a cluster is uneven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Uneven {
    /// The loads deviate too much from their average.
    Deviation,
    /// One broker bears hardly anything.
    Underloaded,
    /// One broker bears too much, and far more than the others.
    Overloaded,
}
