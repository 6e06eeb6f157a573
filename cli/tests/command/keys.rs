//! The keys of JSON objects, as printed and as docs/cli.md lists them.

use crate::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Adds the paths of all keys of an object, lists marked by `[]`.
pub(crate) fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                found.insert(path.clone());
                keys(value, &path, found);
            }
        }
        Value::Array(elements) => {
            elements
                .iter()
                .for_each(|element| keys(element, &format!("{path}[]"), found));
        }
        _ => {}
    }
}

/// The keys that the document lists for a command.
pub(crate) fn documented(command: &str) -> BTreeSet<String> {
    let document = fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let (_, section) = document
        .split_once(&format!("### JSON of `{command}`"))
        .unwrap();
    let section = section.split("\n#").next().unwrap();
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    rows.map(str::to_owned).collect()
}
