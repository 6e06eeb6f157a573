//! How much memory a bundle takes in a table, its share of names and indexes included.
#![cfg(test)]

use deedbook::ids::{Fence, Holder, Position, SessionToken};
use deedbook::state::{Facts, Phase, Record, Row};
use deedbook::table::Table;
use deedbook_bench::compare::corpus::{broker, bundles};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Goal G9 of the comparisons, in bytes.
const BYTES_A_BUNDLE_MAX: usize = 160;

/// The first just beyond a power of two, where maps that double have the most room to spare.
const BUNDLES: [usize; 2] = [132_000, 1_000_000];

/// The table is made from its rows as a snapshot has them; what the rows shared before it was made
/// is counted, too, since nothing but the table keeps it alive.
#[test]
fn a_bundle_takes_at_most_so_many_bytes() {
    for count in BUNDLES {
        let before = ALLOCATOR.current_usage();
        let table = table(count);
        let held: usize = table.holders().map(|who| table.held_by(who).count()).sum();
        let bytes = ALLOCATOR.current_usage() - before;
        assert_eq!((table.row_count(), held), (count, count));
        let each = bytes / count;
        println!("{each} bytes a bundle of {count}");
        assert!(
            each <= BYTES_A_BUNDLE_MAX,
            "{each} bytes a bundle of {count}"
        );
    }
}

fn table(count: usize) -> Table {
    let bundles = bundles(count);
    let mut facts = Facts::default();
    for bundle in &bundles {
        facts
            .namespaces
            .insert(bundle.namespace().clone(), Phase::Live);
    }
    let owner = |index| Holder::new(broker(index), SessionToken::new(1));
    let owners: Vec<_> = (0..100).map(owner).collect();
    let rows = bundles.into_iter().zip(owners.iter().cycle());
    let rows = rows.map(|(bundle, owner)| {
        let row = Row {
            record: Record::Owned {
                owner: owner.clone(),
            },
            version: Position::new(1),
            fence: Fence::new(1),
        };
        (bundle, row)
    });
    Table::from_snapshot(Position::new(2), facts, rows).unwrap()
}
