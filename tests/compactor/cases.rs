//! What goes wrong in systems that do this job, case by case.

use crate::cluster::{Cluster, Listener, assert_same, session, smallest_steps, step_until};
use crate::support::{assigning, at, bundle_of, change, free, owned};
use deedbook::compactor::{Attempt, Config, End, Error, Progress};
use deedbook::ids::Epoch;
use deedbook::log::{EventLog, Member, SnapshotError};
use deedbook::state::Body;
use std::time::Duration;

/// One bundle for all keys.
const WHOLE: (u32, u32) = (0, u32::MAX);

#[test]
fn a_report_says_what_was_done() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 4);
    let bundle = bundle_of("t/n", 0, 0x4000_0000);
    cluster.change(0, &bundle, assigning("b"));
    let first = cluster.compact();
    assert_eq!(first.horizon_before, at(0));
    assert_eq!(first.horizon_after, at(7));
    assert_eq!((first.rows_before, first.entries_read), (0, 2));
    assert_eq!((first.rows_after, first.dropped()), (4, 0));
    assert!(first.bytes_written > 0);

    cluster.change(1, &bundle, free());
    cluster.change(0, &bundle, assigning("c"));
    let second = cluster.compact();
    assert_eq!(
        (second.horizon_before, second.horizon_after),
        (at(7), at(9))
    );
    assert_eq!((second.rows_before, second.entries_read), (4, 2));
    assert_eq!((second.rows_after, second.dropped()), (4, 2));

    let nothing = cluster.compact();
    assert_eq!(
        (nothing.horizon_before, nothing.horizon_after),
        (at(9), at(9))
    );
    assert_eq!((nothing.rows_after, nothing.bytes_written), (4, 0));
}

/// C1: an entry whose rows fill many blocks is read whole.
#[test]
fn an_entry_larger_than_a_block_stays_whole() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1_000);
    let changes = cluster
        .table
        .rows()
        .map(|(bundle, row)| change(bundle, row.version.get(), Some(assigning("b"))));
    let changes = Body::Changes(changes.collect());
    cluster.accept(0, None, changes);
    let config = Config::default();
    for config in [smallest_steps(), config] {
        cluster.create(
            if config == smallest_steps() {
                "t/1"
            } else {
                "t/2"
            },
            1,
        );
        let log = cluster.shared();
        Attempt::new(log, cluster.epoch, End::CaughtUp, config)
            .run()
            .unwrap();
        Listener::new(cluster.shared()).check(&cluster);
    }
    assert_eq!(cluster.table.row_count(), 1_002);
}

/// C4: a view has read {x, y}. Then x ends, unread, and two more compactions run, the second of
/// which knows nothing of x: the view is told once that x is gone.
#[test]
fn a_reader_that_lags_hears_of_removals_that_no_entry_tells_any_more() {
    let mut cluster = Cluster::new();
    cluster.create("t/x", 1);
    cluster.create("t/y", 1);
    cluster.compact();
    let mut view = Listener::new(cluster.shared());
    view.check(&cluster);
    cluster.remove("t/x");
    cluster.compact();
    cluster.create("t/z", 1);
    cluster.compact();
    cluster.change(0, &bundle_of("t/y", WHOLE.0, WHOLE.1), assigning("b"));
    view.changes.clear();
    view.check(&cluster);
    let x = bundle_of("t/x", WHOLE.0, WHOLE.1);
    let of_x: Vec<_> = view.changes.iter().filter(|c| c.bundle == x).collect();
    assert_eq!(of_x.len(), 1);
    assert!(of_x[0].after.is_none());
    assert_eq!(view.changes.len(), 3, "x gone, z new, y assigned");
}

/// C7: what was compacted stays when its entries are gone: each compaction builds on the one
/// before.
#[test]
fn compacting_again_after_trimming_loses_nothing() {
    let mut cluster = Cluster::new();
    for index in 0..10 {
        cluster.create(&format!("t/{index}"), 1);
    }
    let first = cluster.compact();
    assert_eq!(cluster.first_retained(), first.horizon_after);
    cluster.elect(1);
    let second = cluster.compact();
    assert_eq!(second.rows_after, 10);
    assert_eq!(cluster.first_retained(), second.horizon_after);
    Listener::new(cluster.shared()).check(&cluster);
    cluster.remove("t/3");
    assert_eq!(cluster.compact().rows_after, 9);
    let mut earliest = Listener::new(cluster.shared());
    earliest.check(&cluster);
    assert_eq!(earliest.changes.len(), 9);
}

/// C8: a second attempt overtakes the first after each of its steps: the horizon stays where the
/// second put it, and readers see its snapshot.
#[test]
fn a_slower_attempt_is_refused_wherever_it_is_overtaken() {
    let mut overtaken = 0;
    for steps in 0.. {
        let mut cluster = Cluster::new();
        cluster.create("t/n", 2);
        let mut slow = cluster.attempt();
        for _ in 0..steps {
            slow.step(Duration::ZERO).unwrap();
        }
        let done = matches!(slow.step(Duration::ZERO), Ok(Progress::Done(_)));
        if done {
            break;
        }
        cluster.create("t/more", 1);
        let fast = cluster.compact();
        let result = slow.run();
        assert_eq!(cluster.horizon(), fast.horizon_after);
        cluster.check_snapshot();
        Listener::new(cluster.shared()).check(&cluster);
        match result {
            // It had not read anything, and went on from the snapshot; or it had published first.
            Ok(report) => assert!(report.horizon_after <= fast.horizon_after),
            Err(Error::Publish(SnapshotError::Stale { wanted, committed })) => {
                assert!(wanted < committed);
                assert_eq!(committed, fast.horizon_after);
                overtaken += 1;
            }
            Err(error) => panic!("after {steps} steps: {error}"),
        }
    }
    assert_eq!(
        overtaken, 4,
        "while it writes two rows and the last block, and before it publishes"
    );
}

/// A leader that was replaced publishes nothing.
#[test]
fn an_attempt_of_an_epoch_that_is_over_is_refused() {
    for until in [Progress::Replaying, Progress::Writing, Progress::Publishing] {
        let mut cluster = Cluster::new();
        cluster.create("t/n", 2);
        let mut attempt = cluster.attempt();
        step_until(&mut attempt, until);
        cluster.elect(1);
        let refused = attempt.run();
        assert_eq!(refused, Err(Error::Publish(SnapshotError::Fenced)));
        assert_eq!(cluster.horizon(), at(0));
        assert_eq!(cluster.first_retained(), at(1));
        Listener::new(cluster.shared()).check(&cluster);
    }
}

/// C9: what is appended while an attempt works is behind its snapshot, not lost under it.
#[test]
fn entries_appended_between_any_two_steps_are_kept() {
    let mut cluster = Cluster::new();
    cluster.create("t/first", 2);
    let mut attempt = cluster.attempt();
    let mut appended = 0;
    let report = loop {
        let progress = attempt.step(Duration::ZERO).unwrap();
        if let Progress::Done(report) = progress {
            break report;
        }
        // Else it would never catch up: it reads one entry a step.
        if progress != Progress::Replaying {
            cluster.create(&format!("t/{appended}"), 1);
            appended += 1;
        }
    };
    assert!(appended >= 4, "appended {appended} times");
    assert_eq!(report.horizon_after, at(6));
    assert_eq!(cluster.snapshot().unwrap().row_count(), 2);
    cluster.check_snapshot();
    Listener::new(cluster.shared()).check(&cluster);
    assert_eq!(cluster.table.row_count(), 2 + appended);
}

#[test]
fn an_end_that_was_fixed_before_is_kept() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let end = cluster.table.next();
    cluster.create("t/later", 1);
    let log = cluster.shared();
    let attempt = |end| Attempt::new(cluster.shared(), cluster.epoch, end, smallest_steps());
    assert_eq!(attempt(End::At(end)).run().unwrap().horizon_after, end);
    cluster.check_snapshot();
    // One that lies behind the horizon leaves it where it is.
    let again = attempt(End::At(at(2))).run().unwrap();
    assert_eq!(again.horizon_after, end);
    // The log ends before this one.
    let beyond = attempt(End::At(at(1_000))).run().unwrap();
    assert_eq!(
        beyond.horizon_after,
        log.snapshot().unwrap().unwrap().horizon()
    );
    assert_eq!(beyond.horizon_after, cluster.table.next());
}

/// C10: however a log ends, compaction of it does.
#[test]
fn logs_of_every_shape_are_compacted_to_their_end() {
    type Shape = (&'static str, fn(&mut Cluster), u64);
    let shapes: [Shape; 6] = [
        ("members alone", |_| {}, 0),
        ("a removal of nothing", remove_unknown, 0),
        (
            "created and removed",
            |cluster| {
                cluster.create("t/a", 1);
                cluster.remove("t/a");
            },
            0,
        ),
        ("created", |cluster| cluster.create("t/a", 1), 1),
        (
            "a member last",
            |cluster| {
                cluster.create("t/a", 1);
                let session = session(2);
                cluster.member(Member::Draining { session });
            },
            1,
        ),
        (
            "an entry without changes last",
            |cluster| {
                cluster.create("t/a", 1);
                cluster.append(1, None, Body::Changes(Vec::new()));
            },
            1,
        ),
    ];
    for (shape, fill, rows) in shapes {
        let mut cluster = Cluster::new();
        fill(&mut cluster);
        let report = cluster.compact();
        assert_eq!(report.rows_after, rows, "{shape}");
        assert_eq!(report.horizon_after, cluster.table.next(), "{shape}");
        cluster.check_snapshot();
        Listener::new(cluster.shared()).check(&cluster);
        assert_eq!(cluster.compact().horizon_after, report.horizon_after);
    }
}

fn remove_unknown(cluster: &mut Cluster) {
    let gone = bundle_of("t/gone", WHOLE.0, WHOLE.1);
    let removal = change(&gone, 0, None);
    cluster.append(0, Some(cluster.epoch), Body::Changes(vec![removal]));
}

#[test]
fn a_log_without_anything_is_left_alone() {
    use deedbook::clock::ManualClock;
    use deedbook::ids::LogId;
    use deedbook::log::MemoryLog;
    use std::sync::Arc;

    let log = Arc::new(MemoryLog::new(
        LogId::new(1),
        Arc::new(ManualClock::default()),
    ));
    let attempt = Attempt::new(log.clone(), Epoch::new(0), End::CaughtUp, smallest_steps());
    assert_eq!(attempt.run(), Ok(deedbook::compactor::Report::default()));
    assert!(log.snapshot().unwrap().is_none());
}

/// C16, E12: the process ends after each step. Readers that had read any part of the log by then
/// come to what the log says, the horizon never moves back, and what was left undone is done the
/// next time.
#[test]
fn after_each_step_every_reader_comes_to_the_same_end() {
    let mut stopped_while = Vec::new();
    for steps in 0.. {
        let mut cluster = Cluster::new();
        cluster.create("t/n", 3);
        cluster.create("t/gone", 1);
        cluster.compact();
        let bundle = bundle_of("t/n", 0, u32::MAX / 3);
        cluster.change(0, &bundle, assigning("b"));
        cluster.change(1, &bundle, owned("b2"));
        cluster.remove("t/gone");
        cluster.create("t/new", 2);
        let before = cluster.horizon();
        // Snapshot, five entries, the end.
        let mut readers: Vec<Listener> = (0..8)
            .map(|events| {
                let mut reader = Listener::new(cluster.shared());
                reader.poll(events);
                reader
            })
            .collect();
        let mut attempt = cluster.attempt();
        let mut progress = Progress::Replaying;
        for _ in 0..steps {
            progress = attempt.step(Duration::ZERO).unwrap();
        }
        drop(attempt);
        stopped_while.push(progress);

        let published = !matches!(
            progress,
            Progress::Replaying | Progress::Writing | Progress::Publishing
        );
        assert_eq!(cluster.horizon() > before, published, "after {steps} steps");
        cluster.check_snapshot();
        readers.push(Listener::new(cluster.shared()));
        for reader in &mut readers {
            reader.check(&cluster);
        }
        // Leftovers are not in the way, nor do they bring anything back.
        cluster.remove("t/new");
        let report = cluster.compact();
        assert_eq!(report.rows_after, 3);
        assert_eq!(cluster.first_retained(), report.horizon_after);
        for reader in &mut readers {
            reader.check(&cluster);
        }
        if matches!(progress, Progress::Done(_)) {
            break;
        }
    }
    for stage in [
        Progress::Replaying,
        Progress::Writing,
        Progress::Publishing,
        Progress::Trimming,
    ] {
        assert!(stopped_while.contains(&stage), "{stage:?}");
    }
}

/// Ended between publishing and trimming: what remained is trimmed although nothing is new.
#[test]
fn trimming_is_made_up_for() {
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let mut attempt = cluster.attempt();
    step_until(&mut attempt, Progress::Trimming);
    drop(attempt);
    assert_eq!(cluster.first_retained(), at(1));
    let report = cluster.compact();
    assert_eq!(report.bytes_written, 0);
    assert_eq!(cluster.first_retained(), cluster.horizon());
}

/// Compaction may fall into the middle of anything; whoever starts from it takes that up.
#[test]
fn a_newcomer_takes_up_what_is_in_flight() {
    use crate::support::{releasing, splitting};
    let mut cluster = Cluster::new();
    cluster.create("t/n", 1);
    let bundle = bundle_of("t/n", WHOLE.0, WHOLE.1);
    let path = [
        (0, assigning("b")),
        (1, owned("b2")),
        (0, releasing("b2", Some("c"))),
        (1, assigning("c")),
        (2, owned("c3")),
        (0, splitting(Some("c3"), &[0x8000_0000])),
        (2, deedbook::state::Record::Deleted),
    ];
    for (who, next) in path {
        cluster.change(who, &bundle, next);
        cluster.compact();
        assert_same(&cluster.snapshot().unwrap(), &cluster.table);
    }
    Listener::new(cluster.shared()).check(&cluster);
    assert_eq!(cluster.table.row_count(), 3);
}
