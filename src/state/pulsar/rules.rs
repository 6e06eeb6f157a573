//! The rule sets: which state may follow which, on which terms, and what versions mean.

use crate::state::State;
use std::fmt;

/// A set of rules by which records were or are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What people call it.
    pub name: &'static str,
    /// The state that a missing record counts as.
    pub missing: State,
    /// What the numbers of records decide, before anything else.
    pub versions: Versions,
    /// The transitions that are allowed.
    pub transitions: &'static [Allowed],
}

/// What the numbers of records decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Versions {
    /// Records have no numbers that count.
    Uncounted,
    /// A record that is not newer is dropped; one that leaves numbers out is accepted without a
    /// further look: what stood between was compacted away.
    GapsPass,
    /// Only the very next number counts. A first record numbered 1 is accepted in any state,
    /// without a further look.
    GapsStop,
}

/// One transition that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The present state.
    pub from: State,
    /// The state that may follow.
    pub to: State,
    /// What the brokers of the new record must agree with, in the order in which they are looked
    /// at.
    pub terms: &'static [Term],
}

/// What the brokers of a new record must agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// It names no destination.
    NoDestination,
    /// It names a destination.
    SomeDestination,
    /// Its destination is the one before; missing and empty differ.
    SameDestination,
    /// Its destination is not the one before.
    OtherDestination,
    /// It names no source.
    NoSource,
    /// It names a source.
    SomeSource,
    /// Its source is the one before; missing and empty differ.
    SameSource,
    /// Its source is the destination before. Brokers fail where the record before has none.
    SourceIsOwner,
}

use State::{Assigning, Deleted, Free, Init, Owned, Releasing, Splitting};
use Term::{
    NoDestination, NoSource, OtherDestination, SameDestination, SameSource, SomeDestination,
    SomeSource, SourceIsOwner,
};

/// Shortens the rows below.
const fn allow(from: State, to: State, terms: &'static [Term]) -> Allowed {
    Allowed { from, to, terms }
}

/// Both brokers are those before.
const UNCHANGED: &[Term] = &[SameDestination, SameSource];

/// Today's rules, where records are kept in the system topic.
///
/// From nothing everything may follow, since compaction may have dropped the middle of a transfer
/// or a split.
pub const PULSAR_SYSTEM_TOPIC: Rules = Rules {
    name: "Apache Pulsar, system topic",
    missing: Init,
    versions: Versions::GapsPass,
    transitions: &[
        allow(Init, Free, &[]),
        allow(Init, Owned, &[]),
        allow(Init, Assigning, &[]),
        allow(Init, Releasing, &[]),
        allow(Init, Splitting, &[]),
        allow(Init, Deleted, &[]),
        allow(Free, Assigning, &[NoSource, SomeDestination]),
        allow(Free, Init, &[]),
        allow(Owned, Splitting, &[NoDestination, SourceIsOwner]),
        allow(
            Owned,
            Releasing,
            &[SomeSource, SourceIsOwner, OtherDestination],
        ),
        allow(Assigning, Owned, UNCHANGED),
        allow(
            Releasing,
            Assigning,
            &[SameDestination, SameSource, SomeDestination],
        ),
        allow(Releasing, Free, UNCHANGED),
        allow(Splitting, Deleted, UNCHANGED),
        allow(Deleted, Init, &[]),
    ],
};

/// Today's rules, where records are kept in the metadata store, which forgets nothing.
pub const PULSAR_METADATA_STORE: Rules = Rules {
    name: "Apache Pulsar, metadata store",
    missing: Init,
    versions: Versions::GapsStop,
    transitions: &[
        allow(Init, Assigning, &[]),
        allow(Free, Assigning, &[NoSource, SomeDestination]),
        allow(Owned, Splitting, &[NoDestination, SourceIsOwner]),
        allow(
            Owned,
            Releasing,
            &[SomeSource, SourceIsOwner, OtherDestination],
        ),
        allow(Assigning, Owned, UNCHANGED),
        allow(
            Releasing,
            Assigning,
            &[SameDestination, SameSource, SomeDestination],
        ),
        allow(Releasing, Free, UNCHANGED),
        allow(Splitting, Deleted, UNCHANGED),
        allow(Deleted, Init, &[]),
    ],
};

/// The first form that ran: seven states, no versions, and a transfer that assigns first and
/// releases then.
pub const PIP_192: Rules = Rules {
    name: "PIP-192, first form",
    missing: Init,
    versions: Versions::Uncounted,
    transitions: &[
        allow(Init, Free, &[]),
        allow(Init, Owned, &[]),
        allow(Init, Assigning, &[]),
        allow(Init, Releasing, &[]),
        allow(Init, Splitting, &[]),
        allow(Init, Deleted, &[]),
        allow(Free, Assigning, &[NoSource]),
        allow(Free, Init, &[]),
        allow(Owned, Assigning, &[SourceIsOwner, OtherDestination]),
        allow(Owned, Releasing, &[NoSource, SameDestination]),
        allow(Owned, Splitting, &[NoSource, SameDestination]),
        allow(Assigning, Owned, &[NoSource, SameDestination]),
        allow(
            Assigning,
            Releasing,
            &[SameDestination, SameSource, SomeSource],
        ),
        allow(Releasing, Owned, &[SameDestination, SameSource, SomeSource]),
        allow(Releasing, Free, UNCHANGED),
        allow(Splitting, Deleted, UNCHANGED),
        allow(Deleted, Init, &[]),
    ],
};

/// The second draft of PIP-192: five states. It says nothing of the brokers in a record.
pub const PIP_192_SECOND_DRAFT: Rules = Rules {
    name: "PIP-192, second draft",
    missing: Free,
    versions: Versions::Uncounted,
    transitions: &[
        allow(Free, Owned, &[]),
        allow(Free, Assigning, &[]),
        allow(Free, Releasing, &[]),
        allow(Free, Splitting, &[]),
        allow(Owned, Assigning, &[]),
        allow(Owned, Splitting, &[]),
        allow(Owned, Free, &[]),
        allow(Assigning, Owned, &[]),
        allow(Assigning, Releasing, &[]),
        allow(Assigning, Free, &[]),
        allow(Releasing, Owned, &[]),
        allow(Releasing, Free, &[]),
        allow(Splitting, Free, &[]),
    ],
};

/// The first draft of PIP-192: five states. It says nothing of the brokers in a record.
pub const PIP_192_FIRST_DRAFT: Rules = Rules {
    name: "PIP-192, first draft",
    missing: Free,
    versions: Versions::Uncounted,
    transitions: &[
        allow(Free, Owned, &[]),
        allow(Free, Assigning, &[]),
        allow(Owned, Assigning, &[]),
        allow(Owned, Splitting, &[]),
        allow(Owned, Free, &[]),
        allow(Assigning, Owned, &[]),
        allow(Assigning, Releasing, &[]),
        allow(Assigning, Free, &[]),
        allow(Releasing, Owned, &[]),
        allow(Releasing, Free, &[]),
        allow(Splitting, Free, &[]),
    ],
};

impl Rules {
    /// The row for a transition, if it is allowed.
    #[must_use]
    pub fn find(&self, from: State, to: State) -> Option<&'static Allowed> {
        self.transitions
            .iter()
            .find(|allowed| allowed.from == from && allowed.to == to)
    }

    /// The table as Markdown, for the documentation.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = String::from("| from | to | on the terms that |\n| --- | --- | --- |\n");
        for Allowed { from, to, terms } in self.transitions {
            let terms: Vec<String> = terms.iter().map(ToString::to_string).collect();
            let terms = if terms.is_empty() {
                "-".to_owned()
            } else {
                terms.join("; ")
            };
            text += &format!("| {from} | {to} | {terms} |\n");
        }
        text
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoDestination => "no destination is named",
            SomeDestination => "a destination is named",
            SameDestination => "the destination stays",
            OtherDestination => "the destination is another",
            NoSource => "no source is named",
            SomeSource => "a source is named",
            SameSource => "the source stays",
            SourceIsOwner => "the source is the owner",
        })
    }
}
