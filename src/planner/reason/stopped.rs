//! Why a broker gives nothing away.

use super::{Hits, Kept, Measure, Wanted};
use crate::ids::{BrokerId, BundleId};
use crate::planner::Amount;
use crate::planner::transfer::Skip;
use std::fmt;
use std::time::Duration;

/// Why nothing moves away from a broker: the first rule that stopped it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stopped {
    /// None of its resources was reported in a way that makes sense.
    NoData,
    /// It is being emptied, which is not the planner's work.
    Drained,
    /// It gave or was to get bundles, and the reports do not show it yet.
    Unsettled,
    /// It stands in the middle of an odd number of brokers: it has no partner.
    Middle,
    /// It is the colder half of its pair: it may receive, not give.
    Colder {
        /// The hotter half.
        hot: BrokerId,
    },
    /// The difference of its pair does not reach the low threshold.
    BelowThreshold {
        /// Points.
        difference: f64,
        /// Points.
        threshold: f64,
    },
    /// The difference was not large for long enough.
    TooFewHits {
        /// Rounds in a row over the low threshold.
        low: Hits,
        /// Rounds in a row over the high threshold.
        high: Hits,
    },
    /// Its own traffic, or that of its partner, makes no sense, so nobody knows how much to move.
    UnsoundTraffic {
        /// Whose.
        broker: BrokerId,
    },
    /// What should move is not worth a move, by either measure.
    BelowMinimum {
        /// By messages.
        messages: Wanted,
        /// By bytes.
        bytes: Wanted,
    },
    /// Enough is wanted, but each bundle is too big, or must stay.
    NoBundleFits {
        /// The unit.
        measure: Measure,
        /// How much should have moved, a second.
        wanted: f64,
    },
    /// There are bundles that fit, but moving any of them would not make the pair more even.
    WouldNotGain {
        /// The unit.
        measure: Measure,
        /// How much should have moved, a second.
        wanted: f64,
    },
    /// It owns nothing.
    NoBundles,
    /// It owns a single bundle, which would only carry the load elsewhere.
    SoleBundle,
    /// Enough is wanted, but each of its bundles must stay.
    NoBundleMayMove,
    /// No broker has any load.
    AllIdle,
    /// Its load is not above what a broker may bear.
    WithinLimit {
        /// Its load, in points.
        points: f64,
        /// From how many points on it is too much.
        limit: f64,
    },
    /// Its load is not far enough above the average.
    NearAverage {
        /// Its load with its history, in points.
        smoothed: f64,
        /// Its load without, in points.
        current: f64,
        /// The average of all brokers with their history, in points.
        average: f64,
        /// How many points above the average are too much.
        threshold: f64,
    },
    /// What should move is not worth a move.
    TooLittle {
        /// How much.
        wanted: Wanted,
    },
    /// Of all brokers another one has the most traffic.
    NotTheBusiest {
        /// By what traffic is measured.
        measure: Measure,
        /// Which one has.
        busiest: BrokerId,
    },
    /// The busiest and the idlest broker do not differ by enough, by either measure.
    EvenEnough {
        /// By how many percent the busiest has more messages.
        messages_percent: f64,
        /// How many times as many bytes the busiest has.
        bytes_factor: f64,
    },
    /// A bundle was taken from it, and its report is too soon after that.
    CoolDown {
        /// From then to the report.
        since: Duration,
        /// How long it must be.
        delay: Duration,
    },
    /// It reported no bundles, so nobody knows what to take from it.
    BundlesUnknown,
    /// It reported a single bundle. It may own more: reports hold the biggest ones only.
    SoleReportedBundle,
    /// The cluster is even, or was not uneven for long enough.
    NotUnevenForLong(Hits),
    /// The whole round decides nothing.
    RoundSkipped(Skip),
    /// The cluster was even enough, or enough brokers gave, before its turn came.
    NotItsTurn,
    /// Its score is near the level that all brokers should have, or below.
    NearLevel {
        /// Its score after all moves, in points.
        points: f64,
        /// The level, in points.
        level: f64,
    },
    /// The plan holds as many moves as it may.
    BudgetSpent {
        /// How many.
        moves: usize,
    },
    /// The time to think was over.
    OutOfSteps {
        /// How many steps it was.
        steps: u64,
    },
    /// Its history is far above the average, but what it bears now is not.
    HistoryOnly {
        /// Its load with its history, in points.
        smoothed: f64,
        /// Its load without, in points.
        current: f64,
        /// The average of all brokers without their history, in points.
        average: f64,
        /// How many points above the average are too much.
        threshold: f64,
    },
    /// The constraints bar what it could give from every broker that would gain by it.
    NoLegalDestination,
    /// Every broker that could take something would be too loaded with it.
    NoRoom,
    /// Its report is too old.
    OldReport {
        /// How long ago it was made.
        age: Duration,
        /// How long ago it may be.
        age_max: Duration,
    },
    /// It is above the level that all brokers should have, but no move of one of its bundles would
    /// help and is allowed.
    NothingHelps {
        /// Its score, in points.
        points: f64,
        /// The level, in points.
        level: f64,
    },
}

impl Stopped {
    /// A short word for the rule, the same in every release, such as `below_minimum`.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::NoData => "no_data",
            Self::Drained => "drained",
            Self::Unsettled => "unsettled",
            Self::Middle => "middle",
            Self::Colder { .. } => "colder",
            Self::BelowThreshold { .. } => "below_threshold",
            Self::TooFewHits { .. } => "too_few_hits",
            Self::UnsoundTraffic { .. } => "unsound_traffic",
            Self::BelowMinimum { .. } => "below_minimum",
            Self::NoBundleFits { .. } => "no_bundle_fits",
            Self::WouldNotGain { .. } => "would_not_gain",
            Self::NoBundles => "no_bundles",
            Self::SoleBundle => "sole_bundle",
            Self::NoBundleMayMove => "no_bundle_may_move",
            Self::AllIdle => "all_idle",
            Self::WithinLimit { .. } => "within_limit",
            Self::NearAverage { .. } => "near_average",
            Self::TooLittle { .. } => "too_little",
            Self::NotTheBusiest { .. } => "not_the_busiest",
            Self::EvenEnough { .. } => "even_enough",
            Self::CoolDown { .. } => "cool_down",
            Self::BundlesUnknown => "bundles_unknown",
            Self::SoleReportedBundle => "sole_reported_bundle",
            Self::NotUnevenForLong(_) => "not_uneven_for_long",
            Self::RoundSkipped(_) => "round_skipped",
            Self::NotItsTurn => "not_its_turn",
            Self::NearLevel { .. } => "near_level",
            Self::BudgetSpent { .. } => "budget_spent",
            Self::OutOfSteps { .. } => "out_of_steps",
            Self::NothingHelps { .. } => "nothing_helps",
            Self::HistoryOnly { .. } => "history_only",
            Self::NoLegalDestination => "no_legal_destination",
            Self::NoRoom => "no_room",
            Self::OldReport { .. } => "old_report",
        }
    }

    /// Why nothing was chosen of what was to leave a broker, from what kept its bundles.
    pub(in crate::planner) fn by_bundles(kept: &[(BundleId, Kept)], amount: Amount) -> Self {
        let Amount {
            measure, wanted, ..
        } = amount;
        let any = |is: fn(&Kept) -> bool| kept.iter().any(|(_, kept)| is(kept));
        if any(|kept| matches!(kept, Kept::NoLegalDestination { .. })) {
            Self::NoLegalDestination
        } else if any(|kept| *kept == Kept::NoRoom) {
            Self::NoRoom
        } else if any(|kept| *kept == Kept::WouldNotGain) {
            Self::WouldNotGain { measure, wanted }
        } else {
            Self::NoBundleFits { measure, wanted }
        }
    }

    /// What is to be said where there are no figures; nothing where there are.
    const fn plain(&self) -> &'static str {
        match self {
            Self::NoData => "no usable report of any resource",
            Self::Drained => "is being drained",
            Self::Unsettled => "waiting for a planned move to show in its report",
            Self::Middle => "in the middle: no partner to share with",
            Self::NoBundles => "owns no bundle",
            Self::SoleBundle => "owns a single bundle",
            Self::NoBundleMayMove => "each of its bundles must stay",
            Self::AllIdle => "no broker has any load",
            Self::BundlesUnknown => "it reported no bundles",
            Self::SoleReportedBundle => "it reported a single bundle",
            Self::NotItsTurn => "the round was over before its turn came",
            Self::NoLegalDestination => {
                "what it could give may go to no broker that would gain by it"
            }
            Self::NoRoom => "no broker has room for what it should give",
            Self::Colder { .. }
            | Self::BelowThreshold { .. }
            | Self::TooFewHits { .. }
            | Self::UnsoundTraffic { .. }
            | Self::BelowMinimum { .. }
            | Self::NoBundleFits { .. }
            | Self::WouldNotGain { .. }
            | Self::WithinLimit { .. }
            | Self::NearAverage { .. }
            | Self::TooLittle { .. }
            | Self::NotTheBusiest { .. }
            | Self::EvenEnough { .. }
            | Self::CoolDown { .. }
            | Self::NotUnevenForLong(_)
            | Self::RoundSkipped(_)
            | Self::NearLevel { .. }
            | Self::BudgetSpent { .. }
            | Self::OutOfSteps { .. }
            | Self::NothingHelps { .. }
            | Self::HistoryOnly { .. }
            | Self::OldReport { .. } => "",
        }
    }

    /// What those say that the safe modes and the global planner add.
    fn fmt_of_safe_modes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NearLevel { points, level } => write!(
                f,
                "{points:.1} points are near the level of {level:.1} that all should have, or below"
            ),
            Self::BudgetSpent { moves } => write!(f, "the plan holds its most of {moves} moves"),
            Self::OutOfSteps { steps } => write!(f, "thought for its most of {steps} steps"),
            Self::NothingHelps { points, level } => write!(
                f,
                "{points:.1} points are above the level of {level:.1}, but no move that is allowed \
                 would help"
            ),
            Self::HistoryOnly {
                smoothed,
                current,
                average,
                threshold,
            } => write!(
                f,
                "its history alone makes {smoothed:.1} points; the {current:.1} that it bears now \
                 are less than {threshold} above the average of {average:.1}"
            ),
            Self::OldReport { age, age_max } => write!(
                f,
                "its report is {} s old; {} s are the most",
                age.as_secs(),
                age_max.as_secs()
            ),
            _ => f.write_str(self.plain()),
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Colder { hot } => write!(f, "colder half of its pair; {hot} is the hotter"),
            Self::BelowThreshold {
                difference,
                threshold,
            } => write!(
                f,
                "difference of {difference:.1} points is below the threshold of {threshold}"
            ),
            Self::TooFewHits { low, high } => write!(
                f,
                "too few hits in a row: {low} over the low threshold, {high} over the high one"
            ),
            Self::UnsoundTraffic { broker } => {
                write!(f, "the traffic that {broker} reports makes no sense")
            }
            Self::BelowMinimum { messages, bytes } => write!(f, "{messages}; {bytes}"),
            Self::NoBundleFits { measure, wanted } => write!(
                f,
                "no bundle fits into the {wanted:.1} {} that should move",
                measure.unit()
            ),
            Self::WouldNotGain { measure, wanted } => write!(
                f,
                "no bundle within the {wanted:.1} {} to move would lower the imbalance",
                measure.unit()
            ),
            Self::WithinLimit { points, limit } => {
                write!(f, "{points:.1} points are below the limit of {limit}")
            }
            Self::NearAverage {
                smoothed,
                current,
                average,
                threshold,
            } => write!(
                f,
                "{smoothed:.1} points with history ({current:.1} without) are less than \
                 {threshold} above the average of {average:.1}"
            ),
            Self::TooLittle { wanted } => wanted.fmt(f),
            Self::NotTheBusiest { measure, busiest } => {
                write!(
                    f,
                    "{busiest} has more {measure}, and only the busiest broker sheds"
                )
            }
            Self::EvenEnough {
                messages_percent,
                bytes_factor,
            } => write!(
                f,
                "even enough: the busiest broker has {messages_percent:.1} % more messages than \
                 the idlest, and {bytes_factor:.2} times the bytes"
            ),
            Self::CoolDown { since, delay } => write!(
                f,
                "its report was made {} s after a bundle was taken from it, which must be {} s",
                since.as_secs(),
                delay.as_secs()
            ),
            Self::NotUnevenForLong(hits) => {
                write!(f, "the cluster was uneven for {hits} rounds in a row")
            }
            Self::RoundSkipped(skip) => skip.fmt(f),
            _ => self.fmt_of_safe_modes(f),
        }
    }
}
