//! Goal: each rule set is well formed, and judges in the order that its documentation gives.
//! Method: the data itself, and single records. That the rules decide like Apache Pulsar is shown
//! by its recorded decisions, in `tests/vectors.rs`.

use super::*;
use crate::state::State;

const ALL: [Rules; 5] = [
    PULSAR_SYSTEM_TOPIC,
    PULSAR_METADATA_STORE,
    PIP_192,
    PIP_192_SECOND_DRAFT,
    PIP_192_FIRST_DRAFT,
];

fn record(state: State, destination: &str, source: &str, version: i64) -> PulsarRecord {
    let name = |name: &str| (!name.is_empty()).then(|| name.into());
    PulsarRecord {
        state,
        destination: name(destination),
        source: name(source),
        version,
        forced: false,
    }
}

#[test]
fn a_transition_stands_in_a_table_once() {
    for rules in ALL {
        for allowed in rules.transitions {
            let same = |other: &&Allowed| (other.from, other.to) == (allowed.from, allowed.to);
            let twins = rules.transitions.iter().filter(same).count();
            assert_eq!(twins, 1, "{}: {allowed:?}", rules.name);
            assert_ne!(
                allowed.from, allowed.to,
                "{}: no self transitions",
                rules.name
            );
        }
    }
}

#[test]
fn versions_come_before_force_and_force_before_the_table() {
    let kept = record(State::Owned, "a", "", 5);
    let mut next = record(State::Free, "", "", 5);
    next.forced = true;
    let judge =
        |next: &PulsarRecord| PULSAR_SYSTEM_TOPIC.judge(Some(&kept), Some(next), Brokers::Checked);
    let stale = Refusal::Stale {
        version: 5,
        kept: 5,
    };
    assert_eq!(judge(&next), Err(stale));
    next.version = 6;
    assert_eq!(judge(&next), Ok(()));
    next.forced = false;
    let (from, to) = (State::Owned, State::Free);
    assert_eq!(judge(&next), Err(Refusal::InvalidTransition { from, to }));
}

#[test]
fn a_removal_is_always_accepted() {
    let kept = record(State::Owned, "a", "", 5);
    for rules in ALL {
        assert_eq!(rules.judge(Some(&kept), None, Brokers::Checked), Ok(()));
        assert_eq!(rules.judge(None, None, Brokers::Checked), Ok(()));
    }
}
