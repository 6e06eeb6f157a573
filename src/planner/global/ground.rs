//! The cluster as it will be after the moves made so far, and what may be done to it.

use super::Config;
use super::stock::{Item, Stock};
use crate::ids::BrokerId;
use crate::planner::guard::{Guard, Party};
use crate::planner::outlook::{Machine, Potential};
use crate::planner::{ClusterLoad, Constraints, Traffic};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// So many of the coldest brokers are tried as a destination, and so many of those with most room.
const DESTINATIONS_TRIED: usize = 6;

/// One broker that takes part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat<'a> {
    pub(super) party: Party<'a>,
    /// How big a machine it is: its share of all limits.
    capacity: f64,
}

/// One move: which item of which broker's stock, and whose it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: usize,
    pub(super) item: usize,
    pub(super) to: usize,
}

/// What a sequence of moves comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) potential: Potential,
    /// By how much scores are above the tolerance, squared and summed up.
    pub(super) excess: f64,
    /// Brokers above the tolerance.
    pub(super) above: usize,
    /// Which share of the cluster's traffic moves: of messages and of bytes, on average.
    pub(super) moved: f64,
}

/// A move that was made, and what there was before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) step: Step,
    pub(super) from: Machine,
    pub(super) to: Machine,
    outcome: Outcome,
}

/// The cluster after the moves made so far.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) config: &'a Config,
    pub(super) guard: Guard<'a>,
    pub(super) seats: Vec<Seat<'a>>,
    pub(super) stocks: BTreeMap<usize, Stock<'a>>,
    /// Everybody by the worse of both scores, as bits: they are never negative.
    order: BTreeSet<(u64, usize)>,
    /// Everybody below the tolerance by how much it could take, as bits.
    room: BTreeSet<(u64, usize)>,
    pub(super) made: Vec<Made>,
    pub(super) outcome: Outcome,
    /// The score of everybody if all resources were used evenly.
    pub(super) level: f64,
    traffic: Traffic,
    pub(super) steps_left: u64,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        config: &'a Config,
        constraints: &'a Constraints,
        load: &'a ClusterLoad,
        taking_part: impl Iterator<Item = &'a BrokerId>,
    ) -> Self {
        let mut seats: Vec<_> = taking_part
            .filter_map(|id| load.brokers.get_key_value(id))
            .map(|(id, load)| Seat {
                party: Party::new(id, load, config.avg.weights),
                capacity: 0.0,
            })
            .collect();
        // By what they bear: sums must not depend on names, not even in the last digit.
        seats.sort_by(|a, b| {
            let key = |seat: &Seat<'_>| {
                let traffic = &seat.party.load.traffic;
                [seat.party.score(), traffic.messages(), traffic.bytes()]
            };
            let (a, b) = (key(a), key(b));
            let ordered = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b));
            ordered.fold(Ordering::Equal, Ordering::then)
        });
        measure_capacity(&mut seats, config);
        let mut search = Self {
            config,
            guard: Guard::new(constraints, load),
            stocks: BTreeMap::new(),
            order: BTreeSet::new(),
            room: BTreeSet::new(),
            made: Vec::new(),
            outcome: Outcome {
                potential: Potential::default(),
                excess: 0.0,
                above: 0,
                moved: 0.0,
            },
            level: level(&seats, config),
            traffic: seats.iter().map(|seat| seat.party.load.traffic).sum(),
            steps_left: config.steps_max,
            seats,
        };
        for index in 0..search.seats.len() {
            search.enter(index);
        }
        search.outcome = search.look();
        search
    }

    /// Whether a move is legal and lowers the potential, and leaves nobody hotter than its source
    /// is before it. One step of thinking.
    pub(super) fn improves(&mut self, step: Step) -> bool {
        self.steps_left = self.steps_left.saturating_sub(1);
        match (self.item(step).copied(), self.parties(step)) {
            (Some(item), Some((from, to))) => {
                !item.gone && self.guard.check(&item.cargo, &from, &to).is_ok()
            }
            _ => false,
        }
    }

    /// The two brokers of a move.
    pub(super) fn parties(&self, step: Step) -> Option<(Party<'a>, Party<'a>)> {
        let party = |index: usize| self.seats.get(index).map(|seat| seat.party);
        party(step.from).zip(party(step.to))
    }

    pub(super) fn make(&mut self, step: Step) {
        let (Some(item), Some((from, to))) = (self.item(step).copied(), self.parties(step)) else {
            return;
        };
        self.made.push(Made {
            step,
            from: from.machine,
            to: to.machine,
            outcome: self.outcome,
        });
        self.mark(step, true);
        self.guard.ship(&item.cargo, from.id, to.id);
        self.set(step.from, from.machine.without(&item.cargo.burden));
        self.set(step.to, to.machine.with(&item.cargo.burden));
        self.outcome.moved += item.weight;
    }

    fn mark(&mut self, step: Step, gone: bool) {
        let stock = self.stocks.get_mut(&step.from);
        if let Some(item) = stock.and_then(|stock| stock.items.get_mut(step.item)) {
            item.gone = gone;
        }
    }

    /// Takes back all but the first moves, which gives the moves taken back.
    pub(super) fn take_back(&mut self, keep: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        while self.made.len() > keep {
            let Some(made) = self.made.pop() else { break };
            self.set(made.step.to, made.to);
            self.set(made.step.from, made.from);
            self.outcome = made.outcome;
            self.mark(made.step, false);
            if let (Some(item), Some((from, to))) =
                (self.item(made.step).copied(), self.parties(made.step))
            {
                self.guard.take_back(&item.cargo, from.id, to.id);
            }
            steps.push(made.step);
        }
        steps.reverse();
        steps
    }

    /// Whether the budget of moves is spent.
    pub(super) fn is_spent(&self) -> bool {
        self.made.len() >= self.config.moves_max
    }

    pub(super) fn item(&self, step: Step) -> Option<&Item<'a>> {
        self.stocks.get(&step.from)?.items.get(step.item)
    }

    pub(super) fn score(&self, index: usize) -> f64 {
        let seat = self.seats.get(index);
        seat.map_or(0.0, |seat| seat.party.score())
    }

    /// Everybody with the score, hottest first.
    pub(super) fn hottest_first(&self) -> impl DoubleEndedIterator<Item = (f64, usize)> {
        let order = self.order.iter().rev();
        order.map(|&(key, index)| (f64::from_bits(key), index))
    }

    /// The highest score within the tolerance.
    pub(super) fn top(&self) -> f64 {
        self.level + self.config.tolerance_points
    }

    /// The brokers to try as a destination: the coldest, and those with the most room; or all that
    /// are colder, where not everybody may have everything.
    pub(super) fn destinations(&self, from: usize) -> Vec<usize> {
        if !self.guard.legality.is_free() {
            let colder = self.order.range(..(self.score(from).to_bits(), 0));
            return colder.map(|&(_, index)| index).collect();
        }
        let of = |order: &mut dyn Iterator<Item = &(u64, usize)>| -> Vec<usize> {
            let others = order
                .map(|&(_, index)| index)
                .filter(|index| *index != from);
            others.take(DESTINATIONS_TRIED).collect()
        };
        let mut destinations = of(&mut self.order.iter());
        let roomy = of(&mut self.room.iter().rev());
        for index in roomy {
            if !destinations.contains(&index) {
                destinations.push(index);
            }
        }
        destinations
    }

    pub(super) fn open(&mut self, index: usize) {
        if let (false, Some(seat)) = (self.stocks.contains_key(&index), self.seats.get(index)) {
            // Machines change; what a bundle takes along is a share of what was reported.
            let reported = Machine::new(seat.party.load, self.config.avg.weights);
            let stock = Stock::new(seat.party.load, &reported, &self.guard, &self.traffic);
            self.stocks.insert(index, stock);
        }
    }

    /// What it would come to in the end if something else were done instead of one of the moves:
    /// nothing, or another one of the same source.
    pub(super) fn foresee(&self, index: usize, instead: Option<Step>) -> Option<Outcome> {
        let step = self.made.get(index)?.step;
        let item = self.item(step)?;
        let machine = |index: usize| self.seats.get(index).map(|seat| seat.party.machine);
        let mut from = machine(step.from)?.with(&item.cargo.burden);
        let mut to = machine(step.to)?.without(&item.cargo.burden);
        let mut outcome = self.outcome;
        outcome.moved -= item.weight;
        if let Some(other) = instead {
            let item = self.item(other)?;
            outcome.moved += item.weight;
            from = from.without(&item.cargo.burden);
            if other.to == step.to {
                to = to.with(&item.cargo.burden);
            } else {
                let before = machine(other.to)?;
                self.account(&mut outcome, &before, &before.with(&item.cargo.burden));
            }
        }
        self.account(&mut outcome, &machine(step.from)?, &from);
        self.account(&mut outcome, &machine(step.to)?, &to);
        Some(outcome)
    }

    fn set(&mut self, index: usize, machine: Machine) {
        self.leave(index);
        let Some(seat) = self.seats.get_mut(index) else {
            return;
        };
        let old = std::mem::replace(&mut seat.party.machine, machine);
        self.enter(index);
        let mut outcome = self.outcome;
        self.account(&mut outcome, &old, &machine);
        self.outcome = outcome;
    }

    /// Puts one broker's part of an outcome in the place of what it was.
    fn account(&self, outcome: &mut Outcome, old: &Machine, new: &Machine) {
        let (was, is) = (self.beyond(old), self.beyond(new));
        outcome.potential = outcome
            .potential
            .minus(old.scores().squared())
            .plus(new.scores().squared());
        outcome.above -= usize::from(was > 0.0);
        outcome.above += usize::from(is > 0.0);
        outcome.excess = if outcome.above == 0 {
            0.0
        } else {
            outcome.excess - was + is
        };
    }

    /// Takes a broker into the orders.
    fn enter(&mut self, index: usize) {
        self.order.insert((self.score(index).to_bits(), index));
        self.room.extend(self.room_of(index));
    }

    fn leave(&mut self, index: usize) {
        self.order.remove(&(self.score(index).to_bits(), index));
        if let Some(room) = self.room_of(index) {
            self.room.remove(&room);
        }
    }

    fn room_of(&self, index: usize) -> Option<(u64, usize)> {
        let below = self.top() - self.score(index);
        let capacity = self.seats.get(index).map_or(0.0, |seat| seat.capacity);
        (below > 0.0).then(|| ((below * capacity).to_bits(), index))
    }

    /// By how much a broker is above the tolerance, squared.
    fn beyond(&self, machine: &Machine) -> f64 {
        let beyond = (machine.scores().worst() - self.top()).max(0.0);
        beyond * beyond
    }

    fn look(&self) -> Outcome {
        let mut outcome = Outcome {
            potential: Potential::default(),
            excess: 0.0,
            above: 0,
            moved: 0.0,
        };
        for seat in &self.seats {
            let beyond = self.beyond(&seat.party.machine);
            outcome.potential = outcome
                .potential
                .plus(seat.party.machine.scores().squared());
            outcome.excess += beyond;
            outcome.above += usize::from(beyond > 0.0);
        }
        outcome
    }
}

impl Outcome {
    /// Whether less is above the tolerance or, that being equal, less moves.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        const ROUNDING: f64 = 1e-9;
        let less = |a: f64, b: f64| a < b * (1.0 - ROUNDING);
        less(self.excess, other.excess)
            || !less(other.excess, self.excess) && less(self.moved, other.moved)
    }
}

/// Measures how big each machine is beside the others.
fn measure_capacity(seats: &mut [Seat<'_>], config: &Config) {
    for (kind, _) in config.avg.weights.scored() {
        let limit = |seat: &Seat<'_>| {
            let resource = seat.party.load.resource(kind);
            let usable = resource.filter(|resource| resource.ratio().is_some());
            usable.map_or(0.0, |resource| resource.limit)
        };
        let all: f64 = seats.iter().map(limit).sum();
        for seat in seats.iter_mut().filter(|_| all > 0.0) {
            seat.capacity += limit(seat) / all;
        }
    }
}

/// The score of everybody if all resources were used evenly.
fn level(seats: &[Seat<'_>], config: &Config) -> f64 {
    let of = |(kind, weight)| {
        let mut usage = 0.0;
        let mut limit = 0.0;
        for seat in seats {
            let resource = seat.party.load.resource(kind);
            if let Some(resource) = resource.filter(|resource| resource.ratio().is_some()) {
                usage += resource.usage;
                limit += resource.limit;
            }
        }
        if limit > 0.0 {
            usage * 100.0 / limit * weight
        } else {
            0.0
        }
    };
    let levels = config.avg.weights.scored().map(of);
    levels.into_iter().fold(0.0, f64::max)
}
