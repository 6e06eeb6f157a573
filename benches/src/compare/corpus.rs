//! The entries that are measured with: each one moves one bundle a step on its way, as brokers do.

use deedbook::ids::{
    BrokerId, BundleId, Cuts, Holder, KeyRange, Namespace, Position, SessionToken,
};
use deedbook::log::{Payload, codec};
use deedbook::state::{Body, Change, Entry, Record};
use std::sync::Arc;

/// How many bundles the entries are spread over.
pub const BUNDLE_COUNT: usize = 100_000;

/// How many brokers own them.
const BROKER_COUNT: usize = 100;

/// Bundles of a hundred namespaces.
#[must_use]
pub fn bundles(count: usize) -> Vec<BundleId> {
    // Each has two at least.
    let namespace_count = (count / 2).clamp(1, 100);
    let parts = u32::try_from(count.div_ceil(namespace_count)).unwrap();
    let namespaces = (0..namespace_count)
        .map(|index| Namespace::new(format!("tenant-{:02}/app-{index:04}", index % 10)).unwrap());
    let bundles = namespaces.flat_map(|namespace| {
        let cuts = Cuts::even(KeyRange::FULL, parts).unwrap();
        let ranges: Vec<_> = cuts.parts(KeyRange::FULL).collect();
        let bundle = move |range| BundleId::new(namespace.clone(), range);
        ranges.into_iter().map(bundle)
    });
    bundles.take(count).collect()
}

/// The broker of a number.
#[must_use]
pub fn broker(index: usize) -> BrokerId {
    BrokerId::new(format!(
        "broker-{:03}.eu-north.example:8080",
        index % BROKER_COUNT
    ))
    .unwrap()
}

/// So many entries of one session over these bundles, far apart from one to the next.
#[must_use]
pub fn entries(bundles: &[BundleId], session: u64, count: usize) -> Vec<Arc<Entry>> {
    let brokers: Vec<_> = (0..BROKER_COUNT).map(broker).collect();
    let entry = |index: usize| {
        let bundle = &bundles[index.wrapping_mul(7919) % bundles.len()];
        let owner = &brokers[index % BROKER_COUNT];
        let next = match index % 3 {
            0 => Record::Assigning {
                destination: owner.clone(),
            },
            1 => Record::Free,
            _ => Record::Releasing {
                source: Holder::new(owner.clone(), SessionToken::new(session)),
                destination: Some(brokers[(index + 1) % BROKER_COUNT].clone()),
            },
        };
        Arc::new(Entry {
            author: Holder::new(owner.clone(), SessionToken::new(session)),
            counter: index as u64,
            epoch: None,
            body: Body::Changes(vec![Change {
                bundle: bundle.clone(),
                expected: Position::new(index as u64),
                next: Some(next),
            }]),
        })
    };
    (0..count).map(entry).collect()
}

/// Entries in the form in which they stand alone, as logs take them that know nothing of names.
#[must_use]
pub fn encoded(entries: &[Arc<Entry>]) -> Vec<Vec<u8>> {
    let encode = |entry: &Arc<Entry>| codec::encode(&Payload::Entry(Arc::clone(entry))).unwrap();
    entries.iter().map(encode).collect()
}
