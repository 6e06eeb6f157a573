//! How loaded a broker is, in both arithmetics: what every strategy that looks at resources uses.

use super::{BrokerLoad, Mode, Resource, ResourceKind, Score};
use serde::{Deserialize, Serialize};

/// By what the percentage of each resource is multiplied. Default: 1.0 each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Of processor time.
    pub cpu: f64,
    /// Of memory outside of the heap.
    pub direct_memory: f64,
    /// Of bandwidth from producers.
    pub bandwidth_in: f64,
    /// Of bandwidth to consumers.
    pub bandwidth_out: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            cpu: 1.0,
            direct_memory: 1.0,
            bandwidth_in: 1.0,
            bandwidth_out: 1.0,
        }
    }
}

impl Weights {
    /// The resources that make a score, with their weights. Heap memory is none of them.
    pub(in crate::planner) const fn scored(self) -> [(ResourceKind, f64); 4] {
        [
            (ResourceKind::Cpu, self.cpu),
            (ResourceKind::DirectMemory, self.direct_memory),
            (ResourceKind::BandwidthIn, self.bandwidth_in),
            (ResourceKind::BandwidthOut, self.bandwidth_out),
        ]
    }

    /// The weights by the names of their settings.
    pub(in crate::planner) const fn settings(self) -> [(&'static str, f64); 4] {
        [
            ("weights.cpu", self.cpu),
            ("weights.direct_memory", self.direct_memory),
            ("weights.bandwidth_in", self.bandwidth_in),
            ("weights.bandwidth_out", self.bandwidth_out),
        ]
    }
}

/// The score of a broker; none if it reports nothing usable, which only the safe mode minds.
pub(super) fn score(load: &BrokerLoad, weights: Weights, mode: Mode) -> Option<Score> {
    let score = match mode {
        Mode::Safe => fullest(load, weights, Resource::percent),
        Mode::Reference => fullest(load, weights, percent_in_single_precision),
    };
    let unknown = score.unknown.len() == weights.scored().len();
    (mode == Mode::Reference || !unknown).then_some(score)
}

/// The average of scores; nothing if there are none. It does not depend on their order, not even in
/// the last digit.
pub(super) fn average(scores: impl IntoIterator<Item = f64>) -> f64 {
    let mut scores: Vec<_> = scores.into_iter().collect();
    scores.sort_by(f64::total_cmp);
    scores.iter().sum::<f64>() / scores.len().max(1) as f64
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

    fn scored(load: &BrokerLoad, mode: Mode) -> Option<Score> {
        score(load, Weights::default(), mode)
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
            let points = scored(&load, Mode::Reference).unwrap().points;
            assert!((points - rounded).abs() < 1e-12, "{usage}: {points}");
            let points = scored(&load, Mode::Safe).unwrap().points;
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
        let score = scored(&load, Mode::Safe).unwrap();
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
        assert_eq!(scored(&load, Mode::Safe), None);
        assert_eq!(scored(&load, Mode::Reference).map(|s| s.points), Some(0.0));
    }
}
