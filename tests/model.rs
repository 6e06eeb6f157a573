//! Random histories, folded by the table and by a naive model of the design: the same verdict and
//! the same state after every entry, and the invariants I1, I2, I4 and I5.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod support;

use deedbook::state::{Phase, Rejection, Row, State};
use deedbook::table::{RowChange, Table};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use support::at;
use support::book::compacted;
use support::fences::Fences;
use support::history::{Step, World, Written, steps};
use support::model::{Life, Model, Why};

/// What the table said: the reason as the model names it.
fn why(rejection: &Rejection) -> Why {
    match rejection {
        Rejection::TermBroken { .. }
        | Rejection::NotAPartition { .. }
        | Rejection::NamespaceBeingDeleted { .. } => "terms",
        other => other.name(),
    }
}

fn apply(table: &mut Table, written: &Written) -> Result<Vec<RowChange>, Rejection> {
    let applied = table.apply(at(written.position), &written.entry).unwrap();
    applied.expect("each position is new to the table").outcome
}

/// The table with the eyes of the model.
fn model_of(table: &Table) -> Model {
    let facts = table.facts();
    let life = |phase: &Phase| match phase {
        Phase::Live => Life::Live,
        Phase::BeingDeleted => Life::Ending,
    };
    let plain_row = |row: &Row| {
        let mut bundle = support::model::Bundle::new(&row.record, 0, 0);
        (bundle.version, bundle.fence) = (row.version.get(), row.fence.get());
        bundle
    };
    Model {
        namespaces: facts
            .namespaces
            .iter()
            .map(|(name, phase)| (name.as_str().to_owned(), life(phase)))
            .collect(),
        bundles: table
            .rows()
            .map(|(id, row)| (id.clone(), plain_row(row)))
            .collect(),
        sessions: facts
            .sessions
            .iter()
            .map(|(name, session)| (name.as_str().to_owned(), session.get()))
            .collect(),
        epoch: facts.epoch.get(),
        floor: facts.floor.get(),
    }
}

/// Failures are kept beside this file, and tried again first.
fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases: 1000,
        failure_persistence: Some(Box::new(persistence)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn table_and_model_agree_after_every_entry(steps in steps(1..160)) {
        let mut world = World::default();
        let mut table = Table::default();
        let mut fences = Fences::default();
        for step in steps {
            let written = world.write(&step);
            let outcome = apply(&mut table, &written);
            prop_assert_eq!(
                outcome.as_ref().map(|_| ()).map_err(why), written.verdict, "{:?}", written.entry
            );
            prop_assert_eq!(&model_of(&table), &world.model, "after {:?}", written);
            prop_assert!(world.model.is_whole(), "I5 after {:?}", written);
            prop_assert_eq!(table.check_whole(), Ok(()));
            fences.check(outcome.as_deref().unwrap_or_default());
        }
    }

    #[test]
    fn i1_a_snapshot_and_its_tail_fold_to_the_whole_log(
        steps in steps(1..120),
        places in prop::collection::vec(any::<Index>(), 1..4),
    ) {
        let history = World::history(&steps);
        let places: BTreeSet<usize> =
            places.iter().map(|place| place.index(history.len() + 1)).collect();
        let mut whole = Table::default();
        let mut readers: Vec<Table> = Vec::new();
        for n in 0..=history.len() {
            if places.contains(&n) {
                // Whoever joins reads what was compacted, perhaps from what was compacted before.
                readers.push(compacted(readers.last().unwrap_or(&whole)));
            }
            let Some(written) = history.get(n) else { break };
            let outcome = apply(&mut whole, written);
            for reader in &mut readers {
                // I2: whatever they started from, all accept the same ones, for the same reasons.
                prop_assert_eq!(&apply(reader, written), &outcome);
                prop_assert_eq!(reader.digest(), whole.digest());
            }
        }
        for reader in &readers {
            prop_assert_eq!(model_of(reader), model_of(&whole));
        }
    }

    #[test]
    fn i2_of_conflicting_changes_the_first_valid_one_stands(
        steps in steps(1..80),
        rivals in steps(2..6),
    ) {
        // Several authors write for the same place at once: all have seen the same table.
        let mut world = World::default();
        let mut table = Table::default();
        for step in &steps {
            apply(&mut table, &world.write(step)).ok();
        }
        let mut newcomer = compacted(&table);
        // Far off, so that no version that was made up can be right by chance.
        let far = table.next().get() + 1000;
        let mut changed = BTreeSet::new();
        for (position, step) in (far..).zip(rivals) {
            let rival = Written { position, ..world.clone().write(&step) };
            let outcome = apply(&mut table, &rival);
            prop_assert_eq!(&apply(&mut newcomer, &rival), &outcome);
            let mut wanted = rival.entry.changes().iter().map(|change| &change.bundle);
            if wanted.any(|bundle| changed.contains(bundle)) {
                prop_assert!(outcome.is_err(), "an earlier one stands: {:?}", rival);
            }
            changed.extend(outcome.into_iter().flatten().map(|change| change.bundle));
        }
    }
}

/// What a run has met.
#[derive(Debug, Default)]
struct Met {
    entries: usize,
    accepted: usize,
    transitions: BTreeMap<(State, State), usize>,
    rejections: BTreeMap<&'static str, usize>,
    narrowest: usize,
}

impl Met {
    fn history(&mut self, steps: &[Step]) {
        let mut table = Table::default();
        for written in World::history(steps) {
            self.entries += 1;
            match apply(&mut table, &written) {
                Ok(changes) => {
                    self.accepted += 1;
                    for change in changes {
                        let from = Row::state_of(change.before.as_ref());
                        let to = Row::state_of(change.after.as_ref());
                        *self.transitions.entry((from, to)).or_default() += 1;
                        self.narrowest += usize::from(change.bundle.range().width() == 1);
                    }
                }
                Err(rejection) => *self.rejections.entry(rejection.name()).or_default() += 1,
            }
        }
    }
}

/// The histories above are worth something only if they reach what there is to reach.
#[test]
fn the_histories_reach_every_transition_and_every_rejection() {
    let mut runner = TestRunner::deterministic();
    let mut met = Met::default();
    for _ in 0..400 {
        let steps = steps(1..160).new_tree(&mut runner).unwrap().current();
        met.history(&steps);
    }
    let share = met.accepted * 100 / met.entries;
    println!("{share} % of {} entries accepted; {met:#?}", met.entries);
    assert!((50..=85).contains(&share), "{share} % accepted");
    assert!(met.narrowest > 0, "no range of one key was reached");
    let all = deedbook::state::rules::ORDINARY
        .iter()
        .chain(deedbook::state::rules::FORCED);
    for rule in all {
        assert!(
            met.transitions.contains_key(&(rule.from, rule.to)),
            "never met: {rule:?}"
        );
    }
    for name in REJECTIONS {
        assert!(met.rejections.contains_key(name), "never met: {name}");
    }
    assert_eq!(
        met.rejections.len(),
        REJECTIONS.len(),
        "{:?}",
        met.rejections
    );
}

const REJECTIONS: [&str; 18] = [
    "stale_version",
    "invalid_transition",
    "wrong_author",
    "term_broken",
    "not_a_partition",
    "stale_session",
    "stale_epoch",
    "no_epoch",
    "overlaps",
    "duplicate_bundle",
    "change_count",
    "namespace_being_deleted",
    "namespace_exists",
    "unknown_namespace",
    "namespace_not_marked",
    "namespace_in_use",
    "stale_view",
    "rules_not_newer",
];
