//! Names and keys: what every look-up and every entry pays first.

use criterion::{Criterion, criterion_group, criterion_main};
use deedbook::ids::{BundleId, key_of};
use std::hint::black_box;

const BUNDLE: &str = "acme/orders/0x40000000_0x80000000";
const TOPIC: &str = "persistent://acme/orders/eu-north-1-partition-17";

fn bundle_id(criterion: &mut Criterion) {
    criterion.bench_function("bundle_id/parse", |bencher| {
        bencher.iter(|| black_box(BUNDLE).parse::<BundleId>());
    });
    let bundle = BUNDLE.parse::<BundleId>().expect("the name of a bundle");
    criterion.bench_function("bundle_id/print", |bencher| {
        bencher.iter(|| black_box(&bundle).to_string());
    });
}

fn key(criterion: &mut Criterion) {
    criterion.bench_function("key_of", |bencher| {
        bencher.iter(|| key_of(black_box(TOPIC)))
    });
}

criterion_group!(benches, bundle_id, key);
criterion_main!(benches);
