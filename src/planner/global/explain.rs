//! What a search found, as part of a plan.

use super::Config;
use super::ground::{Ground, Step};
use super::stock::Item;
use crate::ids::BundleId;
use crate::planner::guard::After;
use crate::planner::outlook::Scores;
use crate::planner::{Kept, Move, Stopped};

impl<'a> Ground<'a> {
    /// The moves made, in order.
    pub(super) fn moves(&self) -> impl Iterator<Item = Move> {
        self.made.iter().filter_map(|made| {
            let item = self.item(made.step)?;
            let (from, to) = self.parties(made.step)?;
            let after = After::new(&made.from, &made.to, &item.cargo.burden);
            Some(after.of(&item.cargo, (from.id, to.id), Scores::worst))
        })
    }

    /// Why a broker gives no more than it does.
    pub(super) fn standing(&self, index: usize) -> Stopped {
        let Config {
            moves_max,
            tolerance_points,
            steps_max,
            ..
        } = *self.config;
        let points = self.score(index);
        let level = self.level;
        if points <= level + tolerance_points {
            Stopped::NearLevel { points, level }
        } else if self.is_spent() {
            Stopped::BudgetSpent { moves: moves_max }
        } else if self.steps_left == 0 {
            Stopped::OutOfSteps { steps: steps_max }
        } else {
            Stopped::NothingHelps { points, level }
        }
    }

    /// The bundles of a broker that stay, as far as they were looked at, and why.
    pub(super) fn kept(&mut self, index: usize, standing: &Stopped) -> Vec<(BundleId, Kept)> {
        let Some(stock) = self.stocks.get_mut(&index) else {
            return Vec::new();
        };
        let mut kept = std::mem::take(&mut stock.kept);
        for item in 0..stock.items.len() {
            let step = Step {
                from: index,
                item,
                to: index,
            };
            let Some(item) = self.item(step).copied().filter(|item| !item.gone) else {
                continue;
            };
            let rule = match standing {
                Stopped::NearLevel { .. } => Kept::NotNeeded,
                Stopped::BudgetSpent { .. } | Stopped::OutOfSteps { .. } => Kept::NotReached,
                _ => self.rule(step, &item),
            };
            kept.push((item.cargo.bundle.clone(), rule));
        }
        kept
    }

    /// What bars a bundle from the first broker that would gain by it, if there is one.
    fn rule(&mut self, step: Step, item: &Item<'a>) -> Kept {
        for to in self.destinations(step.from) {
            let parties = self.parties(Step { to, ..step });
            let checked = parties.map(|(from, to)| self.guard.check(&item.cargo, &from, &to));
            match checked {
                Some(Err(Kept::WouldNotGain)) | None | Some(Ok(_)) => {}
                Some(Err(rule)) => return rule,
            }
        }
        Kept::WouldNotGain
    }
}
