//! The transition table as data: which state may follow which, by whose word, on which terms.
//!
//! [`resolve_change`](super::resolve_change) decides by these rows and by nothing else; the table
//! in the documentation of [`state`](super) is printed from them.

use super::record::State;
use std::fmt;

/// Whose word a transition needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// Any broker.
    Anyone,
    /// The broker that the bundle is promised to.
    Destination,
    /// The session that still holds the bundle's resources.
    Source,
    /// A newer session of the broker whose older session still holds them.
    Successor,
    /// The leader, with the highest epoch seen.
    Leader,
}

/// What the new record must agree with beyond its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// The new record names the author as holder.
    HolderIsAuthor,
    /// The holder stays who it was.
    HolderStays,
    /// The holder is another session than before, or nobody is left to hold it.
    HolderChanges,
    /// The destination is another broker than before.
    DestinationChanges,
    /// The destination stays what it was, none included.
    DestinationStays,
    /// The destination, if there is one, is not the present holder.
    DestinationIsNotHolder,
    /// No destination was chosen, or the namespace is being deleted.
    NobodyWaits,
    /// The cuts stay what they were.
    CutsStay,
    /// The cuts lie inside the bundle, so that its children partition it.
    CutsDivide,
    /// The namespace is not being deleted.
    NamespaceStays,
    /// Like [`Self::NamespaceStays`], but only if a destination is chosen.
    NamespaceStaysIfDestination,
    /// In the same step the children are born, owned by the source.
    ChildrenAreBorn,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The present state.
    pub from: State,
    /// The state that may follow.
    pub to: State,
    /// Whose word it needs.
    pub by: By,
    /// On which terms.
    pub terms: &'static [Term],
}

/// Shortens the rows below.
const fn rule(from: State, to: State, by: By, terms: &'static [Term]) -> Rule {
    Rule {
        from,
        to,
        by,
        terms,
    }
}

use State::{Assigning, Deleted, Free, Init, Owned, Releasing, Splitting};
use Term::{
    ChildrenAreBorn, CutsDivide, CutsStay, DestinationChanges, DestinationIsNotHolder,
    DestinationStays, HolderChanges, HolderIsAuthor, HolderStays, NamespaceStays,
    NamespaceStaysIfDestination, NobodyWaits,
};

/// The ordinary transitions.
pub const ORDINARY: &[Rule] = &[
    rule(Free, Assigning, By::Anyone, &[NamespaceStays]),
    rule(Assigning, Owned, By::Destination, &[HolderIsAuthor]),
    rule(
        Assigning,
        Assigning,
        By::Destination,
        &[DestinationChanges, NamespaceStays],
    ),
    rule(Assigning, Free, By::Destination, &[]),
    rule(
        Owned,
        Releasing,
        By::Anyone,
        &[
            HolderStays,
            DestinationIsNotHolder,
            NamespaceStaysIfDestination,
        ],
    ),
    rule(
        Owned,
        Splitting,
        By::Anyone,
        &[HolderStays, CutsDivide, NamespaceStays],
    ),
    rule(Owned, Owned, By::Successor, &[HolderIsAuthor]),
    rule(
        Releasing,
        Assigning,
        By::Source,
        &[DestinationStays, NamespaceStays],
    ),
    rule(Releasing, Free, By::Source, &[NobodyWaits]),
    rule(
        Releasing,
        Releasing,
        By::Successor,
        &[HolderIsAuthor, DestinationStays],
    ),
    rule(Splitting, Deleted, By::Source, &[ChildrenAreBorn]),
    rule(
        Splitting,
        Splitting,
        By::Successor,
        &[HolderIsAuthor, CutsStay],
    ),
];

/// The transitions of an entry that claims the leader's epoch. That the holder is dead is the
/// leader's to know: the table consults no membership.
pub const FORCED: &[Rule] = &[
    rule(
        Assigning,
        Assigning,
        By::Leader,
        &[DestinationChanges, NamespaceStays],
    ),
    rule(Assigning, Free, By::Leader, &[]),
    rule(Owned, Assigning, By::Leader, &[NamespaceStays]),
    rule(Owned, Free, By::Leader, &[]),
    rule(Releasing, Assigning, By::Leader, &[NamespaceStays]),
    rule(Releasing, Free, By::Leader, &[]),
    rule(Splitting, Splitting, By::Leader, &[HolderChanges, CutsStay]),
    rule(Deleted, Init, By::Leader, &[]),
];

/// The row for a transition, if it is in the table.
#[must_use]
pub fn find(table: &'static [Rule], from: State, to: State) -> Option<&'static Rule> {
    table.iter().find(|rule| rule.from == from && rule.to == to)
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anyone => "any broker",
            Self::Destination => "the destination",
            Self::Source => "the session that holds it",
            Self::Successor => "a newer session of the broker that holds it",
            Self::Leader => "the leader",
        })
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HolderIsAuthor => "names its author as holder",
            HolderStays => "the holder stays",
            HolderChanges => "another holder, or none",
            DestinationChanges => "another destination",
            DestinationStays => "the destination stays",
            DestinationIsNotHolder => "the destination, if any, is not the holder",
            NobodyWaits => "no destination waits for it, or the namespace is being deleted",
            CutsStay => "the cuts stay",
            CutsDivide => "the cuts lie inside the bundle",
            NamespaceStays => "the namespace is not being deleted",
            NamespaceStaysIfDestination => "with a destination: the namespace is not being deleted",
            ChildrenAreBorn => "the children are born with it, owned by the source",
        })
    }
}

/// The tables as Markdown, for the documentation.
#[must_use]
pub fn to_markdown() -> String {
    let mut text =
        String::from("| from | to | by | on the terms that |\n| --- | --- | --- | --- |\n");
    for rule in ORDINARY.iter().chain(FORCED) {
        let terms: Vec<String> = rule.terms.iter().map(ToString::to_string).collect();
        let terms = if terms.is_empty() {
            "-".to_owned()
        } else {
            terms.join("; ")
        };
        text += &format!("| {} | {} | {} | {terms} |\n", rule.from, rule.to, rule.by);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_stands_in_a_table_once() {
        for table in [ORDINARY, FORCED] {
            for (i, rule) in table.iter().enumerate() {
                let twins = table
                    .iter()
                    .filter(|r| r.from == rule.from && r.to == rule.to)
                    .count();
                assert_eq!(twins, 1, "row {i}: {rule:?}");
            }
        }
    }

    #[test]
    fn the_documentation_shows_the_table() {
        let page = include_str!("mod.rs");
        for line in to_markdown().lines() {
            assert!(
                page.contains(&format!("//! {line}")),
                "missing in state/mod.rs:\n{line}"
            );
        }
    }
}
