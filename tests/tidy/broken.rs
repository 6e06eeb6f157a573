//! The rules themselves, tested on small files that break them.

use crate::source::Source;
use crate::{Finding, layers, rules};

type Rule = fn(&Source) -> Vec<Finding>;

/// The lines that a rule complains about.
fn lines(findings: Vec<Finding>) -> Vec<usize> {
    findings.into_iter().map(|finding| finding.line).collect()
}

fn found(rule: Rule, path: &str, text: &str) -> Vec<usize> {
    lines(rule(&Source::new(path, text)))
}

#[test]
fn upward_and_sideways_imports() {
    let found = |path, text| found(layers::imports_go_down, path, text);
    let log = "use crate::state::Entry;\nuse crate::table::View;\nfn f() { crate::log::g() }\n";
    assert_eq!(found("src/log/mod.rs", log), [2]);
    let group = "use crate::{\n    ids::A,\n    channel::{B as C, D},\n};";
    assert_eq!(found("src/log/mod.rs", group), [3, 3]);
    assert_eq!(
        found("src/compactor/run.rs", "use crate::planner::Plan;"),
        [1]
    );
    // The way through `super` ends at the same root.
    assert_eq!(found("src/pending.rs", "use super::table::View;"), [1]);
    let climbing = "use super::table::Own;\nuse super::super::table::View;";
    assert_eq!(found("src/log/file.rs", climbing), [2]);
    let unit_test = "#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::sim::A;\n}\n";
    assert_eq!(found("src/state/mod.rs", unit_test), [4]);
}

#[test]
fn imports_that_the_layers_cannot_judge() {
    let found = |path, text| found(layers::imports_go_down, path, text);
    assert_eq!(found("src/state/mod.rs", "use crate::Error;"), [1]);
    assert_eq!(found("src/novel.rs", ""), [1]);
    assert_eq!(found("src/lib.rs", "use crate::channel::Channel;"), []);
    let mentioned = "//! [`crate::table`]\nconst A: &str = \"crate::table\";";
    assert_eq!(found("src/ids/mod.rs", mentioned), []);
}

#[test]
fn long_files_and_functions() {
    let file = |text: &str| found(rules::files_are_short, "src/a.rs", text);
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(600));
    assert_eq!(file(&"\n".repeat(501)), [1]);
    assert_eq!(file(&("\n".repeat(500) + &tests)), []);
    let function = |text: &str| found(rules::functions_are_short, "src/a.rs", text);
    let body = |lines| format!("fn f(a: [u8; 2]) {{\n{}}}\n", "    g();\n".repeat(lines));
    assert_eq!(function(&body(69)), [1]);
    assert_eq!(function(&body(68)), []);
    assert_eq!(function("fn f();\nfn g() { '}'; \"}\"; }\n"), []);
}

#[test]
fn files_without_a_job() {
    let found = |text| found(rules::files_say_their_job, "src/a.rs", text);
    assert_eq!(found("// none\n"), [1]);
    assert_eq!(found("\n//! Too late.\n"), [1]);
    assert_eq!(found("//! Its job.\n"), []);
}

#[test]
fn back_doors() {
    let found = |path, text| found(rules::doors_are_kept, path, text);
    let file = "src/log/file.rs";
    assert_eq!(found(file, "\nuse bincode::config;\n"), [2]);
    assert_eq!(found("src/log/codec.rs", "use bincode::config;\n"), []);
    assert_eq!(
        found(file, "use std::{fmt, fs::File};\nstd::fs::read(a);"),
        [1, 2]
    );
    assert_eq!(
        found(file, "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"),
        []
    );
    assert_eq!(
        found(file, "use std::time::Duration;\nlet a: Instant;\n"),
        [2]
    );
    assert_eq!(found(file, "\nuse std::time::SystemTime;"), [2]);
    assert_eq!(
        found(file, "parking_lot::Mutex::new(rustix::time::a())"),
        [1, 1]
    );
    assert_eq!(found("src/sync.rs", "use parking_lot::Mutex;\n"), []);
    assert_eq!(found("cli/src/main.rs", "use std::fs;\n"), []);
}

#[test]
fn unwrapping() {
    let found = |path, text| found(rules::nothing_is_unwrapped, path, text);
    let file = "src/log/file.rs";
    assert_eq!(found(file, "a\n    .unwrap();\nb.unwrap_or(c);\n"), [2]);
    assert_eq!(found(file, "a.expect(\"ok\");\na.expect(b);\n"), [1, 2]);
    assert_eq!(
        found(file, "a.expect(\n    \"positions must grow\",\n)"),
        []
    );
    assert_eq!(found("src/log/tests.rs", "a.unwrap();\n"), []);
    assert_eq!(found("cli/tests/plan.rs", "a.unwrap();\n"), []);
}

#[test]
fn wide_lines() {
    let found = |path, line: &str, count| lines(rules::lines_are_narrow(path, &line.repeat(count)));
    assert_eq!(found("a.rs", "x", 101), [1]);
    assert_eq!(found("a.rs", "é", 100), []);
    assert_eq!(found("a.rs", "//! | x ", 20), []);
    assert_eq!(found("a.rs", "    #[error(\"x y\")]", 10), []);
    assert_eq!(found("a.rs", "// #[error(\"x y\")]", 10), [1]);
    assert_eq!(found("a.md", "x", 121), [1]);
    assert_eq!(found("a.md", "| x ", 40), []);
    assert_eq!(found("a.md", "[x](y) ", 40), []);
}

#[test]
fn banned_words() {
    let found = |text| lines(rules::words_are_clean("a.sh", text));
    assert_eq!(found(concat!("fine\n// TO", "DO: later\n")), [2]);
    assert_eq!(
        found(concat!(
            "cd /ho",
            "me/someone\nTO",
            "DOS\nas issue",
            " #5 says"
        )),
        [1, 3]
    );
    assert_eq!(found(concat!("let a = todo", "!();")), [1]);
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = r##"
        // use crate::a;
        /* use crate::b; /* nested */ use crate::c; */
        const A: &str = "use crate::d; \" use crate::e;";
        const B: &str = r#"" crate::f "#;
        const C: (char, char, char) = ('"', '\'', '\\');
        fn g<'a>(a: &'a crate::h::I) {}
    "##;
    let paths = Source::new("src/a.rs", text).paths();
    let crates: Vec<_> = paths
        .iter()
        .filter(|(_, path)| path.starts_with("crate"))
        .collect();
    assert_eq!(crates, [&(7, "crate::h::I".to_owned())]);
}
