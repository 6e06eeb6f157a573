//! The documents tell the truth, as far as a machine can see: numbers are the code's, links lead
//! somewhere, every module of the library has its place in the architecture, and every decision in
//! the index.
#![cfg(test)]

use deedbook::channel::METRICS;
use deedbook::log::file;
use deedbook::planner::{Constraints, Mode, Strategy, split};
use deedbook::{ids, log, receive, reports, state};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The constants that documents may name in a table, as `` | `NAME` | value | ``.
const CONSTANTS: [(&str, usize); 19] = [
    ("NAME_BYTES_MAX", ids::NAME_BYTES_MAX),
    ("ENTRY_BYTES_MAX", log::ENTRY_BYTES_MAX),
    ("CHANGES_MAX", state::CHANGES_MAX),
    ("PARTS_MAX", state::PARTS_MAX),
    ("COVERING_MAX", state::COVERING_MAX),
    ("REPORT_BUNDLES_MAX", reports::REPORT_BUNDLES_MAX),
    ("BROKERS_MAX", reports::BROKERS_MAX),
    ("QUEUE_SIZE_MAX", receive::QUEUE_SIZE_MAX),
    ("BATCH_COUNT_MAX", receive::BATCH_COUNT_MAX),
    ("BATCH_BYTES_MAX", receive::BATCH_BYTES_MAX),
    ("RESERVE_BYTES_MAX", receive::RESERVE_BYTES_MAX as usize),
    (
        "GROWTH_STOPS_PERCENT",
        receive::GROWTH_STOPS_PERCENT as usize,
    ),
    (
        "SHRINK_STARTS_PERCENT",
        receive::SHRINK_STARTS_PERCENT as usize,
    ),
    ("SEGMENT_BYTES_MIN", file::SEGMENT_BYTES_MIN as usize),
    ("SEGMENT_BYTES", file::SEGMENT_BYTES as usize),
    ("SEGMENT_BYTES_MAX", file::SEGMENT_BYTES_MAX as usize),
    ("SNAPSHOT_BLOCK_BYTES_MAX", file::SNAPSHOT_BLOCK_BYTES_MAX),
    ("PENDING_APPENDS_MAX", file::PENDING_APPENDS_MAX),
    ("SNAPSHOTS_KEPT", file::SNAPSHOTS_KEPT),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Markdown files of the repository: those at its top, and all below docs.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(root(), false, &mut found);
    collect(&root().join("docs"), true, &mut found);
    assert!(found.contains(&root().join("README.md")));
    found
}

fn collect(folder: &Path, deep: bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && deep {
            collect(&path, deep, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The cells of a table's row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(row.split('|').map(str::trim).collect())
}

/// The name in backticks, if that is all there is.
fn quoted(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

#[test]
fn numbers_in_tables_are_those_of_the_code() {
    let is_upper = |c| matches!(c, 'A'..='Z' | '0'..='9' | '_');
    let is_constant = |name: &&str| name.len() > 1 && name.chars().all(is_upper);
    let mut seen = Vec::new();
    for path in documents() {
        for line in read(&path).lines() {
            let Some(cells) = cells(line) else { continue };
            let Some(name) = quoted(cells[0]).filter(is_constant) else {
                continue;
            };
            let place = format!("{}: {name}", path.display());
            let known = CONSTANTS.iter().find(|(known, _)| *known == name);
            let (_, value) = known.unwrap_or_else(|| panic!("{place} is not in this test's list"));
            let number = cells[1].split(' ').next().unwrap().replace(',', "");
            assert_eq!(number, value.to_string(), "{place}");
            seen.push(name.to_owned());
        }
    }
    for (name, _) in CONSTANTS {
        assert!(
            seen.iter().any(|seen| seen == name),
            "no document has a row for {name}"
        );
    }
}

/// A setting's default as JSON, by its key; the settings of the avg strategy inside of others are
/// not listed twice.
fn settings(prefix: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
    for (key, value) in value.as_object().unwrap() {
        let key = format!("{prefix}{key}");
        match value {
            Value::Object(_) if key != "avg" => settings(&format!("{key}."), value, found),
            Value::Object(_) => drop(found.insert(key, Value::from(""))),
            _ if key == "strategy" => {}
            _ => drop(found.insert(key, value.clone())),
        }
    }
}

#[test]
fn settings_of_strategies_are_listed_with_their_defaults() {
    let document = read(&root().join("docs/planner.md"));
    let mut all: Vec<_> = (Strategy::ALL.iter())
        .map(|strategy| {
            let settings = serde_json::to_value(strategy.settings(Mode::Safe));
            (format!("\n### `{strategy}`\n"), settings.unwrap())
        })
        .collect();
    let splits = serde_json::to_value(split::Config::default()).unwrap();
    all.push(("\n## Splits\n".to_owned(), splits));
    for (heading, settings_of) in all {
        let (_, section) = document.split_once(&heading).unwrap();
        let section = section.split("\n#").next().unwrap();
        let mut listed = BTreeMap::new();
        for line in section.lines() {
            if let Some([key, _, default]) = cells(line).as_deref()
                && let Some(key) = quoted(key).filter(|key| !key.ends_with("_divide"))
            {
                let default = match *default {
                    "none" => Value::Null,
                    text => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
                };
                listed.insert(key.to_owned(), default);
            }
        }
        let mut expected = BTreeMap::new();
        settings("", &settings_of, &mut expected);
        let number = |value: &Value| value.as_f64().map_or_else(|| value.clone(), Value::from);
        for defaults in [&mut listed, &mut expected] {
            for value in defaults.values_mut() {
                *value = number(value);
            }
        }
        assert_eq!(listed, expected, "{heading}");
    }
    let constraints = serde_json::to_value(Constraints::default()).unwrap();
    for key in constraints.as_object().unwrap().keys() {
        assert!(
            document.contains(&format!("\n| `{key}` |")),
            "constraint {key}"
        );
    }
}

#[test]
fn links_lead_somewhere() {
    let mut links = 0;
    for path in documents() {
        for (number, line) in (1..).zip(read(&path).lines()) {
            for target in line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next())
            {
                let target = target.split('#').next().unwrap();
                if target.is_empty() || target.contains("://") {
                    continue;
                }
                let led_to = path.parent().unwrap().join(target);
                assert!(led_to.exists(), "{}:{number}: no {target}", path.display());
                links += 1;
            }
        }
    }
    assert!(links > 0, "no link was found at all");
}

#[test]
fn every_module_has_a_layer_and_a_job() {
    let architecture = read(&root().join("ARCHITECTURE.md"));
    let rows: Vec<_> = architecture.lines().filter_map(cells).collect();
    let library = read(&root().join("src/lib.rs"));
    let modules: Vec<_> = library
        .lines()
        .filter_map(|line| {
            line.trim_start_matches("pub ")
                .strip_prefix("mod ")?
                .strip_suffix(';')
        })
        .collect();
    assert!(modules.contains(&"ids"));
    for module in modules {
        let has_row = rows.iter().any(|row| {
            let numbered = row[0].chars().all(|c| c.is_ascii_digit());
            numbered && row.len() == 3 && quoted(row[1]) == Some(module) && !row[2].is_empty()
        });
        assert!(
            has_row,
            "ARCHITECTURE.md: the table of layers lacks `{module}`"
        );
    }
}

#[test]
fn every_decision_is_in_the_index() {
    let folder = root().join("docs/decisions");
    let index = read(&folder.join("README.md"));
    let mut pages = Vec::new();
    collect(&folder, false, &mut pages);
    pages.retain(|page| !page.ends_with("README.md"));
    assert!(!pages.is_empty());
    for page in pages {
        let name = page.file_name().and_then(|name| name.to_str()).unwrap();
        let (number, _) = name.split_once('-').unwrap();
        let row = format!("| [{number}]({name}) |");
        assert!(
            index.contains(&row),
            "docs/decisions/README.md lacks the row \"{row} ... |\""
        );
    }
}

/// The comment above a test of a file; none if there is no such test.
fn above(source: &str, test: &str) -> Option<String> {
    let (before, _) = source.split_once(&format!("fn {test}("))?;
    let lines = before.lines().rev().skip(1);
    let lines = lines.take_while(|line| {
        let line = line.trim();
        line.starts_with("///") || line.starts_with("#[")
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The tables of docs/testing.md: each test that is named exists, and says for which report it is.
#[test]
fn every_test_that_is_named_exists() {
    let mut named = 0;
    for line in read(&root().join("docs/testing.md")).lines() {
        let Some(cells) = cells(line) else { continue };
        let report = cells[0];
        let mut source = String::new();
        let last = cells[cells.len() - 1];
        if !last.contains(".rs`") {
            continue;
        }
        for name in last.split('`').skip(1).step_by(2) {
            if Path::new(name)
                .extension()
                .is_some_and(|extension| extension == "rs")
            {
                source = read(&root().join(name));
                continue;
            }
            let comment = above(&source, name);
            let comment = comment.unwrap_or_else(|| panic!("{report}: there is no test {name}"));
            let is_report = matches!(
                report.as_bytes(),
                [b'A' | b'B' | b'C' | b'E' | b'S', b'0'..=b'9', ..]
            );
            assert!(
                !is_report || comment.contains(report),
                "{name} says nothing of {report}"
            );
            named += 1;
        }
    }
    assert!(named > 70, "only {named} tests are named");
}

/// A mutant proves something only while it applies: the lines that it takes away, with those
/// around them, stand in the file once. And each one has its row, which says who notices it.
#[test]
fn every_mutant_applies_and_has_a_row() {
    let folder = root().join("tests/mutants");
    let page = read(&root().join("docs/testing.md"));
    let mut patches: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    patches.sort();
    assert!(patches.len() >= 10);
    for path in &patches {
        let patch = read(path);
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap();
        let mut lines = patch.lines();
        let what = lines.next().unwrap().strip_prefix("Breaks: ").unwrap();
        assert!(lines.next().unwrap().starts_with("Tests: "), "{name}");
        assert!(
            page.contains(&format!("| {name} | {what} | `")),
            "{name} has no row"
        );
        let file = patch
            .lines()
            .find_map(|line| line.strip_prefix("+++ b/"))
            .unwrap();
        for hunk in patch.split("\n@@ ").skip(1) {
            let lines = hunk.lines().skip(1);
            let old = lines.filter_map(|line| line.strip_prefix([' ', '-']));
            let old: Vec<_> = old.collect();
            let source = read(&root().join(file));
            let there = source.matches(&old.join("\n")).count();
            assert_eq!(there, 1, "{name}: {file} has changed; make the patch anew");
        }
    }
}

/// The public fields of a struct of the library, as its source has them.
fn fields(file: &str, name: &str) -> Vec<String> {
    let source = read(&root().join(file));
    let (_, body) = source
        .split_once(&format!("pub struct {name} {{\n"))
        .unwrap();
    let lines = body.lines().take_while(|line| *line != "}");
    let fields = lines.filter_map(|line| line.strip_prefix("    pub ")?.split(':').next());
    fields.map(str::to_owned).collect()
}

#[test]
fn all_that_a_status_says_is_explained_and_nothing_else() {
    let document = read(&root().join("docs/observability.md"));
    for (heading, file, name) in [
        ("\n## Counters\n", "src/protocol/counters.rs", "Counters"),
        ("\n## Status\n", "src/channel/status.rs", "Status"),
    ] {
        let (_, section) = document.split_once(heading).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(cells);
        let mut listed: Vec<&str> = rows.filter_map(|cells| quoted(cells[0])).collect();
        let mut expected = fields(file, name);
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected, "{name}");
    }
}

/// The rows of one section of docs/observability.md, without its heading.
fn rows_of(heading: &str) -> Vec<Vec<String>> {
    let document = read(&root().join("docs/observability.md"));
    let (_, section) = document.split_once(heading).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(cells);
    let rows = rows.map(|cells| cells.into_iter().map(str::to_owned).collect());
    let mut rows: Vec<Vec<String>> = rows.collect();
    rows.retain(|row| quoted(&row[0]).is_some());
    rows
}

#[test]
fn every_metric_has_its_row() {
    let rows = rows_of("\n## Metrics\n");
    let expected = METRICS.iter().map(|metric| {
        let label = metric.label.unwrap_or_default();
        let name = format!("`{}`", metric.name);
        vec![
            name,
            metric.kind.to_string(),
            label.to_owned(),
            metric.help.to_owned(),
        ]
    });
    assert_eq!(rows, expected.collect::<Vec<_>>());
}

/// The events that the channel tells of, as its source has them: name, level, fields.
fn events() -> BTreeSet<[String; 3]> {
    let source = read(&root().join("src/channel/events.rs"));
    let calls = source.split("tell!(").skip(1);
    let parse = |call: &str| {
        let mut depth = 1;
        let end = call.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        let call = &call[..end.unwrap()];
        let (level, rest) = call.split_once(',').unwrap();
        let (_, rest) = rest.split_once('"').unwrap();
        let (name, rest) = rest.split_once('"').unwrap();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let pairs = words.windows(2);
        let fields = pairs.filter(|pair| pair[1] == "=").map(|pair| pair[0]);
        let fields = fields.collect::<Vec<_>>().join(", ");
        [format!("`{name}`"), level.trim().to_lowercase(), fields]
    };
    calls.map(parse).collect()
}

#[test]
fn every_event_has_its_row() {
    let rows = rows_of("\n## Events\n").into_iter();
    let rows = rows.map(|row| [row[0].clone(), row[1].clone(), row[2].clone()]);
    assert_eq!(rows.collect::<BTreeSet<_>>(), events());
}
