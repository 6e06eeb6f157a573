//! What goes wrong, drawn from the seed, and why it must be survivable.
//!
//! | fault | why it is survivable |
//! | --- | --- |
//! | a broker crashes and starts again under its name | the log knows what it owned; its older session is another party, and the lease bounds what it could still have served |
//! | a broker dies, and is gone for longer than anybody waits for it | the leader gives what it held to others, once its lease is over wherever it may be |
//! | a broker stands still, perhaps for longer than its session | its lease runs out by its own clock before anybody takes over, and storage refuses what it had under way |
//! | a broker stands still and is replaced under its name | the new registration ends the old session; the newcomer waits as long as the leader would |
//! | appends, or their answers, get lost, or the log takes nothing | an append has an id, so that it is sent again until its outcome is known; what was refused is tried again as long as it is owed |
//! | the tail comes late | whoever reads late acts late; what it writes is judged by the version that it saw |
//! | the registry is out of reach, perhaps for longer than a session | without renewal a broker stops saying "mine"; a session that is over is over for good, although its log can still be reached |
//! | hooks are slow, fail, or take longer than allowed | who waits for a hook waits in the log's order; a hook beyond its limit ends the session |
//!
//! Disks that lie or lose what they promised are another simulator's subject: the log here keeps
//! what it acknowledged.

use super::cluster::{Cluster, HookPlan};
use super::dice::{Dice, Span};
use super::event::Event;
use crate::ids::BrokerId;
use std::time::Duration;

/// For how long a broker is dead: long enough for others to heal what it left behind.
const DEAD: Span = Span::millis(200_000, 600_000);

/// A kind of thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultKind {
    /// A broker crashes, and starts again after a while.
    Crash,
    /// A broker dies and does not come back for minutes. The last one does not.
    Death,
    /// A broker stands still, perhaps for longer than its session.
    Pause,
    /// A broker stands still, and another process takes its name.
    Replace,
    /// Appends and their answers get lost, or are refused.
    LostAppends,
    /// The tail comes late.
    SlowTail,
    /// The registry is out of reach, perhaps for longer than a session.
    CutRegistry,
    /// Hooks are slow and fail.
    BadHooks,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Crash,
        Self::Death,
        Self::Pause,
        Self::Replace,
        Self::LostAppends,
        Self::SlowTail,
        Self::CutRegistry,
        Self::BadHooks,
    ];
}

/// What goes wrong by chance, and how often.
#[derive(Clone, Debug)]
pub struct Faults {
    /// What may go wrong.
    pub kinds: Vec<FaultKind>,
    /// How long nothing new goes wrong after something did. What did may go on meanwhile.
    pub every: Span,
    /// How long a fault lasts.
    pub last: Span,
}

impl Default for Faults {
    /// All kinds, one every half to twenty seconds, lasting up to half a minute.
    fn default() -> Self {
        Self {
            kinds: FaultKind::ALL.to_vec(),
            every: Span::millis(500, 20_000),
            last: Span::millis(100, 30_000),
        }
    }
}

impl Faults {
    /// What goes wrong next.
    fn draw(&self, dice: &mut Dice) -> Option<(FaultKind, Duration)> {
        let kind = dice.pick(&self.kinds).copied()?;
        Some((kind, dice.between(self.last)))
    }
}

impl Cluster {
    /// Something goes wrong, and later something else.
    pub(super) fn strike(&mut self) {
        let Some(faults) = self.faults.clone() else {
            return;
        };
        let again = self.dice.between(faults.every);
        self.world.schedule(again, Event::Fault);
        let running: Vec<BrokerId> = self.running_brokers().cloned().collect();
        let Some(broker) = self.dice.pick(&running).cloned() else {
            return;
        };
        let Some((kind, time)) = faults.draw(&mut self.dice) else {
            return;
        };
        let now = self.now();
        let what = format_args!("{kind:?} of {broker} for {time:?}");
        self.trace.line(now, format_args!("fault"), what);
        self.break_broker(kind, &broker, time);
    }

    fn break_broker(&mut self, kind: FaultKind, broker: &BrokerId, time: Duration) {
        match kind {
            FaultKind::Crash => {
                self.crash(broker);
                self.world.schedule(time, Event::Start(broker.clone()));
            }
            FaultKind::Death if self.running_brokers().nth(1).is_some() => {
                self.crash(broker);
                let back = self.dice.between(DEAD);
                self.world.schedule(back, Event::Start(broker.clone()));
            }
            FaultKind::Death => {}
            FaultKind::Pause => self.pause(broker, time),
            FaultKind::Replace => {
                if let Some(zombie) = self.running(broker) {
                    self.replace(broker, time);
                    // Two processes of one name end each other's sessions until somebody notices.
                    let noticed = time + self.dice.between(Span::millis(0, 3_000));
                    self.world.schedule(noticed, Event::Kill(zombie));
                }
            }
            FaultKind::LostAppends => self.lose_appends(broker, time),
            FaultKind::SlowTail => self.slow_tail(broker, time),
            FaultKind::CutRegistry => self.cut_registry(broker, time),
            FaultKind::BadHooks => self.draw_hooks(broker),
        }
    }

    /// Hooks that fail, are slow, or are well again.
    fn draw_hooks(&mut self, broker: &BrokerId) {
        let takes = match self.dice.below(8) {
            0 => Span {
                min: self.config.hook_limit / 2,
                max: self.config.hook_limit * 2,
            },
            1..4 => Span::millis(1, 10_000),
            _ => self.delays.hook,
        };
        let failing_per_mille = match self.dice.below(3) {
            0 => 300,
            _ => 0,
        };
        let plan = HookPlan {
            takes,
            failing_per_mille,
        };
        self.set_hooks(broker, plan);
    }
}
