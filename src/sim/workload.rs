//! An operator who keeps a cluster busy: creates and deletes namespaces, assigns, moves, unloads,
//! splits and looks up bundles, closes brokers; and owners that write to storage.

use super::checkers::Write;
use super::cluster::Cluster;
use super::dice::{Dice, Span};
use super::event::Event;
use crate::ids::{BrokerId, BundleId, Cuts, KeyRange, Namespace, Position};
use crate::protocol::{Action, Request};
use crate::state::Row;
use crate::table::Table;
use std::time::Duration;

/// What the operator does, and how often.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The namespaces that are created and deleted.
    pub namespaces: Vec<Namespace>,
    /// How long the operator waits between two requests.
    pub every: Span,
    /// Most bundles that a namespace is created with.
    pub bundles_max: u32,
    /// Splits stop once there are so many bundles.
    pub rows_max: usize,
    /// How many of a thousand requests close a broker, or empty it first.
    pub closing_per_mille: u64,
}

impl Workload {
    /// An operator of `namespaces` namespaces who asks for something ten times a second.
    #[must_use]
    pub fn new(namespaces: u32) -> Self {
        let name = |number| Namespace::new(format!("tenant/n{number}")).ok();
        Self {
            namespaces: (0..namespaces).filter_map(name).collect(),
            every: Span::millis(1, 200),
            bundles_max: 8,
            rows_max: 200,
            closing_per_mille: 3,
        }
    }

    fn request(&self, dice: &mut Dice, table: &Table, brokers: &[BrokerId]) -> Option<Request> {
        let namespace = dice.pick(&self.namespaces)?.clone();
        match dice.below(1_000) {
            0..80 => Some(Request::CreateNamespace {
                namespace,
                cuts: Cuts::even(KeyRange::FULL, 1 + self.parts(dice)),
                expected: None,
            }),
            80..85 => Some(Request::DeleteNamespace {
                namespace,
                expected: None,
            }),
            85..400 => {
                let key = u32::try_from(dice.below(1 << 32)).unwrap_or(u32::MAX);
                Some(Request::Locate { namespace, key })
            }
            400..450 => {
                let (bundle, _) = bundle(dice, table)?;
                Some(Request::Owner { bundle })
            }
            _ => self.change(dice, table, brokers),
        }
    }

    fn parts(&self, dice: &mut Dice) -> u32 {
        u32::try_from(dice.below(self.bundles_max.into())).unwrap_or(0)
    }

    fn change(&self, dice: &mut Dice, table: &Table, brokers: &[BrokerId]) -> Option<Request> {
        let (bundle, row) = bundle(dice, table)?;
        let destination = dice.pick(brokers)?.clone();
        let action = match dice.below(20) {
            0..4 => Action::Assign {
                destination: Some(destination),
            },
            4..8 => Action::Assign { destination: None },
            8..14 => Action::Transfer { destination },
            14..17 => Action::Unload,
            _ if table.row_count() < self.rows_max => Action::Split {
                cuts: Cuts::even(bundle.range(), 2 + u32::try_from(dice.below(2)).ok()?)?,
            },
            _ => Action::Unload,
        };
        let expected = dice.per_mille(300).then_some(row.version);
        // Now and then the operator knows nothing.
        let expected = expected.map(|version| match dice.per_mille(100) {
            true => Position::ZERO,
            false => version,
        });
        Some(Request::Bundle {
            bundle,
            expected,
            action,
        })
    }
}

/// One of the table's bundles.
fn bundle(dice: &mut Dice, table: &Table) -> Option<(BundleId, Row)> {
    let count = u64::try_from(table.row_count()).unwrap_or(0);
    let index = usize::try_from(dice.below(count)).unwrap_or(0);
    let (bundle, row) = table.rows().nth(index)?;
    Some((bundle.clone(), row.clone()))
}

impl Cluster {
    /// The operator does something, and later something else.
    pub(super) fn operate(&mut self) {
        let Some(workload) = self.workload.clone() else {
            return;
        };
        let again = self.dice.between(workload.every);
        self.world.schedule(again, Event::Operate);
        let brokers: Vec<BrokerId> = self.brokers.keys().cloned().collect();
        if self.dice.per_mille(workload.closing_per_mille) {
            self.close_one(&brokers);
        }
        self.write_one();
        let Some(broker) = self.dice.pick(&brokers).cloned() else {
            return;
        };
        let table = &self.history.table;
        if let Some(request) = workload.request(&mut self.dice, table, &brokers) {
            self.ask_and_forget(&broker, request);
        }
    }

    /// A broker is emptied, its process ends, and it comes back later.
    fn empty_one(&mut self, brokers: &[BrokerId], broker: BrokerId) {
        let Some(id) = self.running(&broker) else {
            return;
        };
        if let Some(asked) = self.dice.pick(brokers).cloned() {
            let request = Request::Drain {
                broker: broker.clone(),
                expected: None,
            };
            self.ask_and_forget(&asked, request);
        }
        let end = self.dice.between(Span::millis(100, 30_000));
        self.world.schedule(end, Event::Kill(id));
        let back = end + self.dice.between(Span::millis(0, 30_000));
        self.world.schedule(back, Event::Start(broker));
    }

    /// A broker closes in order, and comes back later.
    fn close_one(&mut self, brokers: &[BrokerId]) {
        let running: Vec<BrokerId> = self.running_brokers().cloned().collect();
        let Some(broker) = self.dice.pick(&running).cloned() else {
            return;
        };
        if self.dice.per_mille(300) {
            return self.empty_one(brokers, broker);
        }
        let now = self.now();
        self.trace.line(
            now,
            format_args!("operator"),
            format_args!("closes {broker}"),
        );
        let limit = self.dice.between(Span::millis(100, 30_000));
        self.close(&broker, limit);
        let back = limit + self.dice.between(Span::millis(0, 30_000));
        self.world.schedule(back, Event::Start(broker));
    }

    /// An owner writes, and the write takes its time.
    fn write_one(&mut self) {
        let running: Vec<BrokerId> = self.running_brokers().cloned().collect();
        let Some(id) = self
            .dice
            .pick(&running)
            .and_then(|broker| self.running(broker))
        else {
            return;
        };
        let now = self.now();
        let serves: Vec<BundleId> = self.node(id).serves.keys().cloned().collect();
        let Some(bundle) = self.dice.pick(&serves).cloned() else {
            return;
        };
        let node = self.node(id);
        let Some(fence) = node.is_mine(now, &bundle) else {
            return;
        };
        let write = Write {
            broker: node.broker.clone(),
            key: bundle.range().lower(),
            bundle,
            fence,
        };
        let late = self.dice.per_mille(50);
        let delay = match late {
            true => self.dice.between(Span::millis(1_000, 60_000)),
            false => self.dice.between(self.delays.log),
        };
        self.world.schedule(delay, Event::Write(write));
    }

    /// How long a cluster without faults and without an operator needs at most to come to rest:
    /// what is under way ends, what is orphaned heals, what was closed has started again.
    #[must_use]
    pub fn rest_bound(&self) -> Duration {
        let orphans = super::checkers::Orphans::bound(&self.config);
        let hooks = self.config.hook_limit * 2;
        // A namespace being deleted may have to wait for a round of the leader.
        let namespaces = self.config.monitor_interval * 2;
        orphans * 2 + hooks + namespaces + self.config.command_limit + Duration::from_secs(60)
    }
}
