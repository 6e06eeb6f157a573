//! The transfer strategy.

use super::transfer_setups::{Expected, Scenario, Setup, bundle};
use super::vectors::transfer::{why, word};
use deedbook::ids::BundleId;
use deedbook::planner::transfer::{Config, Statistics, TransferShedder};
use deedbook::planner::{BrokerLoad, ClusterLoad, Constraints, Mode, Plan, Shedder};
use std::collections::BTreeMap;

/// Bundle, source, destination and reason.
type Decision = (BundleId, String, String, &'static str);

fn decisions(plan: &Plan) -> Vec<Decision> {
    let moves = plan.moves.iter();
    let decision = moves.map(|one| {
        let why = why(plan, &one.from, Some(&one.to));
        (
            one.bundle.clone(),
            one.from.to_string(),
            one.to.to_string(),
            why,
        )
    });
    let mut decisions: Vec<_> = decision.collect();
    decisions.sort();
    decisions
}

/// Average and deviation of the loads that the plan expects of its moves.
fn after(load: &ClusterLoad, plan: &Plan) -> (f64, f64) {
    let brokers = load.brokers.iter();
    let usage = |of: &BrokerLoad| of.smoothed.as_ref().map_or(0.0, |smoothed| smoothed.usage);
    let mut loads: BTreeMap<_, _> = brokers.map(|(name, of)| (name, usage(of))).collect();
    for one in &plan.moves {
        loads.insert(&one.from, one.from_score_after / 100.0);
        loads.insert(&one.to, one.to_score_after / 100.0);
    }
    let count = f64::from(u32::try_from(loads.len()).unwrap());
    let average = loads.values().sum::<f64>() / count;
    let squares: f64 = loads.values().map(|load| load * load).sum();
    (average, (squares / count - average * average).abs().sqrt())
}

fn assert_near(ours: f64, theirs: Option<f64>, tolerance: Option<f64>) {
    let Some(theirs) = theirs else {
        return;
    };
    let tolerance = tolerance.unwrap_or(1e-9 * theirs);
    assert!((ours - theirs).abs() <= tolerance, "{ours}, there {theirs}");
}

fn scenario(id: &str) -> Scenario {
    let scenarios: Vec<Scenario> = super::read("transfer_shedder.json");
    let found = scenarios.into_iter().find(|scenario| scenario.id == id);
    found.unwrap()
}

fn end_as_there(id: &str) {
    let Scenario {
        setup, expected, ..
    } = scenario(id);
    ends(&setup, &expected);
}

fn ends(setup: &Setup, expected: &Expected) {
    let (load, mut shedder) = (setup.load(), setup.shedder());
    let plan = shedder.plan(&load, &setup.constraints());
    let decisions = decisions(&plan);
    assert!(plan.unloads.is_empty());
    if let Some(unloads) = &expected.unloads {
        let unloads = unloads.iter().map(|one| {
            let reason = one.reason.as_str();
            (
                bundle(&one.bundle),
                one.source.clone(),
                one.dest.clone(),
                reason,
            )
        });
        let mut unloads: Vec<_> = unloads.collect();
        unloads.sort();
        assert_eq!(decisions, unloads);
    }
    if let Some(shapes) = &expected.unloads_shape {
        assert_eq!(
            decisions.len(),
            shapes.iter().map(|shape| shape.count).sum::<usize>()
        );
        for shape in shapes {
            let fits = decisions.iter().filter(|(one, source, dest, reason)| {
                shape.source == *source
                    && shape.dest.as_ref().is_none_or(|to| to == dest)
                    && shape
                        .bundle
                        .as_ref()
                        .is_none_or(|name| bundle(name) == *one)
                    && shape.reason == *reason
            });
            assert_eq!(fits.count(), shape.count, "{decisions:?}");
        }
    }
    let skipped = shedder.skipped().map(word);
    let counter = expected.counter.as_ref();
    assert_eq!(skipped, counter.map(|counter| counter.reason.as_str()));
    let Statistics { average, deviation } = shedder.statistics().unwrap_or_default();
    assert_near(average, expected.load_avg, expected.abs_tolerance);
    assert_near(deviation, expected.load_std, expected.abs_tolerance);
    let (average, deviation) = after(&load, &plan);
    assert_near(average, expected.final_avg, None);
    assert_near(
        deviation,
        expected.final_std,
        expected.final_std_abs_tolerance,
    );
}

#[test]
fn every_row_has_its_test_or_its_reason() {
    let rows: Vec<Scenario> = super::read("transfer_shedder.json");
    let ids: Vec<_> = rows
        .iter()
        .map(|row| format!("{}{}", row.id, row.case.as_deref().unwrap_or_default()))
        .collect();
    let expected = "TS-01 TS-02 TS-04 TS-05 TS-07 TS-08 TS-09 TS-11 TS-13 TS-141 TS-142 TS-143 \
                    TS-144 TS-145 TS-146 TS-147 TS-148 TS-16 TS-17 TS-19 TS-20 TS-22 TS-23 TS-25 \
                    TS-26 TS-28 TS-29 TS-31 TS-32 TS-34 TS-35";
    assert_eq!(ids.join(" "), expected);
    // TS-08: who is there is told to the planner, it does not ask for it and so cannot fail to.
    // TS-13: what forbids a destination is data, and cannot fail.
}

#[test]
fn ts_01_no_reports() {
    end_as_there("TS-01");
}

#[test]
fn ts_02_what_a_broker_reports_and_does_not_own() {
    end_as_there("TS-02");
}

#[test]
fn ts_04_old_reports() {
    let Scenario {
        setup, expected, ..
    } = scenario("TS-04");
    let mut fresh = setup.clone();
    fresh.updated_at_ms = None;
    let mut shedder = setup.shedder();
    let first = shedder.plan(&fresh.load(), &Constraints::default());
    assert_eq!(first.moves.len(), 2);
    let again = shedder.plan(&setup.load(), &Constraints::default());
    assert!(again.moves.is_empty());
    assert_eq!(shedder.skipped().map(word), Some("OutDatedData"));
    ends(&setup, &expected);
}

#[test]
fn ts_05_a_broker_that_has_cooled_down() {
    end_as_there("TS-05");
}

#[test]
fn ts_07_what_was_unloaded_recently_stays() {
    end_as_there("TS-07");
}

#[test]
fn ts_09_a_namespace_that_may_be_on_one_broker_only() {
    end_as_there("TS-09");
}

#[test]
fn ts_11_policies_keep_everything() {
    let Scenario {
        setup, expected, ..
    } = scenario("TS-11");
    for transfer in [true, false] {
        let mut setup = setup.clone();
        setup.config.transfer_enabled = transfer;
        ends(&setup, &expected);
    }
}

#[test]
fn ts_14_policies_keep_a_bundle_unless_they_may_be_shed() {
    let rows: Vec<Scenario> = super::read("transfer_shedder.json");
    let rows: Vec<_> = rows.into_iter().filter(|row| row.id == "TS-14").collect();
    assert_eq!(rows.len(), 8);
    for Scenario {
        case,
        setup,
        expected,
        ..
    } in rows
    {
        let bundle = bundle("t/n/0x00000000_0xffffffff");
        let mut constraints = Constraints::default();
        let has_policies = setup.has_isolation || setup.has_anti_affinity;
        if has_policies && !setup.shed_bundles_with_policies {
            let namespace = bundle.namespace().clone();
            constraints.excluded_namespaces.insert(namespace);
        }
        let sheddable = constraints.keep(&bundle).is_none();
        assert_eq!(Some(sheddable), expected.sheddable, "{case:?}");
    }
}

#[test]
fn ts_16_a_sole_reported_bundle() {
    end_as_there("TS-16");
}

#[test]
fn ts_17_bundles_above_half_the_difference() {
    end_as_there("TS-17");
}

#[test]
fn ts_19_one_is_enough() {
    end_as_there("TS-19");
}

#[test]
fn ts_20_bundles_in_return() {
    end_as_there("TS-20");
}

#[test]
fn ts_22_the_smaller_half_fits() {
    end_as_there("TS-22");
}

#[test]
fn ts_23_a_swap() {
    end_as_there("TS-23");
}

#[test]
fn ts_25_underloaded() {
    end_as_there("TS-25");
}

#[test]
fn ts_26_the_limit_is_no_target() {
    end_as_there("TS-26");
}

#[test]
fn ts_28_the_last_reported_bundle_stays() {
    end_as_there("TS-28");
}

#[test]
fn ts_29_loads_above_their_limit() {
    end_as_there("TS-29");
}

#[test]
fn ts_31_one_hot_broker_among_a_hundred() {
    let Scenario {
        mut setup,
        mut expected,
        ..
    } = scenario("TS-31");
    let cold = std::iter::repeat_n((1.0, [3e5, 7e5]), 99);
    setup.generate(cold.chain([(100.0, [3e7, 7e7])]));
    ends(&setup, &expected);
    // Of the cold ones, which are alike, the first by name gets it.
    for shape in expected.unloads_shape.iter_mut().flatten() {
        shape.dest = Some("broker0:8080".to_owned());
    }
    ends(&setup, &expected);
}

#[test]
fn ts_32_one_idle_broker_among_a_hundred() {
    let Scenario {
        mut setup,
        expected,
        ..
    } = scenario("TS-32");
    let hot = std::iter::repeat_n((98.0, [3e7, 7e7]), 98);
    setup.generate(hot.chain([(99.0, [3e7, 7e7]), (1.0, [3e5, 7e5])]));
    ends(&setup, &expected);
}

/// Average and deviation of some loads.
fn statistics(id: &str) {
    let Scenario {
        mut setup,
        expected,
        ..
    } = scenario(id);
    let loads = setup.loads_percent.clone();
    setup.generate(loads.into_iter().map(|percent| (percent, [0.0; 2])));
    let config = Config {
        mode: Mode::Reference,
        ..Config::default()
    };
    let mut shedder = TransferShedder::new(config).unwrap();
    shedder.plan(&setup.load(), &Constraints::default());
    let Statistics { average, deviation } = shedder.statistics().unwrap();
    assert_near(average, expected.load_avg, None);
    assert_near(deviation, expected.load_std, None);
}

#[test]
fn ts_34_loads_that_vary_much() {
    statistics("TS-34");
}

#[test]
fn ts_35_loads_that_vary_little() {
    statistics("TS-35");
}
