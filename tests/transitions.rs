//! Every state, request, author, epoch, phase and version of a small cast, against a second table.
//!
//! The table below was written by hand from the design, as pictures of concrete records, and shares
//! nothing with the rules in `state`. A case is accepted exactly if a picture shows it and nothing
//! else speaks against it; if it is rejected, the reason that is told must be one that is true.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod support;

use deedbook::ids::{BundleId, Epoch, SessionToken};
use deedbook::state::{Body, Entry, Facts, Phase, Record, Row, resolve_entry};
use deedbook::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use support::*;

/// What may happen. Columns: ordinary or forced | the present record | authors | what it may become
/// | the namespace's phase | the fence: `new` is the position of the entry, `kept` what it was,
/// `zero` none.
///
/// The cast: broker `a` in sessions 4, 5 and 6, of which 5 holds whatever is held; `b` is the
/// destination where one was chosen; `c` is a stranger. `x` and `y` are cuts inside the bundle, `z`
/// lies outside.
const PICTURES: &str = "
ordinary | Free           | any      | Assigning(a) Assigning(b) Assigning(c)  | live    | new

ordinary | Assigning(b)   | b5       | Owned(b5)                               | any     | kept
ordinary | Assigning(a)   | a4       | Owned(a4)                               | any     | kept
ordinary | Assigning(a)   | a5       | Owned(a5)                               | any     | kept
ordinary | Assigning(a)   | a6       | Owned(a6)                               | any     | kept
ordinary | Assigning(b)   | b5       | Assigning(a) Assigning(c)               | live    | new
ordinary | Assigning(a)   | a4 a5 a6 | Assigning(b) Assigning(c)               | live    | new
ordinary | Assigning(b)   | b5       | Free                                    | any     | zero
ordinary | Assigning(a)   | a4 a5 a6 | Free                                    | any     | zero

ordinary | Owned(a5)      | any      | Releasing(a5,-)                         | any     | kept
ordinary | Owned(a5)      | any      | Releasing(a5,b) Releasing(a5,c)         | live    | kept
ordinary | Owned(a5)      | any      | Splitting(a5,x) Splitting(a5,y)         | live    | kept
ordinary | Owned(a5)      | a6       | Owned(a6)                               | any     | new

ordinary | Releasing(a5,b) | a5      | Assigning(b)                            | live    | new
ordinary | Releasing(a5,-) | a5      | Free                                    | any     | zero
ordinary | Releasing(a5,b) | a5      | Free                                    | deleted | zero
ordinary | Releasing(a5,b) | a6      | Releasing(a6,b)                         | any     | new
ordinary | Releasing(a5,-) | a6      | Releasing(a6,-)                         | any     | new

ordinary | Splitting(a5,x) | a5      | Deleted                                 | any     | zero
ordinary | Splitting(a5,x) | a6      | Splitting(a6,x)                         | any     | new

forced   | Assigning(b)    | any     | Assigning(a) Assigning(c)               | live    | new
forced   | Assigning(a)    | any     | Assigning(b) Assigning(c)               | live    | new
forced   | Assigning(b)    | any     | Free                                    | any     | zero
forced   | Assigning(a)    | any     | Free                                    | any     | zero
forced   | Owned(a5)       | any     | Assigning(a) Assigning(b) Assigning(c)  | live    | new
forced   | Owned(a5)       | any     | Free                                    | any     | zero
forced   | Releasing(a5,b) | any     | Assigning(a) Assigning(b) Assigning(c)  | live    | new
forced   | Releasing(a5,-) | any     | Assigning(a) Assigning(b) Assigning(c)  | live    | new
forced   | Releasing(a5,b) | any     | Free                                    | any     | zero
forced   | Releasing(a5,-) | any     | Free                                    | any     | zero
forced   | Splitting(a5,x) | any     | Splitting(a4,x) Splitting(a6,x)         | any     | new
forced   | Splitting(a5,x) | any     | Splitting(b5,x) Splitting(c5,x)         | any     | new
forced   | Splitting(a5,x) | any     | Splitting(-,x)                          | any     | zero
forced   | Splitting(-,x)  | any     | Splitting(a4,x) Splitting(a5,x)         | any     | new
forced   | Splitting(-,x)  | any     | Splitting(a6,x) Splitting(b5,x)         | any     | new
forced   | Splitting(-,x)  | any     | Splitting(c5,x)                         | any     | new
forced   | Deleted         | any     | Init                                    | any     | zero
";

const KEPT: [&str; 10] = [
    "Init",
    "Free",
    "Assigning(a)",
    "Assigning(b)",
    "Owned(a5)",
    "Releasing(a5,-)",
    "Releasing(a5,b)",
    "Splitting(a5,x)",
    "Splitting(-,x)",
    "Deleted",
];
const AUTHORS: [&str; 5] = ["a4", "a5", "a6", "b5", "c5"];
const PHASES: [Phase; 2] = [Phase::Live, Phase::BeingDeleted];
/// The highest epoch seen is 10.
const EPOCHS: [Option<u64>; 4] = [None, Some(9), Some(10), Some(11)];
/// The row, if there is one, was last changed at 50.
const EXPECTED: [u64; 4] = [0, 49, 50, 51];

const VERSION: u64 = 50;
const FENCE: u64 = 40;
const POSITION: u64 = 100;

const LOWER: u32 = 0x4000_0000;
const UPPER: u32 = 0x8000_0000;
const X: &[u32] = &[0x6000_0000];
const Y: &[u32] = &[0x5000_0000, 0x6000_0000];
const Z: &[u32] = &[0x6000_0000, 0x8000_0000];

fn subject() -> BundleId {
    bundle(LOWER, UPPER)
}

fn record(text: &str) -> Option<Record> {
    let (name, rest) = text.split_once('(').unwrap_or((text, ""));
    let parts: Vec<&str> = rest.trim_end_matches(')').split(',').collect();
    let some = |part: &str| (part != "-").then(|| part.to_owned());
    Some(match (name, parts.as_slice()) {
        ("Init", _) => return None,
        ("Free", _) => free(),
        ("Assigning", [to]) => assigning(to),
        ("Owned", [owner]) => owned(owner),
        ("Releasing", [source, to]) => releasing(source, some(to).as_deref()),
        ("Splitting", [source, cuts]) => {
            let cuts = match *cuts {
                "x" => X,
                "y" => Y,
                _ => Z,
            };
            splitting(some(source).as_deref(), cuts)
        }
        ("Deleted", _) => Record::Deleted,
        _ => panic!("no record: {text}"),
    })
}

fn state(text: &str) -> &str {
    text.split('(').next().unwrap()
}

/// Everything that can be asked for.
fn requests() -> Vec<String> {
    let sources = ["-", "a4", "a5", "a6", "b5", "c5"];
    let mut all: Vec<String> = ["Init", "Free", "Deleted"].map(String::from).into();
    all.extend(["a", "b", "c"].map(|to| format!("Assigning({to})")));
    for source in sources {
        if source != "-" {
            all.push(format!("Owned({source})"));
            all.extend(["-", "a", "b", "c"].map(|to| format!("Releasing({source},{to})")));
        }
        all.extend(["x", "y", "z"].map(|cuts| format!("Splitting({source},{cuts})")));
    }
    all
}

struct Picture<'a> {
    mode: &'a str,
    kept: &'a str,
    authors: Vec<&'a str>,
    becomes: Vec<&'a str>,
    phase: Option<Phase>,
    fence: &'a str,
}

fn pictures() -> Vec<Picture<'static>> {
    let lines = PICTURES.lines().filter(|line| !line.is_empty());
    let picture = |line: &'static str| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [mode, kept, authors, becomes, phase, fence] = columns.try_into().unwrap();
        Picture {
            mode,
            kept,
            authors: match authors {
                "any" => AUTHORS.to_vec(),
                some => some.split_whitespace().collect(),
            },
            becomes: becomes.split_whitespace().collect(),
            phase: match phase {
                "live" => Some(Phase::Live),
                "deleted" => Some(Phase::BeingDeleted),
                _ => None,
            },
            fence,
        }
    };
    lines.map(picture).collect()
}

/// One case.
#[derive(Debug)]
struct Case<'a> {
    kept: &'a str,
    becomes: &'a str,
    author: &'a str,
    /// The highest session of `a` seen so far.
    seen: u64,
    epoch: Option<u64>,
    phase: Phase,
    expected: u64,
}

impl Case<'_> {
    fn mode(&self) -> &'static str {
        if self.epoch.is_some() {
            "forced"
        } else {
            "ordinary"
        }
    }

    fn entry(&self) -> Entry {
        let change = change(&subject(), self.expected, record(self.becomes));
        entry(self.author, self.epoch, Body::Changes(vec![change]))
    }

    /// What speaks against the case whatever the pictures say.
    fn obstacles(&self) -> BTreeSet<&'static str> {
        let author = holder(self.author);
        let mut found = BTreeSet::new();
        if author.broker == broker("a") && author.session < SessionToken::new(self.seen) {
            found.insert("stale_session");
        }
        if self.epoch.is_some_and(|epoch| epoch < 10) {
            found.insert("stale_epoch");
        }
        let absent = self.kept == "Init";
        if self.expected != if absent { 0 } else { VERSION } {
            found.insert("stale_version");
        }
        if absent && self.becomes != "Init" {
            found.insert("overlaps");
        }
        found
    }

    /// Why no picture shows the case; or the picture that does.
    fn look_up<'p>(&self, pictures: &'p [Picture<'p>]) -> Result<usize, BTreeSet<&'static str>> {
        let same_states = |picture: &&Picture<'_>| {
            picture.mode == self.mode()
                && state(picture.kept) == state(self.kept)
                && picture
                    .becomes
                    .iter()
                    .any(|to| state(to) == state(self.becomes))
        };
        let candidates: Vec<&Picture<'_>> = pictures.iter().filter(same_states).collect();
        if candidates.is_empty() {
            return Err(BTreeSet::from(["invalid_transition"]));
        }
        if !candidates.iter().any(|picture| picture.kept == self.kept) {
            // From such a record nobody may: either reason is true.
            return Err(BTreeSet::from(["wrong_author", "term_broken"]));
        }
        let of_author = |picture: &&&Picture<'_>| {
            picture.kept == self.kept && picture.authors.contains(&self.author)
        };
        let candidates: Vec<_> = candidates.iter().filter(of_author).collect();
        if candidates.is_empty() {
            return Err(BTreeSet::from(["wrong_author"]));
        }
        let in_phase =
            |picture: &Picture<'_>| picture.phase.is_none_or(|phase| phase == self.phase);
        let shows = |picture: &Picture<'_>, text: &str| picture.becomes.contains(&text);
        let found = pictures.iter().position(|picture| {
            same_states(&picture)
                && of_author(&&picture)
                && in_phase(picture)
                && shows(picture, self.becomes)
        });
        if let Some(index) = found {
            return Ok(index);
        }
        let mut reasons = BTreeSet::new();
        let healed = self.becomes.replace(",z)", ",x)");
        if healed != self.becomes {
            reasons.insert("not_a_partition");
            if state(self.kept) == "Splitting" {
                // The cuts were chosen before: to change them is wrong wherever they lie.
                reasons.insert("term_broken");
            }
        }
        if self.phase == Phase::BeingDeleted
            && candidates.iter().any(|p| shows(p, &healed) || !in_phase(p))
        {
            reasons.insert("namespace_being_deleted");
        }
        if !candidates.iter().any(|p| shows(p, &healed) && in_phase(p)) {
            reasons.insert("term_broken");
        }
        Err(reasons)
    }
}

/// A table in which the bundle is what `kept` says, between two neighbours.
fn table(kept: &str, seen: u64, phase: Phase) -> Table {
    let facts = Facts {
        namespaces: BTreeMap::from([(namespace("t/n"), phase)]),
        sessions: BTreeMap::from([
            (broker("a"), SessionToken::new(seen)),
            (broker("b"), SessionToken::new(5)),
        ]),
        epoch: Epoch::new(10),
        ..Facts::default()
    };
    let mut rows = vec![
        (bundle(UPPER, u32::MAX), row(free(), 1, 0)),
        (bundle(0, LOWER), row(free(), 1, 0)),
    ];
    let names_somebody = !matches!(kept, "Free" | "Deleted" | "Splitting(-,x)");
    let fence = if names_somebody { FENCE } else { 0 };
    match record(kept) {
        None => rows = vec![(bundle(0, u32::MAX), row(free(), 1, 0))],
        Some(record) => rows.push((subject(), row(record, VERSION, fence))),
    }
    if kept == "Deleted" {
        rows.extend(children().map(|child| (child, row(owned("a5"), VERSION, VERSION))));
    }
    Table::from_snapshot(at(POSITION), facts, rows).unwrap()
}

fn children() -> impl Iterator<Item = BundleId> {
    [(LOWER, X[0]), (X[0], UPPER)]
        .map(|(lower, upper)| bundle(lower, upper))
        .into_iter()
}

/// What the bundle and those that were born with the step must be afterwards.
fn outcome(case: &Case<'_>, picture: &Picture<'_>) -> Vec<(BundleId, Option<Row>)> {
    let fence = match picture.fence {
        "new" => POSITION,
        "kept" => FENCE,
        _ => 0,
    };
    let subject_row = record(case.becomes).map(|record| row(record, POSITION, fence));
    let mut rows = vec![(subject(), subject_row)];
    if case.becomes == "Deleted" {
        let child = row(owned(case.author), POSITION, POSITION);
        rows.extend(children().map(|bundle| (bundle, Some(child.clone()))));
    }
    rows
}

/// Judges the case and applies it, and compares with what the pictures say.
fn check(case: &Case<'_>, table: &Table, pictures: &[Picture<'_>]) -> Option<usize> {
    let entry = case.entry();
    let verdict = resolve_entry(table, at(POSITION), &entry);
    let obstacles = case.obstacles();
    let shown = case.look_up(pictures);
    let (Ok(index), true) = (&shown, obstacles.is_empty()) else {
        let reasons: BTreeSet<_> = obstacles
            .into_iter()
            .chain(shown.err().unwrap_or_default())
            .collect();
        let told = verdict
            .expect_err(&format!("accepted, against {reasons:?}: {case:?}"))
            .name();
        assert!(
            reasons.contains(told),
            "{told} is not among {reasons:?}: {case:?}"
        );
        return None;
    };
    let rows = verdict
        .unwrap_or_else(|told| panic!("rejected as {told:?}: {case:?}"))
        .rows;
    let wanted = outcome(case, &pictures[*index]);
    assert_eq!(rows, wanted, "{case:?}");
    let mut after = table.clone();
    let applied = after.apply(at(POSITION), &entry).unwrap().unwrap();
    assert_eq!(applied.outcome.unwrap().len(), wanted.len());
    for (bundle, row) in &wanted {
        assert_eq!(after.get(bundle), row.as_ref(), "{bundle} after {case:?}");
    }
    after
        .check_whole()
        .unwrap_or_else(|error| panic!("{error}: {case:?}"));
    Some(*index)
}

#[test]
fn every_case_ends_as_the_second_table_says() {
    let pictures = pictures();
    let requests = requests();
    let mut hits = BTreeMap::<(usize, &str), usize>::new();
    let mut count = 0_usize;
    for (kept, phase, seen) in KEPT
        .into_iter()
        .flat_map(|kept| PHASES.map(|phase| (kept, phase)))
        .flat_map(|(kept, phase)| [4, 5, 6].map(|seen| (kept, phase, seen)))
    {
        let table = table(kept, seen, phase);
        for becomes in &requests {
            for author in AUTHORS {
                for (epoch, expected) in EPOCHS
                    .into_iter()
                    .flat_map(|epoch| EXPECTED.map(|v| (epoch, v)))
                {
                    let case = Case {
                        kept,
                        becomes,
                        author,
                        seen,
                        epoch,
                        phase,
                        expected,
                    };
                    count += 1;
                    if let Some(index) = check(&case, &table, &pictures) {
                        *hits.entry((index, becomes)).or_default() += 1;
                    }
                }
            }
        }
    }
    assert_eq!(count, 10 * 2 * 3 * requests.len() * 5 * 16);
    for (index, picture) in pictures.iter().enumerate() {
        for becomes in &picture.becomes {
            assert!(
                hits.contains_key(&(index, *becomes)),
                "never accepted: {} {} -> {becomes}",
                picture.mode,
                picture.kept
            );
        }
    }
}

#[test]
fn without_its_namespace_nothing_becomes_anything() {
    let table = Table::default();
    for becomes in requests() {
        for (author, epoch) in AUTHORS.into_iter().flat_map(|a| EPOCHS.map(|e| (a, e))) {
            for expected in EXPECTED {
                let change = change(&subject(), expected, record(&becomes));
                let entry = entry(author, epoch, Body::Changes(vec![change]));
                let told = resolve_entry(&table, at(POSITION), &entry).unwrap_err();
                assert_eq!(told.name(), "unknown_namespace", "{becomes} by {author}");
            }
        }
    }
}
