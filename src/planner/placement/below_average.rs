//! The brokers whose load is well below the average.

use crate::ids::BrokerId;

/// Of the candidates those whose load and the difference together do not exceed the average of all
/// with a known load; all candidates if there are none. Ratios.
pub(super) fn well_below_average(
    candidates: &[BrokerId],
    load: impl Fn(&BrokerId) -> Option<f64>,
    difference: f64,
) -> Vec<BrokerId> {
    let (mut sum, mut count) = (0.0, 0.0);
    for usage in candidates.iter().filter_map(&load) {
        sum += usage;
        count += 1.0;
    }
    let average = sum / count;
    let is_best =
        |broker: &&BrokerId| load(broker).is_some_and(|usage| usage + difference <= average);
    let best: Vec<_> = candidates.iter().filter(is_best).cloned().collect();
    if best.is_empty() {
        candidates.to_vec()
    } else {
        best
    }
}
