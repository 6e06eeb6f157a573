//! What operators complained of, and keys that cannot be parted.

use super::support::book::{Book, lower};
use super::{MIB, bundle, cluster, messages, slice, support, whole_range};
use deedbook::balance::{Splitter, find_cuts};
use deedbook::ids::{BrokerId, BundleId, KeyRange};
use deedbook::planner::split::{
    Config, PartLimits, SplitAlgorithm, SplitPlan, SplitReason, SplitStrategy, Surroundings,
    TopicLoad, Topics, Whole, cut_by_topic_count, cut_by_traffic, cut_in_the_middle,
};
use deedbook::planner::{BundleLoad, Traffic};
use deedbook::protocol::{Action, Answer, Refused, Request};

const NONE: [u32; 0] = [];

/// One round about one bundle that has been too big for long enough.
fn round_with(
    config: Config,
    load: BundleLoad,
    range: KeyRange,
    topics: &[TopicLoad],
) -> SplitPlan {
    let name = bundle(&format!("t/n/{range}"));
    let config = Config { hits: 0, ..config };
    let topics = match topics {
        [] => Topics::new(),
        _ => [(name.clone(), topics.to_vec())].into(),
    };
    let mut strategy = SplitStrategy::new(config).unwrap();
    let around = Surroundings {
        topics,
        ..Surroundings::default()
    };
    strategy.plan(&cluster(&[(name, load)]), &around)
}

fn hot(topics: u64) -> BundleLoad {
    BundleLoad {
        short_term: messages(50_000.0),
        topics,
        ..BundleLoad::default()
    }
}

fn at(key: u32, rate: f64) -> TopicLoad {
    TopicLoad {
        key,
        traffic: messages(rate),
    }
}

/// A16: more than one cut is an answer too.
#[test]
fn a16_several_boundaries_make_several_children_that_cover_the_parent() {
    let range = KeyRange::new(0xaaaa_aaa8, 0xc71c_71c4).unwrap();
    let config = Config {
        message_rate_max: 250.0,
        algorithm: SplitAlgorithm::FlowOrQpsEquallyDivide,
        ..Config::default()
    };
    let topics: Vec<_> = (0..54)
        .map(|i| at(range.lower() + i * 8_000_000, 2077.9 / 54.0))
        .collect();
    let load = BundleLoad {
        short_term: messages(2077.9),
        topics: 54,
        ..BundleLoad::default()
    };
    let plan = round_with(config.clone(), load, range, &topics);
    let cuts = &plan.splits[0].cuts;
    // Six of 38.5 messages fit below 250: 54 are nine parts.
    assert_eq!(cuts.part_count(), 9);
    assert!(cuts.divide(range));

    // Where the namespace has room for two more, the first two cuts are made.
    let config = Config {
        namespace_bundles_max: 3,
        ..config
    };
    let fewer = round_with(config, load, range, &topics);
    assert_eq!(fewer.splits[0].cuts.as_slice(), &cuts.as_slice()[..2]);
}

/// A17: one topic, one key, or one key wide.
#[test]
fn a17_what_no_cut_can_part_is_not_split() {
    let config = Config::default;
    let none = |plan: SplitPlan, whole| {
        assert!(plan.splits.is_empty(), "{plan:?}");
        assert_eq!(plan.whole.into_values().collect::<Vec<_>>(), [whole]);
    };
    none(
        round_with(config(), hot(1), whole_range(), &[]),
        Whole::OneTopic,
    );
    let same = [at(7, 25_000.0), at(7, 25_000.0)];
    none(
        round_with(config(), hot(2), whole_range(), &same),
        Whole::OneTopic,
    );
    let narrow = KeyRange::new(7, 8).unwrap();
    none(round_with(config(), hot(2), narrow, &[]), Whole::NoCut);
}

/// A18: old news about a split.
#[test]
fn a18_a_report_about_a_bundle_that_is_being_split_decides_nothing() {
    let parent = bundle("t/n/0x00000000_0xffffffff");
    let child = bundle("t/n/0x7fffffff_0xffffffff");
    let mut strategy = SplitStrategy::new(Config::default()).unwrap();
    let load = cluster(&[(parent.clone(), hot(9))]);
    let mut plan = |splitting: &[&BundleId]| {
        let splitting = splitting.iter().map(|bundle| (*bundle).clone()).collect();
        strategy.plan(
            &load,
            &Surroundings {
                splitting,
                ..Surroundings::default()
            },
        )
    };
    assert!((0..3).all(|_| plan(&[]).splits.is_empty()));
    assert_eq!(plan(&[]).splits.len(), 1);
    for _ in 0..9 {
        let late = plan(&[&parent]);
        assert!(late.splits.is_empty());
        assert_eq!(late.whole[&parent], Whole::Splitting);
        assert!(plan(&[&child]).splits.is_empty());
    }
    // Hits begin anew.
    assert_eq!(plan(&[]).whole[&parent], Whole::Hits { hits: 1, needed: 3 });
}

#[test]
fn hits_are_in_a_row_and_the_first_limit_exceeded_is_the_reason() {
    let name = bundle("t/n/0x00000000_0xffffffff");
    let mut strategy = SplitStrategy::new(Config::default()).unwrap();
    let mut plan =
        |load| strategy.plan(&cluster(&[(name.clone(), load)]), &Surroundings::default());
    for _ in 0..3 {
        assert!(plan(hot(9)).splits.is_empty());
    }
    let calm = BundleLoad {
        short_term: messages(30_000.0),
        topics: 1000,
        producers: 500,
        consumers: 500,
        ..BundleLoad::default()
    };
    assert_eq!(plan(calm), SplitPlan::default(), "limits may be reached");
    assert_eq!(
        plan(hot(9)).whole[&name],
        Whole::Hits { hits: 1, needed: 3 }
    );
    let all = BundleLoad {
        producers: 9999,
        ..hot(1001)
    };
    (0..2).for_each(|_| drop(plan(all)));
    let reason = plan(all).splits[0].reason;
    assert_eq!(
        reason,
        SplitReason::Topics {
            topics: 1001,
            max: 1000
        }
    );
    let absurd = BundleLoad {
        short_term: messages(f64::NAN),
        topics: 9,
        ..BundleLoad::default()
    };
    assert_eq!(plan(absurd).whole[&name], Whole::UnsoundTraffic);
}

#[test]
fn topics_of_one_key_stay_together() {
    let cut = |keys: &[u32]| slice(cut_by_topic_count(whole_range(), keys));
    assert_eq!(cut(&[5, 5]), NONE);
    assert_eq!(cut(&[5]), NONE);
    assert_eq!(cut(&[]), NONE);
    // The middle of 5 and 6 is 5, and 5 belongs below.
    assert_eq!(cut(&[6, 5]), [6]);
    // The gap beside the middle that is nearest to it; the lower one of two.
    assert_eq!(cut(&[10, 20, 20, 20, 20, 30]), [15]);
    assert_eq!(cut(&[10, 10, 10, 10, 20, 30]), [15]);
    let range = KeyRange::new(15, 40).unwrap();
    assert_eq!(slice(cut_by_topic_count(range, &[1, 2, 3, 20, 30])), [25]);
}

#[test]
fn by_traffic_keys_stay_together_and_idle_topics_do_not_count() {
    let limits = PartLimits {
        messages: 100.0,
        bytes: MIB,
        difference_percent: 10.0,
    };
    let cut = |topics: &[TopicLoad]| slice(cut_by_traffic(whole_range(), topics, limits));
    // Not far enough above: less than 110.
    assert_eq!(cut(&[at(10, 60.0), at(20, 49.0)]), NONE);
    assert_eq!(cut(&[at(10, 60.0), at(20, 50.0)]), [16]);
    // An idle topic between does not move the cut.
    assert_eq!(cut(&[at(10, 60.0), at(19, 0.0), at(20, 50.0)]), [16]);
    assert_eq!(cut(&[at(10, 60.0), at(10, 60.0), at(30, 60.0)]), [21]);
    assert_eq!(cut(&[at(10, 60.0), at(10, 60.0)]), NONE);
    // Exactly the limit is no excess.
    assert_eq!(cut(&[at(10, 60.0), at(20, 40.0), at(30, 60.0)]), [26]);
    let bytes = |key| TopicLoad {
        key,
        traffic: Traffic {
            throughput_in: MIB,
            ..Traffic::default()
        },
    };
    assert_eq!(cut(&[bytes(10), bytes(20)]), [16]);
}

/// A request carries the version that the table shows, and none is made for who owns it no more.
#[test]
fn a_split_is_asked_for_with_the_version_of_its_row() {
    let book = Book::with_owner();
    let parent = lower();
    let mut load = cluster(&[(parent.clone(), hot(9))]);
    let reported = load
        .brokers
        .remove(&BrokerId::new("broker-1").unwrap())
        .unwrap();
    load.brokers.insert(support::broker("a"), reported);
    let config = Config {
        hits: 0,
        ..Config::default()
    };
    let mut splitter = Splitter::new(config).unwrap();
    let plan = splitter.round(&book.table, load.clone(), Topics::new());
    let middle = slice(cut_in_the_middle(parent.range()));
    assert_eq!(plan.splits[0].cuts.as_slice(), middle);
    let due = splitter.due();
    assert_eq!(due.len(), 1);
    match due[0].request() {
        Request::Bundle {
            bundle,
            expected,
            action: Action::Split { cuts },
        } => {
            assert_eq!(
                (&bundle, expected),
                (&parent, Some(support::at(book.version())))
            );
            assert_eq!(cuts.as_slice(), middle);
        }
        other => panic!("{other:?}"),
    }
    // It is under way: another round does not ask again.
    let plan = splitter.round(&book.table, load.clone(), Topics::new());
    assert_eq!(plan.whole[&parent], Whole::Splitting);
    assert!(splitter.due().is_empty());

    let reported = load.brokers.remove(&support::broker("a")).unwrap();
    load.brokers.insert(support::broker("b"), reported);
    splitter.on_answer(&parent, Answer::Closed).unwrap();
    let plan = splitter.round(&book.table, load.clone(), Topics::new());
    assert_eq!(plan, SplitPlan::default(), "`b` does not own it");
}

/// A namespace may be nearly full of bundles that are in nobody's report.
#[test]
fn bundles_that_nobody_reports_count_against_the_namespace() {
    let name = bundle("t/n/0x00000000_0x10000000");
    let load = cluster(&[(name.clone(), hot(9))]);
    for (bundles, splits) in [(127, 1), (128, 0)] {
        let config = Config {
            hits: 0,
            ..Config::default()
        };
        let around = Surroundings {
            bundles: [(name.namespace().clone(), bundles)].into(),
            ..Surroundings::default()
        };
        let plan = SplitStrategy::new(config).unwrap().plan(&load, &around);
        assert_eq!(plan.splits.len(), splits, "{plan:?}");
    }
}

/// Each bundle at those of the given positions that are inside; one that has none inside stays.
#[test]
fn given_positions_cut_whoever_has_them_inside() {
    let lower = bundle("t/n/0x00000000_0x80000000");
    let upper = bundle("t/n/0x80000000_0xffffffff");
    let load = cluster(&[(lower.clone(), hot(9)), (upper.clone(), hot(9))]);
    let config = Config {
        hits: 0,
        algorithm: SplitAlgorithm::SpecifiedPositionsDivide,
        positions: vec![0x3000_0000, 0x1000_0000, 0x8000_0000, 0],
        ..Config::default()
    };
    let mut strategy = SplitStrategy::new(config).unwrap();
    let plan = strategy.plan(&load, &Surroundings::default());
    assert_eq!(plan.splits.len(), 1);
    assert_eq!(plan.splits[0].bundle, lower);
    assert_eq!(plan.splits[0].cuts.as_slice(), [0x1000_0000, 0x3000_0000]);
    assert_eq!(plan.whole[&upper], Whole::NoCut);
}

/// Asked for by hand, a bundle need not be too big: its owner, its topics and the number of bundles
/// decide.
#[test]
fn a_bundle_can_be_cut_on_request() {
    let book = Book::with_owner();
    let parent = lower();
    let cut = |config, topics: &[TopicLoad], table| {
        find_cuts(&SplitStrategy::new(config).unwrap(), &parent, topics, table)
    };
    let by_count = || Config {
        algorithm: SplitAlgorithm::TopicCountEquallyDivide,
        ..Config::default()
    };
    let topic = |key| TopicLoad {
        key,
        ..TopicLoad::default()
    };
    let keys = [1, 2, 9].map(topic);
    let (version, cuts) = cut(by_count(), &keys, &book.table).unwrap();
    assert_eq!(version, support::at(book.version()));
    // Between the first and the second: one topic on one side, two on the other.
    assert_eq!(cuts.as_slice(), [2]);

    let whole = |why| {
        let bundle = parent.clone();
        Err(Refused::StaysWhole { bundle, why })
    };
    let one = [topic(5), topic(5)];
    assert_eq!(cut(by_count(), &one, &book.table), whole(Whole::NoCut));
    let full = Config {
        namespace_bundles_max: 2,
        ..Config::default()
    };
    let max = full.namespace_bundles_max;
    let found = cut(full, &[], &book.table);
    assert_eq!(found, whole(Whole::NamespaceFull { max }));
}
