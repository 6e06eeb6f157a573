//! What the strategy decides in its safe mode.

use super::{MARGIN, OverloadShedder};
use crate::planner::relief::{Relief, Wish};
use crate::planner::{ClusterLoad, Constraints, Plan, Stopped, Trigger, Weights, score};

impl OverloadShedder {
    pub(super) fn plan_safely(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let unsettled = self.unreported.unsettled(load);
        let mut relief = Relief::new(load, constraints, Weights::default(), &unsettled);
        let seats = relief.hottest_first();
        let average = score::average(seats.iter().map(|seat| seat.points));
        let limit = self.config.limit_points;
        for seat in &seats {
            let points = seat.points;
            if points < limit {
                let stopped = Stopped::WithinLimit { points, limit };
                relief.draft.stop(seat.party.id, stopped);
                continue;
            }
            let trigger = Trigger::AboveLimit { points, limit };
            relief.draft.trigger(seat.party.id, trigger);
            let wish = Wish::of_points(seat, points - average, points - limit + MARGIN * 100.0);
            let limit_points = limit;
            relief.give(
                seat,
                Wish {
                    limit_points,
                    ..wish
                },
            );
        }
        let plan = relief.finish();
        self.unreported.add(&plan.moves);
        plan
    }
}
