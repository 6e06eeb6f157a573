//! Whole clusters from fixed seeds: nothing that must hold is broken, whatever goes wrong, and once
//! nothing goes wrong any more everything comes to rest.
//!
//! `DEEDBOOK_SEEDS=100..200 cargo test --test simulation chosen -- --nocapture` runs other seeds.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

use deedbook::ids::{BrokerId, LogId};
use deedbook::log::MemberLog;
use deedbook::log::file::{Durability, FileLog, SEGMENT_BYTES_MIN};
use deedbook::sim::{Builder, Cluster, Failure, Faults, Guards, Span, Workload};
use std::sync::Arc;
use std::time::Duration;

/// How long a seed's trouble lasts, in virtual time.
const TROUBLE: Duration = Duration::from_secs(300);

fn builder(seed: u64) -> Builder {
    let mut builder = Cluster::builder(seed)
        .workload(Workload::new(3))
        .faults(Faults::default())
        .compactions(Span::millis(100, 30_000))
        .repeat_with(format!(
            "DEEDBOOK_SEEDS={seed} cargo test --test simulation chosen -- --nocapture"
        ));
    // Not every engine can refuse what is stale: the fold must do.
    if seed % 2 == 1 {
        builder = builder.guards(Guards::Ignored);
    }
    for number in 1..=2 + seed % 4 {
        builder = builder.broker(BrokerId::new(format!("b{number}")).unwrap());
    }
    builder
}

fn run(seed: u64) -> Result<Cluster, Box<Failure>> {
    let mut cluster = builder(seed).build()?;
    cluster.advance(TROUBLE)?;
    cluster.come_to_rest()?;
    Ok(cluster)
}

/// Shows the run that failed.
fn check(seeds: impl IntoIterator<Item = u64>) {
    for seed in seeds {
        if let Err(failure) = run(seed) {
            panic!("{failure}");
        }
    }
}

#[test]
fn seeds_from_0() {
    check(0..60);
}

#[test]
fn seeds_from_60() {
    check(60..120);
}

/// `DEEDBOOK_SEEDS`: one number, or `from..to`.
fn chosen_seeds() -> std::ops::Range<u64> {
    let text = std::env::var("DEEDBOOK_SEEDS").unwrap_or_default();
    let number = |text: &str| {
        text.parse()
            .expect("DEEDBOOK_SEEDS is a number or `from..to`")
    };
    match text.split_once("..") {
        _ if text.is_empty() => 0..0,
        Some((from, to)) => number(from)..number(to),
        None => number(&text)..number(&text) + 1,
    }
}

#[test]
fn chosen() {
    for seed in chosen_seeds() {
        let cluster = run(seed).unwrap();
        let (written, refused) = cluster.writes();
        println!(
            "seed {seed}: {} events, log up to {}, {} bundles, {written} writes, {refused} refused",
            cluster.event_count(),
            cluster.end(),
            cluster.table().row_count(),
        );
    }
}

#[test]
fn the_same_seed_makes_the_same_trace() {
    let traces = [7, 7, 8].map(|seed| {
        let mut cluster = builder(seed).build().unwrap();
        cluster.advance(Duration::from_secs(60)).unwrap();
        let lines: Vec<String> = cluster.trace().lines().map(str::to_owned).collect();
        (cluster.trace().count(), cluster.trace().hash(), lines)
    });
    assert_eq!(traces[0], traces[1]);
    assert_ne!(traces[0].1, traces[2].1);
    assert!(traces[0].0 > 1_000, "something must have happened");
}

/// Brokers, registry and compactor on the log in files, with small segments, so that many are
/// begun and trimmed.
#[test]
fn a_cluster_on_files_holds_and_repeats_itself() {
    let hashes = [3, 3].map(|seed| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let open = move |clock| {
            let log = FileLog::builder(&path)
                .durability(Durability::Never)
                .segment_bytes(SEGMENT_BYTES_MIN)
                .new_log(LogId::new(7))
                .clock(clock);
            Arc::new(log.open().unwrap()) as Arc<dyn MemberLog>
        };
        let mut cluster = builder(seed).log(open).build().unwrap();
        cluster.advance(TROUBLE).unwrap();
        cluster.come_to_rest().unwrap();
        (
            cluster.end(),
            cluster.trace().count(),
            cluster.trace().hash(),
        )
    });
    assert_eq!(hashes[0], hashes[1]);
}
