//! What the strategy decides in its safe mode.

use super::UniformShedder;
use crate::planner::relief::{Rank, Relief, Seat, Wish};
use crate::planner::{ClusterLoad, Constraints, Measure, Plan, Stopped, Trigger, Weights};

/// The brokers with the most and with the least traffic by one measure; the first of several by
/// name.
#[derive(Clone, Copy, Debug)]
struct Spread<'a> {
    measure: Measure,
    busiest: Seat<'a>,
    /// A second.
    most: f64,
    /// A second.
    least: f64,
}

impl<'a> Spread<'a> {
    /// None if nobody takes part.
    fn of(seats: &[Seat<'a>], measure: Measure) -> Option<Self> {
        let traffic = |seat: &Seat<'_>| measure.of(&seat.traffic);
        let more = |a: Seat<'a>, b: &Seat<'a>| if traffic(b) > traffic(&a) { *b } else { a };
        let busiest = seats.iter().skip(1).fold(*seats.first()?, more);
        Some(Self {
            measure,
            busiest,
            most: traffic(&busiest),
            least: seats.iter().map(traffic).fold(f64::INFINITY, f64::min),
        })
    }

    /// How many times the least the most is.
    fn factor(&self) -> f64 {
        if self.most > self.least {
            self.most / self.least
        } else {
            1.0
        }
    }

    /// By how many percent of the least the most is more.
    fn percent(&self) -> f64 {
        (self.factor() - 1.0) * 100.0
    }
}

impl UniformShedder {
    pub(super) fn plan_safely(&mut self, load: &ClusterLoad, constraints: &Constraints) -> Plan {
        let unsettled = self.unreported.unsettled(load);
        let mut relief = Relief::new(load, constraints, Weights::default(), &unsettled);
        let seats = relief.seats().to_vec();
        let spread = |measure| Spread::of(&seats, measure);
        if let (Some(messages), Some(bytes)) = (spread(Measure::Messages), spread(Measure::Bytes)) {
            self.even_out(&mut relief, &seats, [messages, bytes]);
        }
        let plan = relief.finish();
        self.unreported.add(&plan.moves);
        plan
    }

    fn even_out<'a>(
        &self,
        relief: &mut Relief<'a>,
        seats: &[Seat<'a>],
        [messages, bytes]: [Spread<'a>; 2],
    ) {
        let by_messages =
            self.config.messages_percent > 0.0 && messages.percent() > self.config.messages_percent;
        let by_bytes = self.config.bytes_factor > 0.0 && bytes.factor() > self.config.bytes_factor;
        let due = [(by_messages, messages), (by_bytes, bytes)];
        let due: Vec<_> = due.iter().filter(|(due, _)| *due).collect();
        for seat in seats {
            let stopped = match due.first() {
                Some((_, spread)) => Stopped::NotTheBusiest {
                    measure: spread.measure,
                    busiest: spread.busiest.party.id.clone(),
                },
                None => Stopped::EvenEnough {
                    messages_percent: messages.percent(),
                    bytes_factor: bytes.factor(),
                },
            };
            relief.draft.stop(seat.party.id, stopped);
        }
        for (_, spread) in due {
            if self.relieve(relief, spread) > 0.0 {
                break;
            }
        }
    }

    /// Lets the busiest broker give; what it gives, a second.
    fn relieve<'a>(&self, relief: &mut Relief<'a>, spread: &Spread<'a>) -> f64 {
        let Spread {
            measure,
            busiest,
            most,
            least,
        } = spread;
        let trigger = Trigger::Busiest {
            measure: *measure,
            most: *most,
            least: *least,
        };
        relief.draft.trigger(busiest.party.id, trigger);
        let wanted = self.wanted(*measure, (most - least) * self.config.unload_ratio_max);
        if wanted.amount < wanted.minimum {
            let stopped = Stopped::TooLittle { wanted };
            relief.draft.stop(busiest.party.id, stopped);
            return 0.0;
        }
        relief.rank_by(Rank::Traffic(*measure));
        let wish = Wish {
            measure: *measure,
            amount: wanted.amount,
            enough: wanted.amount,
            bundles_max: self.config.bundles_max.unwrap_or(usize::MAX),
            limit_points: f64::INFINITY,
        };
        relief.give(busiest, wish)
    }
}
