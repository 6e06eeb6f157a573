//! What the strategy decides in its safe mode.

use super::statistics::{End, Statistics, Uneven};
use super::{Skip, TransferShedder};
use crate::planner::relief::{Relief, Seat, Wish};
use crate::planner::{ClusterLoad, Constraints, Plan, Stopped, Trigger, Weights};

impl TransferShedder {
    pub(super) fn plan_safely(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let unsettled = self.unreported.unsettled(load);
        let mut relief = Relief::new(load, constraints, Weights::default(), &unsettled);
        relief.leave_out(|seat| self.unfit(seat));
        for seat in relief.seats().to_vec() {
            relief.draft.stop(seat.party.id, Stopped::NotItsTurn);
        }
        self.statistics = None;
        self.skipped = self.even_out(&mut relief);
        self.explain(&mut relief.draft);
        let plan = relief.finish();
        self.unreported.add(&plan.moves);
        plan
    }

    /// Why a report is not fit to go by.
    fn unfit(&self, seat: &Seat<'_>) -> Option<Stopped> {
        let reported = seat.party.load.smoothed.as_ref()?;
        let (age, age_max) = (reported.age, self.config.report_age_max);
        if age > age_max {
            return Some(Stopped::OldReport { age, age_max });
        }
        let delay = self.config.delay;
        let since = reported.since_unload.filter(|since| *since < delay)?;
        Some(Stopped::CoolDown { since, delay })
    }

    /// Lets one broker after the other give, while the cluster is uneven.
    fn even_out(&mut self, relief: &mut Relief<'_>) -> Option<Skip> {
        let mut givers = relief.hottest_first().into_iter().peekable();
        let Some(first) = givers.peek() else {
            return Some(Skip::NoReports);
        };
        self.statistics = Some(statistics(relief));
        self.hits = match self.uneven(relief, first) {
            Some(_) => self.hits.saturating_add(1),
            None => 0,
        };
        if self.hits <= self.config.rounds_exceeded {
            return Some(Skip::NotForLong);
        }
        let mut served = 0;
        while let Some(giver) = givers.next_if(|_| served < self.config.brokers_max)
            && let Some(why) = self.uneven(relief, &giver)
        {
            let coldest = relief.coldest().map_or(0.0, |seat| seat.party.score());
            let half = (giver.points - coldest) / 2.0;
            relief.draft.trigger(giver.party.id, Trigger::Uneven(why));
            let given = relief.give(&giver, Wish::of_points(&giver, half, half));
            served += usize::from(given > 0.0);
        }
        if served == 0 {
            return Some(Skip::NoBundles);
        }
        self.hits = 0;
        None
    }

    /// Why the next giver should give.
    fn uneven(&self, relief: &Relief<'_>, giver: &Seat<'_>) -> Option<Uneven> {
        let end = |seat: &Seat<'_>| End {
            usage: seat.party.score() / 100.0,
            throughput: seat.traffic.bytes(),
        };
        let bottom = relief.coldest()?;
        statistics(relief).uneven(end(giver), end(bottom), &self.config)
    }
}

/// How even the loads are by now.
fn statistics(relief: &Relief<'_>) -> Statistics {
    let seats = relief.seats().iter();
    Statistics::of_all(seats.map(|seat| seat.party.score() / 100.0))
}
