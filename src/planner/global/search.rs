//! The search for the moves that even a cluster out.

use super::ground::{Ground, Outcome, Step};
use crate::ids::BundleId;
use crate::planner::Move;
use crate::planner::outlook::Potential;
use std::collections::{BTreeMap, BTreeSet};

/// So many bundles of about the right size are tried.
const ITEMS_TRIED: usize = 8;

/// A bundle that is so many times what a broker must give is preferred to several smaller ones.
const SURPLUS: f64 = 1.5;

/// How far a single move may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stride {
    /// As far as one of both brokers reaches the end of the tolerance: no more moves than must.
    Frugal,
    /// As far as both are even: the fewest moves.
    Bold,
}

impl<'a> Ground<'a> {
    /// Finds moves that are never worse than those given, and says what these come to.
    pub(super) fn run(&mut self, given: &[Move]) -> Outcome {
        self.follow(given);
        let of_given = self.outcome;
        let bound = of_given.potential;
        let mut best = (self.outcome, self.take_back(0));
        for stride in [Stride::Frugal, Stride::Bold] {
            self.extend(stride, bound);
            let found = self.outcome;
            let steps = self.take_back(0);
            if found.potential.is_no_worse_than(bound) && found.is_better_than(&best.0) {
                best = (found, steps);
            }
        }
        for step in best.1 {
            self.make(step);
        }
        loop {
            let before = self.outcome;
            self.extend(Stride::Frugal, bound);
            self.refine(bound);
            if self.steps_left == 0 || !self.outcome.is_better_than(&before) {
                return of_given;
            }
        }
    }

    /// Makes moves that were found elsewhere, as far as they are improvements here too.
    fn follow(&mut self, given: &[Move]) {
        let index_of: BTreeMap<_, _> = self
            .seats
            .iter()
            .enumerate()
            .map(|(i, s)| (s.party.id, i))
            .collect();
        let mut items: BTreeMap<usize, BTreeMap<&'a BundleId, usize>> = BTreeMap::new();
        for planned in given.iter().take(self.config.moves_max) {
            let (Some(&from), Some(&to)) = (index_of.get(&planned.from), index_of.get(&planned.to))
            else {
                continue;
            };
            self.open(from);
            let stocks = &self.stocks;
            let known = items.entry(from).or_insert_with(|| {
                let items = stocks.get(&from).map_or(&[][..], |stock| &stock.items);
                items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| (item.cargo.bundle, i))
                    .collect()
            });
            let Some(&item) = known.get(&planned.bundle) else {
                continue;
            };
            let step = Step { from, item, to };
            if self.improves(step) {
                self.make(step);
            }
        }
    }

    /// Makes one move after the other, each from the hottest broker that can give to the coldest
    /// that can take, until all is well, nothing helps or the budget is spent. Ends at the best of
    /// all states that it came through.
    fn extend(&mut self, stride: Stride, bound: Potential) {
        let mut best = (self.outcome, self.made.len());
        let mut stuck = BTreeSet::new();
        let mut moved_since = false;
        while self.steps_left > 0 && !self.is_spent() && !self.is_well(bound) {
            if let Some(step) = self.next(stride, bound, &mut stuck) {
                self.make(step);
                moved_since = true;
                if self.is_eligible(best.0, bound) {
                    best = (self.outcome, self.made.len());
                }
            } else if std::mem::take(&mut moved_since) {
                // What could not give before may find the others changed.
                stuck.clear();
            } else {
                break;
            }
        }
        self.take_back(best.1);
    }

    /// Whether the present state is to be preferred to another one.
    fn is_eligible(&self, best: Outcome, bound: Potential) -> bool {
        let within = |outcome: Outcome| outcome.potential.is_no_worse_than(bound);
        match (within(self.outcome), within(best)) {
            (true, false) => true,
            (false, true) => false,
            (false, false) => self.outcome.potential.improves_on(best.potential),
            (true, true) => self.outcome.is_better_than(&best),
        }
    }

    fn is_well(&self, bound: Potential) -> bool {
        self.outcome.above == 0 && self.outcome.potential.is_no_worse_than(bound)
    }

    fn next(
        &mut self,
        stride: Stride,
        bound: Potential,
        stuck: &mut BTreeSet<usize>,
    ) -> Option<Step> {
        let beyond_bound = !self.outcome.potential.is_no_worse_than(bound);
        let coldest = self.hottest_first().next_back().map_or(0.0, |last| last.0);
        let hot: Vec<_> = self.hottest_first().collect();
        for (hotness, from) in hot {
            if hotness <= coldest || self.steps_left == 0 {
                return None;
            }
            if hotness <= self.top() && !beyond_bound {
                return None;
            }
            if stuck.contains(&from) {
                continue;
            }
            self.open(from);
            for to in self.destinations(from) {
                if self.score(to) < hotness
                    && let Some(step) = self.fit(from, to, stride)
                {
                    return Some(step);
                }
            }
            stuck.insert(from);
        }
        None
    }

    /// A bundle of the right size for two brokers.
    fn fit(&mut self, from: usize, to: usize, stride: Stride) -> Option<Step> {
        let (hot, cold) = (self.score(from), self.score(to));
        let top = self.top();
        let items = &self.stocks.get(&from)?.items;
        let stands = |item: &usize| items.get(*item).is_some_and(|item| !item.gone);
        // Biggest first: those up to the middle are bigger than the size, the nearest one last.
        let around = |size: f64| {
            let middle = items.partition_point(|item| item.size > size);
            let smaller: Vec<_> = (middle..items.len())
                .filter(stands)
                .take(ITEMS_TRIED)
                .collect();
            let bigger: Vec<_> = (0..middle).rev().filter(stands).take(ITEMS_TRIED).collect();
            (smaller, bigger)
        };
        let need = hot - top;
        let tried = if stride == Stride::Frugal && need > 0.0 && cold < top {
            // What just suffices is best, unless it is much more than that.
            let (smaller, bigger) = around(need.min(top - cold));
            let suffices = |item: &usize| {
                let size = items.get(*item).map_or(f64::INFINITY, |item| item.size);
                size <= (need * SURPLUS).min(top - cold)
            };
            let (enough, too_big): (Vec<_>, Vec<_>) = bigger.into_iter().partition(suffices);
            [enough, smaller, too_big].concat()
        } else {
            let (smaller, bigger) = around((hot - cold) / 2.0);
            [smaller, bigger].concat()
        };
        let mut tried = tried.into_iter().map(|item| Step { from, item, to });
        tried.find(|step| self.improves(*step))
    }

    /// Leaves out moves, or puts others in their place, as long as that is better.
    fn refine(&mut self, bound: Potential) {
        let mut index = 0;
        while index < self.made.len() && self.steps_left > 0 {
            let changed = self
                .alternatives(index)
                .into_iter()
                .any(|alternative| self.steps_left > 0 && self.replace(index, alternative, bound));
            if !changed {
                index += 1;
            }
        }
    }

    /// What could be done instead of one of the moves: nothing, a bundle with less traffic, another
    /// destination.
    fn alternatives(&self, index: usize) -> Vec<Option<Step>> {
        let Some(made) = self.made.get(index) else {
            return Vec::new();
        };
        let step = made.step;
        let mut alternatives = vec![None];
        let Some(stock) = self.stocks.get(&step.from) else {
            return alternatives;
        };
        let weight = stock.items.get(step.item).map_or(0.0, |item| item.weight);
        let lighter = stock.items.iter().enumerate().skip(step.item + 1);
        let lighter = lighter.filter(|(_, item)| item.weight < weight && !item.gone);
        alternatives.extend(
            lighter
                .take(ITEMS_TRIED)
                .map(|(item, _)| Some(Step { item, ..step })),
        );
        let others = self
            .destinations(step.from)
            .into_iter()
            .filter(|to| *to != step.to);
        alternatives.extend(others.map(|to| Some(Step { to, ..step })));
        alternatives
    }

    /// Does something else instead of one move and then again what followed; takes it back unless
    /// each move still is an improvement and the end is better.
    fn replace(&mut self, index: usize, instead: Option<Step>, bound: Potential) -> bool {
        let before = self.outcome;
        let better = |outcome: &Outcome| {
            outcome.potential.is_no_worse_than(bound) && outcome.is_better_than(&before)
        };
        self.steps_left = self.steps_left.saturating_sub(1);
        if !self
            .foresee(index, instead)
            .is_some_and(|outcome| better(&outcome))
        {
            return false;
        }
        let old = self.take_back(index);
        let followers = old.iter().skip(1).copied();
        let sound = instead.into_iter().chain(followers).all(|step| {
            let improves = self.steps_left > 0 && self.improves(step);
            if improves {
                self.make(step);
            }
            improves
        });
        let kept = sound && better(&self.outcome);
        if !kept {
            self.take_back(index);
            for step in old {
                self.make(step);
            }
        }
        kept
    }
}
