//! Any history, compacted, abandoned and read at any moment.

use crate::cluster::{BROKERS, Cluster, Listener, session};
use crate::support::{broker, namespace};
use deedbook::compactor::{Attempt, End, Error, Progress};
use deedbook::ids::{BundleId, Cuts, Holder, Position};
use deedbook::log::SnapshotError;
use deedbook::state::{Body, Change, Record, Row};
use proptest::prelude::*;
use std::time::Duration;

const NAMESPACES: [&str; 3] = ["t/x", "t/y", "u/z"];
const ATTEMPTS: usize = 2;
const READERS: usize = 3;

/// Something happens; the numbers choose among what there is.
#[derive(Clone, Debug)]
enum Op {
    /// A bundle goes on to some next state.
    Change {
        bundle: usize,
        way: usize,
        who: usize,
    },
    /// As before, by somebody who is wrong about its version.
    Stale {
        bundle: usize,
        way: usize,
        who: usize,
    },
    /// Whatever it is, by whoever it is, to whatever it may be.
    Wild {
        bundle: usize,
        way: usize,
        who: usize,
    },
    Create {
        name: usize,
        parts: u32,
    },
    Delete {
        name: usize,
    },
    End {
        name: usize,
    },
    Elect {
        who: usize,
    },
    /// An attempt begins in place of one that is given up, wherever that is.
    Begin {
        attempt: usize,
        behind: Option<u64>,
    },
    Step {
        attempt: usize,
        steps: usize,
    },
    /// An attempt as one would have it.
    Compact,
    Read {
        reader: usize,
        events: usize,
    },
    /// A reader is given up, and another one begins.
    Reread {
        reader: usize,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let row = || (0..64_usize, 0..8_usize, 0..BROKERS.len());
    let name = || 0..NAMESPACES.len();
    prop_oneof![
        12 => row().prop_map(|(bundle, way, who)| Op::Change { bundle, way, who }),
        3 => row().prop_map(|(bundle, way, who)| Op::Stale { bundle, way, who }),
        3 => row().prop_map(|(bundle, way, who)| Op::Wild { bundle, way, who }),
        3 => (name(), 1..4_u32).prop_map(|(name, parts)| Op::Create { name, parts }),
        1 => name().prop_map(|name| Op::Delete { name }),
        2 => name().prop_map(|name| Op::End { name }),
        1 => (0..BROKERS.len()).prop_map(|who| Op::Elect { who }),
        2 => (0..ATTEMPTS, prop::option::of(0..6_u64))
            .prop_map(|(attempt, behind)| Op::Begin { attempt, behind }),
        8 => (0..ATTEMPTS, 1..12_usize).prop_map(|(attempt, steps)| Op::Step { attempt, steps }),
        1 => Just(Op::Compact),
        4 => (0..READERS, 1..8_usize).prop_map(|(reader, events)| Op::Read { reader, events }),
        1 => (0..READERS).prop_map(|reader| Op::Reread { reader }),
    ]
}

struct World {
    cluster: Cluster,
    attempts: Vec<Option<Attempt>>,
    readers: Vec<Listener>,
    horizon: Position,
    published: usize,
}

impl World {
    fn new() -> Self {
        let cluster = Cluster::new();
        Self {
            attempts: (0..ATTEMPTS).map(|_| None).collect(),
            readers: (0..READERS)
                .map(|_| Listener::new(cluster.shared()))
                .collect(),
            cluster,
            horizon: Position::ZERO,
            published: 0,
        }
    }

    fn run(&mut self, op: &Op) {
        let cluster = &mut self.cluster;
        match *op {
            Op::Change { bundle, way, who } => {
                if let Some((bundle, version, next, who)) = next_state(cluster, bundle, way, who) {
                    change(cluster, who, bundle, version, next);
                }
            }
            Op::Stale { bundle, way, who } => {
                if let Some((bundle, version, next, who)) = next_state(cluster, bundle, way, who) {
                    change(cluster, who, bundle, version.previous(), next);
                }
            }
            Op::Wild { bundle, way, who } => {
                if let Some((bundle, row)) = row(cluster, bundle) {
                    let next = any_record(way, who);
                    change(cluster, who, bundle, row.version, next);
                }
            }
            Op::Create { name, parts } => {
                let applied = cluster.table.next();
                let full = deedbook::ids::KeyRange::FULL;
                let body = Body::CreateNamespace {
                    namespace: namespace(NAMESPACES[name]),
                    cuts: Cuts::even(full, parts),
                    applied,
                };
                cluster.append(0, None, body);
            }
            Op::Delete { name } => {
                let namespace = namespace(NAMESPACES[name]);
                let applied = cluster.log.end();
                cluster.append(1, None, Body::DeleteNamespace { namespace, applied });
            }
            Op::End { name } => {
                let namespace = namespace(NAMESPACES[name]);
                let epoch = Some(cluster.epoch);
                cluster.append(0, epoch, Body::EndNamespace { namespace });
            }
            Op::Elect { who } => cluster.elect(who),
            Op::Begin { attempt, behind } => {
                let end = behind.map_or(End::CaughtUp, |behind| {
                    let end = cluster.table.next().get().saturating_sub(behind);
                    End::At(Position::new(end))
                });
                let config = crate::cluster::smallest_steps();
                let begun = Attempt::new(cluster.shared(), cluster.epoch, end, config);
                self.attempts[attempt] = Some(begun);
            }
            Op::Step { attempt, steps } => self.step(attempt, steps),
            Op::Compact => {
                let report = cluster.compact();
                assert_eq!(cluster.first_retained(), report.horizon_after);
            }
            Op::Read { reader, events } => self.readers[reader].poll(events),
            Op::Reread { reader } => {
                let mut ended =
                    std::mem::replace(&mut self.readers[reader], Listener::new(cluster.shared()));
                ended.check(cluster);
            }
        }
        self.check_horizon();
    }

    fn step(&mut self, attempt: usize, steps: usize) {
        let Some(running) = &mut self.attempts[attempt] else {
            return;
        };
        for _ in 0..steps {
            match running.step(Duration::ZERO) {
                Ok(Progress::Done(_)) => {
                    self.attempts[attempt] = None;
                    return;
                }
                Ok(_) => {}
                // Overtaken by another attempt or another leader: the only ways to fail here.
                Err(Error::Publish(SnapshotError::Stale { .. } | SnapshotError::Fenced)) => {
                    self.attempts[attempt] = None;
                    return;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The horizon only grows, and what is below it is exactly in the snapshot.
    fn check_horizon(&mut self) {
        let horizon = self.cluster.horizon();
        assert!(horizon >= self.horizon, "the horizon moved back");
        if horizon > self.horizon {
            self.horizon = horizon;
            self.published += 1;
            self.cluster.check_snapshot();
        }
    }

    fn check(&mut self) {
        self.readers.push(Listener::new(self.cluster.shared()));
        for reader in &mut self.readers {
            reader.check(&self.cluster);
        }
        self.cluster.compact();
        self.check_horizon();
        self.readers.push(Listener::new(self.cluster.shared()));
        for reader in &mut self.readers {
            reader.check(&self.cluster);
        }
        self.cluster.table.check_whole().unwrap();
    }
}

fn row(cluster: &Cluster, bundle: usize) -> Option<(BundleId, Row)> {
    let count = cluster.table.row_count();
    let (bundle, row) = cluster.table.rows().nth(bundle.checked_rem(count)?)?;
    Some((bundle.clone(), row.clone()))
}

fn change(
    cluster: &mut Cluster,
    who: usize,
    bundle: BundleId,
    expected: Position,
    next: Option<Record>,
) {
    let change = Change {
        bundle,
        expected,
        next,
    };
    let epoch = change.next.is_none().then_some(cluster.epoch);
    cluster.append(who, epoch, Body::Changes(vec![change]));
}

fn holder(who: usize) -> Holder {
    Holder::new(broker(BROKERS[who]), session(who))
}

/// A state that follows, and who may bring it about.
fn next_state(
    cluster: &Cluster,
    bundle: usize,
    way: usize,
    who: usize,
) -> Option<(BundleId, Position, Option<Record>, usize)> {
    let (bundle, row) = row(cluster, bundle)?;
    let holds = |name: &str| BROKERS.iter().position(|broker| *broker == name);
    let of_holder = || holds(row.record.holder()?.broker.as_str());
    let (next, who) = match &row.record {
        Record::Free => (
            Record::Assigning {
                destination: broker(BROKERS[way % 3]),
            },
            who,
        ),
        Record::Assigning { destination } => {
            let who = holds(destination.as_str())?;
            (Record::Owned { owner: holder(who) }, who)
        }
        Record::Owned { owner } if way.is_multiple_of(3) => {
            let middle = bundle.range().middle()?;
            let splitting = Record::Splitting {
                source: Some(owner.clone()),
                cuts: Cuts::new(vec![middle]).ok()?,
            };
            (splitting, who)
        }
        Record::Owned { owner } => {
            let releasing = Record::Releasing {
                source: owner.clone(),
                destination: (way % 3 == 1).then(|| broker(BROKERS[way % 2])),
            };
            (releasing, who)
        }
        Record::Releasing { destination, .. } => {
            let next = destination
                .clone()
                .map_or(Record::Free, |destination| Record::Assigning {
                    destination,
                });
            (next, of_holder()?)
        }
        Record::Splitting { .. } => (Record::Deleted, of_holder()?),
        Record::Deleted => return Some((bundle, row.version, None, who)),
    };
    Some((bundle, row.version, Some(next), who))
}

fn any_record(way: usize, who: usize) -> Option<Record> {
    match way {
        0 => None,
        1 => Some(Record::Free),
        2 => Some(Record::Deleted),
        3 => Some(Record::Owned { owner: holder(who) }),
        4 => Some(Record::Splitting {
            source: Some(holder(who)),
            cuts: Cuts::new(vec![7]).ok()?,
        }),
        _ => Some(Record::Releasing {
            source: holder(way % 3),
            destination: None,
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// B28, CT-01: random operations against the whole history kept beside: after each one the
    /// snapshot is the fold of what lies below its horizon, and in the end every reader, wherever
    /// it was, knows what the whole log says and was told each change.
    #[test]
    fn snapshot_and_tail_fold_to_what_the_whole_log_folds_to(
        ops in prop::collection::vec(op(), 1..150)
    ) {
        let mut world = World::new();
        for op in &ops {
            world.run(op);
        }
        world.check();
    }
}
