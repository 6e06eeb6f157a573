//! A made-up past of a cluster: brokers, namespaces, and changes of which a share is wrong.
//!
//! The same [`Shape`] gives the same history, on every machine and next year. Benchmarks use it,
//! too.

mod writer;

pub use writer::write_log;

use deedbook::ids::{BrokerId, BundleId, Cuts, Epoch, Holder, KeyRange, Namespace, Position};
use deedbook::state::{Body, Change, Entry, Record, Row, State};
use deedbook::table::{self, Table};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::HashMap;

/// How many bundles a namespace has, at most, when it is created.
const BUNDLES_A_NAMESPACE: u64 = 1_000;

/// One in so many changes of an owned bundle divides it.
const ONE_SPLITS_IN: u64 = 64;

/// One in so many changes of an owned bundle lets go of it without a destination.
const ONE_UNLOADS_IN: u64 = 8;

/// What a history is to look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many bundles there are in the beginning.
    pub bundles: u64,
    /// How many entries change one of them, or try to.
    pub changes: u64,
    /// Of a hundred of these so many are wrong.
    pub invalid_percent: u8,
    /// How many brokers there are: two or more.
    pub brokers: u32,
    /// Equal seeds give equal histories.
    pub seed: u64,
}

/// Writes entry after entry, each in the knowledge of all before it.
#[derive(Debug)]
pub struct History {
    shape: Shape,
    dice: ChaCha8Rng,
    brokers: Vec<Holder>,
    /// How many entries each broker has written.
    counters: Vec<u64>,
    numbers: HashMap<BrokerId, usize>,
    /// The epoch of the first broker, which leads.
    epoch: Epoch,
    table: Table,
    bundles: Vec<BundleId>,
    /// Where among them the one stands that was changed last.
    picked: usize,
    is_led: bool,
    namespaces_left: u64,
    changes_left: u64,
    accepted: u64,
    rejected: u64,
}

/// The name of the broker with a number.
///
/// # Panics
///
/// Never: the name is valid.
#[must_use]
pub fn broker_name(number: u32) -> BrokerId {
    BrokerId::new(format!("broker-{number:04}.example.net:8080")).expect("a valid name")
}

impl History {
    /// A history by these brokers, in the sessions in which they joined; the first one leads.
    ///
    /// # Panics
    ///
    /// If there are less than two.
    #[must_use]
    pub fn new(shape: Shape, brokers: Vec<Holder>, epoch: Epoch) -> Self {
        assert!(brokers.len() >= 2, "a bundle needs somewhere to go");
        let names = brokers.iter().map(|holder| holder.broker.clone());
        Self {
            dice: ChaCha8Rng::seed_from_u64(shape.seed),
            counters: vec![0; brokers.len()],
            numbers: names.zip(0..).collect(),
            brokers,
            epoch,
            table: Table::default(),
            bundles: Vec::new(),
            picked: 0,
            is_led: false,
            namespaces_left: shape.bundles.div_ceil(BUNDLES_A_NAMESPACE),
            changes_left: shape.changes,
            accepted: 0,
            rejected: 0,
            shape,
        }
    }

    /// How many entries are still to come.
    #[must_use]
    pub fn left(&self) -> u64 {
        u64::from(!self.is_led) + self.namespaces_left + self.changes_left
    }

    /// Ownership after all entries so far.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How many of the entries so far count.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// How many of the entries so far count for nothing.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The entry to write at `position`; none after the last.
    ///
    /// # Errors
    ///
    /// [`table::Error`] if the table cannot take it in.
    pub fn next(&mut self, position: Position) -> Result<Option<Entry>, table::Error> {
        let entry = if !self.is_led {
            self.is_led = true;
            self.entry(0, Some(self.epoch), Body::LeaderStarted)
        } else if self.namespaces_left > 0 {
            self.namespaces_left -= 1;
            Some(self.create_namespace())
        } else if self.changes_left > 0 {
            self.changes_left -= 1;
            self.change()
        } else {
            None
        };
        if let Some(entry) = &entry {
            self.take_in(position, entry)?;
        }
        Ok(entry)
    }

    fn take_in(&mut self, position: Position, entry: &Entry) -> Result<(), table::Error> {
        let Some(applied) = self.table.apply(position, entry)? else {
            return Ok(());
        };
        let Ok(changes) = applied.outcome else {
            self.rejected += 1;
            return Ok(());
        };
        self.accepted += 1;
        for change in changes {
            if change.before.is_none() {
                self.bundles.push(change.bundle);
            } else if change.after.is_none() {
                self.bundles.swap_remove(self.picked);
            }
        }
        Ok(())
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        let number = self.dice.next_u64().checked_rem(bound).unwrap_or(0);
        usize::try_from(number).unwrap_or(0)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.dice.next_u64().is_multiple_of(count)
    }

    fn entry(&mut self, author: usize, epoch: Option<Epoch>, body: Body) -> Option<Entry> {
        let counter = self.counters.get_mut(author)?;
        *counter += 1;
        Some(Entry {
            author: self.brokers.get(author)?.clone(),
            counter: *counter,
            epoch,
            body,
        })
    }

    fn create_namespace(&mut self) -> Entry {
        let created = u64::try_from(self.bundles.len()).unwrap_or(0);
        let parts = (self.shape.bundles - created).min(BUNDLES_A_NAMESPACE);
        let number = created / BUNDLES_A_NAMESPACE;
        let namespace = Namespace::new(format!("tenant-{:02}/space-{number:05}", number % 100))
            .expect("a valid name");
        let body = Body::CreateNamespace {
            namespace,
            cuts: Cuts::even(KeyRange::FULL, u32::try_from(parts).unwrap_or(1)),
            applied: self.table.next().previous(),
        };
        self.entry(0, None, body)
            .expect("the first broker is there")
    }

    fn change(&mut self) -> Option<Entry> {
        self.picked = self.below(self.bundles.len());
        let bundle = self.bundles.get(self.picked)?.clone();
        let row = self.table.get(&bundle)?.clone();
        let (author, next) = self.step(&bundle, &row);
        let change = Change {
            bundle,
            expected: row.version,
            next,
        };
        // Only the leader removes.
        let epoch = change.next.is_none().then_some(self.epoch);
        if self.below(100) < usize::from(self.shape.invalid_percent) {
            return self.spoil(author, epoch, change, &row);
        }
        self.entry(author, epoch, Body::Changes(vec![change]))
    }

    /// What may happen to a bundle next, and by whose word.
    fn step(&mut self, bundle: &BundleId, row: &Row) -> (usize, Option<Record>) {
        let anyone = self.below(self.brokers.len());
        let number = |broker: &BrokerId| self.numbers.get(broker).copied().unwrap_or(0);
        match &row.record {
            Record::Free => (anyone, Some(self.assigning(anyone))),
            Record::Assigning { destination } => {
                let author = number(destination);
                let owner = self.brokers.get(author).cloned();
                (author, owner.map(|owner| Record::Owned { owner }))
            }
            Record::Owned { owner } => {
                let source = number(&owner.broker);
                (anyone, Some(self.let_go(bundle, source, owner.clone())))
            }
            Record::Releasing {
                source,
                destination,
            } => {
                let destination = destination.clone();
                let next = destination.map_or(Record::Free, |destination| Record::Assigning {
                    destination,
                });
                (number(&source.broker), Some(next))
            }
            Record::Splitting { source, .. } => {
                let source = source.as_ref().map(|source| number(&source.broker));
                (source.unwrap_or(0), Some(Record::Deleted))
            }
            Record::Deleted => (0, None),
        }
    }

    fn assigning(&mut self, except: usize) -> Record {
        let destination = self.other_than(except);
        Record::Assigning {
            destination: destination.broker,
        }
    }

    fn let_go(&mut self, bundle: &BundleId, number: usize, source: Holder) -> Record {
        if let Some(middle) = bundle.range().middle()
            && self.one_in(ONE_SPLITS_IN)
            && let Ok(cuts) = Cuts::new(vec![middle])
        {
            let source = Some(source);
            return Record::Splitting { source, cuts };
        }
        let unloads = self.one_in(ONE_UNLOADS_IN);
        let destination = (!unloads).then(|| self.other_than(number).broker);
        Record::Releasing {
            source,
            destination,
        }
    }

    fn other_than(&mut self, number: usize) -> Holder {
        let count = self.brokers.len();
        let other = (number + 1 + self.below(count - 1)) % count;
        let other = self.brokers.get(other);
        other.expect("the number is below the count").clone()
    }

    /// Makes a change wrong, in one of the ways in which commands go wrong.
    fn spoil(
        &mut self,
        author: usize,
        epoch: Option<Epoch>,
        mut change: Change,
        row: &Row,
    ) -> Option<Entry> {
        let mut author = author;
        let mut epoch = epoch;
        let range = change.bundle.range();
        match self.below(6) {
            // Somebody else was first.
            0 => change.expected = row.version.previous(),
            // It is what it is already.
            1 => change.next = Some(row.record.clone()),
            // By somebody whose word it is not.
            2 if row.record.state() == State::Assigning => {
                author = (author + 1) % self.brokers.len();
            }
            // Of a namespace that does not exist.
            3 => {
                let namespace = Namespace::new("tenant-00/gone").ok()?;
                change.bundle = BundleId::new(namespace, range);
            }
            // Of keys that are another bundle's.
            4 => {
                let upper = range.lower() + (range.upper() - range.lower()) / 3;
                let narrow = KeyRange::new(range.lower(), upper.max(range.lower() + 1)).ok()?;
                change.bundle = BundleId::new(change.bundle.namespace().clone(), narrow);
                let there = self.table.get(&change.bundle);
                change.expected = there.map_or(Position::ZERO, |there| there.version.next());
            }
            // By a leader that another one has followed.
            _ => epoch = Some(Epoch::new(self.epoch.get() - 1)),
        }
        self.entry(author, epoch, Body::Changes(vec![change]))
    }
}
