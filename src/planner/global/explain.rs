//! What a search found, as part of a plan.

use super::Config;
use super::ground::{Ground, Step};
use crate::ids::BundleId;
use crate::planner::{Kept, Move, Stopped};

impl Ground<'_> {
    /// The moves made, in order.
    pub(super) fn moves(&self) -> impl Iterator<Item = Move> {
        self.made.iter().filter_map(|made| {
            let item = self.item(made.step)?;
            Some(Move {
                bundle: item.bundle.clone(),
                from: self.seats.get(made.step.from)?.id.clone(),
                to: self.seats.get(made.step.to)?.id.clone(),
                load: item.load.short_term,
                from_score_after: made.from.without(&item.burden).scores().worst(),
                to_score_after: made.to.with(&item.burden).scores().worst(),
            })
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
            let standing_item = self.item(step).filter(|item| !item.gone);
            let Some(bundle) = standing_item.map(|item| item.bundle) else {
                continue;
            };
            let rule = match standing {
                Stopped::NearLevel { .. } => Kept::NotNeeded,
                Stopped::BudgetSpent { .. } | Stopped::OutOfSteps { .. } => Kept::NotReached,
                _ => self.barred(step).unwrap_or(Kept::WouldNotGain),
            };
            kept.push((bundle.clone(), rule));
        }
        kept
    }

    /// What bars a bundle from the coldest broker, if it is barred from all that would be tried.
    fn barred(&mut self, step: Step) -> Option<Kept> {
        let mut first = None;
        for to in self.destinations(step.from) {
            let passage = self.passage(Step { to, ..step })?;
            let barred = self.legality.bar(passage)?;
            first = first.or(Some(Kept::NoLegalDestination { barred }));
        }
        first
    }
}
