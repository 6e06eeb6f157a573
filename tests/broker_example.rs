//! The example of embedding, `examples/broker.rs`, holds what it says, and notices if it did not.
#![cfg(test)]

#[path = "../examples/kv/mod.rs"]
mod kv;

use kv::{Fences, Load, Report};

fn run(fences: Fences) -> Report {
    let load = Load {
        seed: 7,
        seconds_max: 300,
        late_writes_max: 10,
        fences,
    };
    let report = kv::run(load).unwrap();
    assert!(report.served > 0 && report.moved > 0, "{report:?}");
    report
}

#[test]
fn no_write_of_a_former_owner_is_taken() {
    let report = run(Fences::Checked);
    assert_eq!(report.violations, 0, "{report:?}");
    assert!(report.refused_by_fence > 0, "{report:?}");
}

/// The deliberate break: a storage that does not look at fences takes what former owners write, and
/// acknowledged counts are lost.
#[test]
fn without_fences_writes_of_former_owners_are_noticed() {
    let report = run(Fences::Ignored);
    assert!(report.violations > 0, "{report:?}");
    assert_eq!(report.refused_by_fence, 0, "{report:?}");
}
