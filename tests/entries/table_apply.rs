//! Any history into the table: invariants I1 and I5, and entries that change all or nothing.

use super::blocks::{load, write};
use super::bytes::Bytes;
use deedbook::ids::{BrokerId, BundleId, Cuts, Epoch, Holder, KeyRange, Namespace};
use deedbook::ids::{Position, SessionToken};
use deedbook::state::{Body, Change, Entry, Record, Row, State};
use deedbook::table::{RowChange, Table};

const BROKERS: [&str; 3] = ["a", "b", "c"];
const NAMESPACES: [&str; 2] = ["t/m", "t/n"];
const BOUNDS: [u32; 6] = [0, 1, 1 << 30, 1 << 31, u32::MAX - 1, u32::MAX];

/// Enough to reach every state, few enough for thousands of histories a second.
const STEPS_MAX: usize = 120;
const ROWS_MAX: usize = 40;
const NEWCOMERS_MAX: usize = 3;

/// The bytes as a history. Now and then it is compacted, and one more reader starts from there.
pub(crate) fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut readers = Readers::default();
    for _ in 0..STEPS_MAX {
        if bytes.is_empty() {
            break;
        }
        let control = bytes.byte();
        if control & 0x70 == 0x10 {
            readers.compact(30 * usize::from(control & 0xf));
        }
        let gap = u64::from(control & 0x3);
        let position = Position::new(readers.whole.next().get() + gap);
        let entry = draft(&mut bytes, &readers.whole, position);
        if !readers.write(position, &entry) {
            break;
        }
    }
    readers.check_indexes();
    readers.check_repeats();
}

/// One reader of the whole log, and those that started from compacted output.
#[derive(Default)]
struct Readers {
    whole: Table,
    newcomers: Vec<Table>,
    /// Entries that changed bundles.
    accepted: Vec<Entry>,
}

impl Readers {
    fn compact(&mut self, block_bytes: usize) {
        if self.newcomers.len() < NEWCOMERS_MAX {
            // From what was compacted before, if there is such a thing.
            let table = self.newcomers.last().unwrap_or(&self.whole);
            let newcomer = load(table.next(), write(table, block_bytes));
            self.newcomers
                .push(newcomer.expect("what was written is read"));
        }
    }

    /// False if the log cannot be read any further.
    fn write(&mut self, position: Position, entry: &Entry) -> bool {
        let before = self.whole.clone();
        let applied = self.whole.apply(position, entry);
        for newcomer in &mut self.newcomers {
            let too = newcomer.apply(position, entry);
            assert_eq!(too, applied, "a newcomer sees it otherwise: {entry:?}");
            assert_eq!(newcomer.digest(), self.whole.digest(), "I1 after {entry:?}");
        }
        let Ok(applied) = applied else {
            assert_eq!(self.whole.digest(), before.digest(), "stopped, and changed");
            assert_eq!(self.whole.next(), before.next(), "stopped, and moved on");
            return false;
        };
        let applied = applied.expect("the position is new");
        assert_eq!(self.whole.check_whole(), Ok(()), "I5 after {entry:?}");
        match applied.outcome {
            Ok(changes) => {
                check_changes(&before, changes, &self.whole);
                if !entry.changes().is_empty() {
                    self.accepted.push(entry.clone());
                }
            }
            Err(why) => {
                assert_eq!(applied.fact, None, "rejected, and a fact: {why}");
                check_unchanged(&before, &self.whole, "a rejected entry");
            }
        }
        let mut twice = self.whole.clone();
        assert_eq!(twice.apply(position, entry), Ok(None));
        assert_eq!(twice.digest(), self.whole.digest(), "read twice");
        if twice.apply(position.next(), entry).is_ok() {
            check_unchanged(&self.whole, &twice, "an entry that stands there already");
        }
        true
    }

    /// What is kept for quick answers agrees with the rows.
    fn check_indexes(&self) {
        let table = &self.whole;
        assert_eq!(table.row_count(), table.rows().count());
        let count = |is: &dyn Fn(&Row) -> bool| table.rows().filter(|(_, row)| is(row)).count();
        let in_flight = count(&|row| row.record.state().is_in_flight());
        assert_eq!(table.in_flight().count(), in_flight);
        let deleted = count(&|row| row.record.state() == State::Deleted);
        assert_eq!(table.deleted().count(), deleted);
        for broker in BROKERS.map(broker) {
            let destined = count(&|row| row.record.destination() == Some(&broker));
            assert_eq!(table.destined_to(&broker).count(), destined);
        }
        let held = table.holders().map(|holder| table.held_by(holder).count());
        assert_eq!(
            held.sum::<usize>(),
            count(&|row| row.record.holder().is_some())
        );
    }

    /// A change that was accepted never is again, however late it is repeated.
    fn check_repeats(&self) {
        let mut table = self.whole.clone();
        for entry in &self.accepted {
            let position = table.next();
            if table.apply(position, entry).is_ok() {
                check_unchanged(&self.whole, &table, "a late repeat");
            }
        }
    }
}

fn check_unchanged(before: &Table, after: &Table, what: &str) {
    assert_eq!(before.difference(after), [], "{what} changes a row");
    let (before, after) = (before.facts(), after.facts());
    assert_eq!(before.namespaces, after.namespaces, "{what}");
    assert_eq!(before.floor, after.floor, "{what}");
    assert_eq!(before.rules_version, after.rules_version, "{what}");
}

/// What is reported is what happened.
fn check_changes(before: &Table, mut changes: Vec<RowChange>, after: &Table) {
    changes.sort_by(|one, other| one.bundle.cmp(&other.bundle));
    let mut difference = before.difference(after);
    difference.sort_by(|one, other| one.bundle.cmp(&other.bundle));
    assert_eq!(changes, difference);
}

fn broker(name: &str) -> BrokerId {
    BrokerId::new(name).expect("a short name is a name")
}

/// An entry out of bytes; what it is about depends on where the table stands, so that many of them
/// are valid.
fn draft(bytes: &mut Bytes<'_>, table: &Table, position: Position) -> Entry {
    let kind = bytes.below(16);
    let epoch = match bytes.below(4) {
        0 | 1 => None,
        _ => Some(Epoch::new(
            table.facts().epoch.get() + bytes.number_below(3),
        )),
    };
    let name = bytes.pick(&NAMESPACES);
    let namespace = Namespace::new(name).expect("two short parts are a namespace");
    let (author, body) = match kind {
        0 | 1 => (anyone(bytes), create(bytes, namespace, position)),
        2 => {
            let applied = position.previous();
            (anyone(bytes), Body::DeleteNamespace { namespace, applied })
        }
        3 => (anyone(bytes), Body::EndNamespace { namespace }),
        4 => (anyone(bytes), Body::LeaderStarted),
        5 => {
            let version = u32::from(bytes.byte() / 0x80) + 1;
            (anyone(bytes), Body::RaiseRules { version })
        }
        _ => changes(bytes, table),
    };
    Entry {
        author,
        counter: position.get(),
        epoch,
        body,
    }
}

fn anyone(bytes: &mut Bytes<'_>) -> Holder {
    let name = bytes.pick(&BROKERS);
    Holder::new(broker(name), SessionToken::new(1 + bytes.number_below(3)))
}

fn create(bytes: &mut Bytes<'_>, namespace: Namespace, position: Position) -> Body {
    let applied = match bytes.below(4) {
        0 => Position::new(bytes.number_below(256)),
        _ => position,
    };
    let parts = u32::from(bytes.byte()) % 5;
    let cuts = match parts {
        4 => any_cuts(bytes),
        parts => Cuts::even(KeyRange::FULL, parts),
    };
    Body::CreateNamespace {
        namespace,
        cuts,
        applied,
    }
}

fn any_cuts(bytes: &mut Bytes<'_>) -> Option<Cuts> {
    let mut cuts = vec![bytes.pick(&BOUNDS), bytes.pick(&BOUNDS)];
    cuts.sort_unstable();
    cuts.dedup();
    Cuts::new(cuts).ok()
}

/// One to three changes, in the name of somebody who may make the first one, or of anyone.
fn changes(bytes: &mut Bytes<'_>, table: &Table) -> (Holder, Body) {
    let mut author = None;
    let mut changes = Vec::new();
    for _ in 0..=bytes.below(8).saturating_sub(5) {
        let bundle = bundle(bytes, table);
        let row = table.get(&bundle);
        let author = author.get_or_insert_with(|| actor(bytes, table, row));
        let expected = match bytes.below(8) {
            0 => Position::new(bytes.number_below(64)),
            _ => Row::version_of(row),
        };
        let next = next(bytes, table, &bundle, author);
        changes.push(Change {
            bundle,
            expected,
            next,
        });
    }
    let author = author.unwrap_or_else(|| anyone(bytes));
    (author, Body::Changes(changes))
}

fn bundle(bytes: &mut Bytes<'_>, table: &Table) -> BundleId {
    let index = usize::from(bytes.byte());
    let known = table.row_count();
    if index < 0xf0 && known > 0 {
        let row = table.rows().nth(index % known);
        return row.expect("the index is below the count").0.clone();
    }
    let namespace = Namespace::new(bytes.pick(&NAMESPACES)).expect("it is a namespace");
    let range = KeyRange::new(bytes.pick(&BOUNDS), bytes.pick(&BOUNDS));
    BundleId::new(namespace, range.unwrap_or(KeyRange::FULL))
}

/// Mostly whoever has the next step: the holder, or the destination in its newest session.
fn actor(bytes: &mut Bytes<'_>, table: &Table, row: Option<&Row>) -> Holder {
    if bytes.below(4) == 0 {
        return anyone(bytes);
    }
    let record = row.map(|row| &row.record);
    if let Some(holder) = record.and_then(Record::holder) {
        return holder.clone();
    }
    let to = record.and_then(Record::destination);
    to.map_or_else(|| anyone(bytes), |to| in_newest_session(table, to))
}

fn in_newest_session(table: &Table, broker: &BrokerId) -> Holder {
    let session = table.facts().sessions.get(broker);
    Holder::new(
        broker.clone(),
        session.copied().unwrap_or(SessionToken::new(1)),
    )
}

/// Mostly what may come next, else any record.
fn next(
    bytes: &mut Bytes<'_>,
    table: &Table,
    bundle: &BundleId,
    author: &Holder,
) -> Option<Record> {
    let record = table.get(bundle).map(|row| &row.record);
    let holder = record.and_then(Record::holder);
    let state = record.map_or(State::Init, Record::state);
    let state = match (bytes.below(4), state) {
        (0, _) => bytes.pick(&State::ALL),
        (_, State::Init | State::Free) => State::Assigning,
        (_, State::Assigning) => State::Owned,
        (_, State::Owned) => bytes.pick(&[State::Releasing, State::Splitting]),
        (_, State::Releasing) if record.and_then(Record::destination).is_some() => State::Assigning,
        (_, State::Releasing) => State::Free,
        (_, State::Splitting) => State::Deleted,
        (_, State::Deleted) => State::Init,
    };
    let source = match bytes.below(4) {
        0 => anyone(bytes),
        1 => author.clone(),
        _ => holder.unwrap_or(author).clone(),
    };
    let to = match (bytes.below(4), record.and_then(Record::destination)) {
        (1.., Some(to)) => to.clone(),
        _ => broker(bytes.pick(&BROKERS)),
    };
    Some(match state {
        State::Init => return None,
        State::Free => Record::Free,
        State::Assigning => Record::Assigning { destination: to },
        State::Owned => Record::Owned { owner: source },
        State::Releasing => Record::Releasing {
            source,
            destination: (bytes.below(2) == 0).then_some(to),
        },
        State::Splitting => Record::Splitting {
            source: (bytes.below(4) != 0).then_some(source),
            cuts: split(bytes, table, bundle)?,
        },
        State::Deleted => Record::Deleted,
    })
}

/// The cuts that stand there already, or new ones as long as there is room.
fn split(bytes: &mut Bytes<'_>, table: &Table, bundle: &BundleId) -> Option<Cuts> {
    let kept = table.get(bundle).and_then(|row| match &row.record {
        Record::Splitting { cuts, .. } => Some(cuts.clone()),
        _ => None,
    });
    match bytes.below(4) {
        0 => any_cuts(bytes),
        _ if kept.is_some() => kept,
        _ if table.row_count() >= ROWS_MAX => None,
        parts => Cuts::even(bundle.range(), 1 + u32::try_from(parts).unwrap_or(1)),
    }
}
