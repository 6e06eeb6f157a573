//! The sample clusters under scenarios/reports are read as they are, and where ../shared is there
//! its samples are too: no note but those that the samples are made to give.
#![cfg(test)]

use deedbook::reports::{Cluster, Reading, merge, read};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders with the sample clusters.
fn sample_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = root.join("../shared/loadreports");
    let mut folders = vec![root.join("scenarios/reports")];
    if shared.is_dir() {
        println!("also over {}", shared.display());
        folders.push(shared);
    }
    folders
}

fn read_file(path: &Path) -> Reading {
    let text = fs::read_to_string(path).unwrap();
    let mut json = serde_json::Deserializer::from_str(&text);
    read(&mut json).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn cluster(folder: &Path) -> Cluster {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| read_file(&entry.unwrap().path()));
    merge(files, None).unwrap()
}

/// How many notes there are of each kind.
fn note_kinds(cluster: &Cluster) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for note in &cluster.notes {
        *kinds.entry(note.what.kind()).or_default() += 1;
    }
    kinds
}

#[test]
fn the_sample_clusters_are_read_whole() {
    // Folder, brokers, bundles as they stand in the files, and what they make a note of.
    // hot-bundle: containers, no speed of the network card, in and out, on each of three brokers.
    // simple-shape: no list of names, and no totals of bytes in and out, on each of two brokers.
    let expected = [
        ("hot-bundle", 3, 8, vec![("unknown_limit", 6)]),
        ("scale-out", 2, 16, vec![]),
        (
            "simple-shape",
            2,
            4,
            vec![("no_bundle_list", 2), ("summed", 4)],
        ),
        ("six-brokers", 6, 48, vec![]),
    ];
    for folder in sample_folders() {
        for (name, brokers, bundles, notes) in &expected {
            let cluster = cluster(&folder.join(name));
            assert_eq!(cluster.reports.len(), *brokers, "{name}");
            let found: usize = cluster
                .reports
                .values()
                .map(|report| report.bundles.len())
                .sum();
            assert_eq!(found, *bundles, "{name}");
            assert_eq!(
                note_kinds(&cluster),
                notes.iter().copied().collect(),
                "{name}"
            );
        }
    }
}

#[test]
fn percentages_are_those_that_the_reports_were_made_with() {
    // `maxResourceUsage` in the files, times 100: written there by whoever made them, not by us.
    for folder in sample_folders() {
        for (name, percents) in [
            ("scale-out", vec![90.0, 10.0]),
            ("six-brokers", vec![40.0, 40.0, 40.0, 40.0, 69.0, 70.0]),
        ] {
            let cluster = cluster(&folder.join(name));
            let cpu = |report: &deedbook::reports::LoadReport| {
                report.resources.cpu.map(|cpu| cpu.percent())
            };
            let found: Vec<_> = cluster.reports.values().filter_map(cpu).collect();
            let close = found
                .iter()
                .zip(&percents)
                .all(|(a, b): (&f64, &f64)| (a - b).abs() < 1e-9);
            assert!(found.len() == percents.len() && close, "{name}: {found:?}");
        }
    }
}
