//! What this broker does about each bundle: hooks, and the steps that it owes.
//!
//! One function decides, [`Protocol::react`], from the row and from the stage that the hooks of
//! this bundle are in.

use super::brain::Protocol;
use super::io::{Effect, Hook, HookId, HookResult};
use super::timers::Timer;
use crate::clock::Tick;
use crate::ids::{BrokerId, BundleId, Cuts, Fence, Holder};
use crate::state::{Phase, Record, Row};
use std::collections::{BTreeMap, BTreeSet};

/// The bundles that this process has to do with.
#[derive(Debug, Default)]
pub(super) struct Ownership {
    stages: BTreeMap<BundleId, Stage>,
    running: BTreeMap<HookId, Run>,
    hook_count: u64,
    touched: BTreeSet<BundleId>,
}

/// A hook that runs.
#[derive(Debug)]
struct Run {
    bundle: BundleId,
    kind: &'static str,
    since: Tick,
}

/// How far the hooks of a bundle are. One runs at a time; a bundle without a stage is not served
/// here.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The acquire hook runs.
    Acquiring { fence: Fence },
    /// The acquire hook failed: nothing is held, and the bundle is given up.
    Failed { fence: Fence },
    /// The bundle is served.
    Acquired { fence: Fence },
    /// It is served, and the split hook runs.
    Splitting { fence: Fence, cuts: Cuts },
    /// It is served, and ready to be divided.
    Split { fence: Fence, cuts: Cuts },
    /// The release hook runs.
    Releasing,
}

impl Stage {
    const fn is_running(&self) -> bool {
        matches!(
            self,
            Self::Acquiring { .. } | Self::Splitting { .. } | Self::Releasing
        )
    }

    /// The fence that the bundle is served with.
    const fn serves(&self) -> Option<Fence> {
        match self {
            Self::Acquired { fence }
            | Self::Splitting { fence, .. }
            | Self::Split { fence, .. } => Some(*fence),
            _ => None,
        }
    }
}

/// What a row wants of this broker.
enum Want {
    /// Nothing: it is not, or no longer, this session's.
    Nothing,
    /// To take what was promised to it.
    Take,
    /// To serve it.
    Serve,
    /// To divide it.
    Divide(Cuts),
    /// To let go of it.
    LetGo(Option<BrokerId>),
    /// To take over what an older session of this broker holds.
    TakeOver(Holder),
}

impl Ownership {
    pub(super) fn touch(&mut self, bundle: &BundleId) {
        self.touched.insert(bundle.clone());
    }

    pub(super) fn touch_known(&mut self) {
        self.touched.extend(self.stages.keys().cloned());
    }

    pub(super) fn next_touched(&mut self) -> Option<BundleId> {
        self.touched.pop_first()
    }

    /// Whether the bundle is served with this very fence.
    pub(super) fn serves(&self, bundle: &BundleId, fence: Fence) -> bool {
        self.stages.get(bundle).and_then(Stage::serves) == Some(fence)
    }

    /// Whether nothing is served and no hook runs.
    pub(super) fn is_idle(&self) -> bool {
        self.stages.is_empty()
    }
}

impl Protocol {
    /// Brings the hooks of a bundle, and the log, one step closer to what its row wants.
    pub(super) fn react(&mut self, bundle: &BundleId) {
        if !self.caught_up {
            return;
        }
        let row = self.table.get(bundle).cloned();
        let want = self.want(row.as_ref());
        let stage = self.ownership.stages.get(bundle).cloned();
        match (stage, row) {
            (Some(stage), _) if stage.is_running() => {}
            (Some(Stage::Failed { fence }), row) => self.react_failed(bundle, row, want, fence),
            (Some(stage), row) => self.react_serving(bundle, row, want, &stage),
            (None, Some(row)) => self.react_idle(bundle, &row, want),
            (None, None) => {}
        }
    }

    fn want(&self, row: Option<&Row>) -> Want {
        let (Some(row), Some(session)) = (row, self.session()) else {
            return Want::Nothing;
        };
        if let Some(holder) = row.record.holder()
            && holder.broker == self.me
            && holder.session < session.session
        {
            return Want::TakeOver(session);
        }
        match &row.record {
            Record::Assigning { destination } if *destination == self.me => Want::Take,
            record if record.holder() != Some(&session) => Want::Nothing,
            Record::Owned { .. } => Want::Serve,
            Record::Splitting { cuts, .. } => Want::Divide(cuts.clone()),
            Record::Releasing { destination, .. } => Want::LetGo(destination.clone()),
            Record::Free | Record::Assigning { .. } | Record::Deleted => Want::Nothing,
        }
    }

    /// Nothing of the bundle is held here.
    fn react_idle(&mut self, bundle: &BundleId, row: &Row, want: Want) {
        match want {
            Want::Nothing => {}
            Want::Take => self.take_promised(bundle, row),
            Want::Serve if self.hands_over() => self.push_out(bundle, row),
            // It is not worth to begin; it is handed over in a moment.
            Want::Serve if self.closing.is_some() => {}
            Want::Serve | Want::Divide(_) => {
                let hook = Hook::Acquire {
                    bundle: bundle.clone(),
                    fence: row.fence,
                };
                self.run_hook(hook, Stage::Acquiring { fence: row.fence });
            }
            Want::LetGo(destination) => self.hand_on(bundle, row, destination),
            Want::TakeOver(session) => self.take_over(bundle, row, session),
        }
    }

    /// The bundle is served here, with the fence of `stage`.
    fn react_serving(&mut self, bundle: &BundleId, row: Option<Row>, want: Want, stage: &Stage) {
        let fence = stage.serves();
        match (want, row) {
            (Want::Serve, Some(row)) if fence == Some(row.fence) => {
                if self.hands_over() {
                    self.push_out(bundle, &row);
                }
            }
            (Want::Divide(cuts), Some(row)) if fence == Some(row.fence) => {
                if matches!(stage, Stage::Split { cuts: ready, .. } if *ready == cuts) {
                    self.append_owed(bundle, &row, Record::Deleted);
                    return;
                }
                let hook = Hook::Split {
                    bundle: bundle.clone(),
                    fence: row.fence,
                    children: bundle.children(&cuts).collect(),
                };
                self.run_hook(
                    hook,
                    Stage::Splitting {
                        fence: row.fence,
                        cuts,
                    },
                );
            }
            (_, row) => {
                let destination = row.as_ref().and_then(|row| self.next_server(row));
                let fence = fence.unwrap_or_default();
                let hook = Hook::Release {
                    bundle: bundle.clone(),
                    fence,
                    destination,
                };
                self.run_hook(hook, Stage::Releasing);
            }
        }
    }

    /// The acquire hook failed for this fence: the bundle is given up, and nothing is held.
    fn react_failed(&mut self, bundle: &BundleId, row: Option<Row>, want: Want, fence: Fence) {
        match (want, row) {
            (Want::Serve, Some(row)) if row.fence == fence => {
                self.append_owed(bundle, &row, releasing(&row, None));
            }
            (Want::Divide(_), Some(row)) if row.fence == fence => {
                // A split cannot be given up; acquiring is tried again.
                self.ownership.stages.remove(bundle);
                let again = self.now.after(self.config.retry_interval);
                self.timers.set(again, Timer::React(bundle.clone()));
            }
            _ => {
                self.ownership.stages.remove(bundle);
                self.ownership.touch(bundle);
            }
        }
    }

    fn take_promised(&mut self, bundle: &BundleId, row: &Row) {
        let Some(owner) = self.session() else { return };
        let phase = self.table.facts().namespaces.get(bundle.namespace());
        if phase != Some(&Phase::Live) {
            self.append_owed(bundle, row, Record::Free);
        } else if self.is_leaving() {
            if !self.hands_over() {
                return;
            }
            let next = match self.place(bundle, Some(&self.me.clone())) {
                Some(destination) => Record::Assigning { destination },
                None => Record::Free,
            };
            self.append_owed(bundle, row, next);
        } else {
            self.append_owed(bundle, row, Record::Owned { owner });
        }
    }

    /// The bundle was let go of: it goes to whom it was released for, or to nobody.
    fn hand_on(&mut self, bundle: &BundleId, row: &Row, destination: Option<BrokerId>) {
        let live = self.table.facts().namespaces.get(bundle.namespace()) == Some(&Phase::Live);
        let next = match destination.filter(|_| live) {
            Some(destination) => Record::Assigning { destination },
            None => Record::Free,
        };
        self.append_owed(bundle, row, next);
    }

    /// An older session of this broker holds the bundle. If it was this process's own, it has let
    /// go, and if its process is gone for certain, there is nobody to wait for; another process of
    /// the same name may serve until its lease is over everywhere.
    fn take_over(&mut self, bundle: &BundleId, row: &Row, session: Holder) {
        if self.closing.is_some() {
            return;
        }
        let is_free_to_take = row.record.holder().is_some_and(|older| {
            self.session.was_mine(older.session) || older.session < self.gone_below
        });
        let due = self.session.since().after(self.config.takeover_delay());
        if !is_free_to_take && self.now < due {
            self.timers.set(due, Timer::React(bundle.clone()));
            return;
        }
        let next = match &row.record {
            Record::Owned { .. } => Record::Owned { owner: session },
            Record::Releasing { destination, .. } => Record::Releasing {
                source: session,
                destination: destination.clone(),
            },
            Record::Splitting { cuts, .. } => Record::Splitting {
                source: Some(session),
                cuts: cuts.clone(),
            },
            Record::Free | Record::Assigning { .. } | Record::Deleted => return,
        };
        self.append_owed(bundle, row, next);
    }

    /// Who serves the bundle next as far as its row tells, if that is not this session.
    fn next_server(&self, row: &Row) -> Option<BrokerId> {
        let holder = row.record.holder().map(|holder| &holder.broker);
        row.record
            .destination()
            .or(holder)
            .filter(|broker| **broker != self.me)
            .cloned()
    }

    fn run_hook(&mut self, hook: Hook, stage: Stage) {
        self.ownership.hook_count += 1;
        let id = HookId(self.ownership.hook_count);
        let run = Run {
            bundle: hook.bundle().clone(),
            kind: hook.kind(),
            since: self.now,
        };
        self.ownership.running.insert(id, run);
        self.ownership.stages.insert(hook.bundle().clone(), stage);
        self.timers
            .set(self.now.after(self.config.hook_limit), Timer::Hook(id));
        self.effects.push(Effect::RunHook { id, hook });
    }

    pub(super) fn on_hook_done(&mut self, id: HookId, result: &HookResult) {
        let Some(run) = self.ownership.running.remove(&id) else {
            return;
        };
        let bundle = run.bundle;
        let done = *result == HookResult::Done;
        let took = self.now.since(run.since);
        self.ledger.count_hook(run.kind, took, done);
        let next = match self.ownership.stages.remove(&bundle) {
            Some(Stage::Acquiring { fence }) if done => Some(Stage::Acquired { fence }),
            Some(Stage::Acquiring { fence }) => Some(Stage::Failed { fence }),
            Some(Stage::Splitting { fence, cuts }) if done => Some(Stage::Split { fence, cuts }),
            Some(Stage::Splitting { fence, .. }) => Some(Stage::Acquired { fence }),
            // A release that failed has ended all the same: the fence keeps what it left behind
            // from writing.
            _ => None,
        };
        let retry_split = !done && matches!(next, Some(Stage::Acquired { .. }));
        if let Some(next) = next {
            self.ownership.stages.insert(bundle.clone(), next);
        }
        if retry_split {
            let again = self.now.after(self.config.retry_interval);
            self.timers.set(again, Timer::React(bundle));
        } else {
            self.ownership.touch(&bundle);
        }
    }

    /// A hook that takes too long ends the session: whoever waits for the bundle must not wait for
    /// ever.
    pub(super) fn on_hook_limit(&mut self, id: HookId) {
        if self.ownership.running.contains_key(&id) {
            self.end_session();
        }
    }
}

/// The record that lets go of an owned bundle.
pub(super) fn releasing(row: &Row, destination: Option<BrokerId>) -> Record {
    match row.record.holder() {
        Some(source) => Record::Releasing {
            source: source.clone(),
            destination,
        },
        None => Record::Free,
    }
}
