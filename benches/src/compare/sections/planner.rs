//! One round of each strategy over a large cluster.

use crate::compare::{Case, Figure, Section, Setting, Stopwatch, Subject, Unit};
use deedbook::planner::{ClusterLoad, Constraints, Mode, Resource, Strategy};
use deedbook::sim::MadeUp;
use std::hint::black_box;
use std::rc::Rc;

pub(super) const SECTION: Section = Section {
    name: "planner",
    what: "planning a round for a thousand brokers with a million bundles",
    cases,
};

const LIMIT: &str = "read each bundle's traffic once";

fn cases(setting: &Setting) -> Vec<Case> {
    let shape = MadeUp {
        brokers: 1000,
        bundles: u32::try_from(setting.count(1_000_000, 5_000)).unwrap(),
        spread_points: 10.0,
        seed: 1,
    };
    let mut one_pair = shape.load();
    for (percent, at) in [(5.0, 0), (95.0, 1)] {
        let broker = one_pair.brokers.values_mut().nth(at).unwrap();
        broker.cpu = Some(Resource::new(percent, 100.0));
        // What is to move is half of the difference in traffic.
        let factor = if at == 0 { 0.1 } else { 1.9 };
        broker.traffic.message_rate_in *= factor;
        broker.traffic.message_rate_out *= factor;
    }
    let most = MadeUp {
        spread_points: 90.0,
        ..shape
    };
    vec![
        case("no pair sheds", shape.load(), shape),
        case("one pair sheds", one_pair, shape),
        case("most pairs shed", most.load(), shape),
    ]
}

fn case(what: &str, load: ClusterLoad, shape: MadeUp) -> Case {
    let load = Rc::new(load);
    let mut subjects = vec![Subject::new(LIMIT, {
        let load = Rc::clone(&load);
        move || {
            let watch = Stopwatch::start();
            let bundles = load
                .brokers
                .values()
                .flat_map(|broker| broker.bundles.values());
            let rates = bundles.flatten().map(|bundle| bundle.short_term.messages());
            black_box(rates.sum::<f64>());
            vec![watch.time("time"), ("moves", Unit::Count, 0.0)]
        }
    })];
    for strategy in Strategy::ALL {
        let load = Rc::clone(&load);
        subjects.push(Subject::new(strategy.name(), move || {
            round(strategy, &load)
        }));
    }
    Case {
        name: format!(
            "{what} ({} brokers, {} bundles)",
            shape.brokers, shape.bundles
        ),
        subjects,
        goals: Vec::new(),
    }
}

/// The round in which something moves, with all explanations; or the eighth, if nothing ever does.
fn round(strategy: Strategy, load: &ClusterLoad) -> Vec<Figure> {
    let mut shedder = strategy.settings(Mode::Safe).build().unwrap();
    let constraints = Constraints::default();
    let mut rounds = 0;
    loop {
        let watch = Stopwatch::start();
        let plan = shedder.plan(load, &constraints);
        let time = watch.time("time");
        rounds += 1;
        let moves = plan.moves.len() + plan.unloads.len();
        if moves > 0 || rounds == 8 {
            return vec![time, ("moves", Unit::Count, moves as f64)];
        }
    }
}
