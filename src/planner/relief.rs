//! One round of a safe mode in which loaded brokers give to those that can take.
//!
//! The strategy says who gives and how much; here each bundle gets its destination before anything
//! leaves, by the rules of the [guard](super::guard). Each bundle of a giver is looked at once.

use super::draft::Draft;
use super::guard::{After, Cargo, Party};
use super::outlook::{Machine, Scores};
use super::{
    Amount, BundleLoad, ClusterLoad, Constraints, Kept, Measure, Mode, Plan, Stopped, Traffic,
    Weights, score,
};
use crate::ids::{BrokerId, BundleId, Namespace};
use std::collections::BTreeSet;

/// So many destinations are tried that may have a bundle but would not gain by it.
const DESTINATIONS_TRIED: usize = 8;

/// So many destinations are looked at for the bundles of one broker, and for those of all. Only
/// where few brokers may have a bundle, and most would gain by it, so many have to be.
const LOOKS_MAX: u32 = 20_000;
const LOOKS_MAX_OF_ALL: u32 = 4_000_000;

/// A plan while it is made, and the cluster as it will be.
#[derive(Debug)]
pub(super) struct Relief<'a> {
    pub(super) draft: Draft<'a>,
    /// Those who take part, in the order of their names.
    seats: Vec<Seat<'a>>,
    weights: Weights,
    rank: Rank,
    /// The same with what they are ranked by, as bits: it is never negative.
    order: BTreeSet<(u64, usize)>,
    /// How often a destination may yet be looked at: for the broker that gives, and for all.
    looks_left: u32,
    looks_left_of_all: u32,
}

/// A broker that takes part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat<'a> {
    pub(super) index: usize,
    pub(super) party: Party<'a>,
    /// Its score as reported, in points.
    pub(super) points: f64,
    /// Its traffic by now.
    pub(super) traffic: Traffic,
}

/// A bundle that may move, behind its traffic in the measure that is wanted.
type Candidate<'a> = (f64, &'a BundleId, &'a BundleLoad);

/// Which destinations come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Those with the lowest scores.
    Score,
    /// Those with the least traffic.
    Traffic(Measure),
}

/// What a broker should give.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) measure: Measure,
    /// No more than this, a second.
    pub(super) amount: f64,
    /// Nothing more once so much is given, a second.
    pub(super) enough: f64,
    /// No more than so many bundles.
    pub(super) bundles_max: usize,
    /// Nobody may come to have so many points by it.
    pub(super) limit_points: f64,
}

impl Wish {
    /// So many points of a broker's score, taken for the same share of its traffic: at most `most`,
    /// and no more once there are `enough`. By bytes, or by messages if it has no bytes.
    pub(super) fn of_points(seat: &Seat<'_>, most: f64, enough: f64) -> Self {
        let traffic = &seat.party.load.traffic;
        let measure = if traffic.bytes() > 0.0 {
            Measure::Bytes
        } else {
            Measure::Messages
        };
        let of = |points: f64| {
            let share = if seat.points > 0.0 {
                points / seat.points
            } else {
                0.0
            };
            measure.of(traffic) * share.clamp(0.0, 1.0)
        };
        let amount = of(most);
        Self {
            measure,
            amount,
            enough: of(enough).min(amount),
            bundles_max: usize::MAX,
            limit_points: f64::INFINITY,
        }
    }
}

impl<'a> Relief<'a> {
    /// Nothing moves yet. Who is drained or unsettled, or reports nothing usable, takes no part.
    pub(super) fn new(
        load: &'a ClusterLoad,
        constraints: &'a Constraints,
        weights: Weights,
        unsettled: &BTreeSet<BrokerId>,
    ) -> Self {
        let mut draft = Draft::new(load, constraints, |of| {
            score::score(of, weights, Mode::Safe)
        });
        let mut seats = Vec::with_capacity(load.brokers.len());
        for (broker, of, points) in draft.standings(unsettled) {
            if of.traffic.is_sound() {
                seats.push(Seat {
                    index: seats.len(),
                    party: Party::new(broker, of, weights),
                    points,
                    traffic: of.traffic,
                });
            } else {
                let id = broker.clone();
                draft.stop(broker, Stopped::UnsoundTraffic { broker: id });
            }
        }
        let mut relief = Self {
            draft,
            seats,
            weights,
            rank: Rank::Score,
            order: BTreeSet::new(),
            looks_left: 0,
            looks_left_of_all: LOOKS_MAX_OF_ALL,
        };
        relief.rank_by(Rank::Score);
        relief
    }

    /// Leaves out who does not meet a condition, which says why.
    pub(super) fn leave_out(&mut self, condition: impl Fn(&Seat<'a>) -> Option<Stopped>) {
        let mut seats = std::mem::take(&mut self.seats);
        seats.retain(|seat| match condition(seat) {
            Some(stopped) => {
                self.draft.stop(seat.party.id, stopped);
                false
            }
            None => true,
        });
        for (index, seat) in seats.iter_mut().enumerate() {
            seat.index = index;
        }
        self.seats = seats;
        self.rank_by(self.rank);
    }

    /// Changes which destinations come first.
    pub(super) fn rank_by(&mut self, rank: Rank) {
        self.rank = rank;
        let order = self.seats.iter().map(|seat| (self.key(seat), seat.index));
        self.order = order.collect();
    }

    /// Those who take part, in the order of their names.
    pub(super) fn seats(&self) -> &[Seat<'a>] {
        &self.seats
    }

    /// Who stands lowest by now, the first of several by name.
    pub(super) fn coldest(&self) -> Option<&Seat<'a>> {
        self.seats.get(self.order.first()?.1)
    }

    /// Those who take part by their scores as reported, highest first, ties by name.
    pub(super) fn hottest_first(&self) -> Vec<Seat<'a>> {
        let mut seats = self.seats.clone();
        seats.sort_by(|a, b| b.points.total_cmp(&a.points));
        seats
    }

    /// Lets a broker give, the biggest bundle first that still fits, each to the first destination
    /// that may have it and leaves both better off. Writes down what stays and why; what is given,
    /// a second.
    pub(super) fn give(&mut self, seat: &Seat<'a>, wish: Wish) -> f64 {
        let mut kept = Vec::new();
        let candidates = self.candidates(seat, wish.measure, &mut kept);
        let mut amount = Amount {
            measure: wish.measure,
            wanted: wish.amount,
            reached: 0.0,
        };
        let mut count = 0;
        self.looks_left = LOOKS_MAX.min(self.looks_left_of_all);
        self.looks_left_of_all -= self.looks_left;
        // Machines change; what a bundle takes along is a share of what was reported.
        let reported = Machine::new(seat.party.load, self.weights);
        for (traffic, bundle, load) in candidates {
            let remaining = wish.amount - amount.reached;
            let outcome = if traffic == 0.0 {
                Err(Kept::Idle)
            } else if amount.reached >= wish.enough {
                Err(Kept::NotNeeded)
            } else if count >= wish.bundles_max {
                Err(Kept::CountReached)
            } else if traffic > remaining {
                Err(Kept::TooBig {
                    traffic,
                    remaining,
                    measure: wish.measure,
                })
            } else {
                let burden = reported.burden_of(&load.short_term);
                let cargo = Cargo {
                    bundle,
                    load,
                    burden,
                };
                let place = self.place(seat.index, &cargo, wish.limit_points);
                place.map(|(to, after)| self.carry(seat.index, to, &cargo, &after))
            };
            match outcome {
                Ok(()) => {
                    amount.reached += traffic;
                    count += 1;
                }
                Err(rule) => kept.push((bundle.clone(), rule)),
            }
        }
        self.looks_left_of_all += self.looks_left;
        if let Some(verdict) = self.draft.verdict(seat.party.id) {
            verdict.stopped = match seat.party.load.bundles.len() {
                _ if count > 0 => None,
                0 => Some(Stopped::NoBundles),
                _ => Some(Stopped::by_bundles(&kept, amount)),
            };
            verdict.amount = Some(amount);
            verdict.kept = kept;
        }
        amount.reached
    }

    /// The bundles that may move, biggest first, ties by name. The others go to `kept`.
    fn candidates(
        &self,
        seat: &Seat<'a>,
        measure: Measure,
        kept: &mut Vec<(BundleId, Kept)>,
    ) -> Vec<Candidate<'a>> {
        let bundles = &seat.party.load.bundles;
        let mut candidates = Vec::with_capacity(bundles.len());
        kept.reserve(bundles.len());
        for (bundle, load) in bundles {
            match self.draft.guard.admit(bundle, load.as_ref()) {
                Ok(load) => candidates.push((measure.of(&load.short_term), bundle, load)),
                Err(rule) => kept.push((bundle.clone(), rule)),
            }
        }
        // The sort is stable, and the bundles come in the order of their names.
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        candidates
    }

    /// Looks for a destination: the first that may have a bundle, so that both are better off.
    fn place(
        &mut self,
        from: usize,
        cargo: &Cargo<'a>,
        limit_points: f64,
    ) -> Result<(usize, After), Kept> {
        let Some(listed) = self.listed(cargo.bundle.namespace()) else {
            let order = std::mem::take(&mut self.order);
            let found = self.first(from, cargo, limit_points, order.iter());
            self.order = order;
            return found;
        };
        match self.first(from, cargo, limit_points, listed.iter()) {
            Err(Kept::WouldNotGain) => {
                // It is to be said if another one would, but may not have it.
                let coldest = self.order.first().copied();
                self.first(from, cargo, limit_points, coldest.iter())
            }
            found => found,
        }
    }

    fn first<'o>(
        &mut self,
        from: usize,
        cargo: &Cargo<'a>,
        limit_points: f64,
        order: impl Iterator<Item = &'o (u64, usize)>,
    ) -> Result<(usize, After), Kept> {
        let giver = self.seats.get(from).ok_or(Kept::NoData)?;
        let mut rule = Kept::WouldNotGain;
        let mut tried = 0;
        for &(key, index) in order {
            let Some(taker) = self.seats.get(index).filter(|_| index != from) else {
                continue;
            };
            let hotter = self.rank == Rank::Score && f64::from_bits(key) >= giver.party.score();
            if hotter || tried == DESTINATIONS_TRIED {
                break;
            }
            if self.looks_left == 0 {
                return Err(Kept::NotReached);
            }
            self.looks_left -= 1;
            let checked = self.draft.guard.check(cargo, &giver.party, &taker.party);
            let refused = match checked {
                Ok(after) if after.destination.scores().worst() < limit_points => {
                    return Ok((index, after));
                }
                Ok(_) => Kept::NoRoom,
                Err(refused) => refused,
            };
            // Brokers that may not have it cost little; those that would not gain are given up.
            tried += usize::from(matches!(refused, Kept::WouldNotGain | Kept::NoRoom));
            if rule == Kept::WouldNotGain {
                rule = refused;
            }
        }
        Err(rule)
    }

    /// Those that a namespace may use, the first to be asked first, if they are listed.
    fn listed(&self, namespace: &Namespace) -> Option<Vec<(u64, usize)>> {
        let listed = self.draft.guard.legality.listed(namespace)?;
        let seat = |id: &BrokerId| {
            let found = self.seats.binary_search_by(|seat| seat.party.id.cmp(id));
            self.seats.get(found.ok()?)
        };
        let seats = listed.filter_map(seat);
        let mut listed: Vec<_> = seats.map(|seat| (self.key(seat), seat.index)).collect();
        listed.sort_unstable();
        Some(listed)
    }

    fn carry(&mut self, from: usize, to: usize, cargo: &Cargo<'a>, after: &After) {
        let id = |index: usize| self.seats.get(index).map(|seat| seat.party.id);
        let (Some(from_id), Some(to_id)) = (id(from), id(to)) else {
            return;
        };
        self.draft.guard.ship(cargo, from_id, to_id);
        let planned = after.of(cargo, (from_id, to_id), Scores::worst);
        self.draft.plan.moves.push(planned);
        let traffic = cargo.load.short_term;
        for (index, machine, sign) in [(from, after.source, -1.0), (to, after.destination, 1.0)] {
            let Some(seat) = self.seats.get(index).copied() else {
                continue;
            };
            self.order.remove(&(self.key(&seat), index));
            if let Some(seat) = self.seats.get_mut(index) {
                seat.party.machine = machine;
                seat.traffic = changed(&seat.traffic, &traffic, sign);
            }
            if let Some(seat) = self.seats.get(index) {
                self.order.insert((self.key(seat), index));
            }
        }
    }

    fn key(&self, seat: &Seat<'_>) -> u64 {
        let key = match self.rank {
            Rank::Score => seat.party.score(),
            Rank::Traffic(measure) => measure.of(&seat.traffic),
        };
        key.max(0.0).to_bits()
    }

    /// The plan, made.
    pub(super) fn finish(self) -> Plan {
        self.draft.finish()
    }
}

/// Traffic with more or less of it.
fn changed(traffic: &Traffic, by: &Traffic, sign: f64) -> Traffic {
    let change = |a: f64, b: f64| (a + sign * b).max(0.0);
    Traffic {
        message_rate_in: change(traffic.message_rate_in, by.message_rate_in),
        message_rate_out: change(traffic.message_rate_out, by.message_rate_out),
        throughput_in: change(traffic.throughput_in, by.throughput_in),
        throughput_out: change(traffic.throughput_out, by.throughput_out),
    }
}
