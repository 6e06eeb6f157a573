//! What the channel tells of itself as it happens, for whoever collects it with the crate `tracing`
//! (feature `tracing`). Without the feature nothing is told.
//!
//! The names are stable; docs/observability.md lists them with their fields. Everything is told by
//! the channel's own threads, outside locks.

use crate::compactor;
use crate::ids::{BrokerId, BundleId, Epoch, SessionToken};
use crate::protocol::{Answer, Effect, HookResult, Input, Protocol, RegistryAnswer};
use crate::registry;
use crate::state::Row;
use crate::table::{Error, RowChange};

/// Tells of an event: its level, its name, and its fields by what they display.
#[cfg(feature = "tracing")]
macro_rules! tell {
    ($level:ident, $name:literal $(, $field:ident = $value:expr)* $(,)?) => {
        tracing::event!(
            name: $name,
            target: "deedbook",
            tracing::Level::$level
            $(, $field = %$value)*
        )
    };
}

/// Looks at what would be told, so that nothing is unused.
#[cfg(not(feature = "tracing"))]
macro_rules! tell {
    ($level:ident, $name:literal $(, $field:ident = $value:expr)* $(,)?) => {{
        $(let _ = &$value;)*
    }};
}

/// Whether anything is told.
pub(super) const TOLD: bool = cfg!(feature = "tracing");

/// What lasts, as one step of the protocol left it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    session: Option<SessionToken>,
    leads: Option<Epoch>,
    acts: Option<Epoch>,
    ready: bool,
    stopped: Option<Error>,
}

impl Standing {
    pub(super) fn of(protocol: &Protocol, ready: bool) -> Self {
        Self {
            session: protocol.session().map(|holder| holder.session),
            leads: protocol.epoch(),
            acts: protocol.acting_epoch(),
            ready,
            stopped: protocol.stopped().cloned(),
        }
    }
}

/// Notices what has changed of that which lasts.
#[derive(Debug)]
pub(super) struct Watch {
    broker: BrokerId,
    told: Standing,
}

impl Watch {
    pub(super) fn new(broker: BrokerId) -> Self {
        let told = Standing::default();
        Self { broker, told }
    }

    /// Tells what has changed since it was told last.
    pub(super) fn look(&mut self, now: Standing) {
        if now == self.told {
            return;
        }
        let broker = &self.broker;
        let before = std::mem::replace(&mut self.told, now);
        let now = &self.told;
        if before.session != now.session {
            if let Some(session) = before.session {
                tell!(
                    WARN,
                    "deedbook.session.ended",
                    broker = broker,
                    session = session
                );
            }
            if let Some(session) = now.session {
                tell!(
                    INFO,
                    "deedbook.session.began",
                    broker = broker,
                    session = session
                );
            }
        }
        if before.leads != now.leads {
            if let Some(epoch) = before.leads {
                tell!(INFO, "deedbook.lead.ended", broker = broker, epoch = epoch);
            }
            if let Some(epoch) = now.leads {
                tell!(INFO, "deedbook.lead.began", broker = broker, epoch = epoch);
            }
        }
        if let Some(epoch) = now.acts.filter(|_| before.acts != now.acts) {
            tell!(INFO, "deedbook.lead.acts", broker = broker, epoch = epoch);
        }
        if before.ready != now.ready {
            tell!(
                INFO,
                "deedbook.broker.ready",
                broker = broker,
                ready = now.ready
            );
        }
        if let Some(error) = now.stopped.as_ref().filter(|_| before.stopped.is_none()) {
            tell!(
                ERROR,
                "deedbook.table.stopped",
                broker = broker,
                error = error
            );
        }
    }
}

/// Tells of that which happens to the broker, where that is not to be seen in what it does.
pub(super) fn of_input(input: &Input) {
    match input {
        Input::Appended {
            id,
            result: Err(error),
        } => tell!(WARN, "deedbook.append.failed", entry = id, error = error),
        Input::Registry(answer) => of_registry(answer),
        Input::HookDone { id, result } => {
            let number = id.0;
            match result {
                HookResult::Done => tell!(DEBUG, "deedbook.hook.done", hook = number),
                HookResult::Failed => tell!(WARN, "deedbook.hook.failed", hook = number),
            }
        }
        _ => {}
    }
}

fn of_registry(answer: &RegistryAnswer) {
    let (asked, error): (_, &registry::Error) = match answer {
        RegistryAnswer::Registered {
            result: Err(error), ..
        } => ("register", error),
        RegistryAnswer::Renewed {
            result: Err(error), ..
        } => ("renew", error),
        RegistryAnswer::Members {
            result: Err(error), ..
        } => ("members", error),
        RegistryAnswer::Campaigned {
            result: Err(error), ..
        } => ("campaign", error),
        _ => return,
    };
    tell!(
        WARN,
        "deedbook.registry.failed",
        asked = asked,
        error = error
    );
}

/// Tells of that which the broker does.
pub(super) fn of_effect(effect: &Effect) {
    match effect {
        Effect::Applied(applied) => match &applied.outcome {
            Ok(changes) => {
                for RowChange {
                    bundle,
                    before,
                    after,
                } in changes
                {
                    tell!(
                        DEBUG,
                        "deedbook.bundle.changed",
                        bundle = bundle,
                        position = applied.position,
                        before = Row::state_of(before.as_ref()),
                        after = Row::state_of(after.as_ref()),
                    );
                }
            }
            Err(rejection) => tell!(
                DEBUG,
                "deedbook.entry.rejected",
                position = applied.position,
                reason = rejection,
            ),
        },
        Effect::Jumped { horizon, changes } => tell!(
            INFO,
            "deedbook.table.jumped",
            horizon = horizon,
            changes = changes.len(),
        ),
        Effect::RunHook { id, hook } => tell!(
            DEBUG,
            "deedbook.hook.began",
            hook = id.0,
            kind = hook.kind(),
            bundle = hook.bundle(),
        ),
        Effect::Answer { ticket, answer } => tell!(
            TRACE,
            "deedbook.question.answered",
            ticket = ticket.0,
            outcome = answer.outcome(),
        ),
        Effect::Closed(report) => {
            tell!(INFO, "deedbook.broker.closed", left = report.left.len());
        }
        _ => {}
    }
}

/// Reading has stopped for good.
pub(super) fn read_failed(error: &Error) {
    tell!(ERROR, "deedbook.log.unreadable", error = error);
}

/// The core has panicked.
pub(super) fn panicked(broker: &BrokerId) {
    tell!(ERROR, "deedbook.core.panicked", broker = broker);
}

/// An attempt to compact has ended.
pub(super) fn compacted(result: &Result<compactor::Report, compactor::Error>) {
    match result {
        Ok(report) => tell!(
            INFO,
            "deedbook.compaction.done",
            horizon = report.horizon_after,
            rows = report.rows_after,
        ),
        Err(error) => tell!(WARN, "deedbook.compaction.failed", error = error),
    }
}

/// A round of balancing was planned.
pub(super) fn planned(epoch: Epoch, moves: usize) {
    tell!(
        INFO,
        "deedbook.balance.planned",
        epoch = epoch,
        moves = moves
    );
}

/// A move of the balancer has ended.
pub(super) fn moved(bundle: &BundleId, answer: &Answer) {
    tell!(
        INFO,
        "deedbook.balance.moved",
        bundle = bundle,
        outcome = answer.outcome(),
    );
}

/// The strategy has panicked.
pub(super) fn strategy_panicked(broker: &BrokerId) {
    tell!(ERROR, "deedbook.balance.panicked", broker = broker);
}
