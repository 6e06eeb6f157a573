//! Random constraints against the rules written anew.

use super::{all_kinds, bundle, namespace};
use crate::load::broker;
use deedbook::ids::BrokerId;
use deedbook::planner::{Allowed, BrokerLoad, BundleLoad, ClusterLoad, Constraints, Placement};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Who may have a bundle of namespace `t/{of}`, put down anew: brokers `b0` to `b4`, of which some
/// are being drained, may belong to a namespace, run some version and have one of two namespaces
/// that should not meet.
#[derive(Clone, Debug)]
struct Drawn {
    drained: Vec<bool>,
    versions: Vec<Option<u64>>,
    primary: Vec<bool>,
    primaries_min: usize,
    topics: Vec<u64>,
    topics_max: u64,
    meets: Vec<bool>,
    candidates: Vec<bool>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let flags = |chance| prop::collection::vec(prop::bool::weighted(chance), 5);
    let versions = prop::collection::vec(prop::option::weighted(0.7, 1..4_u64), 5);
    let topics = prop::collection::vec(0..12_u64, 5);
    let numbers = (versions, 0..3_usize, topics, 8..14_u64);
    (flags(0.2), flags(0.5), flags(0.4), flags(0.8), numbers).prop_map(
        |(drained, primary, meets, candidates, numbers)| Drawn {
            drained,
            primary,
            meets,
            candidates,
            versions: numbers.0,
            primaries_min: numbers.1,
            topics: numbers.2,
            topics_max: numbers.3,
        },
    )
}

impl Drawn {
    fn legal(&self) -> Vec<usize> {
        let present = |i: &usize| self.candidates[*i];
        let ready = |i: &usize| present(i) && self.primary[*i] && !self.drained[*i];
        let enough = (0..5).filter(ready).count() >= self.primaries_min;
        let mut legal: Vec<_> = (0..5)
            .filter(present)
            .filter(|i| !self.drained[*i] && (self.primary[*i] || !enough))
            .filter(|i| self.topics[*i] < self.topics_max)
            .collect();
        let newest = legal.iter().map(|i| self.versions[*i]).max();
        legal.retain(|i| Some(self.versions[*i]) == newest);
        if legal.iter().any(|i| !self.meets[*i]) {
            legal.retain(|i| !self.meets[*i]);
        }
        legal
    }

    fn constraints(&self) -> Constraints {
        let brokers = |of: &dyn Fn(usize) -> bool| -> BTreeSet<_> {
            (0..5).filter(|i| of(*i)).map(name).collect()
        };
        let allowed = Allowed {
            primary: brokers(&|i| self.primary[i]),
            secondary: brokers(&|i| !self.primary[i]),
            primaries_min: self.primaries_min,
        };
        let known = |i: usize| Some((name(i), format!("{}.0", self.versions[i]?)));
        let versions = (0..5).filter_map(known);
        Constraints {
            drained: brokers(&|i| self.drained[i]),
            allowed: [(namespace("t/n"), allowed)].into(),
            anti_affinity: [("g".to_owned(), ["t/n", "t/m"].map(namespace).into())].into(),
            topics_max: Some(self.topics_max),
            versions: versions.map(|(id, v)| (id, v.parse().unwrap())).collect(),
            ..Constraints::default()
        }
    }

    fn load(&self) -> ClusterLoad {
        let mut load = ClusterLoad::default();
        for i in 0..5 {
            let space = if self.meets[i] { "t/m" } else { "t/o" };
            let known = BundleLoad {
                topics: self.topics[i],
                ..BundleLoad::default()
            };
            let index = u32::try_from(i).unwrap();
            let of = BrokerLoad {
                bundles: [(bundle(space, index), Some(known))].into(),
                ..BrokerLoad::default()
            };
            load.brokers.insert(name(i), of);
        }
        load
    }
}

fn name(index: usize) -> BrokerId {
    broker(&format!("b{index}"))
}

proptest! {
    #[test]
    fn every_kind_places_on_whom_the_rules_leave(drawn in drawn()) {
        let legal: Vec<_> = drawn.legal().into_iter().map(name).collect();
        let candidates: Vec<_> = (0..5).filter(|i| drawn.candidates[*i]).map(name).collect();
        let (constraints, load) = (drawn.constraints(), drawn.load());
        for (kind, mut placement) in all_kinds(&constraints, &load) {
            let barred = placement.barred(&bundle("t/n", 9), &candidates);
            let left = candidates.iter().filter(|one| !barred.contains_key(*one));
            prop_assert!(left.eq(&legal), "{kind}: {barred:?}");
            let placed = placement.place(&bundle("t/n", 9), &candidates);
            prop_assert_eq!(placed.is_none(), legal.is_empty(), "{}", kind);
            prop_assert!(placed.is_none_or(|placed| legal.contains(&placed)), "{kind}");
        }
    }
}
