//! Every look-up of the table against a scan of all its rows, after every entry of random histories
//! and for a newcomer from compacted output.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod support;

use deedbook::ids::{BrokerId, BundleId, Holder};
use deedbook::state::{COVERING_MAX, Row, State, View};
use deedbook::table::Table;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeSet;
use support::book::compacted;
use support::history::{BROKERS, NAMESPACES, World, steps};
use support::{at, broker, namespace};

type Rows<'a> = Vec<(&'a BundleId, &'a Row)>;

/// In the order of a scan, whatever the order of the index.
fn sorted<'a>(rows: impl Iterator<Item = (&'a BundleId, &'a Row)>) -> Rows<'a> {
    let mut rows: Rows<'_> = rows.collect();
    rows.sort_by_key(|(bundle, _)| *bundle);
    rows
}

fn scan(table: &Table, wanted: impl Fn(&BundleId, &Row) -> bool) -> Rows<'_> {
    table
        .rows()
        .filter(|(bundle, row)| wanted(bundle, row))
        .collect()
}

fn check_indexes(table: &Table) {
    let state = |wanted: State| move |_: &BundleId, row: &Row| row.record.state() == wanted;
    let in_flight = |_: &BundleId, row: &Row| {
        [State::Assigning, State::Releasing, State::Splitting].contains(&row.record.state())
    };
    assert_eq!(sorted(table.deleted()), scan(table, state(State::Deleted)));
    assert_eq!(sorted(table.in_flight()), scan(table, in_flight));
    assert_eq!(table.row_count(), table.rows().count());

    let holders: BTreeSet<&Holder> = table
        .rows()
        .filter_map(|(_, row)| row.record.holder())
        .collect();
    assert_eq!(
        table.holders().collect::<Vec<_>>(),
        holders.iter().copied().collect::<Vec<_>>()
    );
    for holder in holders {
        let held = scan(table, |_, row| row.record.holder() == Some(holder));
        assert_eq!(sorted(table.held_by(holder)), held);
    }
    for name in BROKERS.map(broker) {
        let to = |_: &BundleId, row: &Row| row.record.destination() == Some(&name);
        assert_eq!(destined(table, &name), scan(table, to));
    }
}

fn destined<'a>(table: &'a Table, broker: &BrokerId) -> Rows<'a> {
    sorted(table.destined_to(broker))
}

/// Every key where something may change, and its neighbours.
fn edges(table: &Table) -> BTreeSet<u32> {
    let bounds = table.rows().flat_map(|(bundle, _)| {
        let range = bundle.range();
        [range.lower(), range.upper()]
    });
    let around = |key: u32| [key.saturating_sub(1), key, key.saturating_add(1)];
    bounds.flat_map(around).chain([0, u32::MAX]).collect()
}

fn check_keys(table: &Table) {
    for name in NAMESPACES.map(namespace) {
        let alive = scan(table, |bundle, row| {
            *bundle.namespace() == name && row.record.state() != State::Deleted
        });
        for key in edges(table) {
            let holding: Rows<'_> = alive
                .iter()
                .copied()
                .filter(|(bundle, _)| bundle.range().contains(key))
                .collect();
            assert_eq!(
                table.at_key(&name, key).into_iter().collect::<Rows<'_>>(),
                holding,
                "{key:#010x} of {name}"
            );
        }
        for (bundle, _) in table
            .rows()
            .filter(|(bundle, _)| *bundle.namespace() == name)
        {
            let mut covering: Vec<BundleId> = alive
                .iter()
                .filter(|(other, _)| other.overlaps(bundle))
                .map(|(other, _)| (*other).clone())
                .collect();
            covering.truncate(COVERING_MAX);
            assert_eq!(table.covering(bundle), covering, "{bundle}");
        }
    }
}

fn check_order(table: &Table) {
    let rows: Rows<'_> = table.rows().collect();
    for n in 0..=rows.len() {
        let last = n.checked_sub(1).map(|n| rows[n].0);
        assert_eq!(table.rows_after(last).collect::<Rows<'_>>(), rows[n..]);
    }
}

fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases: 300,
        failure_persistence: Some(Box::new(persistence)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn look_ups_find_what_a_scan_finds(steps in steps(1..120)) {
        let mut table = Table::default();
        let mut digests = Vec::new();
        for written in World::history(&steps) {
            let before = table.clone();
            let applied = table.apply(at(written.position), &written.entry).unwrap().unwrap();
            check_indexes(&table);
            check_keys(&table);
            check_order(&table);
            if applied.outcome.is_ok_and(|changes| !changes.is_empty()) {
                // Versions grow, so no state comes twice: nor does a digest.
                digests.push(table.digest());
                prop_assert_ne!(before.digest(), table.digest());
            }
        }
        let count = digests.len();
        digests.sort_by_key(ToString::to_string);
        digests.dedup();
        prop_assert_eq!(digests.len(), count);
        let newcomer = compacted(&table);
        check_indexes(&newcomer);
        check_keys(&newcomer);
    }
}
