//! How loaded a broker is, in both arithmetics.

use super::config::{Config, Mode, Weights};
use crate::planner::{BrokerLoad, Resource, Score};

/// The score of a broker; none if it reports nothing usable, which only the safe mode minds.
pub(super) fn score(load: &BrokerLoad, config: &Config) -> Option<Score> {
    let percent = match config.mode {
        Mode::Safe => Resource::percent,
        Mode::Reference => percent_in_single_precision,
    };
    let mut score = fullest(load, config.weights, percent);
    match config.mode {
        Mode::Safe if score.unknown.len() == config.weights.scored().len() => None,
        Mode::Safe => Some(score),
        Mode::Reference => {
            // The reference keeps a ratio and turns it into points again, which rounds twice.
            score.points = score.points / 100.0 * 100.0;
            Some(score)
        }
    }
}

/// The weighted percentage of the fullest resource. What is unknown is left out, which leaves zero
/// if all is.
fn fullest(
    load: &BrokerLoad,
    weights: Weights,
    percent: impl Fn(Resource) -> Option<f64>,
) -> Score {
    let mut score = Score {
        points: 0.0,
        resource: None,
        unknown: Vec::new(),
    };
    for (kind, weight) in weights.scored() {
        match load.resource(kind).and_then(&percent) {
            Some(percent) if percent * weight > score.points => {
                score.points = percent * weight;
                score.resource = Some(kind);
            }
            Some(_) => {}
            None => score.unknown.push(kind),
        }
    }
    score
}

/// What the reference computes: 30 of 100 is 30.000002 %.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the reference keeps percentages in single precision"
)]
fn percent_in_single_precision(resource: Resource) -> Option<f64> {
    let percent = resource.usage as f32 / resource.limit as f32 * 100.0;
    resource
        .ratio()
        .and(percent.is_finite().then_some(f64::from(percent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::ResourceKind;

    fn config(mode: Mode) -> Config {
        Config {
            mode,
            ..Config::default()
        }
    }

    #[test]
    fn the_reference_rounds_and_the_safe_mode_does_not() {
        let mut load = BrokerLoad::default();
        for (usage, rounded) in [
            (30.0, 30.000_001_907_348_633),
            (60.0, 60.000_003_814_697_266),
            (53.0, 52.999_996_185_302_734),
        ] {
            load.cpu = Some(Resource::new(usage, 100.0));
            let points = score(&load, &config(Mode::Reference)).unwrap().points;
            assert!((points - rounded).abs() < 1e-12, "{usage}: {points}");
            let points = score(&load, &config(Mode::Safe)).unwrap().points;
            assert_eq!(points, usage);
        }
    }

    #[test]
    fn the_fullest_resource_counts_and_heap_memory_does_not() {
        let load = BrokerLoad {
            cpu: Some(Resource::new(100.0, 400.0)),
            memory: Some(Resource::new(99.0, 100.0)),
            direct_memory: Some(Resource::new(f64::NAN, 100.0)),
            bandwidth_in: Some(Resource::new(60.0, 100.0)),
            ..BrokerLoad::default()
        };
        let score = score(&load, &Config::default()).unwrap();
        assert_eq!(score.to_string(), "60.0 points (bandwidth in)");
        assert_eq!(
            score.unknown,
            [ResourceKind::DirectMemory, ResourceKind::BandwidthOut]
        );
    }

    #[test]
    fn who_reports_nothing_usable_has_no_score_in_safe_mode_and_zero_in_the_reference() {
        let load = BrokerLoad {
            cpu: Some(Resource::new(50.0, 0.0)),
            ..BrokerLoad::default()
        };
        assert_eq!(score(&load, &config(Mode::Safe)), None);
        assert_eq!(
            score(&load, &config(Mode::Reference)).map(|s| s.points),
            Some(0.0)
        );
    }
}
