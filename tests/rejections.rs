//! One test for each reason for which an entry changes nothing, by its name.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod support;

use deedbook::ids::{Epoch, SessionToken};
use deedbook::state::{Body, CHANGES_MAX, Rejection, State, rules};
use support::book::{Book, MIDDLE, changes, lower};
use support::*;

#[test]
fn stale_version() {
    let mut book = Book::with_owner();
    let rejection = book.refused("b5", None, changes(2, Some(releasing("a5", None))));
    let (expected, found) = (at(2), at(3));
    assert_eq!(
        rejection,
        Rejection::StaleVersion {
            bundle: lower(),
            expected,
            found
        }
    );
    assert_eq!(rejection.name(), "stale_version");
}

#[test]
fn invalid_transition() {
    let mut book = Book::with_owner();
    let rejection = book.refused("a5", None, changes(3, Some(free())));
    let (from, to) = (State::Owned, State::Free);
    assert_eq!(
        rejection,
        Rejection::InvalidTransition {
            bundle: lower(),
            from,
            to,
            forced: false
        }
    );
    let rejection = book.refused("a5", Some(9), changes(3, Some(releasing("a5", None))));
    let to = State::Releasing;
    assert_eq!(
        rejection,
        Rejection::InvalidTransition {
            bundle: lower(),
            from,
            to,
            forced: true
        }
    );
    assert_eq!(rejection.name(), "invalid_transition");
}

#[test]
fn wrong_author() {
    let mut book = Book::with_owner();
    book.becomes("c5", releasing("a5", Some("b")));
    let rejection = book.refused("b5", None, changes(4, Some(assigning("b"))));
    assert_eq!(
        rejection,
        Rejection::WrongAuthor {
            bundle: lower(),
            needed: rules::By::Source
        }
    );
    assert_eq!(rejection.name(), "wrong_author");
}

#[test]
fn term_broken() {
    let mut book = Book::with_owner();
    let rejection = book.refused("c5", None, changes(3, Some(releasing("a5", Some("a")))));
    let term = rules::Term::DestinationIsNotHolder;
    assert_eq!(
        rejection,
        Rejection::TermBroken {
            bundle: lower(),
            term
        }
    );
    assert_eq!(rejection.name(), "term_broken");
}

#[test]
fn not_a_partition() {
    let mut book = Book::with_owner();
    let rejection = book.refused(
        "c5",
        None,
        changes(3, Some(splitting(Some("a5"), &[MIDDLE]))),
    );
    assert_eq!(rejection, Rejection::NotAPartition { bundle: lower() });
    let rejection = book.refused("c5", None, create("t/m", &[0, 7], 0));
    let whole = bundle_of("t/m", 0, u32::MAX);
    assert_eq!(
        rejection,
        Rejection::NotAPartition {
            bundle: whole.clone()
        }
    );
    let rejection = book.refused("c5", None, create("t/m", &[u32::MAX], 0));
    assert_eq!(rejection, Rejection::NotAPartition { bundle: whole });
    assert_eq!(rejection.name(), "not_a_partition");
}

#[test]
fn stale_session() {
    let mut book = Book::with_owner();
    // Even a rejected entry tells that session 6 is there.
    book.refused("a6", None, changes(1, None));
    let rejection = book.refused("a5", None, changes(3, Some(releasing("a5", None))));
    let (session, highest) = (SessionToken::new(5), SessionToken::new(6));
    assert_eq!(
        rejection,
        Rejection::StaleSession {
            broker: broker("a"),
            session,
            highest
        }
    );
    assert_eq!(rejection.name(), "stale_session");
}

#[test]
fn stale_epoch() {
    let mut book = Book::with_owner();
    book.write("b5", Some(8), Body::LeaderStarted);
    let rejection = book.refused("a5", Some(7), changes(3, Some(free())));
    let (epoch, highest) = (Epoch::new(7), Epoch::new(8));
    assert_eq!(rejection, Rejection::StaleEpoch { epoch, highest });
    assert_eq!(rejection.name(), "stale_epoch");
}

#[test]
fn no_epoch() {
    let mut book = Book::with_owner();
    book.write("a5", None, delete("t/n"));
    for body in [
        Body::LeaderStarted,
        end("t/n"),
        Body::RaiseRules { version: 9 },
    ] {
        assert_eq!(book.refused("a5", None, body), Rejection::NoEpoch);
    }
    assert_eq!(Rejection::NoEpoch.name(), "no_epoch");
}

#[test]
fn overlaps() {
    let mut book = Book::with_owner();
    let across = bundle(0x7000_0000, 0x9000_0000);
    let body = Body::Changes(vec![change(&across, 0, Some(assigning("a")))]);
    let rejection = book.refused("a5", None, body);
    let bundles = vec![lower(), bundle(MIDDLE, u32::MAX)];
    assert_eq!(rejection, Rejection::Overlaps { bundles });
    assert_eq!(rejection.name(), "overlaps");
}

#[test]
fn duplicate_bundle() {
    let mut book = Book::with_owner();
    let unload = || change(&lower(), 3, Some(releasing("a5", None)));
    let rejection = book.refused("a5", None, Body::Changes(vec![unload(), unload()]));
    assert_eq!(rejection, Rejection::DuplicateBundle { bundle: lower() });
    assert_eq!(rejection.name(), "duplicate_bundle");
}

#[test]
fn change_count() {
    let mut book = Book::with_owner();
    let rejection = book.refused("a5", None, Body::Changes(Vec::new()));
    assert_eq!(rejection, Rejection::ChangeCount { count: 0 });
    let unload = change(&lower(), 3, Some(releasing("a5", None)));
    let many = vec![unload; CHANGES_MAX + 1];
    let rejection = book.refused("a5", None, Body::Changes(many));
    assert_eq!(
        rejection,
        Rejection::ChangeCount {
            count: CHANGES_MAX + 1
        }
    );
    assert_eq!(rejection.name(), "change_count");
}

#[test]
fn namespace_being_deleted() {
    let mut book = Book::with_owner();
    book.write("a5", None, delete("t/n"));
    let wanted = Rejection::NamespaceBeingDeleted {
        namespace: namespace("t/n"),
    };
    assert_eq!(book.refused("b5", None, delete("t/n")), wanted);
    for next in [releasing("a5", Some("b")), splitting(Some("a5"), &[7])] {
        assert_eq!(book.refused("b5", None, changes(3, Some(next))), wanted);
    }
    assert_eq!(
        book.refused("b5", Some(9), changes(3, Some(assigning("b")))),
        wanted
    );
    book.becomes("b5", releasing("a5", None));
    assert_eq!(wanted.name(), "namespace_being_deleted");
}

#[test]
fn namespace_exists() {
    let mut book = Book::with_owner();
    let rejection = book.refused("a5", None, create("t/n", &[], 3));
    assert_eq!(
        rejection,
        Rejection::NamespaceExists {
            namespace: namespace("t/n")
        }
    );
    assert_eq!(rejection.name(), "namespace_exists");
}

#[test]
fn unknown_namespace() {
    let mut book = Book::with_owner();
    let wanted = Rejection::UnknownNamespace {
        namespace: namespace("t/m"),
    };
    let elsewhere = change(&bundle_of("t/m", 0, MIDDLE), 0, Some(assigning("a")));
    for body in [Body::Changes(vec![elsewhere]), delete("t/m"), end("t/m")] {
        assert_eq!(book.refused("a5", Some(9), body), wanted);
    }
    assert_eq!(wanted.name(), "unknown_namespace");
}

#[test]
fn namespace_not_marked() {
    let mut book = Book::with_owner();
    let rejection = book.refused("a5", Some(9), end("t/n"));
    assert_eq!(
        rejection,
        Rejection::NamespaceNotMarked {
            namespace: namespace("t/n")
        }
    );
    assert_eq!(rejection.name(), "namespace_not_marked");
}

#[test]
fn namespace_in_use() {
    let mut book = Book::with_owner();
    book.write("a5", None, delete("t/n"));
    let rejection = book.refused("a5", Some(9), end("t/n"));
    let (bundle, state) = (lower(), State::Owned);
    assert_eq!(
        rejection,
        Rejection::NamespaceInUse {
            namespace: namespace("t/n"),
            bundle,
            state
        }
    );
    assert_eq!(rejection.name(), "namespace_in_use");
}

#[test]
fn stale_view() {
    let mut book = Book::with_owner();
    book.write("a5", None, create("t/m", &[], 0)); // 4
    book.write("a5", None, delete("t/m")); // 5
    book.write("a5", Some(9), end("t/m")); // 6
    let rejection = book.refused("a5", None, create("t/m", &[], 5));
    assert_eq!(
        rejection,
        Rejection::StaleView {
            applied: at(5),
            floor: at(6)
        }
    );
    assert_eq!(rejection.name(), "stale_view");
    book.write("a5", None, create("t/m", &[], 6)); // 7

    // A deletion that was on its way for long means the namespace that is gone, not this one.
    let late = Body::DeleteNamespace {
        namespace: namespace("t/m"),
        applied: at(4),
    };
    let rejection = book.refused("a5", None, late);
    assert_eq!(rejection.name(), "stale_view");
    book.write("a5", None, delete("t/m"));
}

#[test]
fn rules_not_newer() {
    let mut book = Book::with_owner();
    let rejection = book.refused("a5", Some(9), Body::RaiseRules { version: 1 });
    assert_eq!(
        rejection,
        Rejection::RulesNotNewer {
            version: 1,
            current: 1
        }
    );
    assert_eq!(rejection.name(), "rules_not_newer");
}

/// Beside the reasons: whoever meets newer rules stops where it is and does not skip.
#[test]
fn newer_rules_stop_the_reader_before_they_are_taken_in() {
    let mut book = Book::with_owner();
    let digest = book.table.digest();
    let raise = entry("a5", Some(9), Body::RaiseRules { version: 2 });
    for _ in 0..2 {
        assert!(book.table.apply(at(4), &raise).is_err());
        assert_eq!((book.table.next(), book.table.digest()), (at(4), digest));
    }
}
