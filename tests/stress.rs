//! Eight threads do at random, by seed, whatever can be done to brokers on real threads: assign,
//! look up, move, unload, split, close. Every question is answered, and in the end the key space is
//! whole, all brokers agree, and what they say is theirs is what the book says.
//!
//! `STRESS_SEED=n cargo test --test stress` repeats a seed's steps; the schedule is the machine's.
#![cfg(test)]

use deedbook::channel::{Channel, Cluster};
use deedbook::ids::{BrokerId, BundleId, Cuts, KeyRange, Namespace};
use deedbook::protocol::Mine;
use deedbook::state::{Record, State};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const THREADS: u64 = 8;
const STEPS: usize = 150;
const BUNDLES_MAX: usize = 64;
/// Far more than anything here takes; reaching it is a failure.
const LIMIT: Duration = Duration::from_secs(60);

fn below(dice: &mut ChaCha8Rng, bound: usize) -> usize {
    usize::try_from(dice.next_u64() % bound as u64).unwrap()
}

fn namespace() -> Namespace {
    Namespace::new("acme/orders").unwrap()
}

fn bundles(channel: &Channel) -> Vec<BundleId> {
    channel.read(|table| {
        let rows = table
            .rows()
            .filter(|(_, row)| row.record.state() != State::Deleted);
        rows.map(|(bundle, _)| bundle.clone()).collect()
    })
}

/// Does one thing; what becomes of it is not known, but that it ends.
fn step(dice: &mut ChaCha8Rng, channels: &[Channel], names: &[BrokerId]) {
    let channel = &channels[below(dice, channels.len())];
    let all = bundles(channel);
    let bundle = &all[below(dice, all.len())];
    let name = names[below(dice, names.len())].clone();
    let command = channel.on(bundle).within(Duration::from_secs(10));
    let ended = match below(dice, 10) {
        0..=2 => {
            let key = u32::try_from(dice.next_u64() >> 32).unwrap();
            let found = channel.locate_key(&namespace(), key, Duration::from_secs(10));
            assert!(found.wait_for(LIMIT).is_some(), "a look-up ends");
            return;
        }
        3 | 4 => command.assign(name),
        5 => command.place(),
        6 | 7 => command.transfer(name),
        8 => command.unload(),
        _ if all.len() < BUNDLES_MAX => match Cuts::even(bundle.range(), 2) {
            Some(cuts) => command.split(cuts),
            None => return,
        },
        _ => return,
    };
    assert!(ended.wait_for(LIMIT).is_some(), "a command ends");
}

#[test]
fn whatever_eight_threads_do_the_book_stays_whole() {
    let seed = std::env::var("STRESS_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("STRESS_SEED={seed} cargo test --test stress");
    let cluster = Cluster::memory();
    let names = ["a", "b", "c", "d"].map(|name| BrokerId::new(name).unwrap());
    let channels = names.clone().map(|name| {
        let channel = Channel::builder(name)
            .cluster(cluster.clone())
            .start()
            .unwrap();
        assert!(channel.wait_ready(LIMIT));
        channel
    });
    let created = channels[0].create_namespace(&namespace(), Cuts::even(KeyRange::FULL, 8));
    created.wait().unwrap().unwrap();
    for channel in &channels {
        let there = channel.wait_until(&BundleId::new(namespace(), first_of(8)), |row| {
            row.is_some()
        });
        assert!(there.wait_for(LIMIT).is_some());
    }
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (channels, names, done) = (&channels, &names, &done);
            scope.spawn(move || {
                let mut dice = ChaCha8Rng::seed_from_u64(seed * THREADS + number);
                for at in 0..STEPS {
                    step(&mut dice, channels, names);
                    done.fetch_add(1, Ordering::Relaxed);
                    // In the middle of it all one broker leaves.
                    if number == 0 && at == STEPS / 2 {
                        assert!(channels[3].close(LIMIT).wait_for(LIMIT * 2).is_some());
                    }
                }
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), THREADS * STEPS as u64);
    // What is under way comes to its end, wherever that was read first.
    catch_up(&channels[..3]);
    for bundle in bundles(&channels[0]) {
        let at_rest = |row: Option<&deedbook::state::Row>| {
            row.is_none_or(|row| {
                matches!(
                    row.record.state(),
                    State::Owned | State::Free | State::Deleted
                )
            })
        };
        for channel in &channels[..3] {
            assert!(
                channel
                    .wait_until(&bundle, at_rest)
                    .wait_for(LIMIT)
                    .is_some(),
                "{bundle}"
            );
        }
    }
    catch_up(&channels[..3]);
    check(&channels[..3]);
}

/// Waits until each has read what any of them has.
fn catch_up(channels: &[Channel]) {
    let read = channels.iter().map(|channel| channel.status().next);
    let newest = read.max().unwrap().previous();
    for channel in channels {
        assert!(channel.refresh(newest).wait_for(LIMIT).is_some());
    }
}

fn first_of(parts: u32) -> KeyRange {
    let cuts = Cuts::even(KeyRange::FULL, parts).unwrap();
    cuts.parts(KeyRange::FULL).next().unwrap()
}

fn check(channels: &[Channel]) {
    let rows = channels[0].snapshot();
    let mut ranges: Vec<KeyRange> = bundles(&channels[0]).iter().map(BundleId::range).collect();
    ranges.sort_by_key(|range| range.lower());
    let width: u64 = ranges.iter().map(|range| range.width()).sum();
    assert_eq!(width, KeyRange::FULL.width(), "no gap: {ranges:?}");
    for pair in ranges.windows(2) {
        assert!(!pair[0].overlaps(pair[1]), "{pair:?}");
    }
    for channel in &channels[1..] {
        for (bundle, row) in rows.rows() {
            assert_eq!(
                channel.row(bundle).as_ref(),
                Some(row),
                "all agree on {bundle}"
            );
        }
    }
    for (bundle, row) in rows.rows() {
        for channel in channels {
            let me = channel.status().broker;
            let owns = matches!(&row.record, Record::Owned { owner } if owner.broker == me);
            if let Mine::Yes { fence } = channel.is_mine(bundle) {
                assert!(owns, "{me} says that {bundle} is its own: {row:?}");
                assert_eq!(fence, row.fence, "{bundle}");
            }
        }
    }
}
