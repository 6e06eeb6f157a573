//! The fold by hand: a split, a difference, snapshots that must be refused.

use super::*;
use crate::ids::Cuts;
use crate::state::{Body, Change, Record};

fn me() -> Holder {
    Holder::new(BrokerId::new("a").unwrap(), SessionToken::new(1))
}

fn bundle(range: &str) -> BundleId {
    format!("t/n/{range}").parse().unwrap()
}

/// Applies the body at the next position and expects it to be accepted.
fn apply(table: &mut Table, body: Body) -> Applied {
    let position = table.next();
    let entry = Entry {
        author: me(),
        counter: position.get(),
        epoch: None,
        body,
    };
    let applied = table.apply(position, &entry).unwrap().unwrap();
    assert!(applied.outcome.is_ok(), "{:?}", applied.outcome);
    applied
}

fn change(table: &mut Table, range: &str, next: Record) -> Applied {
    let bundle = bundle(range);
    let expected = Row::version_of(table.get(&bundle));
    apply(
        table,
        Body::Changes(vec![Change {
            bundle,
            expected,
            next: Some(next),
        }]),
    )
}

/// A namespace of two bundles, the first of which was split at 0x1000 and is deleted.
fn after_split() -> Table {
    let mut table = Table::default();
    apply(
        &mut table,
        Body::CreateNamespace {
            namespace: Namespace::new("t/n").unwrap(),
            cuts: Some(Cuts::new(vec![0x2000]).unwrap()),
            applied: Position::ZERO,
        },
    );
    let first = "0x00000000_0x00002000";
    let cuts = Cuts::new(vec![0x1000]).unwrap();
    change(
        &mut table,
        first,
        Record::Assigning {
            destination: me().broker,
        },
    );
    change(&mut table, first, Record::Owned { owner: me() });
    change(
        &mut table,
        first,
        Record::Splitting {
            source: Some(me()),
            cuts,
        },
    );
    let split = change(&mut table, first, Record::Deleted);
    assert_eq!(
        split.outcome.unwrap().len(),
        3,
        "the parent and both children"
    );
    table
}

#[test]
fn a_key_finds_the_child_and_not_the_deleted_parent() {
    let table = after_split();
    let namespace = Namespace::new("t/n").unwrap();
    let at = |key| table.at_key(&namespace, key).unwrap().0.range().to_string();
    assert_eq!(at(0), "0x00000000_0x00001000");
    assert_eq!(at(0x0fff), "0x00000000_0x00001000");
    assert_eq!(at(0x1000), "0x00001000_0x00002000");
    assert_eq!(at(0x2000), "0x00002000_0xffffffff");
    assert_eq!(at(u32::MAX), "0x00002000_0xffffffff");
    assert!(table.check_whole().is_ok());
    assert_eq!(table.deleted().count(), 1);
    assert_eq!(table.held_by(&me()).count(), 2);
    assert_eq!(table.destined_to(&me().broker).count(), 0);
    assert_eq!(table.covering(&bundle("0x00000000_0x00002000")).len(), 2);
}

#[test]
fn rows_go_on_after_any_of_them() {
    let mut table = after_split();
    let other = Namespace::new("t/other").unwrap();
    let applied = table.next();
    apply(
        &mut table,
        Body::CreateNamespace {
            namespace: other,
            cuts: None,
            applied,
        },
    );
    let all: Vec<_> = table.rows().collect();
    assert_eq!(all.len(), 5);
    assert!(table.rows_after(None).eq(table.rows()));
    for (index, (bundle, _)) in all.iter().enumerate() {
        let rest: Vec<_> = table.rows_after(Some(bundle)).collect();
        assert_eq!(rest, all[index + 1..]);
    }
}

#[test]
fn the_difference_leads_from_one_table_to_the_other() {
    let empty = Table::default();
    let table = after_split();
    assert_eq!(empty.difference(&table).len(), 4);
    assert!(table.difference(&table).is_empty());
    let back = table.difference(&empty);
    assert!(back.iter().all(|change| change.after.is_none()));
    assert_eq!(back.len(), 4);
}

#[test]
fn a_snapshot_with_a_hole_or_a_stray_row_is_refused() {
    let table = after_split();
    let rows = || {
        table
            .rows()
            .map(|(bundle, row)| (bundle.clone(), row.clone()))
    };
    let load = |facts: &Facts, rows: Vec<_>| {
        Table::from_snapshot(table.next(), facts.clone(), rows).map(|table| table.digest())
    };
    assert_eq!(load(table.facts(), rows().collect()), Ok(table.digest()));
    let hole = load(table.facts(), rows().skip(2).collect());
    assert!(matches!(hole, Err(Error::NotWhole { .. })), "{hole:?}");
    let stray = load(&Facts::default(), rows().collect());
    assert!(matches!(stray, Err(Error::Stray { .. })), "{stray:?}");
    let twice = load(table.facts(), rows().chain(rows().take(1)).collect());
    assert!(matches!(twice, Err(Error::Twice { .. })), "{twice:?}");
}

#[test]
fn an_entry_delivered_twice_changes_nothing() {
    let mut table = after_split();
    let before = table.digest();
    let entry = Entry {
        author: me(),
        counter: 1,
        epoch: None,
        body: Body::LeaderStarted,
    };
    assert_eq!(table.apply(Position::new(1), &entry), Ok(None));
    assert_eq!(table.digest(), before);
}
