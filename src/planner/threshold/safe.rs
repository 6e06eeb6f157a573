//! What the strategy decides in its safe mode.

use super::{LOWER_BOUNDARY_SHARE, MARGIN, ThresholdShedder};
use crate::planner::relief::{Relief, Seat, Wish};
use crate::planner::{ClusterLoad, Constraints, Measure, Plan, Stopped, Trigger, Wanted, score};
use std::collections::BTreeMap;

/// What all brokers are measured by, in points.
#[derive(Clone, Copy, Debug)]
struct Averages {
    /// With history.
    smoothed: f64,
    /// Without.
    current: f64,
}

impl ThresholdShedder {
    pub(super) fn plan_safely(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let unsettled = self.unreported.unsettled(load);
        let mut relief = Relief::new(load, constraints, self.config.weights, &unsettled);
        let averages = self.take_in(&mut relief);
        let seats = relief.hottest_first();
        for seat in &seats {
            self.serve(&mut relief, seat, averages);
        }
        if self.config.lower_boundary && relief.draft.is_empty() {
            self.fill_the_coldest(&mut relief, &seats, averages);
        }
        let plan = relief.finish();
        self.unreported.add(&plan.moves);
        plan
    }

    /// Takes in what everybody bears, also those who cannot give now.
    fn take_in(&mut self, relief: &mut Relief<'_>) -> Averages {
        let mut points = BTreeMap::new();
        for (broker, _) in relief.draft.brokers() {
            let score = relief.draft.verdict(broker);
            let score = score.and_then(|verdict| verdict.score.as_ref());
            points.extend(score.map(|score| (broker, score.points)));
        }
        let ratios = points
            .iter()
            .map(|(broker, points)| (*broker, points / 100.0));
        self.history.smooth(ratios, self.config.history_ratio);
        let usage = self.history.usage();
        for (broker, usage) in usage {
            if let Some(verdict) = relief.draft.verdict(broker) {
                verdict.smoothed = Some(usage * 100.0);
            }
        }
        Averages {
            smoothed: score::average(usage.values().map(|usage| usage * 100.0)),
            current: score::average(points.into_values()),
        }
    }

    /// Lets one broker give if it is far above the average.
    fn serve<'a>(&self, relief: &mut Relief<'a>, seat: &Seat<'a>, averages: Averages) {
        let threshold = self.config.threshold_points;
        let (smoothed, current) = (self.usage_of(seat.party.id) * 100.0, seat.points);
        let stopped = if smoothed < averages.smoothed + threshold {
            Stopped::NearAverage {
                smoothed,
                current,
                average: averages.smoothed,
                threshold,
            }
        } else if current < averages.current + threshold || current <= averages.current {
            Stopped::HistoryOnly {
                smoothed,
                current,
                average: averages.current,
                threshold,
            }
        } else {
            let trigger = Trigger::AboveAverage {
                smoothed,
                current,
                average: averages.smoothed,
                threshold,
            };
            relief.draft.trigger(seat.party.id, trigger);
            let above = current - averages.current;
            return self.give(relief, seat, above, above - threshold + MARGIN * 100.0);
        };
        relief.draft.stop(seat.party.id, stopped);
    }

    /// Lets the most loaded broker that was not asked yet give if another is far below the average.
    fn fill_the_coldest<'a>(
        &self,
        relief: &mut Relief<'a>,
        seats: &[Seat<'a>],
        averages: Averages,
    ) {
        let threshold = self.config.threshold_points;
        let is_far_below = |seat: &Seat<'_>| {
            self.usage_of(seat.party.id) * 100.0 < averages.smoothed - threshold
                && seat.points < averages.current - threshold
        };
        let top = seats.iter().find(|seat| {
            let verdict = relief.draft.verdict(seat.party.id);
            let tried = verdict.is_none_or(|verdict| verdict.triggered.is_some());
            !tried && seat.party.load.bundles.len() > 1
        });
        if let Some(top) = top.filter(|_| seats.iter().any(is_far_below)) {
            let trigger = Trigger::MostLoaded {
                smoothed: self.usage_of(top.party.id) * 100.0,
                average: averages.smoothed,
            };
            relief.draft.trigger(top.party.id, trigger);
            let enough = threshold * LOWER_BOUNDARY_SHARE;
            self.give(
                relief,
                top,
                enough.max(top.points - averages.current),
                enough,
            );
        }
    }

    fn give<'a>(&self, relief: &mut Relief<'a>, seat: &Seat<'a>, most: f64, enough: f64) {
        let wish = Wish::of_points(seat, most, enough);
        let wanted = Wanted {
            measure: wish.measure,
            amount: wish.enough,
            minimum: self.config.throughput_min,
        };
        if wish.measure == Measure::Bytes && wanted.amount < wanted.minimum {
            relief
                .draft
                .stop(seat.party.id, Stopped::TooLittle { wanted });
        } else {
            relief.give(seat, wish);
        }
    }
}
