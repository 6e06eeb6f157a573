//! Where to cut a bundle.

use crate::ids::{Cuts, KeyRange};
use crate::reports::Traffic;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a bundle is cut. The names are those of Apache Pulsar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SplitAlgorithm {
    /// In the middle of its keys: [`cut_in_the_middle`].
    #[default]
    RangeEquallyDivide,
    /// So that both parts have the same number of topics: [`cut_by_topic_count`].
    TopicCountEquallyDivide,
    /// At the positions that the configuration gives: [`cut_at_positions`].
    SpecifiedPositionsDivide,
    /// So that each part bears no more than a bundle should: [`cut_by_traffic`].
    FlowOrQpsEquallyDivide,
}

impl SplitAlgorithm {
    /// The name by which it is asked for, the same in every release.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RangeEquallyDivide => "range_equally_divide",
            Self::TopicCountEquallyDivide => "topic_count_equally_divide",
            Self::SpecifiedPositionsDivide => "specified_positions_divide",
            Self::FlowOrQpsEquallyDivide => "flow_or_qps_equally_divide",
        }
    }
}

impl fmt::Display for SplitAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One topic of a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopicLoad {
    /// Its key: [`key_of`](crate::ids::key_of) its name.
    pub key: u32,
    /// What it bears.
    pub traffic: Traffic,
}

/// What a part should not exceed, for [`cut_by_traffic`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartLimits {
    /// Messages a second, both ways.
    pub messages: f64,
    /// Bytes a second, both ways.
    pub bytes: f64,
    /// So many percent above a limit must the bundle be to be cut at all.
    pub difference_percent: f64,
}

/// The middle of a range; none if it is too narrow to cut.
#[must_use]
pub fn cut_in_the_middle(range: KeyRange) -> Option<Cuts> {
    Cuts::new([range.middle()?]).ok()
}

/// A cut that leaves as many topics on one side as on the other, one more above it if their number
/// is odd. Topics of one key cannot be parted: then the nearest gap beside the middle is taken, the
/// lower one of two. None if there is no gap.
#[must_use]
pub fn cut_by_topic_count(range: KeyRange, keys: &[u32]) -> Option<Cuts> {
    let mut keys = inside(range, keys.iter().copied());
    keys.sort_unstable();
    let wanted = keys.len() / 2;
    let pairs = keys.iter().zip(keys.iter().skip(1)).enumerate();
    let gaps = pairs.filter(|(_, (below, above))| below < above);
    let (_, (below, above)) = gaps.min_by_key(|(index, _)| (index + 1).abs_diff(wanted))?;
    cuts_inside(range, vec![between(*below, *above)])
}

/// The positions that are strictly inside, in order; none if there are none, or fewer than two
/// topics.
#[must_use]
pub fn cut_at_positions(range: KeyRange, topics: u64, positions: &[u32]) -> Option<Cuts> {
    if topics < 2 {
        return None;
    }
    let mut positions = positions.to_vec();
    positions.sort_unstable();
    positions.dedup();
    cuts_inside(range, positions)
}

/// Cuts midway before each topic with which a part would exceed a limit, topics without traffic
/// left out of account; none if the bundle is not far enough above its limits, or cannot be cut.
///
/// Topics of one key stay together, so a part may exceed its limit by those.
#[must_use]
pub fn cut_by_traffic(range: KeyRange, topics: &[TopicLoad], limits: PartLimits) -> Option<Cuts> {
    let sound = |topic: &&TopicLoad| range.contains(topic.key) && topic.traffic.is_sound();
    let mut topics: Vec<_> = topics.iter().filter(sound).collect();
    topics.sort_by_key(|topic| topic.key);
    let all: Traffic = topics.iter().map(|topic| topic.traffic).sum();
    let far = |limit: f64| limit + limit * limits.difference_percent / 100.0;
    if all.messages() < far(limits.messages) && all.bytes() < far(limits.bytes) {
        return None;
    }
    let has_traffic =
        |topic: &&TopicLoad| topic.traffic.messages() > 0.0 || topic.traffic.bytes() > 0.0;
    let mut cuts = Vec::new();
    let (mut messages, mut bytes, mut before) = (0.0, 0.0, None);
    for topic in topics.into_iter().filter(has_traffic) {
        let (more, more_bytes) = (topic.traffic.messages(), topic.traffic.bytes());
        let exceeds = messages + more > limits.messages || bytes + more_bytes > limits.bytes;
        match before {
            Some(before) if exceeds && before < topic.key => {
                // Behind the middle, as Apache Pulsar has it here alone.
                cuts.push(before + (topic.key - before) / 2 + 1);
                (messages, bytes) = (more, more_bytes);
            }
            _ => {
                messages += more;
                bytes += more_bytes;
            }
        }
        before = Some(topic.key);
    }
    cuts_inside(range, cuts)
}

/// The middle of two keys, so that the lower one is below the cut: a cut belongs to the part above.
const fn between(below: u32, above: u32) -> u32 {
    let middle = below + (above - below) / 2;
    if middle > below { middle } else { above }
}

fn inside(range: KeyRange, keys: impl Iterator<Item = u32>) -> Vec<u32> {
    keys.filter(|key| range.contains(*key)).collect()
}

/// Those cuts that leave keys on both sides.
fn cuts_inside(range: KeyRange, cuts: Vec<u32>) -> Option<Cuts> {
    let cuts: Vec<_> = cuts
        .into_iter()
        .filter(|cut| range.can_be_cut_at(*cut))
        .collect();
    Cuts::new(cuts).ok()
}
