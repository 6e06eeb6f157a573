//! Which module of `src/` may import which.

use crate::Finding;
use crate::source::Source;

/// Bottom first. A module imports from rows above its own in this list, and from itself: what lies
/// lower in the library stands higher here. Unit tests keep to it too.
const LAYERS: [&[&str]; 14] = [
    &["ids", "sync"],
    &["clock", "metrics", "pending", "storage"],
    &["state"],
    &["log"],
    &["snapshot"],
    &["table", "reports"],
    &["compactor", "receive", "registry", "planner", "foreign"],
    &["protocol"],
    &["balance"],
    &["channel"],
    &["sim"],
    &["testing"],
    &["error"],
    &["config"],
];

/// Imports that go up or sideways, and modules without a place in the table.
pub(crate) fn imports_go_down(source: &Source) -> Vec<Finding> {
    let Some(path) = module_path(&source.path) else {
        return Vec::new();
    };
    let Some(own) = path.first() else {
        return Vec::new();
    };
    let Some(own_layer) = layer(own) else {
        let advice = format!(
            "module `{own}` has no layer: give it a place in {}",
            file!()
        );
        return vec![Finding::new(&source.path, 1, advice)];
    };
    let mut findings = Vec::new();
    for (line, named) in source.paths() {
        let depth = path.len() + usize::from(source.in_test_item(line));
        let Some(used) = root_item(&named, depth) else {
            continue;
        };
        let advice = match layer(used) {
            _ if used == *own => continue,
            Some(used_layer) if used_layer < own_layer => continue,
            Some(_) => format!(
                "`{own}` imports `{used}`, which is not below it: let the caller pass in what is \
                 needed, or move the part that both need down"
            ),
            None => format!(
                "`{used}` is no module of the table in {}: name things through their own module",
                file!()
            ),
        };
        findings.push(Finding::new(&source.path, line, advice));
    }
    findings
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

/// The modules that lead to a file of `src/`, none for the crate root itself.
fn module_path(path: &str) -> Option<Vec<&str>> {
    let inner = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let mut modules: Vec<&str> = inner.split('/').collect();
    if matches!(modules.last(), Some(&("mod" | "lib"))) {
        modules.pop();
    }
    Some(modules)
}

/// What a path that is named `depth` modules below the root takes from the root.
fn root_item(named: &str, depth: usize) -> Option<&str> {
    let mut segments = named.split("::").peekable();
    if segments.next_if_eq(&"crate").is_none() {
        let mut climbed = 0;
        segments.next_if_eq(&"self");
        while segments.next_if_eq(&"super").is_some() {
            climbed += 1;
        }
        if climbed == 0 || climbed < depth {
            return None;
        }
    }
    segments.next()
}
