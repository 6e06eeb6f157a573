//! What a reader of compacted output must not get wrong: the middle of a change, and commands that
//! come too late. Every entry here is judged by a reader of the whole log and by each newcomer.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod support;

use deedbook::ids::BundleId;
use deedbook::state::{Body, Record, Rejection, State};
use deedbook::table::RowChange;
use support::book::{Book, MIDDLE, changes, compacted, lower};
use support::*;

const QUARTER: u32 = 0x4000_0000;

fn children() -> [BundleId; 2] {
    [bundle(0, QUARTER), bundle(QUARTER, MIDDLE)]
}

#[test]
fn compaction_in_the_middle_of_an_assignment() {
    let mut book = Book::default();
    book.write("a5", None, create("t/n", &[MIDDLE], 0)); // 1
    book.becomes("c5", assigning("b")); // 2
    book.compact();
    book.becomes("b5", owned("b5")); // 3
    book.compact();
    assert_eq!(
        book.row(),
        &row(owned("b5"), 3, 2),
        "the fence is the one that chose the owner"
    );
}

/// B4: a newcomer takes up what is in flight.
#[test]
fn compaction_in_the_middle_of_a_transfer() {
    let mut book = Book::with_owner();
    book.becomes("c5", releasing("a5", Some("b"))); // 4
    book.compact();
    assert_eq!(book.row(), &row(releasing("a5", Some("b")), 4, 2));
    book.becomes("a5", assigning("b")); // 5
    book.compact();
    book.becomes("b5", owned("b5")); // 6
    assert_eq!(book.row(), &row(owned("b5"), 6, 5));
}

#[test]
fn compaction_in_the_middle_of_a_split() {
    let mut book = Book::with_owner();
    book.becomes("c5", splitting(Some("a5"), &[QUARTER])); // 4
    book.compact();
    book.becomes("a5", Record::Deleted); // 5
    book.compact();
    for child in children() {
        assert_eq!(book.table.get(&child), Some(&row(owned("a5"), 5, 5)));
    }
    book.write("c5", Some(9), changes(5, None)); // 6
    book.compact();
    assert_eq!(book.table.get(&lower()), None);
    let unload = change(&children()[0], 5, Some(releasing("a5", None)));
    book.write("c5", None, Body::Changes(vec![unload])); // 7
}

/// A parent that was split, owned by `a5` before, with the version 3 that commands on their way
/// have seen. Compacted after every step.
fn split_parent() -> Book {
    let mut book = Book::with_owner();
    book.compact();
    book.becomes("a5", splitting(Some("a5"), &[QUARTER])); // 4
    book.compact();
    book.becomes("a5", Record::Deleted); // 5
    book.compact();
    book
}

/// B4: Owned -> Splitting -> gone -> Assigning -> Owned would give the keys two owners. In the
/// original whatever comes first for an absent bundle passes. Here a bundle is born only with its
/// namespace or by a split, so no command can bring the parent back, whichever version it names.
#[test]
fn a_delayed_command_does_not_revive_a_parent_that_is_gone() {
    let mut book = split_parent();
    book.write("c5", Some(9), changes(5, None)); // 6: the parent is removed
    book.compact();
    let revivals = [
        assigning("b"),
        owned("b5"),
        releasing("a5", Some("b")),
        free(),
    ];
    for next in revivals {
        for epoch in [None, Some(9)] {
            // The delayed command as it was written, and one for an absent bundle.
            let late = book.refused("b5", epoch, changes(3, Some(next.clone())));
            let (expected, found) = (at(3), at(0));
            assert_eq!(
                late,
                Rejection::StaleVersion {
                    bundle: lower(),
                    expected,
                    found
                }
            );
            let fresh = book.refused("b5", epoch, changes(0, Some(next.clone())));
            assert_eq!(
                fresh,
                Rejection::Overlaps {
                    bundles: children().to_vec()
                }
            );
        }
    }
    // Nor does the last step of a birth, nor a removal of what is gone.
    assert_eq!(
        book.refused("b5", Some(9), changes(0, None)).name(),
        "invalid_transition"
    );
    book.table.check_whole().unwrap();
}

/// B4, first: a newcomer takes up what is in flight. Second: a transfer that comes after the split
/// is refused. Third: also once the parent is gone (above). In the original: Init to anything, and
/// from Deleted nowhere but to Init. Here: the version must match, and `Deleted` only ends.
#[test]
fn b4_a_transfer_that_comes_after_the_split_is_refused() {
    let mut book = split_parent();
    let late = book.refused("c5", None, changes(3, Some(releasing("a5", Some("b")))));
    assert_eq!(late.name(), "stale_version");
    // Even by somebody who knows the parent's last version, and by the leader.
    for epoch in [None, Some(9)] {
        for next in [
            releasing("a5", Some("b")),
            assigning("b"),
            owned("b5"),
            free(),
        ] {
            let known = book.refused("c5", epoch, changes(5, Some(next)));
            assert_eq!(known.name(), "invalid_transition");
        }
    }
}

/// B5: commands of a broker that lags behind. In the original versions count up by one and lower or
/// equal ones are dropped. Here the version is a position, and a change names the one that it saw.
#[test]
fn b5_a_command_from_a_delayed_view_is_refused() {
    let mut book = Book::with_owner();
    book.becomes("a5", releasing("a5", Some("b"))); // 4
    book.becomes("a5", assigning("b")); // 5
    book.pass_until(50);
    book.becomes("b5", owned("b5")); // 50
    let unload = || Some(releasing("b5", None));
    // An older one, the position before, and one that was never given.
    for version in [0, 5, 45, 49, 51] {
        let rejection = book.refused("c5", None, changes(version, unload()));
        let (expected, found) = (at(version), at(50));
        assert_eq!(
            rejection,
            Rejection::StaleVersion {
                bundle: lower(),
                expected,
                found
            }
        );
        let forced = book.refused("c5", Some(9), changes(version, Some(assigning("c"))));
        assert_eq!(forced.name(), "stale_version", "force does not help");
    }
    book.write("c5", None, changes(50, unload()));
}

/// B6: a slow reader meets the horizon. In the original it accepts a gap in the versions, even
/// where the transition is not legal. Here it loads the snapshot and takes the difference to its
/// table: each net change once, removals included, whatever lay between.
#[test]
fn b6_a_reader_that_fell_behind_takes_the_difference() {
    let mut book = Book::with_owner();
    let upper = bundle(MIDDLE, u32::MAX);
    let slow = book.table.clone();
    book.becomes("c5", releasing("a5", Some("b"))); // 4
    book.becomes("a5", assigning("b")); // 5
    book.becomes("b5", owned("b5")); // 6
    let assign = change(&upper, 1, Some(assigning("c")));
    book.write("c5", None, Body::Changes(vec![assign])); // 7
    let take = change(&upper, 7, Some(owned("c5")));
    book.write("c5", None, Body::Changes(vec![take])); // 8
    let split = change(&upper, 8, Some(splitting(Some("c5"), &[0xc000_0000])));
    book.write("c5", None, Body::Changes(vec![split])); // 9
    let done = change(&upper, 9, Some(Record::Deleted));
    book.write("c5", None, Body::Changes(vec![done])); // 10
    let remove = change(&upper, 10, None);
    book.write("c5", Some(9), Body::Changes(vec![remove])); // 11

    let wanted = |lower_bound, upper_bound, before, after| RowChange {
        bundle: bundle(lower_bound, upper_bound),
        before,
        after,
    };
    let snapshot = compacted(&book.table);
    let mut difference = slow.difference(&snapshot);
    difference.sort_by(|a, b| a.bundle.cmp(&b.bundle));
    let child = || Some(row(owned("c5"), 10, 10));
    let moved = (Some(row(owned("a5"), 3, 2)), Some(row(owned("b5"), 6, 5)));
    let all = [
        wanted(0, MIDDLE, moved.0, moved.1),
        wanted(MIDDLE, 0xc000_0000, None, child()),
        wanted(MIDDLE, u32::MAX, Some(row(free(), 1, 0)), None),
        wanted(0xc000_0000, u32::MAX, None, child()),
    ];
    assert_eq!(difference, all);
    assert_eq!(snapshot.difference(&snapshot.clone()), []);
}

/// B18: a change that lost the race must not be tried again on what won. In the original a retry of
/// the store put both under one version. Here exactly one stands, the other ends as a conflict; and
/// views that differ in anything, not in the version alone, show it.
#[test]
fn b18_of_two_changes_of_one_version_one_stands() {
    let transfer = || changes(3, Some(releasing("a5", Some("b"))));
    let split = || changes(3, Some(splitting(Some("a5"), &[QUARTER])));
    for (first, second, state) in [
        (transfer(), split(), State::Releasing),
        (split(), transfer(), State::Splitting),
    ] {
        let mut book = Book::with_owner();
        book.compact();
        book.write("b5", None, first); // 4
        let conflict = book.refused("c5", None, second);
        let (expected, found) = (at(3), at(4));
        assert_eq!(
            conflict,
            Rejection::StaleVersion {
                bundle: lower(),
                expected,
                found
            }
        );
        assert_eq!(book.row().record.state(), state);
    }
}

/// B18: a view that has another record under the same version is not taken for the same.
#[test]
fn b18_the_difference_sees_more_than_versions() {
    let ours = Book::with_owner().table;
    let rows = ours.rows().map(|(bundle, kept)| {
        let other = row(owned("b5"), 3, 2);
        (
            bundle.clone(),
            if *bundle == lower() {
                other
            } else {
                kept.clone()
            },
        )
    });
    let theirs =
        deedbook::table::Table::from_snapshot(ours.next(), ours.facts().clone(), rows).unwrap();
    let difference = ours.difference(&theirs);
    assert_eq!(difference.len(), 1);
    assert_eq!(difference[0].after, Some(row(owned("b5"), 3, 2)));
    assert_ne!(ours.digest(), theirs.digest());
}

/// B28: of racing look-ups the first assignment stands, and the later one ends: it is rejected,
/// which ends the wait of its author with the record that won. Compaction keeps the same one.
#[test]
fn b28_the_loser_of_a_race_hears_of_it() {
    let mut book = Book::default();
    book.write("a5", None, create("t/n", &[MIDDLE], 0)); // 1
    book.compact();
    book.write("a5", None, changes(1, Some(assigning("b")))); // 2
    book.compact();
    let at_once = book.refused("a5", None, changes(1, Some(assigning("c"))));
    assert_eq!(at_once.name(), "stale_version");
    assert_eq!(
        book.row(),
        &row(assigning("b"), 2, 2),
        "the first, not the last"
    );
    book.compact();
    book.becomes("b5", owned("b5")); // 4
    let later = book.refused("c5", None, changes(1, Some(assigning("c"))));
    assert_eq!(later.name(), "stale_version");
    let knowing = book.refused("c5", None, changes(4, Some(assigning("c"))));
    assert_eq!(knowing.name(), "invalid_transition");
    assert_eq!(book.row(), &row(owned("b5"), 4, 2));
}
