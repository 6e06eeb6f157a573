//! How long messages take, and what becomes of those that are lost.

use super::dice::{Dice, Span};
use crate::clock::Tick;
use std::time::Duration;

/// How long things take while nothing is wrong.
#[derive(Clone, Debug)]
pub struct Delays {
    /// An append on its way to the log, and its answer on the way back. Default: 1 to 10 ms.
    pub log: Span,
    /// From an entry's place in the log to a reader. Default: 1 to 20 ms.
    pub tail: Span,
    /// A request to the registry, and its answer. Default: 1 to 20 ms.
    pub registry: Span,
    /// A hook. Default: 1 to 200 ms.
    pub hook: Span,
    /// After what time a request without answer counts as lost. Default: 2 s.
    pub time_out: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            log: Span::millis(1, 10),
            tail: Span::millis(1, 20),
            registry: Span::millis(1, 20),
            hook: Span::millis(1, 200),
            time_out: Duration::from_secs(2),
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It arrives and is answered.
    Answered,
    /// It arrives, and its answer is lost.
    AnswerLost,
    /// It arrives and is turned away: the log takes nothing now.
    Refused,
    /// It does not arrive.
    Lost,
}

/// How one broker is connected; each trouble lasts until a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// The registry is out of reach until then.
    pub(super) registry_cut: Tick,
    /// Appends and their answers get lost until then, or are refused, each by chance.
    pub(super) appends_lost: Tick,
    /// The log is out of reach until then: nothing is read, and no append arrives.
    pub(super) log_cut: Tick,
    /// The tail comes late until then.
    pub(super) tail_slow: Tick,
}

impl Link {
    pub(super) fn is_sound(&self, now: Tick) -> bool {
        let log = self.appends_lost.max(self.tail_slow).max(self.log_cut);
        self.registry_cut.max(log) <= now
    }

    pub(super) fn append(&self, now: Tick, dice: &mut Dice) -> Fate {
        if now < self.log_cut {
            return Fate::Lost;
        }
        if now >= self.appends_lost {
            return Fate::Answered;
        }
        match dice.below(5) {
            0 => Fate::Answered,
            1 => Fate::AnswerLost,
            2 => Fate::Refused,
            _ => Fate::Lost,
        }
    }

    /// A request that is under way when the registry goes out of reach may still arrive.
    pub(super) fn registry(&self, now: Tick, dice: &mut Dice) -> Fate {
        if now >= self.registry_cut {
            return Fate::Answered;
        }
        match dice.below(8) {
            0 => Fate::AnswerLost,
            _ => Fate::Lost,
        }
    }
}
