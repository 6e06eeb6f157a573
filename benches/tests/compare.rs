//! Every section of `compare` runs, and says something of every subject.

use deedbook_bench::compare::{self, Setting};

#[test]
fn every_section_runs() {
    for section in compare::sections() {
        let results = compare::run(section, &Setting::quick());
        assert!(!results.is_empty(), "{} has cases", section.name);
        for case in &results {
            for (subject, series) in &case.rows {
                let values = || series.iter().flat_map(|series| &series.values);
                assert!(values().count() > 0, "{}: {subject}", case.name);
                assert!(
                    values().all(|value| value.is_finite()),
                    "{}: {subject}",
                    case.name
                );
            }
        }
    }
}
