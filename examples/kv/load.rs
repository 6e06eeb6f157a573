//! Clients that count keys at whoever serves them, while bundles move and are divided.

use super::node::{Node, Refused};
use super::storage::{Fences, Storage};
use deedbook::channel::Cluster;
use deedbook::clock::{BootClock, Clock};
use deedbook::ids::{BrokerId, BundleId, Cuts, Fence, KeyRange, Namespace};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const CLIENTS: u64 = 4;
const KEYS: u64 = 1_000;
const BUNDLES_MAX: usize = 24;
/// One write of so many stalls until its bundle has another owner.
const STALLS_ONE_IN: u64 = 2_000;
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) seed: u64,
    /// It ends after so long,
    pub(crate) seconds_max: u64,
    /// or once so many writes came late: after their key had another owner.
    pub(crate) late_writes_max: u64,
    pub(crate) fences: Fences,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) served: u64,
    pub(crate) redirected: u64,
    pub(crate) refused_by_fence: u64,
    pub(crate) moved: u64,
    pub(crate) split: u64,
    /// Writes of former owners that were taken, and counts that were acknowledged and are lost.
    pub(crate) violations: u64,
}

#[derive(Default)]
struct Tally {
    served: AtomicU64,
    redirected: AtomicU64,
    fenced: AtomicU64,
    late: AtomicU64,
    moved: AtomicU64,
    split: AtomicU64,
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

fn of(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Starts three nodes in this process, keeps them busy, and looks what became of it.
pub(crate) fn run(load: Load) -> Result<Report, Box<dyn std::error::Error>> {
    let cluster = Cluster::memory();
    let storage = Arc::new(Storage::new(load.fences));
    let names: [BrokerId; 3] = [
        "node-1:1".parse()?,
        "node-2:1".parse()?,
        "node-3:1".parse()?,
    ];
    let mut nodes = Vec::new();
    for name in &names {
        nodes.push(Node::start(
            name.clone(),
            cluster.clone(),
            Arc::clone(&storage),
        )?);
    }
    let namespace: Namespace = "acme/counters".parse()?;
    let cuts = Cuts::even(KeyRange::FULL, 8);
    let [first, ..] = nodes.as_slice() else {
        return Err("there are three nodes".into());
    };
    first.channel.create_namespace(&namespace, cuts).wait()??;
    let tally = Tally::default();
    let began = BootClock.now();
    let limit = Duration::from_secs(load.seconds_max);
    let goes_on = || BootClock.now().since(began) < limit && of(&tally.late) < load.late_writes_max;
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let dice = Dice(load.seed ^ (client << 32));
            let (nodes, names) = (&nodes, &names);
            let (namespace, tally, goes_on) = (&namespace, &tally, &goes_on);
            scope.spawn(move || be_a_client(dice, nodes, names, namespace, tally, goes_on));
        }
        move_around(Dice(!load.seed), &nodes, &names, &tally, &goes_on);
    });
    let lost = of(&tally.served).abs_diff(storage.total());
    for node in nodes {
        node.channel.close(LIMIT).wait()?;
    }
    Ok(Report {
        served: of(&tally.served),
        redirected: of(&tally.redirected),
        refused_by_fence: of(&tally.fenced),
        moved: of(&tally.moved),
        split: of(&tally.split),
        violations: storage.stale_writes() + lost,
    })
}

/// Counts keys at random, each at the node that is said to serve it.
fn be_a_client(
    mut dice: Dice,
    nodes: &[Node],
    names: &[BrokerId],
    namespace: &Namespace,
    tally: &Tally,
    goes_on: &dyn Fn() -> bool,
) {
    let mut at = 0;
    while goes_on() {
        // Spread over the whole key space.
        let key = u32::try_from(dice.below(KEYS) * (u64::from(u32::MAX) / KEYS)).unwrap_or(0);
        let stalls = dice.below(STALLS_ONE_IN) == 0;
        // Ask where one is; be sent on where one is not served.
        let Some(node) = nodes.get(at) else { return };
        let stall = |bundle: &BundleId, fence: Fence| {
            if stalls {
                let moved = move |row: Option<&deedbook::state::Row>| {
                    row.is_none_or(|row| row.fence > fence)
                };
                let gone = node.channel.wait_until(bundle, moved).wait_for(LIMIT);
                if gone.is_some() {
                    add(&tally.late);
                }
            }
        };
        match node.count(namespace, key, stall) {
            Ok(_) => add(&tally.served),
            Err(Refused::Fenced) => add(&tally.fenced),
            Err(Refused::NotMine) => {
                add(&tally.redirected);
                let owner = node.channel.locate_key(namespace, key, LIMIT).wait();
                let name = owner
                    .ok()
                    .and_then(Result::ok)
                    .and_then(|owner| owner.broker);
                at = name
                    .and_then(|name| names.iter().position(|known| *known == name))
                    .unwrap_or(at);
            }
        }
    }
}

/// Moves a bundle to another node, over and over, and divides one now and then.
fn move_around(
    mut dice: Dice,
    nodes: &[Node],
    names: &[BrokerId],
    tally: &Tally,
    goes_on: &dyn Fn() -> bool,
) {
    let Some(node) = nodes.first() else { return };
    while goes_on() {
        let bundles = node.channel.read(|table| {
            let rows = table
                .rows()
                .filter(|(_, row)| row.record.holder().is_some());
            rows.map(|(bundle, _)| bundle.clone()).collect::<Vec<_>>()
        });
        let Some(bundle) = dice.pick(&bundles) else {
            continue;
        };
        // Whoever asks for what cannot be, or comes too late, is told so; then another is tried.
        if bundles.len() < BUNDLES_MAX && dice.below(20) == 0 {
            let cuts = Cuts::even(bundle.range(), 2);
            let split = cuts.map(|cuts| node.channel.split(bundle, cuts).wait());
            if let Some(Ok(Ok(_))) = split {
                add(&tally.split);
            }
        } else if let Some(destination) = dice.pick(names)
            && let Ok(Ok(_)) = node.channel.transfer(bundle, destination).wait()
        {
            add(&tally.moved);
        }
    }
}

/// Numbers at random, the same for the same seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(bound).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let index = self.below(u64::try_from(all.len()).unwrap_or(0));
        all.get(usize::try_from(index).unwrap_or(0))
    }
}
